"""What keeps two findings apart, and which attributes may be united.

The rules are in implicit.md sections 2 and 5. Pairs of words keep findings apart (data,
`resources/blacklist.yaml`), whatever their similarity, and so do numbers and directions
of change. A row that states no number does not differ from one that does:
complete link keeps 5 mm and 8 mm apart around it. Of directions the same holds, and
"unchanged" is one. Which findings are alike is not decided here
(`similar_findings.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import BaseModel, model_validator

from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.policy import Policy
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    CLINICAL_ATTRIBUTES,
    Row,
    collapsed,
    tokens,
    united_cells,
)
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.packaged_data import read_as, resource, wrong_at

COURSES = ("improved", "no_change", "worsened")
_SINGLE_VALUED = ("onset", "severity")
"""Attributes of which a finding has one value: what is mild is not moderate, too."""

_PHRASED = attrgetter("ent", "location", *CLINICAL_ATTRIBUTES)

# Pairs of words

WordPair = tuple[str, str]


class _PairsFile(BaseModel, frozen=True, extra="forbid"):
    paper_pairs: list[WordPair] = []
    term_pairs: list[WordPair] = []

    @model_validator(mode="after")
    def _two_different_words(self) -> Self:
        for field, pairs in self:
            for number, (word, opposite) in enumerate(pairs):
                # A word that excludes itself would keep equal findings apart.
                differ = collapsed(word) != collapsed(opposite)
                if not (_is_word(word) and _is_word(opposite) and differ):
                    problem = f"found {word!r}, {opposite!r}"
                    expected = "expected two different words"
                    raise wrong_at((field, number), f"{problem}, {expected}")
        return self


def _is_word(text: str) -> bool:
    return tokens(text) == (collapsed(text),)


class ExclusionTerms(NamedTuple):
    """The listed words of a finding, and those that another one must not have."""

    terms: frozenset[str]
    opposites: frozenset[str]

    def exclude(self, terms_beside: ExclusionTerms) -> bool:
        """Whether a pair has one member here and the other there."""
        return not self.terms.isdisjoint(terms_beside.opposites)


class Blacklist:
    """Pairs that must never be merged, in either order.

    Args:
        term_pairs: pairs of single words.
        paper_pairs: the paper's pairs of single words, which mode `paper` uses alone.
        inside_words: a word counts wherever its letters stand, also inside another word
            ("cardio" in "cardiomegaly"), as in the paper's table. Otherwise whole words
            count, and plurals.
    """

    def __init__(
        self,
        term_pairs: Iterable[WordPair],
        paper_pairs: Iterable[WordPair] = (),
        inside_words: bool = False,
    ) -> None:
        self._inside_words = inside_words
        self._paper_pairs = tuple(map(_collapsed_pair, paper_pairs))
        self.term_pairs = (*self._paper_pairs, *map(_collapsed_pair, term_pairs))
        self._opposites: dict[str, set[str]] = {}
        for word, opposite in self.term_pairs:
            self._opposites.setdefault(word, set()).add(opposite)
            self._opposites.setdefault(opposite, set()).add(word)
        self._listed_singulars = remembered(self._find_listed_singulars)
        self.exclusion_terms = remembered(self._find_exclusion_terms)

    def for_policy(self, policy: Policy) -> Blacklist:
        """Choose the pairs of a mode: all, or the paper's alone, inside words too.

        Raises:
            ConfigurationError: the paper's are wanted, and the file lists none.
        """
        if policy.departs:
            return self
        if not self._paper_pairs:
            raise ConfigurationError(
                "the blacklist has no paper_pairs, and mode 'paper' "
                "uses nothing else. Restore them, or use mode 'method'."
            )
        return Blacklist((), self._paper_pairs, inside_words=True)

    def separates(self, first_cell: str, second_cell: str) -> bool:
        """Whether a pair keeps two cells apart."""
        first: ExclusionTerms = self.exclusion_terms(first_cell)
        return first.exclude(self.exclusion_terms(second_cell))

    def _find_exclusion_terms(self, text: str) -> ExclusionTerms:
        """Find the listed words of a text, and all that exclude one of them."""
        if self._inside_words:
            # The paper's table counts letters: "cardio" stands in "cardiomegaly".
            lowered = text.lower()
            terms = {word for word in self._opposites if word in lowered}
        else:
            terms = set().union(*map(self._listed_singulars, tokens(text)))
        opposites = set().union(*(self._opposites[term] for term in terms))
        return ExclusionTerms(frozenset(terms), frozenset(opposites))

    def _find_listed_singulars(self, token: str) -> list[str]:
        return [form for form in possible_singulars(token) if form in self._opposites]


def _collapsed_pair(pair: WordPair) -> WordPair:
    return collapsed(pair[0]), collapsed(pair[1])


def load_blacklist(path: Path | None = None) -> Blacklist:
    """Load the packaged blacklist, or the file at `path`.

    Raises:
        ConfigurationError: what is wrong with the file, by line and field.
    """
    file = path or resource("blacklist.yaml")
    content = read_as(file, _PairsFile, "See the header of the packaged file.")
    return Blacklist(content.term_pairs, content.paper_pairs)


# Numbers

_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_DIGITS_BY_WORD = {
    word: str(number)
    for words in (_CARDINALS, _ORDINALS)
    for number, word in enumerate(words.split(), start=1)
}
_NUMBER_WORD = re.compile(r"\b(?:" + "|".join(_DIGITS_BY_WORD) + r")\b")
# "5 mm", "2 x 3 cm", "10 to 12 mm": one quantity each, with its unit at the end.
_QUANTITY = re.compile(
    r"\d+(?:\.\d+)?(?:\s?(?:x|×|-|to|by|/)\s?\d+(?:\.\d+)?)*(?:\s?(mm|cm)(?![a-z]))?"
)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_MM_PER_CM = 10.0

Values = dict[str, set[float]]
"""Values that a finding states, by kind: lengths in millimetres, other numbers (ribs,
vertebrae, counts, percentages). A kind that it does not state is not there.
"""


@remembered
def stated_values(phrase: str) -> Values:
    """Read the values of a phrase: "eighth rib" is the 8th, 1 cm is 10 mm."""
    values: Values = {}
    text = _NUMBER_WORD.sub(lambda word: _DIGITS_BY_WORD[word.group()], phrase.lower())
    if not _DIGITS.search(text):
        return values
    for quantity in _QUANTITY.finditer(text):
        # Of "2 x 3 cm" the unit is said once, and holds for both.
        unit = quantity.group(1)
        factor = _MM_PER_CM if unit == "cm" else 1.0
        numbers = values.setdefault("length" if unit else "number", set())
        for digits in _DIGITS.findall(quantity.group()):
            numbers.add(round(float(digits) * factor, 6))
    return values


def values_differ(first: Values, second: Values) -> bool:
    """Whether both state a value of the same kind and the values are not the same."""
    # A nodule of 5 mm may be the nodule of which no size is stated.
    shared_kinds = first.keys() & second.keys()
    return any(first[kind] != second[kind] for kind in shared_kinds)


# Directions of change


def course(row: Row) -> frozenset[str]:
    """List the directions of change that a row states; an empty cell states nothing."""
    # Most rows state none.
    if row.improved or row.no_change or row.worsened:
        return frozenset(name for name in COURSES if getattr(row, name))
    return frozenset()


def courses_differ(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether one improved and the other worsened, or no direction is in common."""
    if not first or not second:
        return False
    # Both may have more than one: "smaller on the left, larger on the right".
    if "improved" in first and "worsened" in second:
        return True
    if "worsened" in first and "improved" in second:
        return True
    return first.isdisjoint(second)


# Rows


def linearised(row: Row) -> str:
    """Write the phrase that is compared: finding, location and clinical attributes."""
    return _joined(_PHRASED(row))


@lru_cache(maxsize=ENTRIES)
def _joined(cells: tuple[str, ...]) -> str:
    return collapsed(" ".join(filter(None, cells)))


class Wording(NamedTuple):
    """The phrase of a row, and what decides whether it may merge at all."""

    phrase: str
    terms: ExclusionTerms
    values: Values
    course: frozenset[str]

    def separated(self, wording: Wording) -> bool:
        """Whether two rows are kept apart, whatever their similarity."""
        return (
            values_differ(self.values, wording.values)
            or courses_differ(self.course, wording.course)
            or self.terms.exclude(wording.terms)
        )


def wording_of(row: Row, blacklist: Blacklist) -> Wording:
    """Read what keeps a row apart from others."""
    phrase = linearised(row)
    # The canonical forms say what an abbreviation hides: RUL is right and upper.
    location = ", ".join(row.location_parts)
    terms = blacklist.exclusion_terms(f"{phrase}, {row.name}, {location}")
    if not row.policy.departs:
        return Wording(phrase, terms, values={}, course=frozenset())
    # Two tips of a tube, 4 and 6 cm above the carina, differ by their placement.
    described = ", ".join(filter(None, (phrase, row.placement)))
    return Wording(phrase, terms, stated_values(described), course(row))


def unite_attributes(survivor: Row, merged: Row) -> None:
    """Unite the attributes of a row with the survivor's.

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
