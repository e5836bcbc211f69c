"""What the two modes of the method decide otherwise (implicit.md section 6).

Mode `method` is the default; mode `paper` follows the paper to the letter. A table has
the mode in its column `mode`, and the code asks the policy of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """The departures from the paper that change the most rows, and the mode itself.

    Args:
        reads_restrictions: "no large effusion" denies a kind of its finding only.
        withholds_children: symptoms, and what the report or the pathway file speaks
            against, are not generated; a sub-finding has of its parent only what the
            pathway file lets it inherit.
        shares_alternatives: "A or B" have at most 1 together.
        merges_repeated_statements: what findings and impression both say is one row.
        recognises_other_wordings: a sign may be stated in other words, at a wider
            location or as evidence; otherwise by its name, at a compatible location.
        departs: whether the smaller departures are taken, too; the page lists them.
    """

    reads_restrictions: bool
    withholds_children: bool
    shares_alternatives: bool
    merges_repeated_statements: bool
    recognises_other_wordings: bool
    departs: bool


METHOD = Policy(*[True] * 6)
PAPER = Policy(*[False] * 6)

POLICIES: Mapping[str, Policy] = {"method": METHOD, "paper": PAPER}
"""By the mode of a row, or of the settings."""
