"""The comparison with people's codes, on an invented file of the collection's columns;
and hard sentences are read no worse than they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import openi
import pandas as pd
import pytest
from families import counted, read_families

REPORTS = [
    # uid, MeSH, Problems, findings
    ("1", "Cardiomegaly/mild;Pleural Effusion/left", "Cardiomegaly;Pleural Effusion", "The heart is big."),
    ("2", "normal", "normal", "Nothing to see."),
    ("3", "Pneumonia", "Pneumonia", "Pneumonia may be there."),
    ("4", "Cardiac Shadow/enlarged", "Cardiac Shadow", "Wide cardiac shadow."),
    ("5", "no indexing", "no indexing", "Left out."),
    ("6", "Fractures, Bone/ribs", "Fractures, Bone", "Ribs."),
]  # fmt: skip
READ = [
    # uid, label, source, status, p
    ("1", "cardiomegaly", "stated", "dp", 1.0),
    ("1", "pleural effusion", "denied", "dn", 0.0),
    ("2", "pneumonia", "stated", "tp", 0.3),
    ("3", "pneumonia", "stated", "tp", 0.7),
    ("4", "cardiomegaly", "stated", "dp", 1.0),
    ("6", "consolidation", "implied", "dp", 0.9),
]


def written(folder: Path, reports: Sequence[tuple[str, ...]]) -> Path:
    frame = pd.DataFrame(reports, columns=["uid", "MeSH", "Problems", "findings"])
    names = ("image", "indication", "comparison", "impression")
    empty_columns = dict.fromkeys(names, "")
    frame.assign(**empty_columns).to_csv(folder / "indiana_reports.csv", index=False)
    return folder / "indiana_reports.csv"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path, REPORTS)


def labels_of(collection: pd.DataFrame) -> pd.DataFrame:
    """Labels as `annotate` gives them: every report with every label."""
    values_by_label = {(uid, label): values for uid, label, *values in READ}
    rows = []
    for uid, diagnosis in product(collection["study_id"], openi.DIAGNOSES):
        nothing = ["unmentioned", None, None]
        values = values_by_label.get((uid, diagnosis.label), nothing)
        rows.append((uid, diagnosis.label, *values, "fitted", False))
    columns = ["study_id", "label", "source", "status", "p", "p_source", "past"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture
def compared(file: Path) -> openi.Compared:
    collection = openi.read_collection(file)
    return openi.compare(collection, labels_of(collection))


def test_reports_that_nobody_coded_are_left_out_and_sections_keep_their_headings(
    file: Path,
) -> None:
    collection = openi.read_collection(file)
    assert collection["study_id"].tolist() == ["1", "2", "3", "4", "6"]
    assert collection["report"].iloc[0] == "FINDINGS: The heart is big."


def test_scores_count_definite_and_probable_statements_and_nothing_implied(
    compared: openi.Compared,
) -> None:
    scores = compared.scores.set_index("diagnosis")
    counted = scores.loc["cardiomegaly", ["n", "read", "precision", "recall"]]
    assert counted.tolist() == [1, 2, 0.5, 1.0]
    rated = scores.loc["pneumonia", ["precision", "recall", "AUROC"]]
    assert rated.tolist() == [1.0, 1.0, 1.0]
    assert scores.loc["consolidation", "read"] == 0
    # Coded: five of four diagnoses; of three that were read two were coded.
    assert compared.f1(np.ones((1, 5)))[0, 1] == pytest.approx(2 * 2 / (3 + 4))
    low, high = compared.intervals(50)
    assert (low <= compared.f1(np.ones((1, 5)))[0]).all()
    assert (low <= high).all()


def test_errors_are_kinds_and_counts_without_a_word_of_a_report(
    compared: openi.Compared,
) -> None:
    assert compared.errors().values.tolist() == [
        ["cardiomegaly", "not coded", "stated without doubt, a near term coded", 1],
        ["fracture", "missed", "unmentioned, and no word for it", 1],
        ["pleural effusion", "missed", "denied without doubt", 1],
    ]


def test_every_policy_makes_its_own_decision_of_a_hedge(
    compared: openi.Compared,
) -> None:
    policies = compared.by_policy().set_index("policy")
    # Of five that were coded one was read without doubt, one besides; of two hedges one
    # was coded, that with p of 0.7.
    assert policies["micro F1"].to_dict() == pytest.approx(
        {
            "U-Zeros": 2 * 1 / (4 + 2),
            "U-Ones": 2 * 2 / (4 + 4),
            "U-Ignore": 2 * 1 / (3 + 2),
            "p of 0.5 or more": 2 * 2 / (4 + 3),
            "p": 2 * 2 / (4 + 3),
        }
    )
    hedged = policies["Brier of the hedged"].dropna().to_dict()
    brier_of_p = (0.3**2 + 0.3**2) / 2
    assert hedged == pytest.approx(
        {"U-Zeros": 0.5, "U-Ones": 0.5, "p of 0.5 or more": 0.0, "p": brier_of_p}
    )


def test_cells_are_counted_by_what_the_report_says(compared: openi.Compared) -> None:
    every = compared.by_certainty().set_index("diagnosis").loc["all"]
    assert every[["stated", "hedged", "denied"]].tolist() == [2, 2, 1]
    shares = [every[f"{name}, coded"] for name in ("stated", "hedged", "denied")]
    assert shares == [0.5, 0.5, 1.0]


def test_the_tables_of_the_page_are_printed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = tmp_path / "errors.csv"
    openi.main([str(file), "--errors", str(errors), "--resamples", "20"], labels_of)
    printed = capsys.readouterr().out
    assert "| cardiomegaly | 1 | 2 | 0.50 | 1.00 | 0.67 |" in printed
    assert "2 hedged statements by p; of all AUROC 1.000" in printed
    assert len(pd.read_csv(errors)) == 3


def test_implied_signs_are_ranked_by_bound_against_their_codes(tmp_path: Path) -> None:
    both = "Opacity/lung;Pneumonia"
    reports = [
        ("1", both, both, "There is pneumonia."),
        ("2", "Pneumonia", "Pneumonia", "Possible pneumonia."),
        ("3", "normal", "normal", "No pneumonia."),
    ]
    signs = openi.implied_signs(openi.read_collection(written(tmp_path, reports)))
    assert signs["name"].tolist() == ["opacity", "opacity"]
    assert signs["coded"].tolist() == [True, False]
    assert signs["prob"].iloc[0] == 1.0
    assert signs["prob"].iloc[1] < 1.0
    printed = openi.implied_report(signs, 5).splitlines()
    assert printed[0] == "2 implied signs, 1 of them coded"
    assert printed[1].startswith("bound: AUROC 1.000")


def test_hard_sentences_are_mostly_right_and_seldom_certainly_untrue() -> None:
    everything = counted(list(read_families())).loc["all"]
    assert everything["sentences"] > 1500
    assert everything["right"] >= 0.88 * everything["sentences"]
    assert everything["certainly untrue"] <= 8
