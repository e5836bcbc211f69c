"""Compares the labels of a release with those of another file.

Such files are CheXpert's, CheXbert's or the radiologists', read in `other_labels.py`;
outcomes, against which p is held, are compared in `calibration.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.labels.measures import auroc, cohens_kappa
from lunguage_assets.labels.other_labels import ANSWERS
from lunguage_assets.tables.released import LABEL_SOURCES


class LabelComparison(NamedTuple):
    """Labels of a release beside those of another file.

    Attributes:
        counts: by label and source, a column for each answer of the file.
        agreement: by label: cells, agreement of `labels_chexpert.csv` with the file,
            Cohen's kappa with its 95% interval, AUROC and Brier score of p against the
            file's 1 and 0.
    """

    counts: pd.DataFrame
    agreement: pd.DataFrame


def compare_with_release(labels: pd.DataFrame, others: pd.DataFrame) -> LabelComparison:
    """Compare the studies and labels that both sides have.

    Args:
        labels: LABELS of a release with `answer` (`released_labels`).
        others: labels of another file (`read_label_file`).
    """
    cells = others.drop(columns="label").merge(labels, on=["study_id", "chexpert"])
    counts = []
    agreement = []
    for name, members in (
        ("all labels", cells),
        *cells.groupby("chexpert", sort=True),
    ):
        counts.append(_answers_by_source(members, str(name)))
        agreement.append({"label": name, **_agreement(members)})
    return LabelComparison(pd.concat(counts), pd.DataFrame(agreement))


def _answers_by_source(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Count the file's answers by what the release says, zeros included."""
    counts = pd.crosstab(cells["source"], cells["other_answer"])
    counts = counts.reindex(index=[*LABEL_SOURCES], columns=[*ANSWERS], fill_value=0)
    counts = counts.rename_axis(index="source", columns=None).reset_index()
    counts.insert(0, "label", name)
    return counts


def _agreement(cells: pd.DataFrame) -> dict[str, Any]:
    crossed = pd.crosstab(cells["answer"], cells["other_answer"]).reindex(
        index=ANSWERS, columns=ANSWERS, fill_value=0
    )
    counts = crossed.to_numpy(dtype=np.float64)
    kappa = cohens_kappa(counts)
    agreement = math.nan
    if counts.sum():
        agreement = float(np.trace(counts) / counts.sum())
    # -1 and blank say nothing against which a p could be held.
    certain = cells[cells["p"].notna() & cells["other_answer"].isin(("0", "1"))]
    p = certain["p"].to_numpy(np.float64)
    outcome = np.asarray(certain["other_answer"] == "1", dtype=np.float64)
    return {
        "cells": int(counts.sum()),
        "agreement": agreement,
        "kappa": kappa.value,
        "kappa_low": kappa.low,
        "kappa_high": kappa.high,
        "with_p": len(certain),
        "positive": int(outcome.sum()),
        "auroc": auroc(p, outcome),
        "brier": float(np.mean((p - outcome) ** 2)) if len(certain) else math.nan,
    }
