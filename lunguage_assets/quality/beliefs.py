"""Rules about single probabilities: of the status, of the support, of a row beside its parent (explicit.md
section 6, implicit.md section 4).

Each looks at stored numbers alone. That they are what the method computes is shown by the tests, which
compute them a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import InvalidTable
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.implicit.merging.beliefs import ALTERNATIVE
from lunguage_assets.implicit.statements.qualifiers import QUALIFIER

TOLERANCE = 1e-9

Rule = tuple[str, NDArray[np.bool_]]
"""A rule in words, and the rows that break it."""

_REFIT = (
    "Launch `fit` for this ranker and batch, then `expand`. If p still differs, report it: do not use these "
    "probabilities."
)
_REEXPAND = (
    "Launch `expand` for this ranker and batch. If the rows are still wrong, report it: do not use the "
    "result."
)


@dataclass(frozen=True)
class Broken:
    """A rule that does not hold, by which rows, and what to do."""

    rule: str
    finding_ids: tuple[str, ...]
    remedy: str


def broken_places(fitted: pd.DataFrame) -> list[Broken]:
    """Rules about `FITTED_PROBABILITIES` that do not hold."""
    return _broken(fitted, place_rules(fitted), _REFIT)


def place_rules(fitted: pd.DataFrame) -> list[Rule]:
    """Every rule of `broken_places`, with the rows that break it."""
    p, low, high = (fitted[name].to_numpy(dtype=np.float64) for name in ("p", "p_low", "p_high"))
    nothing = _near(p, 0.5) & _near(low, 0.0) & _near(high, 1.0)
    return [
        (
            "a pair without information has p 0.5, from 0 to 1",
            _is(fitted, "p_source", "none") & ~nothing,
        ),
        ("a tentative finding is never certain: 0 < p < 1", (p <= 0.0) | (p >= 1.0)),
    ]


def outside_anchors(fitted: pd.DataFrame, anchors: Sequence[Anchor]) -> pd.Series:
    """Which fitted pairs lie outside the anchors' probabilities: there the scale is a line drawn on, not
    measured.
    """
    low, high = min(a.probability for a in anchors), max(a.probability for a in anchors)
    return (fitted["p_source"] == "fitted") & ((fitted["p"] < low) | (fitted["p"] > high))


def broken_beliefs(rows: pd.DataFrame) -> list[Broken]:
    """Rules about the probabilities of `LUNGUAGE_PLUS_PLUS` that do not hold."""
    return _broken(rows, belief_rules(rows), _REEXPAND)


def belief_rules(rows: pd.DataFrame) -> list[Rule]:
    """Every rule of `broken_beliefs`, with the rows that break it."""
    return [*_stated_rules(rows), *_generated_rules(rows)]


def refuse_broken_beliefs(rows: pd.DataFrame) -> None:
    """Raise `InvalidTable` when a probability of `LUNGUAGE_PLUS_PLUS` breaks a rule."""
    _refuse("lunguage_plus_plus", broken_beliefs(rows))


def refuse_broken_places(fitted: pd.DataFrame) -> None:
    """Raise `InvalidTable` when a probability of `FITTED_PROBABILITIES` breaks a rule."""
    _refuse("fitted_probabilities", broken_places(fitted))


def _refuse(table: str, broken: Sequence[Broken]) -> None:
    if broken:
        named = "; ".join(f"{one.rule} ({', '.join(one.finding_ids[:5])})" for one in broken[:5])
        raise InvalidTable(
            f"{table}: {len(broken)} rules broken, nothing stored: {named}. {broken[0].remedy}"
        )


def _stated_rules(rows: pd.DataFrame) -> list[Rule]:
    p, low, high, support = _columns(rows)
    stated, positive = _is(rows, "source", "original"), _is(rows, "status", "dp", "tp")
    definite = stated & _is(rows, "status", "dp", "dn")
    tentative = stated & ~definite
    certain = np.where(positive, 1.0, 0.0)
    return [
        (
            "a definite finding is certain: 1 if present, 0 if absent",
            definite & ~(_near(p, certain) & _near(low, certain) & _near(high, certain)),
        ),
        ("a definite finding has p by its status", definite & ~_is(rows, "p_source", "definitive")),
        (
            "a tentative finding has p by its fit, its phrases or nothing",
            tentative & ~_is(rows, "p_source", "fitted", "phrase", ALTERNATIVE, QUALIFIER, "none"),
        ),
        ("a tentative finding is never certain: 0 < p < 1", tentative & ((p <= 0.0) | (p >= 1.0))),
        (
            "the support of a stated finding is p, or 1 - p of a denied one",
            stated & ~_near(support, np.where(positive, p, 1.0 - p)),
        ),
    ]


def _generated_rules(rows: pd.DataFrame) -> list[Rule]:
    p = rows["prob"].to_numpy(dtype=np.float64)
    generated, positive = _is(rows, "source", "expansion"), _is(rows, "status", "dp", "tp")
    by_id = dict(zip(rows["finding_id"], p, strict=True))
    of_parent = np.array([by_id.get(parent, np.nan) for parent in rows["parent_id"]], dtype=np.float64)
    return [
        (
            "a generated row has p by its pathway, and says that it is a bound",
            generated & ~(_is(rows, "p_source", "pathway") & rows["prob_is_bound"].to_numpy(dtype=bool)),
        ),
        (
            "an implied finding is not more probable than its parent",
            generated & positive & (p > of_parent + TOLERANCE),
        ),
    ]


def _columns(rows: pd.DataFrame) -> tuple[NDArray[np.float64], ...]:
    return tuple(rows[name].to_numpy(dtype=np.float64) for name in ("prob", "p_low", "p_high", "support"))


def _is(rows: pd.DataFrame, column: str, *values: str) -> NDArray[np.bool_]:
    return rows[column].isin(values).to_numpy(dtype=bool)


def _near(values: NDArray[np.float64], expected: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(values - expected) <= TOLERANCE)


def _broken(rows: pd.DataFrame, rules: Sequence[Rule], remedy: str) -> list[Broken]:
    found = ((rule, rows.loc[wrong, "finding_id"]) for rule, wrong in rules)
    return [Broken(rule, tuple(ids), remedy) for rule, ids in found if len(ids)]
