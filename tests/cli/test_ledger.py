"""`lunguage ledger import`: what others have paid for is read as when it was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import lunguage

from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger

ANSWERS = {
    "extract": '["may represent"]',
    "compare": "sentence_2",
    "structure": '{"findings":[],"sentences":[]}',
}


@pytest.mark.parametrize("wrong", [None, *ANSWERS])
def test_an_answer_that_cannot_be_read_is_named_at_every_stage_and_nothing_imported(
    tmp_path: Path, wrong: str | None
) -> None:
    theirs = Ledger.open(tmp_path / "theirs.sqlite")
    for number, (stage, answer) in enumerate(ANSWERS.items()):
        text = f"it says {answer}?" if stage == wrong else answer
        theirs.record(Attempt(f"{number:064x}", "one", stage, "fake-1", text))
    theirs.export(tmp_path / "exported.sqlite")
    done = lunguage(tmp_path / "home", "ledger", "import", tmp_path / "exported.sqlite")
    if wrong is None:
        assert (done.returncode, done.stdout) == (0, "3 attempts added, 0 were there already\n")
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert f"row {1 + list(ANSWERS).index(wrong)}:" in done.stderr
        assert "it says" not in done.stderr
