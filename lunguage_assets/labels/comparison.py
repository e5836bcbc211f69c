"""Compares the labels of a release with those of another file.

Such files are CheXpert's, CheXbert's or the radiologists', read in `other_labels.py`;
outcomes, against which p is held, are compared in `calibration.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def compare_with_release(
    labels: pd.DataFrame, other_labels: pd.DataFrame
) -> LabelComparison:
    """Compare the studies and labels that both sides have.

    Args:
        labels: LABELS of a release with `answer` (`released_labels`).
        other_labels: those of another file (`read_label_file`).
    """
    # Joined by CheXpert's name, the only one that both sides have.
    cells = other_labels.drop(columns="label").merge(
        labels, on=["study_id", "chexpert"]
    )
    counts = []
    agreement = []
    groups = cells.groupby("chexpert", sort=True)
    for name, members in (("all labels", cells), *groups):
        # The file's answers by what the release says, zeros included.
        crossed = _crossed(members, "source", LABEL_SOURCES)
        crossed = crossed.rename_axis(index="source", columns=None).reset_index()
        crossed.insert(0, "label", name)
        counts.append(crossed)
        agreement.append({"label": name, **_agreement(members)})
    return LabelComparison(pd.concat(counts), pd.DataFrame(agreement))


def _crossed(cells: pd.DataFrame, column: str, values: Sequence[str]) -> pd.DataFrame:
    """Count the file's answers by the values of a column."""
    crossed = pd.crosstab(cells[column], cells["other_answer"])
    return crossed.reindex(index=[*values], columns=[*ANSWERS], fill_value=0)


def _agreement(cells: pd.DataFrame) -> dict[str, Any]:
    counts = _crossed(cells, "answer", ANSWERS).to_numpy(dtype=np.float64)
    kappa = cohens_kappa(counts)
    # The same answer stands on the diagonal.
    agreement = math.nan
    if counts.sum():
        agreement = float(np.trace(counts) / counts.sum())
    # -1 and blank say nothing against which a p could be held.
    is_certain = cells["other_answer"].isin(("0", "1"))
    certain = cells[cells["p"].notna() & is_certain]
    p = certain["p"].to_numpy(np.float64)
    outcome = np.asarray(certain["other_answer"] == "1", dtype=np.float64)
    brier = math.nan
    if len(certain):
        brier = float(np.mean((p - outcome) ** 2))
    return {
        "cells": int(counts.sum()),
        "agreement": agreement,
        "kappa": kappa.value,
        "kappa_low": kappa.low,
        "kappa_high": kappa.high,
        "with_p": len(certain),
        "positive": int(outcome.sum()),
        "auroc": auroc(p, outcome),
        "brier": brier,
    }
