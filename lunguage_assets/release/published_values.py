"""What the paper prints about its corpus and judges, to stand beside other counts.

The values are data (`resources/published_tables.toml`). What is counted of a corpus is
in `paper_tables.py`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

import pandas as pd

from lunguage_assets.packaged_data import resource

_KEY_OF_AGREEMENT = ["measure", "coding", "first", "second"]
"""Columns that name a value of agreement; in the file it stands behind them."""


@cache
def published_values() -> dict[str, Any]:
    """Read the published values, by section of the file."""
    return tomllib.loads(resource("published_tables.toml").read_text("utf-8"))


def published_experts() -> pd.DataFrame:
    """Read the paper's Table 1.

    Returns:
        A row per expert: occupation, role, experience, and the share of pairs on which
        the expert agrees with the ranking (`panel`) and with each model.
    """
    rows = []
    for expert in published_values()["experts"]:
        row = {name: expert[name] for name in ("occupation", "role", "experience")}
        rows.append(row | expert["agrees_with"])
    return pd.DataFrame(rows)


def published_averages() -> dict[str, float]:
    """Read the averages that stand below the paper's Table 1, by reference."""
    averages = {}
    for measure, _, _, reference, share in published_values()["agreement"]["experts"]:
        if measure.startswith("with "):
            averages[reference] = share
    return averages


def is_the_published_corpus(rows: int, studies: int, patients: int) -> bool:
    """Whether a corpus has as many rows, studies and patients as the paper's.

    Args:
        rows: that were delivered.
        studies: with a report.
        patients: of these studies.
    """
    corpus = published_values()["corpus"]
    published_sizes = (corpus["rows"], corpus["studies"], corpus["patients"])
    return (rows, studies, patients) == published_sizes


def published_agreement(frame: pd.DataFrame, raters: str) -> pd.Series:
    """Look up the published agreement of every row; NaN where none is printed.

    Args:
        frame: a `JUDGE_AGREEMENT` or `EXPERT_AGREEMENT` frame.
        raters: `judges` or `experts`.
    """
    published = {}
    for entry in published_values()["agreement"][raters]:
        *key, value = entry
        published[tuple(key)] = value
    keys = frame[_KEY_OF_AGREEMENT].itertuples(index=False, name=None)
    return pd.Series(map(published.get, keys), index=frame.index, dtype="float64")
