"""`lunguage ledger import`: what others have paid for is not paid again."""

from __future__ import annotations

from pathlib import Path

from commands import lunguage

from lunguage_assets.judges.ledger import Attempt, Ledger


def test_answers_go_from_one_home_to_another_and_an_unfit_row_is_left_out(
    tmp_path: Path,
) -> None:
    theirs = Ledger.open(tmp_path / "theirs.sqlite")
    for key in ("ab" * 32, "cd" * 32):
        theirs.record(Attempt(key, "one", "compare", "fake-1", "sentence_2"))
    file = tmp_path / "answers.csv"
    theirs.export_replies(file)
    file.write_text(file.read_text().replace("ab" * 32, "edited", 1))
    done = lunguage(tmp_path / "home", "ledger", "import", file)
    assert done.stdout == "1 answers added\n", done.stderr
    assert done.stderr.endswith("1 rows do not fit and are left out, such as 1\n")
