"""Labels of a release beside labels that others made of the same studies: who said what, and agreement."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.release.outcomes.files import ANSWERS
from lunguage_assets.release.outcomes.measures import Floats, auroc, brier
from lunguage_assets.tables.released import LABEL_SOURCES


def compared(labels: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The labels of a release beside another file, for the studies and labels that both have.

    Args:
        labels: LABELS with the column `answer` (`released_labels`).
        theirs: the other file (`read_label_file`).

    Returns:
        Counts with the columns label, source and one per answer of the file; and per label: cells, agreement
        of `labels_chexpert.csv` with the file and Cohen's kappa with its 95% interval, AUROC and Brier score
        of p against its 1 and 0.
    """
    met = theirs.drop(columns="label").merge(labels, on=["study_id", "chexpert"])
    groups = [("all labels", met), *((str(name), rows) for name, rows in met.groupby("chexpert", sort=True))]
    crossed = []
    for name, rows in groups:
        counts = pd.crosstab(rows["source"], rows["said"])
        counts = counts.reindex(index=[*map(str, LABEL_SOURCES)], columns=[*ANSWERS], fill_value=0)
        counts = counts.rename_axis(index="source", columns=None).reset_index()
        crossed.append(counts.assign(label=name)[["label", "source", *ANSWERS]])
    return pd.concat(crossed), pd.DataFrame([_agreement(name, rows) for name, rows in groups])


def _agreement(label: str, rows: pd.DataFrame) -> dict[str, Any]:
    table = pd.crosstab(rows["answer"], rows["said"]).reindex(index=ANSWERS, columns=ANSWERS, fill_value=0)
    counts = table.to_numpy(dtype=np.float64)
    sure = rows[rows["p"].notna() & rows["said"].isin(("0", "1"))]
    p: Floats = sure["p"].to_numpy(np.float64)
    outcome: Floats = (sure["said"] == "1").to_numpy().astype(np.float64)
    kappa, low, high = cohens_kappa(counts)
    area = auroc(p, outcome)
    return {
        "label": label,
        "cells": int(counts.sum()),
        "agreement": float(np.trace(counts) / counts.sum()) if counts.sum() else math.nan,
        "kappa": kappa,
        "kappa_low": low,
        "kappa_high": high,
        "with_p": len(sure),
        "positive": int(outcome.sum()),
        "auroc": math.nan if area is None else area,
        "brier": brier(p, outcome) if len(sure) else math.nan,
    }


def cohens_kappa(table: Floats) -> tuple[float, float, float]:
    """Cohen's kappa of a square table of counts with its 95% interval; nan where nothing varies."""
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    if used.sum() < 2:
        return math.nan, math.nan, math.nan
    from statsmodels.stats.inter_rater import cohens_kappa as estimate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate(table[np.ix_(used, used)])
    return float(found.kappa), float(found.kappa_low), float(found.kappa_upp)
