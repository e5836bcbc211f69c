"""`lunguage ledger import`: what others have paid for is read as when it was given."""

from __future__ import annotations

from pathlib import Path

from commands import lunguage

from lunguage_assets.judges.ledger import Attempt, Ledger
from lunguage_assets.judges.transfer import export_attempts

ANSWERS = {
    "extract": '["may represent"]',
    "compare": "sentence_2",
    "structure": '{"findings":[],"sentences":[]}',
}


def test_an_unreadable_answer_is_named_and_left_out_at_every_stage(
    tmp_path: Path,
) -> None:
    other_ledger = Ledger.open(tmp_path / "theirs.sqlite")
    for number, (stage, answer) in enumerate(ANSWERS.items()):
        for valid, text in enumerate((f"it says {answer}?", answer)):
            other_ledger.record(
                Attempt(f"{2 * number + valid:064x}", "one", stage, "fake-1", text)
            )
    export_attempts(other_ledger, tmp_path / "exported.sqlite")
    done = lunguage(tmp_path / "home", "ledger", "import", tmp_path / "exported.sqlite")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 attempts added, 0 were there already, 3 left out\n"
    lines = done.stderr.splitlines()
    assert [line.partition("sqlite, ")[2].partition(":")[0] for line in lines] == [
        "row 1",
        "row 3",
        "row 5",
    ]
    assert "it says" not in done.stderr
