"""The probability of every row computed a second time, plainly and row by row
(explicit.md section 6, implicit.md section 4).
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from lunguage_assets.implicit.merging.probabilities import ALTERNATIVE

NAMES = ("prob", "p_low", "p_high", "p_source")


def wrong_beliefs(rows: pd.DataFrame, fitted: pd.DataFrame) -> dict[str, Any]:
    """What the LUNGUAGE_PLUS_PLUS rows have, and should have, by finding id; empty
    where both agree.

    FITTED_PROBABILITIES is of the same studies. The edges have no strength in the
    pathway file.
    """
    by_id = {row["finding_id"]: row for row in rows.to_dict("records")}
    fits = {row["finding_id"]: row for row in fitted.to_dict("records")}
    wrong = {}
    for finding_id, row in by_id.items():
        has = tuple(row[name] for name in NAMES)
        if row["source"] == "expansion":
            should = _of_parent(row, by_id[row["parent_id"]])
        else:
            should = _stated(row, fits.get(finding_id))
        if (
            row["p_source"] == ALTERNATIVE
        ):  # tests/implicit/merging/test_probabilities.py
            has, should = (
                has[3:],
                (ALTERNATIVE,) if should[3] in ("fitted", "phrase", "none") else (),
            )
        if has != (*(pytest.approx(p, abs=1e-9) for p in should[:-1]), *should[-1:]):
            wrong[finding_id] = has, should
    return wrong


def _stated(row: dict[str, Any], fit: dict[str, Any] | None) -> tuple[Any, ...]:
    if row["status"] in ("dp", "dn"):
        certain = 1.0 if row["status"] == "dp" else 0.0
        return certain, certain, certain, "definitive"
    return (
        (0.5, 0.0, 1.0, "none")
        if fit is None
        else tuple(fit[n] for n in ("p", *NAMES[1:]))
    )


def _of_parent(row: dict[str, Any], parent: dict[str, Any]) -> tuple[Any, ...]:
    paper = row["mode"] == "paper"
    support = parent["support"]
    low = parent["p_low"] * (1.0 if paper else 0.8)
    if row["status"] in ("dp", "tp"):
        return support, low, 1.0, "pathway"
    if paper:
        return support, low, parent["p_high"], "pathway"
    return (1.0 - support) / 2.0, 0.0, 1.0 - low, "pathway"
