"""The probability of every finding (explicit.md section 6, implicit.md sections 4 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import pandas as pd

from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.implicit.rows import PAPER, Row, rounded, values_of
from lunguage_assets.implicit.statements.contradictions import (
    QUALIFIER,
    belief_of,
    qualifier_of,
)

ALTERNATIVE = "alternative"

KEPT_ABOVE = 0.8
"""p(sub-finding | diagnosis) above which experts kept an edge (paper, section 4)."""

_Member = tuple[Row, frozenset[str], bool]
"""A tentative row of a sentence with alternatives, its hedges beside the "or", whether it has the "or"."""


def assign_beliefs(rows: Sequence[Row], probabilities: pd.DataFrame) -> None:
    """Give rows, whose mode is decided, their probabilities.

    Definite findings have 1 or 0, tentative ones what `probabilities` (FITTED_PROBABILITIES) says; one
    without a row there has no information. Not in mode `paper`: a restricted denial ("no large effusion")
    becomes tentative, with the p of its qualifier, unless it is certain of its kind ("no tension
    pneumothorax"); alternatives share what their list has.
    """
    names = ("finding_id", "p", "p_low", "p_high", "p_source", "phrases")
    fitted = {own: values for own, *values in values_of(probabilities, *names)}
    lists: dict[tuple[str, str, int], list[_Member]] = {}
    for row in rows:
        if row.status.startswith("d"):
            qualifier = qualifier_of(row)
            if qualifier is not None and not qualifier.certain:
                row.status, row.p_source = "tn", QUALIFIER
                row.prob, row.p_low, row.p_high = belief_of(qualifier.name)
                continue
            row.prob = row.p_low = row.p_high = 1.0 if row.positive else 0.0
            row.p_source = "definitive"
            continue
        *believed, row.p_source, phrases = fitted.get(
            row.finding_id, (0.5, 0.0, 1.0, "none", ())
        )
        row.prob, row.p_low, row.p_high = map(rounded, believed)
        joined = not _connectors().isdisjoint(phrases)
        if row.mode != PAPER and (
            joined or (row.positive and row.p_source == "none" and not len(phrases))
        ):
            member = row, frozenset(phrases) - _connectors(), joined
            lists.setdefault((row.study_id, row.section, row.sent_idx), []).append(
                member
            )
    for members in lists.values():
        if any(row.positive and joined for row, _, joined in members):
            normalised_alternatives(members)
    for row in rows:
        row.support = rounded(row.prob if row.positive else 1.0 - row.prob)


def normalised_alternatives(members: Sequence[_Member]) -> None:
    """Make the probabilities of the alternatives of a sentence coherent: together they have at most 1, less
    what a dismissed tail keeps ("A, B or, less likely, C").

    Alternatives that nothing hedges but the "or" have exactly that, in equal parts: one of them is there. One
    alone has another beside it that is no known finding. Hedged ones keep their fits while these are
    coherent; else they share, in equal parts where their hedges are the same. The lower end stays below,
    because the report may have left an alternative out; of unhedged ones the upper end is at least what the
    others' lower ends leave.
    """
    listed = [(row, hedges) for row, hedges, _ in members if row.positive]
    believed, least = (
        _by_name(row for row, _ in listed),
        {row.name: row.p_low for row, _ in listed},
    )
    tail = _by_name(row for row, _, joined in members if joined and not row.positive)
    whole = 1.0 - sum(tail.values())
    total, names = sum(believed.values()), len(believed)
    hedged = any(hedges for _, hedges in listed)
    if hedged and total <= whole:
        return
    if names == 1 and not tail:
        if hedged or len(listed) > 1:
            return
        names = 2
    alike = len({hedges for _, hedges in listed}) == 1
    for row, _ in listed:
        share = rounded(whole / names if alike else whole * believed[row.name] / total)
        left = whole - sum(low for name, low in least.items() if name != row.name)
        if share != row.prob:
            row.prob, row.p_source = share, ALTERNATIVE
        row.p_low = min(row.p_low, share)
        row.p_high = rounded(max(row.p_high, share, 0.0 if hedged else left))


def _by_name(rows: Iterable[Row]) -> dict[str, float]:
    """The highest p of every finding; two rows of the same one are one alternative."""
    believed: dict[str, float] = {}
    for row in rows:
        believed[row.name] = max(row.prob, believed.get(row.name, 0.0))
    return believed


@cache
def _connectors() -> frozenset[str]:
    """What joins alternatives: "or", "versus"."""
    return frozenset(
        hedge.phrase for hedge in bundled_lexicon().hedges if hedge.side == "list"
    )


def derive_belief(child: Row, parent: Row, strength: float | None) -> None:
    """Give a generated row the probability, interval and support that follow from its positive parent.

    `prob` is P(present): of a positive child its support, of a negative one half way from 0 to 1 - support.
    In mode `paper` a negative child has the parent's p. Without a `strength` of the edge the support passes
    on as it is, and the bound is `KEPT_ABOVE`.
    """
    as_the_paper = child.mode == PAPER
    child.status = parent.status[0] + child.status[1]
    child.support = rounded(parent.support * (1.0 if strength is None else strength))
    bound = strength if strength is not None else 1.0 if as_the_paper else KEPT_ABOVE
    low = min(rounded(parent.p_low * bound), parent.p_low)
    if child.positive:  # present at least as surely as the parent implies: it may be there for other reasons
        # Not above the parent's, not by a last digit either: printed, both are rounded.
        child.prob, child.p_low, child.p_high = (
            min(child.support, parent.prob),
            low,
            1.0,
        )
    elif as_the_paper:  # the parent's p, although the sign is denied
        child.prob, child.p_low, child.p_high = (
            child.support,
            low,
            rounded(parent.p_high * bound),
        )
    else:
        half = rounded((1.0 - child.support) / 2.0)
        child.prob, child.p_low, child.p_high = half, 0.0, rounded(1.0 - low)
