"""Commands that only look make nothing, and name the home that has results."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import lunguage
from judges_files import judges_file
from loopback import LoopbackServer

LOOKING = {
    "status": ("status",),
    "batches list": ("batches", "list"),
    "batches remove": ("batches", "remove", "sample", "--yes"),
    "explain": ("explain", "s1"),
    "analyse": ("analyse",),
    "analyse of cues": ("analyse", "--cues"),
    "run of what is registered": ("run", "--ranker", "lexicon"),
    "ledger stats": ("ledger", "stats"),
    "survey make": ("survey", "make", "--out", "survey.csv"),
}


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a home that is in use, `.lunguage-sample`, and a file to
    be given.
    """
    folder = tmp_path / "work"
    (folder / ".lunguage-sample").mkdir(parents=True)
    corpus = '{"name": "invented", "data_class": "synthetic", "layout": 2}'
    (folder / ".lunguage-sample" / "corpus.json").write_text(corpus)
    (folder / "given.csv").write_text("study_id,label,outcome\n")
    monkeypatch.chdir(folder)
    return folder


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("arguments", LOOKING.values(), ids=LOOKING.keys())
def test_a_command_that_looks_makes_no_home(
    arguments: tuple[str, ...], beside: Path
) -> None:
    before = listed(beside)
    done = lunguage(beside / ".lunguage", *arguments)
    assert done.returncode == 1, done.stdout
    (line,) = done.stderr.splitlines()
    assert "holds no corpus" in line
    assert listed(beside) == before


def test_doctor_and_estimate_make_no_home_either(beside: Path, five: Path) -> None:
    before = listed(beside)
    assert lunguage(beside / ".lunguage", "doctor").returncode == 0
    assert lunguage(beside / ".lunguage", "estimate", "--data", five).returncode == 0
    assert listed(beside) == before


def test_doctor_puts_each_language_model_on_trial_and_tells_its_verdict(
    tmp_path: Path,
) -> None:
    file = tmp_path / "judges.toml"
    environment = {"LUNGUAGE_JUDGES": str(file)}
    with LoopbackServer() as server:
        file.write_text(judges_file(server.openai_url, ["mine-1"], ""))
        assert lunguage(tmp_path, "doctor", **environment).returncode == 0
        assert not server.calls
        asking = lunguage(tmp_path, "doctor", "--ask", **environment)
        assert "judge 'mine-1': 60 calls" in asking.stderr
        assert "judge 'mine-1': 30 of 30 pairs right" in asking.stdout, asking.stderr
        assert len(server.calls) == 60
    with LoopbackServer(answer=lambda call: "sentence_1") as one_sided:
        file.write_text(judges_file(one_sided.openai_url, ["mine-1"], ""))
        refused = lunguage(tmp_path / "other", "doctor", "--ask", **environment)
        assert refused.returncode == 1
        assert "'<finding> is certain.' is surer than" in refused.stdout
    down = lunguage(tmp_path / "third", "doctor", "--ask", **environment)
    assert down.returncode == 1
    assert "its service keeps failing: connection (http" in down.stdout


def test_doctor_says_once_what_refuses_a_judge_and_does_not_ask_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "judges.toml"
    address, key = "https://models.invalid/v1", 'api_key_env = "MINE_KEY"'
    file.write_text(judges_file(address, ["mine-1"], key))
    environment = {"LUNGUAGE_JUDGES": str(file), "MINE_KEY": None}
    done = lunguage(tmp_path / "new", "doctor", "--ask", **environment)
    assert done.returncode == 1
    assert done.stdout.count("MINE_KEY is not set") == 1
    assert "1 of the checks above" in done.stderr
