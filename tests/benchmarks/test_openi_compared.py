"""The comparison with published labels, on an invented file of the collection's
columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openi_compared as compared
import pandas as pd
import pytest
from openi import DIAGNOSES

CODES = [
    "Cardiomegaly/mild",
    "Pulmonary Atelectasis",
    "normal",
    "Pneumonia;Pulmonary Edema",
    "normal",
]
READ = {
    ("1", "cardiomegaly"): ("stated", "dp", 1.0),
    ("2", "atelectasis"): ("stated", "tp", 0.8),
    ("3", "pneumonia"): ("stated", "tp", 0.4),
    ("4", "pneumonia"): ("stated", "tp", 0.6),
    ("5", "pneumothorax"): ("denied", "dn", 0.0),
}
NOTHING = ("unmentioned", None, None)


def reader(collection: pd.DataFrame) -> pd.DataFrame:
    rows = [
        (
            uid,
            diagnosis.label,
            *READ.get((uid, diagnosis.label), NOTHING),
            "fitted",
            False,
        )
        for uid in collection["study_id"]
        for diagnosis in DIAGNOSES
    ]
    return pd.DataFrame(
        rows, columns=["study_id", "label", "source", "status", "p", "p_source", "past"]
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {"uid": [*"12345"], "MeSH": CODES, "Problems": CODES, "findings": "Invented."}
    )
    names = ("image", "indication", "comparison", "impression")
    empty_columns = dict.fromkeys(names, "")
    frame.assign(**empty_columns).to_csv(tmp_path / "indiana_reports.csv", index=False)
    return tmp_path / "indiana_reports.csv"


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: object
) -> dict[str, list[str]]:
    """Cells of the printed tables by their first two."""
    compared.main([*map(str, arguments)], reader)
    lines = [
        line.strip("| ").split(" | ")
        for line in capsys.readouterr().out.splitlines()
        if " | " in line
    ]
    return {
        " ".join(cells[:2]) if cells[0] in ("this", "other") else cells[0]: cells
        for cells in lines
    }


def test_every_policy_decides_the_hedged_cells_and_only_those() -> None:
    answers = np.array([[1.0, -1.0, 0.0, -1.0]])
    p = np.array([[1.0, 0.7, 0.0, 0.2]])
    counts_by_policy = {
        policy: compared.decided(answers, policy, p)[0].tolist()
        for policy in compared.POLICIES
    }
    assert counts_by_policy.pop("U-Ignore")[::2] == [1, 0]
    assert counts_by_policy == {
        "U-Zeros": [1, 0, 0, 0],
        "U-Ones": [1, 1, 0, 1],
        "p of 0.5 or more": [1, 1, 0, 0],
        "p": [1, 0.7, 0, 0.2],
    }


def test_scores_stand_beside_the_published_ones_and_under_every_policy(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row_by_name = printed(capsys, file)
    assert [
        row_by_name[f"this {policy}"][3] for policy in ("U-Zeros", "p of 0.5 or more")
    ] == ["0.25", "0.75"]
    assert [row_by_name[f"this {policy}"][6] for policy in ("U-Zeros", "U-Ones")] == [
        "0.667",
        "0.333",
    ]
    assert float(row_by_name["this p"][6]) == pytest.approx(
        (0.2**2 + 0.4**2 + 0.4**2) / 3, abs=1e-3
    )
    assert row_by_name["all"][1:7] == ["1", "1.00", "3", "0.67", "1", "0.00"]


def test_reports_truth_and_another_labeler_come_from_files(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ids.txt").write_text("CXR1\nCXR2\nCXR9\n")
    gold = pd.DataFrame({"filename": ["CXR1", "CXR2"]}).assign(
        **dict.fromkeys(compared.GOLD.values(), 0)
    )
    gold.assign(Atelectasis=[1, 1]).to_csv(tmp_path / "gold.csv", index=False)
    names = [
        compared.CHEXPERT.get(label, name) for label, name in compared.GOLD.items()
    ]
    other_labels = pd.DataFrame({"uid": ["1", "2"]}).assign(**dict.fromkeys(names[:-1]))
    other_labels.assign(Atelectasis=[1, -1]).to_csv(
        tmp_path / "labels.csv", index=False
    )
    options = ("--reports", tmp_path / "ids.txt", "--gold", tmp_path / "gold.csv")
    row_by_name = printed(capsys, file, *options, "--labels", tmp_path / "labels.csv")
    assert [row_by_name[f"other {policy}"][4] for policy in ("U-Zeros", "U-Ones")] == [
        "0.67",
        "1.00",
    ]
    assert row_by_name["all"][3:5] == ["1", "1.00"]
    gold.head(1).to_csv(tmp_path / "gold.csv", index=False)
    with pytest.raises(SystemExit, match="1 of 2 reports are missing"):
        compared.main([str(file), *map(str, options)], reader)


def test_the_published_figures_are_means_of_what_they_print() -> None:
    """A slip of the pen would stand beside our own figures."""
    published = pd.read_csv(compared.PUBLISHED)
    f1 = (
        2
        * published["precision"]
        * published["recall"]
        / (published["precision"] + published["recall"])
    )
    assert (f1 - published["f1"]).abs().max() < 0.11
    assert set(published["label"]) == set(compared.GOLD)
