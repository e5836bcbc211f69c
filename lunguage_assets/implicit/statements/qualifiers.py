"""Denials that deny no more than a kind of a finding: "no large effusion", "no new opacity" (implicit.md
section 2).

Which words restrict what is denied, and how probable the finding is beside them, is data
(`resources/statements.yaml`). A merged row counts by its own words.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from scipy.special import betaincinv

from lunguage_assets.implicit.rows import PAPER, Row, attribute_values, rounded, tokens
from lunguage_assets.implicit.statements.places import Qualifier, says_resolved, statements_file

QUALIFIER = "qualifier"
"""`p_source` of a denial that is restricted."""

_CELLS_OF = attribute_values(("measurement", "morphology", "distribution", "severity", "onset"))
_DENIALS = frozenset({"no", "not", "without", "nor", "neither", "never", "negative", "free", "denies"})
_ENDS = frozenset({"but", "except", "however", "although", "there", "which", "is", "are", "was", "were"})
_DEVICE = "OTH"


def qualifier_of(row: Row) -> Qualifier | None:
    """What restricts a denial to a kind of its finding; None of any other row, and in mode `paper`."""
    if row.positive or row.mode == PAPER or row.cat == _DEVICE or says_resolved(row.improved):
        return None
    found = qualifying(row.name, row.ent, row.sent, _CELLS_OF(row))
    return found[0] if found is not None else None


@lru_cache(maxsize=100_000)
def qualifying(name: str, ent: str, sentence: str, cells: tuple[str, ...]) -> tuple[Qualifier, str] | None:
    """The qualifier of a denied finding and its word, nearest to the finding first.

    `name` is canonical, `ent` as worded; `cells` are attributes of the finding.
    """
    if not _any_word().search(sentence):
        return None
    said, named = tokens(sentence), tokens(ent)
    of_finding = {*named, *(word for cell in cells for word in tokens(cell))}
    for at in range(len(said) - len(named) + 1):
        if not named or said[at : at + len(named)] != named:
            continue
        begin = next((n for n in range(at, 0, -1) if said[n - 1] in _DENIALS or said[n - 1] in _ENDS), 0)
        in_list = begin > 0 and said[begin - 1] in _DENIALS
        for word in reversed(said[begin : at + len(named)]):
            for qualifier in statements_file().qualifiers:
                if word not in qualifier.words or not (word in of_finding or (in_list and qualifier.lists)):
                    continue
                if not qualifier.of or qualifier.of.intersection(tokens(name)):
                    return qualifier, word
    return None


@cache
def _any_word() -> re.Pattern[str]:
    words = sorted({word for one in statements_file().qualifiers for word in one.words})
    return re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + r")\b", re.IGNORECASE)


@cache
def belief_of(name: str) -> tuple[float, float, float]:
    """p, its lower and its upper end (95%) of a finding of which only a kind is denied: the share of such
    denials beside which people coded the finding, with Jeffreys' interval.
    """
    counts = next(one for one in statements_file().qualifiers if one.name == name)
    coded, other = counts.coded + 0.5, counts.denied - counts.coded + 0.5
    low, high = (rounded(float(betaincinv(coded, other, end))) for end in (0.025, 0.975))
    return rounded(coded / (coded + other)), low, high
