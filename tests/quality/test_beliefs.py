"""Probabilities fit their status, their support and their parent; every rule about it fails on the rows that
break it, and on no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lunguage_assets.errors import InvalidTable
from lunguage_assets.quality.beliefs import refuse_broken_beliefs, refuse_broken_places


def fitted(*rows: Mapping[str, Any]) -> pd.DataFrame:
    honest = {"mu": 23.0, "p": 0.45, "p_low": 0.3, "p_high": 0.6, "p_source": "fitted"}
    return pd.DataFrame([{"finding_id": f"s{number}", **honest, **row} for number, row in enumerate(rows)])


NOTHING = {"mu": np.nan, "p": 0.5, "p_low": 0.0, "p_high": 1.0, "p_source": "none"}


def test_honest_fits_break_no_rule() -> None:
    refuse_broken_places(fitted({}, NOTHING, {"mu": np.nan, "p": 0.4, "p_source": "phrase"}))


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({**NOTHING, "p": 0.6}, "without information"),
        ({**NOTHING, "p_high": 0.9}, "without information"),
        ({"mu": np.nan, "p": 1.0, "p_source": "phrase"}, "never certain"),
    ],
)
def test_a_fit_that_breaks_a_rule_is_named(row: Mapping[str, Any], rule: str) -> None:
    with pytest.raises(InvalidTable, match=rf"1 rules broken, .*{rule}.* \(s1\).* Launch `fit`"):
        refuse_broken_places(fitted({}, row, {}))


STATED = {"source": "original", "parent_id": None, "prob_is_bound": False, "mode": "method"}
DEFINITE = {
    **STATED,
    "status": "dp",
    "prob": 1.0,
    "p_low": 1.0,
    "p_high": 1.0,
    "support": 1.0,
    "p_source": "definitive",
}
DENIED = {
    **STATED,
    "status": "dn",
    "prob": 0.0,
    "p_low": 0.0,
    "p_high": 0.0,
    "support": 1.0,
    "p_source": "definitive",
}
TENTATIVE = {
    **STATED,
    "status": "tp",
    "prob": 0.4,
    "p_low": 0.3,
    "p_high": 0.5,
    "support": 0.4,
    "p_source": "fitted",
}
DOUBTED = {
    **STATED,
    "status": "tn",
    "prob": 0.4,
    "p_low": 0.3,
    "p_high": 0.5,
    "support": 0.6,
    "p_source": "phrase",
}
CHILD = {
    "source": "expansion",
    "parent_id": "r2",
    "prob_is_bound": True,
    "mode": "method",
    "p_source": "pathway",
    "support": 0.4,
}
IMPLIED = {**CHILD, "status": "tp", "prob": 0.4, "p_low": 0.24, "p_high": 1.0}
ABSENT = {**CHILD, "status": "tn", "prob": 0.3, "p_low": 0.0, "p_high": 0.76}
AS_THE_PAPER = {**CHILD, "status": "tn", "prob": 0.4, "p_low": 0.3, "p_high": 0.5, "mode": "paper"}
HONEST = [DEFINITE, DENIED, TENTATIVE, DOUBTED, IMPLIED, ABSENT, AS_THE_PAPER]


def rows(changed: int = -1, **change: Any) -> pd.DataFrame:
    return pd.DataFrame(
        [{"finding_id": f"r{n}", **row, **(change if n == changed else {})} for n, row in enumerate(HONEST)]
    )


def test_honest_beliefs_break_no_rule() -> None:
    refuse_broken_beliefs(rows())


@pytest.mark.parametrize(
    ("number", "change", "rule"),
    [
        (0, {"p_low": 0.9}, "a definite finding is certain"),
        (1, {"p_high": 0.1}, "a definite finding is certain"),
        (0, {"p_source": "fitted"}, "p by its status"),
        (2, {"p_source": "definitive"}, "by its fit, its phrases or nothing"),
        (2, {"p_source": "alternative", "prob": 1.0, "support": 1.0}, "never certain"),
        (3, {"prob": 0.0, "support": 1.0}, "never certain"),
        (3, {"support": 0.4}, "support of a stated finding"),
        (4, {"prob_is_bound": False}, "says that it is a bound"),
        (4, {"p_source": "fitted"}, "says that it is a bound"),
        (4, {"prob": 0.4 + 1e-8}, "not more probable than its parent"),
    ],
)
def test_a_belief_that_breaks_a_rule_is_named(number: int, change: Mapping[str, Any], rule: str) -> None:
    with pytest.raises(InvalidTable, match=rf"{rule}[^(;]*\(r{number}\).* Launch `expand`"):
        refuse_broken_beliefs(rows(number, **change))
