"""What keeps two findings apart, and which attributes may be united.

The rules are in implicit.md sections 2 and 5. Pairs of words keep findings apart (data,
`resources/blacklist.yaml`), whatever their similarity, and so do numbers and directions
of change. A row that states no number does not differ from one that does: complete link
keeps 5 mm and 8 mm apart around it. Of directions the same holds, and "unchanged" is
one. Which findings are alike is not decided here (`similar_findings.py`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from lunguage_assets.assertion.plurals import singular_of
from lunguage_assets.caches import remembered
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathway_file import Form
from lunguage_assets.implicit.policy import METHOD, Policy
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    CLINICAL_ATTRIBUTES,
    Row,
    collapsed,
    tokens,
    united_cells,
    united_tokens,
)
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.packaged_data import read_as, resource

COURSES = ("improved", "no_change", "worsened")
_SINGLE_VALUED = ("onset", "severity")
"""Attributes of which a finding has one value: what is mild is not moderate, too."""

_PHRASED = attrgetter("ent", "location", *CLINICAL_ATTRIBUTES)

# Pairs of words

Word = Annotated[str, AfterValidator(collapsed), Field(pattern=r"^[^\W_]+$")]


def _different(pair: tuple[str, str]) -> tuple[str, str]:
    # A word that excludes itself would keep equal findings apart.
    if pair[0] == pair[1]:
        raise ValueError(f"found {pair[0]!r} twice, expected two different words")
    return pair


WordPair = Annotated[tuple[Word, Word], AfterValidator(_different)]


class _PairsFile(Form):
    paper_pairs: tuple[WordPair, ...] = ()
    term_pairs: tuple[WordPair, ...] = ()


class Blacklist:
    """Pairs of words that must never be merged, in either order.

    Args:
        pairs: pairs of single words.
        inside_words: a word counts wherever its letters stand, also inside another word
            ("cardio" in "cardiomegaly"), as in the paper's table. Otherwise whole words
            count, and plurals.

    Attributes:
        opposites: the words that each listed one excludes.
    """

    def __init__(self, pairs: Iterable[WordPair], inside_words: bool = False) -> None:
        self._inside_words = inside_words
        self.opposites: dict[str, set[str]] = defaultdict(set)
        for word, opposite in pairs:
            self.opposites[word].add(opposite)
            self.opposites[opposite].add(word)
        self.terms = remembered(self._find_terms)

    def _find_terms(self, text: str) -> frozenset[str]:
        """Find the listed words of a text."""
        if self._inside_words:
            # The paper's table counts letters: "cardio" stands in "cardiomegaly".
            lowered = text.lower()
            return frozenset(word for word in self.opposites if word in lowered)
        words = tokens(text)
        singulars = map(singular_of, words)
        return frozenset(self.opposites.keys() & {*words, *singulars})


def load_blacklist(path: Path | None = None, policy: Policy = METHOD) -> Blacklist:
    """Load the packaged blacklist, or the file at `path`.

    Args:
        path: of the home's file.
        policy: of the mode: all pairs, or the paper's alone, inside words too.

    Raises:
        ConfigurationError: what is wrong with the file, by line and field; or the
            paper's pairs are wanted, and it lists none.
    """
    file = path or resource("blacklist.yaml")
    content = read_as(file, _PairsFile, "See the header of the packaged file.")
    if policy.departs:
        return Blacklist((*content.paper_pairs, *content.term_pairs))
    if not content.paper_pairs:
        raise ConfigurationError(
            "the blacklist has no paper_pairs, and mode 'paper' "
            "uses nothing else. Restore them, or use mode 'method'."
        )
    return Blacklist(content.paper_pairs, inside_words=True)


# Numbers and directions of change

# The unit of "2 x 3 cm" stands at its end, and is that of both numbers.
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:(?=(?:\s?x\s?[\d.]+)*\s?(cm)\b)|)")
_MM_BY_UNIT = {"": 1.0, "cm": 10.0}


@remembered
def stated_numbers(phrase: str) -> frozenset[float]:
    """Read the numbers of a phrase: of sizes (1 cm is 10 mm), ribs and vertebrae."""
    return frozenset(
        round(float(number) * _MM_BY_UNIT[unit], 6)
        for number, unit in _NUMBER.findall(phrase.lower())
    )


# Rows


def phrase_of(row: Row) -> str:
    """Linearise a row as the phrase by which an encoder compares it (section 2)."""
    return collapsed(" ".join(filter(None, _PHRASED(row))))


class Wording(NamedTuple):
    """What of a row decides whether it may merge at all."""

    terms: frozenset[str]
    opposites: set[str]
    numbers: frozenset[float] = frozenset()
    course: frozenset[str] = frozenset()

    def separated(self, wording: Wording) -> bool:
        """Whether two rows are kept apart, whatever their similarity."""
        if not self.terms.isdisjoint(wording.opposites):
            return True
        # A nodule of 5 mm may be the nodule of which no size is stated.
        if self.numbers and wording.numbers and self.numbers != wording.numbers:
            return True
        # One that shrinks is none that grows.
        has_courses = bool(self.course and wording.course)
        return has_courses and self.course.isdisjoint(wording.course)


def wording_of(row: Row, blacklist: Blacklist) -> Wording:
    """Read what keeps a row apart from others."""
    phrase = phrase_of(row)
    # The canonical forms say what an abbreviation hides: RUL is right and upper.
    location = ", ".join(row.location_parts)
    terms = blacklist.terms(f"{phrase}, {row.name}, {location}")
    opposites = set[str]().union(*(blacklist.opposites[term] for term in terms))
    if not row.policy.departs:
        return Wording(terms, opposites)
    # Two tips of a tube, 4 and 6 cm above the carina, differ by their placement.
    numbers = stated_numbers(f"{phrase}, {row.placement}")
    # An empty cell states no direction of change.
    course = frozenset(name for name in COURSES if getattr(row, name))
    return Wording(terms, opposites, numbers, course)


def absorb(survivor: Row, merged: Row) -> None:
    """Unite attributes and references of a row with the survivor's.

    Of what a finding has one value of, the survivor keeps its own.
    """
    kept: set[str] = set()
    if survivor.policy.departs:
        kept.update(name for name in _SINGLE_VALUED if getattr(survivor, name))
        # What is there has not resolved: the survivor keeps the course that it has.
        if says_resolved(survivor.improved) != says_resolved(merged.improved):
            kept.update(COURSES)
    for name in ATTRIBUTE_NAMES:
        if name not in kept:
            cells = [getattr(survivor, name), getattr(merged, name)]
            setattr(survivor, name, united_cells(cells))
    survivor.evidence = united_tokens(survivor.evidence, merged.evidence)
    survivor.associate = united_tokens(survivor.associate, merged.associate)
    merged_ids = {*survivor.merged_ids, merged.finding_id, *merged.merged_ids}
    survivor.merged_ids = tuple(sorted(merged_ids))
