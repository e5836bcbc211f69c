"""The probability of every stated finding (explicit.md and implicit.md, section 6).

It is what the fit says, what a restricted denial leaves open, or what alternatives
share. The probability of what is implied is not here (`expansion/sub_findings.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import pandas as pd

from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.implicit.rows import Row, rounded
from lunguage_assets.implicit.statements.contradictions import (
    QUALIFIER,
    belief_of,
    qualifying_word_of,
)
from lunguage_assets.tables.values import values_of

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
    """A tentative row of a sentence, with its hedging phrases beside the "or"."""

    row: Row
    hedges: frozenset[str]
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
    alternatives: dict[tuple[str, str, int], list[_Alternative]] = defaultdict(list)
    for row in rows:
        if row.status.startswith("d"):
            _assign_definite(row)
            continue
        fit = fit_by_id.get(row.finding_id, _NO_FIT)
        row.prob = rounded(fit.p)
        row.p_low = rounded(fit.p_low)
        row.p_high = rounded(fit.p_high)
        row.p_source = fit.p_source
        hedges = frozenset(fit.phrases) - _connectors()
        is_joined = len(hedges) < len(set(fit.phrases))
        # "A, B or C": of the first nothing is hedged by a phrase of its own.
        is_bare = row.p_source == "none" and not len(fit.phrases)
        if row.positive and (is_joined or is_bare) and row.policy.shares_alternatives:
            sentence = (row.study_id, row.section, row.sent_idx)
            alternatives[sentence].append(_Alternative(row, hedges, is_joined))
    for members in alternatives.values():
        _share(members)
    for row in rows:
        row.support = rounded(row.prob if row.positive else 1.0 - row.prob)


def _assign_definite(row: Row) -> None:
    restriction = qualifying_word_of(row)
    if restriction is None or restriction.qualifier.certain:
        row.p_source = "definitive"
        row.prob = row.p_low = row.p_high = float(row.positive)
        return
    row.status = "tn"
    row.p_source = QUALIFIER
    row.prob, row.p_low, row.p_high = belief_of(restriction.qualifier)


def _share(members: Sequence[_Alternative]) -> None:
    """Make the probabilities of the alternatives of a sentence coherent.

    Together they have at most 1. Alternatives that nothing hedges but the "or" have
    exactly that, in equal parts: one of them is there. Hedged ones keep their fits
    while these are coherent, and else have equal parts, too.

    The lower end stays below, because the report may have left an alternative out; of
    unhedged ones the upper end is at least what the others' lower ends leave.
    """
    is_hedged = any(member.hedges for member in members)
    if not _are_to_share(members, is_hedged):
        return
    low_by_name = {row.name: row.p_low for row, _, _ in members}
    # One alone has another beside it that is no known finding.
    share = rounded(1.0 / max(2, len(low_by_name)))
    for row, _, _ in members:
        if share != row.prob:
            row.prob = share
            row.p_source = ALTERNATIVE
        row.p_low = min(row.p_low, share)
        row.p_high = max(row.p_high, share)
        if not is_hedged:
            lows_beside = sum(low_by_name.values()) - low_by_name[row.name]
            row.p_high = rounded(max(row.p_high, 1.0 - lows_beside))


def _are_to_share(members: Sequence[_Alternative], is_hedged: bool) -> bool:
    """Whether the fits of alternatives are not coherent as they are."""
    # A bare row is an alternative only beside an "or".
    if not any(member.is_joined for member in members):
        return False
    # Two rows of one finding are one alternative.
    p_by_name: dict[str, float] = {}
    for row, _, _ in members:
        p_by_name[row.name] = max(row.prob, p_by_name.get(row.name, 0.0))
    # "A nodule on the right or on the left": one finding twice, and none beside it.
    if len(p_by_name) == 1:
        return len(members) == 1 and not is_hedged
    # "May represent a nodule or a scar": the hedge has been fitted, and says enough.
    return not is_hedged or sum(p_by_name.values()) > 1.0


@cache
def _connectors() -> frozenset[str]:
    """List what joins alternatives: "or", "versus"."""
    hedges = bundled_lexicon().hedges
    return frozenset(hedge.phrase for hedge in hedges if hedge.side == "list")
