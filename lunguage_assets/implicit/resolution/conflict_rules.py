"""The three rules that keep one row of a key, each on what the previous one left (implicit.md section 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lunguage_assets.implicit.rows import PAPER, Row, resolution_preference

Rule = tuple[str, Callable[[Sequence[Row]], list[Row]]]


def originals_outrank_expansions(rows: Sequence[Row]) -> list[Row]:
    """Rule 1: where originals and expansions meet, the expansions go."""
    return [row for row in rows if row.source == "original"] or list(rows)


def definite_contradiction(rows: Sequence[Row]) -> list[Row]:
    """Rule 2: at least one dp and at least one dn, and nothing tentative: all go."""
    return [] if {row.status for row in rows} == {"dp", "dn"} else list(rows)


def strongest_claim(rows: Sequence[Row]) -> list[Row]:
    """Rule 3: the row with the highest support, in mode `paper` with the highest p.

    Ties: dp > tp > tn > dn, then impression before findings, then report order.
    """
    return [min(rows, key=resolution_preference)] if rows else []


RULES: tuple[Rule, ...] = (
    ("rule 1: originals outrank expansions", originals_outrank_expansions),
    ("rule 2: definite contradiction", definite_contradiction),
    ("rule 3: highest support", strongest_claim),
)
"""Rules by their name in the resolution log, in the order in which they apply."""

PAPER_RULES: tuple[Rule, ...] = (*RULES[:2], ("rule 3: highest p", strongest_claim))
"""The same in mode `paper`, where a confident denial loses to a weak suspicion."""


def rules_for(mode: str) -> tuple[Rule, ...]:
    """The rules of a mode; what a row claims follows the mode too (`Row.claim`)."""
    return PAPER_RULES if mode == PAPER else RULES


def decide(rows: Sequence[Row], rules: Sequence[Rule] = RULES) -> tuple[list[Row], list[tuple[Row, str]]]:
    """The rows of a group that the rules keep, and every lost row with the deciding rule."""
    remaining, lost = list(rows), []
    for name, rule in rules:
        kept = rule(remaining)
        staying = {row.finding_id for row in kept}
        lost += [(row, name) for row in remaining if row.finding_id not in staying]
        remaining = kept
    return remaining, lost
