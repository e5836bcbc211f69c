"""Labels in the shape of `mimic-cxr-2.0.0-chexpert.csv`, for training code written for that file (reports.md,
"Labels that drop in").

A cell is what the report itself says: 1, 0 (also where only a kind is denied: "no large effusion"), -1 where
it hedges in either direction, blank where it says nothing of the present. What only a pathway implies is
blank. "No Finding" follows the former file: it is concluded from the other labels, not read.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.statements.against import QUALIFIER
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.release.labels.claims import Claim
from lunguage_assets.release.labels.labels import SaidOfLabels
from lunguage_assets.tables.released import CHEXPERT, CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, NO_FINDING
from lunguage_assets.tables.schema import Table

_DEVICES = "Support Devices"
_PLACE = {name: place for place, name in enumerate(CHEXPERT)}
_FINDINGS = [place for name, place in _PLACE.items() if name not in (NO_FINDING, _DEVICES)]


def chexpert_labels(said: SaidOfLabels, reports: pd.DataFrame, listed: LabelList) -> pd.DataFrame:
    """Turn claims (`what_is_said`) and the REPORTS of the studies into CHEXPERT_LABELS, sorted by study."""
    studies = sorted(reports["study_id"].tolist())
    row = {study: number for number, study in enumerate(studies)}
    cells = np.full((len(studies), len(CHEXPERT)), np.nan)
    mentioned, excluded = np.zeros((2, len(studies)), dtype=bool)
    for (study, number), about in said.items():
        name = listed.labels[number].chexpert
        if name == NO_FINDING:
            decided, both = about.verdict()
            excluded[row[study]] |= both or (decided is not None and decided.status != "dp")
        elif name and (claim := about.stated()) is not None:
            cells[row[study], _PLACE[name]] = _cell(claim)
        mentioned[row[study]] |= bool(about.present or about.denied)
    finding = np.isin(cells[:, _FINDINGS], (1.0, -1.0)).any(axis=1)
    cells[mentioned & ~excluded & ~finding, _PLACE[NO_FINDING]] = 1.0
    return _frame(CHEXPERT_LABELS, studies, reports, cells)


def _cell(claim: Claim) -> float:
    hedged = claim.status[0] == "t" and claim.p_source != QUALIFIER
    return -1.0 if hedged else float(claim.present)


def chexpert_probabilities(labels: pd.DataFrame) -> pd.DataFrame:
    """LABELS of whole studies to CHEXPERT_PROBABILITIES, in the order of the studies."""
    studies = labels["study_id"].unique().tolist()
    wide = labels["p"].to_numpy().reshape(len(studies), -1) if studies else np.empty((0, len(CHEXPERT)))
    names = labels["chexpert"].iloc[: wide.shape[1]].tolist()
    cells = wide[:, [names.index(name) for name in CHEXPERT]] if studies else wide
    return _frame(CHEXPERT_PROBABILITIES, studies, labels, cells)


def _frame(table: Table, studies: list[str], of: pd.DataFrame, cells: NDArray[np.float64]) -> pd.DataFrame:
    """Identifiers lose their letter: MIMIC-CXR's files write them as numbers."""
    subject = dict(zip(of["study_id"].tolist(), of["subject_id"].tolist(), strict=True))
    return table.frame(
        {
            "subject_id": [int(subject[study][1:]) for study in studies],
            "study_id": [int(study[1:]) for study in studies],
            **dict(zip(CHEXPERT, cells.T, strict=True)),
        }
    )
