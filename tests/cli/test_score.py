"""`lunguage score`: a table of pairs is read as it stands, or refused by its row."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import lunguage

import lunguage_assets

REFERENCE = (
    "FINDINGS: There is a left pleural effusion. No pneumothorax. "
    "The heart is enlarged. Possible pneumonia."
)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("id,reference,generated\na,Mass.,Mass.,\n", "row 1: found an unreadable row"),
        ("reference,reference,generated\nMass.,No mass.,Mass.\n", "repeated columns"),
        ('reference,generated\nMass.,"Mass.\n', "row 1: found an unreadable row"),
        ("reference,generated\n", "pairs.csv: found 0 references"),
    ],
)
def test_a_table_whose_cells_have_moved_is_refused(
    tmp_path: Path, table: str, problem: str
) -> None:
    (tmp_path / "pairs.csv").write_text(table)
    out = tmp_path / "scores.csv"
    refused = lunguage(tmp_path, "score", tmp_path / "pairs.csv", "--out", out)
    assert refused.returncode == 1
    assert problem in refused.stderr
    assert "ass." not in refused.stderr
    assert not out.exists()


def test_the_command_scores_a_table(tmp_path: Path) -> None:
    rows = {
        "uid": [1, 2],
        "reference": [REFERENCE] * 2,
        "made": [REFERENCE, "FINDINGS: No pneumothorax."],
    }
    pd.DataFrame(rows).to_csv(tmp_path / "pairs.csv", index=False)
    refused = lunguage(tmp_path, "score", tmp_path / "pairs.csv")
    problem = "no column ['generated'] among columns ['uid', 'reference', 'made']"
    assert problem in refused.stderr
    out = tmp_path / "scores.csv"
    done = lunguage(
        tmp_path, "score", tmp_path / "pairs.csv", "--generated", "made", "--out", out
    )
    assert done.returncode == 0, done.stderr
    scores = pd.read_csv(out)
    assert scores["uid"].tolist() == [1, 2]
    expected = lunguage_assets.rewards(
        [REFERENCE] * 2, [REFERENCE, "FINDINGS: No pneumothorax."]
    )
    assert scores["findings"].tolist() == pytest.approx(expected)
    assert "invention" in done.stdout
    assert "pneumothorax" not in done.stdout + out.read_text()


def test_an_empty_cell_is_a_report_that_says_nothing(tmp_path: Path) -> None:
    pairs = {"reference": [REFERENCE, REFERENCE], "generated": [REFERENCE, None]}
    pd.DataFrame(pairs).to_csv(tmp_path / "pairs.csv", index=False)
    out = tmp_path / "scores.csv"
    done = lunguage(tmp_path, "score", tmp_path / "pairs.csv", "--out", out)
    assert pd.read_csv(out)["findings"].tolist() == [1.0, 0.0]
    assert "column 'generated', empty cells: 1, each" in done.stdout


def test_a_cell_without_report_is_named_by_file_row_and_column(tmp_path: Path) -> None:
    pairs = pd.DataFrame(
        {"reference": [REFERENCE, REFERENCE], "generated": [b"\x00\x01", b"ok"]}
    )
    pairs.to_parquet(tmp_path / "pairs.parquet")
    refused = lunguage(tmp_path, "score", tmp_path / "pairs.parquet")
    assert refused.returncode == 1
    problem = "row 1, column 'generated': found bytes that are no text"
    assert f"pairs.parquet, {problem}" in refused.stderr
