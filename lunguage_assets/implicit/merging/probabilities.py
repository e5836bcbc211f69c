"""The probability of every stated finding (explicit.md and implicit.md, section 6).

It is what the fit says, what a restricted denial leaves open, or what alternatives
share. The probability of what is implied is not here (`expansion/sub_findings.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from operator import attrgetter

import pandas as pd

from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.implicit.rows import Row, grouped_by, rounded
from lunguage_assets.implicit.statements.contradictions import (
    QUALIFIER,
    belief_of,
    qualifying_word_of,
)
from lunguage_assets.tables.values import values_of

ALTERNATIVE = "alternative"
"""`p_source` of a finding whose p follows from the other alternatives."""

_SENTENCE_OF = attrgetter("study_id", "section", "sent_idx")
_FIT_COLUMNS = ("finding_id", "p", "p_low", "p_high", "p_source", "phrases")


def assign_probabilities(rows: Sequence[Row], probabilities: pd.DataFrame) -> None:
    """Give rows, whose mode is decided, their probabilities.

    Definite findings have 1 or 0, tentative ones their fit; one without a fit has no
    information. A restricted denial ("no large effusion") becomes tentative, with the p
    of its qualifier, unless it is certain of its kind ("no tension pneumothorax").

    Args:
        rows: changed in place.
        probabilities: FITTED_PROBABILITIES of them.
    """
    row_by_id = {row.finding_id: row for row in rows}
    phrases_by_row: dict[Row, Sequence[str]] = defaultdict(tuple)
    fits = values_of(probabilities, *_FIT_COLUMNS)
    for finding_id, p, p_low, p_high, p_source, phrases in fits:
        row = row_by_id[finding_id]
        row.prob = rounded(p)
        row.p_low = rounded(p_low)
        row.p_high = rounded(p_high)
        row.p_source = p_source
        phrases_by_row[row] = phrases
    for row in rows:
        if row.status.startswith("d"):
            _assign_definite(row)
    alternatives = [row for row in rows if _is_alternative(row, phrases_by_row[row])]
    for members in grouped_by(_SENTENCE_OF, alternatives).values():
        phrases = set[str]().union(*(phrases_by_row[row] for row in members))
        # A bare row is an alternative only beside an "or".
        if not _connectors().isdisjoint(phrases):
            _share(members, is_hedged=not _connectors().issuperset(phrases))
    for row in rows:
        row.support = rounded(row.prob if row.positive else 1.0 - row.prob)


def _is_alternative(row: Row, phrases: Collection[str]) -> bool:
    """Whether a tentative row has an "or", or stands bare beside one, perhaps."""
    # "A, B or C": of the first nothing is hedged by a phrase of its own.
    is_bare = row.p_source == "none" and not phrases
    is_joined = is_bare or not _connectors().isdisjoint(phrases)
    return is_joined and row.status == "tp" and row.policy.shares_alternatives


def _assign_definite(row: Row) -> None:
    restriction = qualifying_word_of(row)
    if restriction is None or restriction.qualifier.certain:
        row.p_source = "definitive"
        row.prob = row.p_low = row.p_high = float(row.positive)
        return
    row.status = "tn"
    row.p_source = QUALIFIER
    row.prob, row.p_low, row.p_high = belief_of(restriction.qualifier)


def _share(members: Sequence[Row], is_hedged: bool) -> None:
    """Make the probabilities of the alternatives of a sentence coherent.

    Together they have at most 1. Alternatives that nothing hedges but the "or" have
    exactly that, in equal parts: one of them is there. Hedged ones keep their fits
    while these are coherent, and else have equal parts, too.

    The lower end stays below, because the report may have left an alternative out; of
    unhedged ones the upper end is at least what the others' lower ends leave.
    """
    # Two rows of one finding are one alternative.
    p_by_name: dict[str, float] = {}
    for row in members:
        p_by_name[row.name] = max(row.prob, p_by_name.get(row.name, 0.0))
    # "A nodule on the right or on the left": one finding twice, and none beside it.
    is_one_twice = len(p_by_name) == 1 and len(members) > 1
    # "May represent a nodule or a scar": the hedge has been fitted, and says enough.
    is_coherent = is_hedged and sum(p_by_name.values()) <= 1.0
    if is_one_twice or is_coherent:
        return
    low_by_name = {row.name: row.p_low for row in members}
    # One alone has another beside it that is no known finding.
    share = rounded(1.0 / max(2, len(low_by_name)))
    for row in members:
        if share != row.prob:
            row.prob = share
            row.p_source = ALTERNATIVE
        row.p_low = min(row.p_low, share)
        row.p_high = max(row.p_high, share)
        if not is_hedged:
            lows_beside = sum(low_by_name.values()) - low_by_name[row.name]
            row.p_high = rounded(max(row.p_high, 1.0 - lows_beside))


@cache
def _connectors() -> frozenset[str]:
    """List what joins alternatives: "or", "versus"."""
    return bundled_lexicon().joints
