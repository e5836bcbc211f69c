"""The probability of every stated finding (explicit.md and implicit.md, section 6).

It is what the fit says, what a restricted denial leaves open, or what alternatives
share. The probability of what is implied is not here
(`expansion/implied_probability.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import pandas as pd

from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.implicit.rows import Row, rounded, values_of
from lunguage_assets.implicit.statements.contradictions import (
    QUALIFIER,
    belief_of,
    qualifier_of,
)

ALTERNATIVE = "alternative"
"""`p_source` of a finding whose p follows from the other alternatives."""


class _Fit(NamedTuple):
    """What FITTED_PROBABILITIES says of a finding."""

    finding_id: str
    p: float
    p_low: float
    p_high: float
    p_source: str
    phrases: Sequence[str]


_NO_FIT = _Fit("", 0.5, 0.0, 1.0, "none", ())


class _Alternative(NamedTuple):
    """A tentative row of a sentence with alternatives."""

    row: Row
    hedges: frozenset[str]
    """Its hedging phrases beside the "or"."""
    is_joined: bool
    """Whether it has the "or"."""


def assign_probabilities(rows: Sequence[Row], probabilities: pd.DataFrame) -> None:
    """Give rows, whose mode is decided, their probabilities.

    Definite findings have 1 or 0, tentative ones their fit; one without a fit has no
    information. A restricted denial ("no large effusion") becomes tentative, with the p
    of its qualifier, unless it is certain of its kind ("no tension pneumothorax").

    Args:
        rows: changed in place.
        probabilities: FITTED_PROBABILITIES.
    """
    columns = values_of(probabilities, *_Fit._fields)
    fit_by_id = {fit.finding_id: fit for fit in map(_Fit._make, columns)}
    alternatives: dict[tuple[str, str, int], list[_Alternative]] = {}
    for row in rows:
        is_definite = row.status.startswith("d")
        if is_definite:
            _assign_definite(row)
            continue
        fit = fit_by_id.get(row.finding_id, _NO_FIT)
        row.prob = rounded(fit.p)
        row.p_low = rounded(fit.p_low)
        row.p_high = rounded(fit.p_high)
        row.p_source = fit.p_source
        alternative = _alternative_of(row, fit)
        if alternative is not None and row.policy.shares_alternatives:
            sentence = row.study_id, row.section, row.sent_idx
            alternatives.setdefault(sentence, []).append(alternative)
    for members in alternatives.values():
        _normalise(members)
    for row in rows:
        row.support = rounded(row.prob if row.positive else 1.0 - row.prob)


def _assign_definite(row: Row) -> None:
    qualifier = qualifier_of(row)
    if qualifier is None or qualifier.certain:
        row.p_source = "definitive"
        row.prob = row.p_low = row.p_high = 1.0 if row.positive else 0.0
        return
    row.status = "tn"
    row.p_source = QUALIFIER
    row.prob, row.p_low, row.p_high = belief_of(qualifier.name)


def _alternative_of(row: Row, fit: _Fit) -> _Alternative | None:
    """Read a tentative row as one of several alternatives; None when it is none."""
    hedges = frozenset(fit.phrases) - _connectors()
    is_joined = not _connectors().isdisjoint(fit.phrases)
    # "A, B or C": of the first nothing is hedged by a phrase of its own.
    is_bare = row.positive and row.p_source == "none" and not len(fit.phrases)
    if not is_joined and not is_bare:
        return None
    return _Alternative(row, hedges, is_joined)


def _normalise(members: Sequence[_Alternative]) -> None:
    """Make the probabilities of the alternatives of a sentence coherent.

    Together they have at most 1, less what a dismissed tail keeps ("A, B or, less
    likely, C"). Alternatives that nothing hedges but the "or" have exactly that, in
    equal parts: one of them is there. Hedged ones keep their fits while these are
    coherent; else they share, in equal parts where their hedges are the same.

    The lower end stays below, because the report may have left an alternative out; of
    unhedged ones the upper end is at least what the others' lower ends leave.
    """
    present = [member for member in members if member.row.positive]
    # A bare row is an alternative only beside an "or".
    if not any(member.is_joined for member in present):
        return
    joined = [member for member in members if member.is_joined]
    dismissed = [member for member in joined if not member.row.positive]
    p_by_name = _highest_p_by_name(present)
    available = _available(p_by_name, _highest_p_by_name(dismissed))
    is_only_one = len(p_by_name) == 1 and not dismissed
    is_hedged = any(member.hedges for member in present)
    # "May represent a nodule or a scar": the hedge has been fitted, and says enough.
    if is_hedged and sum(p_by_name.values()) <= available:
        return
    # "A nodule on the right or on the left": one finding twice, and none beside it.
    if is_only_one and (is_hedged or len(present) > 1):
        return
    shares = _shares(present, p_by_name, available, is_only_one)
    _take_shares(present, shares, None if is_hedged else available)


def _available(
    p_by_name: Mapping[str, float], p_of_dismissed: Mapping[str, float]
) -> float:
    """Compute what alternatives have together, beside those that are dismissed."""
    of_present = sum(p_by_name.values())
    of_dismissed = sum(p_of_dismissed.values())
    if of_dismissed < 1.0:
        return 1.0 - of_dismissed
    # Fits of dismissed ones that leave nothing contradict each other: the others keep
    # their weight among all.
    return of_present / (of_present + of_dismissed)


def _take_shares(
    present: Sequence[_Alternative], shares: Sequence[float], available: float | None
) -> None:
    """Give alternatives their shares.

    Args:
        present: the alternatives.
        shares: of each.
        available: what unhedged ones have together; None of hedged ones.
    """
    # Taken before any of them changes, for the upper ends.
    low_by_name = {member.row.name: member.row.p_low for member in present}
    for member, share in zip(present, shares, strict=True):
        left_by_others = share
        if available is not None:
            lows_beside = sum(low_by_name.values()) - low_by_name[member.row.name]
            left_by_others = available - lows_beside
        _take_share(member.row, share, left_by_others)


def _take_share(row: Row, share: float, left_by_others: float) -> None:
    if share != row.prob:
        row.prob = share
        row.p_source = ALTERNATIVE
    row.p_low = min(row.p_low, share)
    row.p_high = rounded(max(row.p_high, share, left_by_others))


def _shares(
    present: Sequence[_Alternative],
    p_by_name: Mapping[str, float],
    available: float,
    is_only_one: bool,
) -> list[float]:
    """Share what alternatives have together among them, in their order."""
    # One alone has another beside it that is no known finding.
    number_of_findings = 2 if is_only_one else len(p_by_name)
    are_hedged_alike = len({member.hedges for member in present}) == 1
    if are_hedged_alike:
        return [rounded(available / number_of_findings)] * len(present)
    total = sum(p_by_name.values())
    return [
        rounded(available * p_by_name[member.row.name] / total) for member in present
    ]


def _highest_p_by_name(members: Sequence[_Alternative]) -> dict[str, float]:
    """Find the highest p of every finding: two rows of one are one alternative."""
    p_by_name: dict[str, float] = {}
    for member in members:
        row = member.row
        p_by_name[row.name] = max(row.prob, p_by_name.get(row.name, 0.0))
    return p_by_name


@cache
def _connectors() -> frozenset[str]:
    """List what joins alternatives: "or", "versus"."""
    hedges = bundled_lexicon().hedges
    return frozenset(hedge.phrase for hedge in hedges if hedge.side == "list")
