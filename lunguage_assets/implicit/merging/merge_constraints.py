"""What keeps two findings apart whatever their similarity, and which attributes of two rows may be united
(implicit.md sections 2 and 5): pairs of words (data, `resources/blacklist.yaml`), numbers, levels, and
directions of change.

A row that states no number does not differ from one that does: complete link keeps 5 mm and 8 mm apart around
it. Of directions the same holds, and "unchanged" is one. What deduplication keeps apart, resolution keeps
apart too. The survivor keeps its own cells then, and the other's are in the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import BaseModel, model_validator

from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    CLINICAL_ATTRIBUTES,
    PAPER,
    Row,
    collapsed,
    tokens,
    united_cells,
)
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.packaged_data import read_as, resource, wrong_at

COURSES = ("improved", "no_change", "worsened")
_ONE_OF_THEM = ("onset", "severity")
_PHRASED = attrgetter("ent", "location", *CLINICAL_ATTRIBUTES)

# pairs of words


class _PairsFile(BaseModel, frozen=True, extra="forbid"):
    paper_pairs: list[tuple[str, str]] = []
    term_pairs: list[tuple[str, str]] = []
    exact_pairs: list[tuple[str, str]] = []

    @model_validator(mode="after")
    def _single_words(self) -> Self:
        for field, pairs in self:
            for number, (a, b) in enumerate(pairs):
                words = field == "exact_pairs" or all(
                    tokens(one) == (collapsed(one),) for one in (a, b)
                )
                if (
                    not words
                    or collapsed(a) == collapsed(b)
                    or not a.strip()
                    or not b.strip()
                ):
                    expected = "two different words, or whole phrases under exact_pairs"
                    raise wrong_at(
                        (field, number), f"found {a!r}, {b!r}, expected {expected}"
                    )
        return self


class ExclusionTerms(NamedTuple):
    """The listed words and whole phrases of a finding, and what the other finding must not say."""

    said: frozenset[object]
    opposite: frozenset[object]

    def separate(self, other: ExclusionTerms) -> bool:
        """Whether a pair has one member here and the other there."""
        return not self.said.isdisjoint(other.opposite)


class Blacklist:
    """Pairs that must never be merged, in either order.

    Args:
        term_pairs: pairs of single words.
        exact_pairs: pairs of whole phrases.
        paper_pairs: the paper's pairs of single words, which mode `paper` uses alone.
        inside_words: a word counts wherever its letters stand, also inside another word ("cardio" in
            "cardiomegaly"), as in the paper's table. Otherwise whole words count, and plurals.
    """

    def __init__(
        self,
        term_pairs: Iterable[tuple[str, str]],
        exact_pairs: Iterable[tuple[str, str]] = (),
        paper_pairs: Iterable[tuple[str, str]] = (),
        inside_words: bool = False,
    ) -> None:
        self._inside_words = inside_words
        self._paper_pairs = tuple((collapsed(a), collapsed(b)) for a, b in paper_pairs)
        self.term_pairs = (
            *self._paper_pairs,
            *((collapsed(a), collapsed(b)) for a, b in term_pairs),
        )
        self._words = frozenset(word for pair in self.term_pairs for word in pair)
        phrases = [((collapsed(a),), (collapsed(b),)) for a, b in exact_pairs]
        self._opposites: dict[object, set[object]] = {}
        """Of a word, or of a phrase in a tuple of its own."""
        for a, b in (*self.term_pairs, *phrases):
            self._opposites.setdefault(a, set()).add(b)
            self._opposites.setdefault(b, set()).add(a)
        self._listed = remembered(
            lambda token: [
                form for form in possible_singulars(token) if form in self._opposites
            ]
        )
        self.marks = remembered(self._marks)

    def of_the_paper(self) -> Blacklist:
        """The paper's pairs alone, looked for inside words too, for mode `paper`; raises
        `ConfigurationError` when the file lists none.
        """
        if not self._paper_pairs:
            raise ConfigurationError(
                "the blacklist has no paper_pairs, and mode 'paper' "
                "uses nothing else. Restore them, or use mode 'method'."
            )
        return Blacklist((), (), self._paper_pairs, inside_words=True)

    def _marks(self, phrases: tuple[str, ...], place: str = "") -> ExclusionTerms:
        """The listed words of a finding, and which of its phrases are listed as a whole."""
        said: set[object] = set()
        for text in (*phrases, place):
            said.update(self._listed_words(text))
        said.update(
            (phrase,)
            for phrase in map(collapsed, phrases)
            if (phrase,) in self._opposites
        )
        return ExclusionTerms(
            frozenset(said),
            frozenset[object]().union(*(self._opposites[one] for one in said)),
        )

    def _listed_words(self, text: str) -> set[str]:
        """The listed words that a text says, in singular or plural, or, as in the paper, inside words."""
        if self._inside_words:
            lowered = text.lower()
            return {word for word in self._words if word in lowered}
        return {form for token in tokens(text) for form in self._listed(token)}

    def separates(self, a: str, b: str) -> bool:
        """Whether a pair keeps two plain phrases apart."""
        return self.marks((a,)).separate(self.marks((b,)))


def load_blacklist(path: Path | None = None) -> Blacklist:
    """The packaged blacklist, or the file at `path`; raises `ConfigurationError` naming line and field."""
    content = read_as(
        path or resource("blacklist.yaml"),
        _PairsFile,
        "See the header of the packaged file.",
    )
    return Blacklist(content.term_pairs, content.exact_pairs, content.paper_pairs)


# numbers and levels

_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_NUMBER_WORDS = {
    word: str(number)
    for words in (_CARDINALS, _ORDINALS)
    for number, word in enumerate(words.split(), start=1)
}
_WORD = re.compile(r"\b(?:" + "|".join(_NUMBER_WORDS) + r")\b")
_LEVEL = re.compile(
    r"(?<![a-z0-9])([ctls])-?(\d{1,2})(?:\s?(?:-|to|through|/)\s?([ctls])?(\d{1,2}))?"
    r"(?!\d|\.\d|[ ]?(?:mm|cm)\b)"
)
_QUANTITY = re.compile(
    r"\d+(?:\.\d+)?(?:\s?(?:x|×|-|to|by|/)\s?\d+(?:\.\d+)?)*(?:\s?(mm|cm)(?![a-z]))?"
)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")

Values = dict[str, set[str | float]]
"""Values that a finding states: vertebral levels, lengths in millimetres, other numbers (counts, ribs,
percentages); a kind that it does not state is not there.
"""


@remembered
def stated_values(phrase: str) -> Values:
    """The values that a phrase states: "eighth rib" = "8th rib", centimetres are millimetres."""
    values: Values = {}
    text = _WORD.sub(lambda word: _NUMBER_WORDS[word.group()], phrase.lower())
    if not _DIGITS.search(text):
        return values
    for letter, number, last_letter, last in _LEVEL.findall(text):
        levels = values.setdefault("level", set())
        levels.add(f"{letter}{int(number)}")
        if last:
            levels.add(f"{last_letter or letter}{int(last)}")
    for found in _QUANTITY.finditer(_LEVEL.sub(" ", text)):
        unit = found.group(1)
        numbers = values.setdefault("length" if unit else "number", set())
        factor = 10.0 if unit == "cm" else 1.0
        numbers.update(
            round(float(digits) * factor, 6)
            for digits in _DIGITS.findall(found.group())
        )
    return values


def values_differ(one: Values, other: Values) -> bool:
    """Whether both state a value of the same kind and the values are not the same."""
    return any(other.get(kind, values) != values for kind, values in one.items())


# directions of change


def course(row: Row) -> frozenset[str]:
    """The directions of change that a row states, out of `COURSES`; an empty cell states nothing."""
    if row.improved or row.no_change or row.worsened:
        return frozenset(name for name in COURSES if getattr(row, name))
    return frozenset()


def courses_differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one improved and the other worsened, or their directions have nothing in common."""
    if not one or not other:
        return False
    turned = ("improved" in one and "worsened" in other) or (
        "worsened" in one and "improved" in other
    )
    return turned or one.isdisjoint(other)


# rows


def linearised(row: Row) -> str:
    """The phrase that is compared: finding, location and clinical attributes as worded, in lower case."""
    return _joined(_PHRASED(row))


@lru_cache(maxsize=ENTRIES)
def _joined(cells: tuple[str, ...]) -> str:
    return collapsed(" ".join(filter(None, cells)))


class Wording(NamedTuple):
    """The phrase of a row, and what decides whether it may merge, whatever the similarity."""

    phrase: str
    listed: ExclusionTerms
    values: Values
    course: frozenset[str]

    def separated(self, other: Wording) -> bool:
        """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
        return (
            values_differ(self.values, other.values)
            or courses_differ(self.course, other.course)
            or self.listed.separate(other.listed)
        )


def wording_of(row: Row, blacklist: Blacklist) -> Wording:
    """What keeps a row apart from others; in mode `paper` the blacklist alone."""
    phrase = linearised(row)
    # the canonical forms say what an abbreviation hides: RUL is right and upper
    listed = blacklist.marks((phrase, row.name), ", ".join(row.location_parts))
    if row.mode == PAPER:
        return Wording(phrase, listed, {}, frozenset())
    # two tips of a tube, 4 and 6 cm above the carina, are told apart by their placement
    values = stated_values(f"{phrase}, {row.placement}" if row.placement else phrase)
    return Wording(phrase, listed, values, course(row))


Apart = Callable[[str, str], bool]
"""Whether two cells exclude each other by their words or by their direction."""


def unite_attributes(survivor: Row, other: Row, apart: Apart) -> list[tuple[str, str]]:
    """Unite the attributes of a row with the survivor's, which is changed, where nothing excludes them;
    return (column, cell) of the others, in the order of the columns.
    """
    excluded = _excluded(survivor, other, apart) if survivor.mode != PAPER else set()
    kept_apart = []
    for name in ATTRIBUTE_NAMES:
        cell = getattr(other, name)
        if cell and name in excluded:
            kept_apart.append((name, cell))
        elif cell:
            setattr(survivor, name, united_cells([getattr(survivor, name), cell]))
    return kept_apart


def _excluded(survivor: Row, other: Row, apart: Apart) -> set[str]:
    excluded: set[str] = set()
    gone = says_resolved(survivor.improved), says_resolved(other.improved)
    if courses_differ(course(survivor), course(other)) or gone[0] != gone[1]:
        excluded.update(COURSES)  # what is there has not resolved
    for name in ATTRIBUTE_NAMES:
        one, cell = getattr(survivor, name), getattr(other, name)
        if not one or not cell or collapsed(one) == collapsed(cell):
            continue
        numbers = values_differ(stated_values(one), stated_values(cell))
        if name in _ONE_OF_THEM or numbers or apart(one, cell):
            excluded.add(name)
    return excluded
