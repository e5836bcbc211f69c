"""Labels in the shape of MIMIC-CXR's CheXpert file: what its readers find in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from invented_reports import StatedFinding, frames, run, stated
from invented_reports import labels as listed

from lunguage_assets.labels.chexpert_files import (
    chexpert_labels,
    chexpert_probabilities,
)
from lunguage_assets.labels.study_labels import label_evidence, label_frame
from lunguage_assets.tables.released import (
    CHEXPERT,
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
)

HEADER = (
    "subject_id,study_id,Atelectasis,Cardiomegaly,Consolidation,Edema,"
    "Enlarged Cardiomediastinum,Fracture,Lung Lesion,Lung Opacity,No Finding,"
    "Pleural Effusion,Pleural Other,Pneumonia,Pneumothorax,Support Devices"
)


def both(rows: Sequence[StatedFinding]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The two frames of some rows, the schemas asserted."""
    outcome = run(rows)
    delivered = frames(list(rows))[2]
    read = (outcome.rows, outcome.expansion.matches)
    log = outcome.resolution.log
    evidence = label_evidence(*read, listed(), log)
    labels = chexpert_labels(evidence, delivered, listed())
    p = chexpert_probabilities(label_frame(evidence, delivered, listed()))
    CHEXPERT_LABELS.to_arrow(labels)
    CHEXPERT_PROBABILITIES.to_arrow(p)
    return labels, p


def cells(*rows: StatedFinding) -> dict[str, float]:
    """The cells of one study that are not blank."""
    labels, _ = both(rows)
    return dict(labels[list(CHEXPERT)].iloc[0].dropna())


UNREAD = stated("pneumonia", "tp", p=0.5, cues="unanswered.words 0-2")


def test_an_implied_label_is_blank_and_its_p_in_another_file() -> None:
    labels, p = both([stated("CHF", "dp")])
    assert labels[list(CHEXPERT)].iloc[0].isna().all()
    assert p["Cardiomegaly"].iloc[0] > 0.5


KIND = stated("effusion", "dn", sent="No large effusion.", measurement="large")
NORMAL = stated("acute cardiopulmonary process", "dn")
ABNORMAL = stated("acute cardiopulmonary process", "dp")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Doubt in either direction is -1, whatever p is.
        ([stated("pneumonia", "dp")], {"Pneumonia": 1.0}),
        ([stated("pneumonia", "tp", p=0.95)], {"Pneumonia": -1.0}),
        ([stated("pneumonia", "tn", p=0.02)], {"Pneumonia": -1.0}),
        ([UNREAD], {"Pneumonia": -1.0}),
        # A hedged sign keeps its doubt when it is implied too.
        ([stated("CHF", "dp"), stated("cardiomegaly", "tp", p=0.4)], {"Cardiomegaly": -1.0}),
        # No finding follows from the other columns.
        ([stated("pneumothorax", "dn")], {"Pneumothorax": 0.0, "No Finding": 1.0}),
        ([stated("picc")], {"Support Devices": 1.0, "No Finding": 1.0}),
        ([stated("pneumothorax", "tn", p=0.1)], {"Pneumothorax": -1.0}),
        ([stated("pneumothorax", "dn"), stated("edema")], {"Pneumothorax": 0.0, "Edema": 1.0}),
        # The denial of a kind alone is 0, and no hedge.
        ([KIND], {"Pleural Effusion": 0.0, "No Finding": 1.0}),
        # Who doubts that there is nothing, or says both, keeps it from being concluded.
        ([stated("acute cardiopulmonary process", "tn", p=0.2)], {}),
        ([NORMAL, ABNORMAL, stated("pneumothorax", "dn")], {"Pneumothorax": 0.0}),
    ],
)  # fmt: skip
def test_what_rows_say_in_cells(
    rows: list[StatedFinding], expected: dict[str, float]
) -> None:
    assert cells(*rows) == expected


def test_code_written_for_mimics_file_reads_this_one(tmp_path: Path) -> None:
    rows = [
        stated("pneumonia", "tp", p=0.7),
        stated("pneumothorax", "dn"),
        stated("edema", study="s00000002"),
    ]
    labels, _ = both(rows)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    assert (tmp_path / "labels.csv").read_text().splitlines()[0] == HEADER
    read = pd.read_csv(tmp_path / "labels.csv").set_index(["subject_id", "study_id"])
    assert read.index.dtypes.tolist() == [np.int64, np.int64]
    targets = read.replace(-1, 1).fillna(0).astype(int)  # the usual loader
    assert targets["Pneumonia"].tolist() == [1, 0]
    assert targets["Edema"].tolist() == [0, 1]
