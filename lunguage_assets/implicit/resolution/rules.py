"""The rules that decide which rows of one key stay (implicit.md section 5).

Each rule takes the rows that the rules before it have left, and returns those that
stay. What becomes of the others is not decided here, but by `study.py`: they are merged
into the row that stays, where it says the same polarity, and otherwise removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lunguage_assets.implicit.policy import Policy
from lunguage_assets.implicit.rows import Row, priority

_STATUS_ORDER = {"dp": 0, "tp": 1, "tn": 2, "dn": 3}


class Rule(NamedTuple):
    """A rule, by its name in the resolution log."""

    name: str
    keep: Callable[[Sequence[Row]], list[Row]]


def originals_outrank_expansions(rows: Sequence[Row]) -> list[Row]:
    """Keep what the report states, where it meets what a pathway implies."""
    # What a report says of a sign counts more than what its diagnosis usually shows.
    stated = [row for row in rows if not row.is_generated]
    return stated or list(rows)


def definite_contradiction(rows: Sequence[Row]) -> list[Row]:
    """Keep nothing, where a finding is stated and denied and nothing is tentative.

    "There is an effusion." and "No effusion.": nobody can say which of them holds.
    """
    # A tentative row among them lets rule 3 decide.
    statuses = {row.status for row in rows}
    return [] if statuses == {"dp", "dn"} else list(rows)


def strongest_claim(rows: Sequence[Row]) -> list[Row]:
    """Keep the row with the highest support, in mode `paper` with the highest p.

    Of equal claims dp goes before tp, tn and dn, then impression before findings, then
    comes the order of the report.
    """
    return sorted(rows, key=lambda row: priority(row, _STATUS_ORDER[row.status]))[:1]


RULES: Sequence[Rule] = (
    Rule("rule 1: originals outrank expansions", originals_outrank_expansions),
    Rule("rule 2: definite contradiction", definite_contradiction),
    Rule("rule 3: highest support", strongest_claim),
)
"""In the order in which they apply."""

PAPER_RULES: Sequence[Rule] = (
    *RULES[:2],
    Rule("rule 3: highest p", strongest_claim),
)


def rules_of(policy: Policy) -> Sequence[Rule]:
    """Choose the rules under which the log names what they go by."""
    return RULES if policy.departs else PAPER_RULES
