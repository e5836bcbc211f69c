"""The points at which the two modes of the method differ (implicit.md section 6).

Mode `method` is the default; mode `paper` follows the paper to the letter. A table has
the mode in its column `mode`, and the code asks the policy of a row. Nothing else may
depend on the mode: the page lists exactly these fields, and a test holds it to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Policy:
    """The departures from the paper that a mode takes, in the order of the method.

    Args:
        uses_whole_blacklist: all pairs of the blacklist keep findings apart, as whole
            words; otherwise the paper's alone, also inside words (section 2).
        compares_values: numbers, levels and directions of change keep findings apart.
        excludes_attributes: attributes that exclude each other are not united.
        reads_resolution: what the report calls resolved is absent now.
        reads_restrictions: "no large effusion" denies a kind of its finding only.
        merges_repeated_statements: what findings and impression both say is one row.
        shares_alternatives: "A or B" have at most 1 together.
        prefers_informed: a row that nothing is known of never wins.
        prefers_support: rows are preferred by support; otherwise by p, so that a
            confident denial loses to a weak suspicion.
        follows_inheritance: a pathway says which sub-findings lie where the diagnosis
            does; otherwise all of them do (section 4).
        strips_denied_children: an absent sub-finding has no attributes of its parent,
            because "small" or "worse" is said of what is there.
        prefers_stated_distribution: the parent's distribution replaces the pathway's.
        recognises_other_wordings: a sign may be stated in other words, at a wider
            location or as evidence; otherwise by its name, at a compatible location.
        withholds_children: symptoms, and what the report or the pathway file speaks
            against, are not generated.
        widens_bounds: an implied p is a bound below the experts' 0.8, and an absent
            sub-finding has half of what its parent leaves.
        reads_contradictions: rows contradict each other by containment; otherwise only
            rows of one key do (section 5).
        keys_by_anatomy: one location in two wordings is one key.
        keys_by_axes: "the heart is large, its contour normal" is two keys.
        counts_suppressed_children: a sub-finding that the report states already, with
            another status, is a conflict.
    """

    uses_whole_blacklist: bool
    compares_values: bool
    excludes_attributes: bool
    reads_resolution: bool
    reads_restrictions: bool
    merges_repeated_statements: bool
    shares_alternatives: bool
    prefers_informed: bool
    prefers_support: bool
    follows_inheritance: bool
    strips_denied_children: bool
    prefers_stated_distribution: bool
    recognises_other_wordings: bool
    withholds_children: bool
    widens_bounds: bool
    reads_contradictions: bool
    keys_by_anatomy: bool
    keys_by_axes: bool
    counts_suppressed_children: bool


_NAMES = [field.name for field in fields(Policy)]

METHOD = Policy(**dict.fromkeys(_NAMES, True))
PAPER = Policy(**dict.fromkeys(_NAMES, False))

POLICIES: Mapping[str, Policy] = {"method": METHOD, "paper": PAPER}
"""By the mode of a row, or of the settings."""
