"""Labels of a release beside labels that others made of the same studies: who said what, agreement, and p
against their positives.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.files import write_csv
from lunguage_assets.release.outcomes.files import ANSWERS, OtherLabels
from lunguage_assets.release.outcomes.measures import Floats, auroc, brier
from lunguage_assets.tables.labels import LABEL_SOURCES

_NEGATIVES = {"0": ("0",), "0 or blank": ("0", "blank")}


@dataclass(frozen=True)
class Comparison:
    """Three tables, and how many studies are behind them.

    `crossed`: label, source, one column per answer of the file. `agreement`: Cohen's kappa per label.
    `ranked`: p against the file's positives per label.
    """

    crossed: pd.DataFrame
    agreement: pd.DataFrame
    ranked: pd.DataFrame
    studies: int
    only_theirs: int
    only_ours: int


def compared(labels: pd.DataFrame, statements: pd.DataFrame, others: OtherLabels) -> Comparison:
    """The labels of a release beside another file; studies that only one of them has are counted, and not
    compared.

    Args:
        labels: LABELS.
        statements: what `labels_chexpert.csv` says: study_id, chexpert, answer (`ANSWERS`).
        others: the other file.
    """
    met = others.cells.merge(labels.drop(columns="chexpert"), on=["study_id", "label"], how="inner")
    met = met.merge(statements, on=["study_id", "chexpert"], how="inner")
    ours, theirs, both = (set(frame["study_id"]) for frame in (labels, others.cells, met))
    groups = [("all labels", met), *((str(name), rows) for name, rows in met.groupby("chexpert", sort=True))]
    return Comparison(
        pd.concat([_crossed(name, rows) for name, rows in groups])[["label", "source", *ANSWERS]],
        pd.DataFrame([_agreement(name, rows) for name, rows in groups]),
        pd.DataFrame([row for name, rows in groups for row in _ranked(name, rows)]),
        len(both),
        len(theirs - both),
        len(ours - both),
    )


def write_comparison(folder: Path, found: Comparison) -> list[Path]:
    """Write `crossed.csv`, `agreement.csv` and `p_against_positives.csv`."""
    tables = {"crossed": found.crossed, "agreement": found.agreement, "p_against_positives": found.ranked}
    for name, frame in tables.items():
        write_csv(frame, folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in tables]


def _crossed(label: str, rows: pd.DataFrame) -> pd.DataFrame:
    counts = pd.crosstab(rows["source"], rows["said"])
    counts = counts.reindex(index=[*map(str, LABEL_SOURCES)], columns=[*ANSWERS], fill_value=0)
    return counts.rename_axis(index="source", columns=None).reset_index().assign(label=label)


def _agreement(label: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Kappa over the four answers, and over "1 or not", each with its 95% interval."""
    answers = pd.crosstab(rows["answer"], rows["said"]).reindex(index=ANSWERS, columns=ANSWERS, fill_value=0)
    table = answers.to_numpy(dtype=np.float64)
    ones = np.array(
        [[table[0, 0], table[0, 1:].sum()], [table[1:, 0].sum(), table[1:, 1:].sum()]], dtype=np.float64
    )
    agreed = float(np.trace(table) / table.sum()) if table.sum() else math.nan
    found: dict[str, Any] = {"label": label, "cells": int(table.sum()), "agreement": agreed}
    for name, counts in (("kappa", table), ("kappa_of_1", ones)):
        kappa, low, high = cohens_kappa(counts)
        found |= {name: kappa, f"{name}_low": low, f"{name}_high": high}
    return found


def cohens_kappa(table: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float, float]:
    """Cohen's kappa of a square table of counts with its 95% interval; nan where nothing varies."""
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    if used.sum() < 2:
        return math.nan, math.nan, math.nan
    from statsmodels.stats.inter_rater import cohens_kappa as estimate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate(table[np.ix_(used, used)])
    return float(found.kappa), float(found.kappa_low), float(found.kappa_upp)


def _ranked(label: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """p of mentioned labels against the file's 1; what counts as its negative is in the column."""
    found = []
    for name, negatives in _NEGATIVES.items():
        cells = rows[rows["p"].notna() & rows["said"].isin(("1", *negatives))]
        p = cells["p"].to_numpy().astype(np.float64)
        outcome: Floats = (cells["said"] == "1").to_numpy().astype(np.float64)
        area = auroc(p, outcome)
        found.append(
            {
                "label": label,
                "negatives": name,
                "cells": len(cells),
                "positive": int(outcome.sum()),
                "auroc": math.nan if area is None else area,
                "brier": brier(p, outcome) if len(cells) else math.nan,
                "mean_p_of_positives": float(p[outcome == 1].mean()) if outcome.any() else math.nan,
                "mean_p_of_negatives": float(p[outcome == 0].mean()) if (outcome == 0).any() else math.nan,
            }
        )
    return found
