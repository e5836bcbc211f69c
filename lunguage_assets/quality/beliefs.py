"""Whether probabilities are what the method says they are: of the place on the ranking, of the status, of the
parent (explicit.md sections 5 and 6, implicit.md section 4). Written apart from the code that computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from lunguage_assets.errors import InvalidTable
from lunguage_assets.explicit.fit.probability import Anchor, calibrate
from lunguage_assets.implicit.expansion.belief import KEPT_ABOVE
from lunguage_assets.implicit.merging.beliefs import ALTERNATIVE
from lunguage_assets.implicit.rows import CLAIM_DECIMALS

TOLERANCE = 1e-9
PAPER = "paper"

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


def broken_places(fitted: pd.DataFrame, ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> list[Broken]:
    """Rules about `FITTED_PROBABILITIES` that do not hold, given the ranking it was made with.

    Raises:
        MethodError: ranking and anchors do not make a scale.
    """
    return _broken(fitted, place_rules(fitted, ranking, anchors), _REFIT)


def place_rules(fitted: pd.DataFrame, ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> list[Rule]:
    """Every rule of `broken_places`, with the rows that break it."""
    line = calibrate(ranking, anchors)
    p, low, high = (fitted[name].to_numpy(dtype=np.float64) for name in ("p", "p_low", "p_high"))
    mu = fitted["mu"].to_numpy(dtype=np.float64, na_value=np.nan)
    expected = expit(line.alpha * (mu - line.mu_half))
    nothing = _near(p, 0.5) & _near(low, 0.0) & _near(high, 1.0)
    return [
        (
            "p is what the place on the ranking and the anchors give",
            _is(fitted, "p_source", "fitted") & ~_near(p, expected),
        ),
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


def fit_rules(rows: pd.DataFrame, fitted: pd.DataFrame) -> list[Rule]:
    """Every rule about `LUNGUAGE_PLUS_PLUS` beside `FITTED_PROBABILITIES` of the same studies, with the rows
    that break it.
    """
    columns = ["prob", "p_low", "p_high", "p_source"]
    of_fit = fitted.set_index("finding_id").rename(columns={"p": "prob"})[columns].round(CLAIM_DECIMALS)
    expected = of_fit.reindex(rows["finding_id"])
    same = np.logical_and.reduce([rows[name].to_numpy() == expected[name].to_numpy() for name in columns])
    raised = _is(rows, "p_source", ALTERNATIVE) & (rows["prob"].to_numpy() > expected["prob"].to_numpy())
    tentative = _is(rows, "source", "original") & _is(rows, "status", "tp", "tn")
    return [
        (
            "a tentative finding has the probability and the interval of its fit, or more as an alternative",
            tentative & ~same & ~raised,
        )
    ]


def refuse_broken_beliefs(rows: pd.DataFrame, fitted: pd.DataFrame) -> None:
    """Raise `InvalidTable` when a probability of `LUNGUAGE_PLUS_PLUS` is not what the method says.

    `FITTED_PROBABILITIES` is of the same studies.
    """
    rules = [*belief_rules(rows), *fit_rules(rows, fitted)]
    _refuse("lunguage_plus_plus", _broken(rows, rules, _REEXPAND))


def refuse_broken_places(fitted: pd.DataFrame, ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> None:
    """Raise `InvalidTable` when a probability of `FITTED_PROBABILITIES` is not what its place and the anchors
    give.
    """
    _refuse("fitted_probabilities", broken_places(fitted, ranking, anchors))


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
    alternative = _is(rows, "p_source", ALTERNATIVE)
    number = 1.0 / np.where(alternative & (p > 0.0), p, 1.0)
    return [
        (
            "a definite finding is certain: 1 if present, 0 if absent",
            definite & ~(_near(p, certain) & _near(low, certain) & _near(high, certain)),
        ),
        ("a definite finding has p by its status", definite & ~_is(rows, "p_source", "definitive")),
        (
            "a tentative finding has p by its fit, its phrases or nothing",
            tentative & ~_is(rows, "p_source", "fitted", "phrase", ALTERNATIVE, "none"),
        ),
        (
            "one of several alternatives has p of one divided by their number",
            alternative & ~(_near(number, np.round(number)) & (number > 1.5)),
        ),
        ("a tentative finding is never certain: 0 < p < 1", tentative & ((p <= 0.0) | (p >= 1.0))),
        (
            "the support of a stated finding is p, or 1 - p of a denied one",
            stated & ~_near(support, np.where(positive, p, 1.0 - p)),
        ),
    ]


def _generated_rules(rows: pd.DataFrame) -> list[Rule]:
    p, low, high, support = _columns(rows)
    generated, positive = _is(rows, "source", "expansion"), _is(rows, "status", "dp", "tp")
    as_the_paper = _is(rows, "mode", PAPER)
    bounds = _near(p, (1.0 - support) / 2.0) & _near(low, 0.0) & (high >= 1.0 - support - TOLERANCE)
    p_of_parent, low_of_parent, of_parent = (_of_parent(rows, values) for values in (p, low, support))
    passed_on = support / of_parent  # below 1 where the pathway file gives the edge a strength
    edge = np.where(as_the_paper, 1.0, np.where(passed_on < 1.0 - TOLERANCE, passed_on, KEPT_ABOVE))
    return [
        (
            "a generated row has p by its pathway, and says that it is a bound",
            generated & ~(_is(rows, "p_source", "pathway") & rows["prob_is_bound"].to_numpy(dtype=bool)),
        ),
        (
            "a generated row is supported no better than its parent",
            generated & (support > of_parent + TOLERANCE),
        ),
        (
            "an implied finding is at least as probable as its parent is supported: p = support",
            generated & (positive | as_the_paper) & ~_near(p, support),
        ),
        (
            "an implied finding is not above its parent, not by a last digit either",
            generated & positive & (p > p_of_parent),
        ),
        (
            "no edge is certain: the interval of a generated row is wider than its parent's",
            generated
            & (positive | ~as_the_paper)
            & (np.where(positive, low, 1.0 - high) > low_of_parent * edge + TOLERANCE),
        ),
        (
            "a sign that is implied to be absent has p half way from 0 to 1 - support",
            generated & ~positive & ~as_the_paper & ~bounds,
        ),
    ]


def _of_parent(rows: pd.DataFrame, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value of each row's parent; not a number without one."""
    by_id = dict(zip(rows["finding_id"], values, strict=True))
    return np.array([by_id.get(parent, np.nan) for parent in rows["parent_id"]], dtype=np.float64)


def _columns(rows: pd.DataFrame) -> tuple[NDArray[np.float64], ...]:
    return tuple(rows[name].to_numpy(dtype=np.float64) for name in ("prob", "p_low", "p_high", "support"))


def _is(rows: pd.DataFrame, column: str, *values: str) -> NDArray[np.bool_]:
    return rows[column].isin(values).to_numpy(dtype=bool)


def _near(values: NDArray[np.float64], expected: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(values - expected) <= TOLERANCE)


def _broken(rows: pd.DataFrame, rules: Sequence[Rule], remedy: str) -> list[Broken]:
    found = ((rule, rows.loc[wrong, "finding_id"]) for rule, wrong in rules)
    return [Broken(rule, tuple(ids), remedy) for rule, ids in found if len(ids)]
