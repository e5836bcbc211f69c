"""The probability of every stated finding: by its status, its fit, or as one of several alternatives
(explicit.md section 6, implicit.md section 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import pandas as pd

from lunguage_assets.implicit.rows import PAPER, Row, rounded, values_of
from lunguage_assets.implicit.statements.qualifiers import QUALIFIER, belief_of, qualifier_of
from lunguage_assets.judges.rules.lexicon import bundled_lexicon

ALTERNATIVE = "alternative"


def assign_beliefs(rows: Sequence[Row], probabilities: pd.DataFrame) -> None:
    """Give rows, whose mode is decided, their probabilities.

    Definite findings have 1 or 0, tentative ones what `probabilities` (FITTED_PROBABILITIES) says; one
    without a row there has no information. Not in mode `paper`: the denial of a kind ("no large effusion")
    becomes tentative, with the p of its qualifier; alternatives of a definite statement are raised.
    """
    names = ("finding_id", "p", "p_low", "p_high", "p_source", "phrases")
    fitted = {own: values for own, *values in values_of(probabilities, *names)}
    joined: dict[tuple[str, str, int], list[Row]] = {}
    hedged: set[tuple[str, str, int]] = set()
    for row in rows:
        if row.status.startswith("d"):
            if (qualifier := qualifier_of(row)) is not None:
                row.status, row.p_source = "tn", QUALIFIER
                row.prob, row.p_low, row.p_high = belief_of(qualifier.name)
                continue
            row.prob = row.p_low = row.p_high = 1.0 if row.positive else 0.0
            row.p_source = "definitive"
            continue
        *believed, row.p_source, phrases = fitted.get(row.finding_id, (0.5, 0.0, 1.0, "none", ()))
        row.prob, row.p_low, row.p_high = map(rounded, believed)
        if row.positive and row.mode != PAPER and not _connectors().isdisjoint(phrases):
            sentence = row.study_id, row.section, row.sent_idx
            joined.setdefault(sentence, []).append(row)
            if not _connectors().issuperset(phrases):
                hedged.add(sentence)
    for sentence, alternatives in joined.items():
        if sentence not in hedged:
            _raise_alternatives(alternatives)
    for row in rows:
        row.support = rounded(row.prob if row.positive else 1.0 - row.prob)


def _raise_alternatives(rows: Iterable[Row]) -> None:
    """One of k alternatives is there: their probabilities sum to 1 or more, so none that nothing tells from
    the others has less than 1/k.

    The lower end stays, because the report may have left an alternative out; the upper end is at least what
    the others' lower ends leave.
    """
    rows = list(rows)
    least: dict[str, float] = {}
    for row in rows:
        least[row.name] = min(row.p_low, least.get(row.name, 1.0))
    share = rounded(1.0 / len(least))
    for row in rows:
        if len(least) > 1 and row.prob < share:
            left = 1.0 - sum(low for name, low in least.items() if name != row.name)
            row.prob, row.p_high = share, rounded(max(row.p_high, share, left))
            row.p_source = ALTERNATIVE


@cache
def _connectors() -> frozenset[str]:
    """What joins alternatives: "or", "versus"."""
    return frozenset(hedge.phrase for hedge in bundled_lexicon().hedges if hedge.side == "list")
