"""`lunguage ledger import`: what others have paid for is read as when it was given."""

from __future__ import annotations

from pathlib import Path

from commands import lunguage

from lunguage_assets.judges.ledger import Attempt, Ledger

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
    file = tmp_path / "exported.csv"
    other_ledger.export_replies(file)
    done = lunguage(tmp_path / "home", "ledger", "import", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 answers added\n"
    assert done.stderr.endswith("3 rows do not fit and are left out, such as 1, 3, 5\n")
    assert "it says" not in done.stderr
