"""Writes labels in the shape of `mimic-cxr-2.0.0-chexpert.csv`.

A cell is what the report itself says (reports.md, "Which labels do I train on?"): 1, 0
(also where only a kind is denied: "no large effusion"), -1 where it hedges in either
direction, blank where it says nothing of the present. What only a pathway implies is
blank. "No Finding" follows the former file: it is concluded from the other labels.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.labels.claims import Claim
from lunguage_assets.labels.evidence import EvidenceByLabel
from lunguage_assets.tables.released import (
    CHEXPERT,
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    NO_FINDING,
)
from lunguage_assets.tables.schema import Table

_COLUMN = {name: column for column, name in enumerate(CHEXPERT)}
_NO_FINDINGS = (NO_FINDING, "Support Devices")
"""Labels that are no finding: a chest with a catheter may have none."""
_FINDING_COLUMNS = [
    column for name, column in _COLUMN.items() if name not in _NO_FINDINGS
]
_HEDGED = -1.0


def chexpert_labels(
    evidence: EvidenceByLabel, reports: pd.DataFrame, listed: LabelList
) -> pd.DataFrame:
    """Write CHEXPERT_LABELS of studies, sorted by study.

    Args:
        evidence: of the studies (`study_labels.label_evidence`).
        reports: REPORTS of the studies.
        listed: the labels.
    """
    studies = sorted(reports["study_id"].tolist())
    row_by_study = {study: row for row, study in enumerate(studies)}
    cells = np.full((len(studies), len(CHEXPERT)), np.nan)
    is_mentioned = np.zeros(len(studies), dtype=bool)
    is_excluded = np.zeros(len(studies), dtype=bool)
    for (study, label), of_label in evidence.items():
        row = row_by_study[study]
        name = listed.labels[label].chexpert
        # "No TB" by itself does not make a report normal: CheXpert has no such label.
        is_mentioned[row] |= bool(name and (of_label.present or of_label.denied))
        if name == NO_FINDING:
            # It is concluded below. Whoever doubts or denies it, or says both, only
            # keeps it from being concluded.
            claim, is_contradictory = of_label.decide()
            is_doubted = claim is not None and claim.status != "dp"
            is_excluded[row] |= is_contradictory or is_doubted
        elif name:
            claim = of_label.stated()
            if claim is not None:
                cells[row, _COLUMN[name]] = _cell(claim)
    # Of a report in which nothing was read nothing is concluded.
    finding_cells = cells[:, _FINDING_COLUMNS]
    has_finding = np.isin(finding_cells, (1.0, _HEDGED)).any(axis=1)
    is_normal = is_mentioned & ~is_excluded & ~has_finding
    cells[is_normal, _COLUMN[NO_FINDING]] = 1.0
    return _frame(CHEXPERT_LABELS, studies, reports, cells)


def _cell(claim: Claim) -> float:
    is_tentative = claim.status in ("tp", "tn")
    # "No large effusion" denies a kind alone, and CheXpert's files have 0 for it.
    if is_tentative and claim.p_source != QUALIFIER:
        return _HEDGED
    return float(claim.is_present)


def chexpert_probabilities(labels: pd.DataFrame) -> pd.DataFrame:
    """Write CHEXPERT_PROBABILITIES from LABELS of whole studies, in their order."""
    named = labels[labels["chexpert"] != ""]
    p_by_label = named.pivot(index="study_id", columns="chexpert", values="p")
    cells = p_by_label.reindex(columns=list(CHEXPERT)).to_numpy(dtype=np.float64)
    return _frame(CHEXPERT_PROBABILITIES, list(p_by_label.index), labels, cells)


def _frame(
    table: Table, studies: list[str], ids: pd.DataFrame, cells: NDArray[np.float64]
) -> pd.DataFrame:
    """Write a row per study: numbers of patient and study, a column per label.

    Identifiers lose their letter: MIMIC-CXR's files write them as numbers.

    Args:
        table: with a column per label.
        studies: in the order of the rows.
        ids: study_id and subject_id of the studies.
        cells: (studies, labels).
    """
    subject_by_study = dict(zip(ids["study_id"], ids["subject_id"], strict=True))
    subjects = [subject_by_study[study] for study in studies]
    return table.frame(
        {
            "subject_id": [int(subject[1:]) for subject in subjects],
            "study_id": [int(study[1:]) for study in studies],
            **dict(zip(CHEXPERT, cells.T, strict=True)),
        }
    )
