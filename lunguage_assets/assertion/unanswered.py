"""Words that no cue answered for: nothing is certain that was not understood.

A word that speaks of doubt, denial or time and reached no mention, and a word that is
in no list at all, leave open what their clause says for certain: "pneumonia has melted
away". Which words these are is data: `resources/assertion/unanswered.yaml` and
`harmless.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel

from lunguage_assets.assertion.categories import Category
from lunguage_assets.assertion.units import (
    DEVICE,
    OWN_WORDS,
    TaggedToken,
    first_beyond,
    has_kind,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.packaged_data import read_as, resource

_MENTIONS: frozenset[Kind] = frozenset({"finding", "normal", "abnormal"})
_ASKED: frozenset[Category] = frozenset(
    {
        "negated",
        "doubted",
        "ended",
        "hedged",
        "setting",
        "limitation",
        "mimic",
        "condition",
        "reservation",
    }
)
"""Categories of cues that have to reach something."""
_IN_LISTS: frozenset[str] = frozenset({"comma", "place", "other", "word"})
"""What stands between the members of a list that nothing but commas join."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_REMOVED = re.compile("x{3,}")


class _Group(BaseModel, extra="forbid"):
    """Words that speak of one thing, why, and a sentence with them."""

    reason: str
    example: str
    words: list[str]


class _Unanswered(BaseModel, extra="forbid"):
    """The content of unanswered.yaml."""

    groups: dict[str, _Group]


class _Harmless(BaseModel, extra="forbid"):
    """The content of harmless.yaml: words with their counts, and words of English."""

    counted: dict[str, int]
    grammar: list[str]


@cache
def _speaking() -> re.Pattern[str]:
    """Match words that speak of doubt, denial or time, in all their forms."""
    file = read_as(resource("assertion", "unanswered.yaml"), _Unanswered)
    words: list[str] = []
    for group in file.groups.values():
        words += [re.escape(word).replace(r"\*", r"\w*") for word in group.words]
    return re.compile("|".join(words))


def speaks(words: str) -> bool:
    """Whether these words speak of doubt, denial or time."""
    return _speaking().fullmatch(words.lower()) is not None


@cache
def harmless_words() -> frozenset[str]:
    """Read the words that reports use and that say nothing of doubt."""
    file = read_as(resource("assertion", "harmless.yaml"), _Harmless)
    listed = frozenset({*file.counted, *file.grammar})
    return listed | WORDS["properties"] | WORDS["of_cause"]


class _Part(NamedTuple):
    """Units between two commas or breaks.

    Attributes:
        units: of the part.
        begins_clause: whether a break stands before it.
    """

    units: list[TaggedToken]
    begins_clause: bool

    @property
    def mentions(self) -> list[TaggedToken]:
        """What the part says for certain, unless something is unanswered."""
        return [unit for unit in self.units if unit.kind in _MENTIONS]


def mark_unanswered(units: list[TaggedToken], text: str) -> None:
    """Note for every mention which words of its clause nothing answered for.

    Args:
        units: of the sentence, with what their cues have said; changed in place.
        text: of the sentence.
    """
    _mark_rest_of_lists(units)
    parts = _parts_of(units, text)
    for number, part in enumerate(parts):
        unread = list(_unread(part.units, text))
        # Devices have names that no list has; "no line has moved" is no denial of one.
        listed = [unit for unit in unread if speaks(text[unit.begin : unit.end])]
        for mention in _concerned(parts, number):
            is_named_freely = mention.code == DEVICE and not mention.negation
            words = listed if is_named_freely else unread
            mention.unanswered = (*mention.unanswered, *words)


def _mark_rest_of_lists(units: list[TaggedToken]) -> None:
    """Note a denial that reached the last of a bare list only.

    "Edema, pneumonia, hemorrhage: none" may be of all three.
    """
    findings = [at for at, unit in enumerate(units) if unit.kind == "finding"]
    for at, following in reversed(list(pairwise(findings))):
        between = {unit.kind for unit in units[at + 1 : following]}
        if units[at].edges or not {"comma"} <= between <= _IN_LISTS:
            continue
        last = units[following]
        units[at].unanswered = last.unanswered
        for edge in last.edges:
            if edge.begin > last.begin and last.negation:
                cues = (unit for unit in units if unit.begin == edge.begin)
                units[at].unanswered = tuple(cues)


def _parts_of(units: list[TaggedToken], text: str) -> list[_Part]:
    parts = [_Part([], begins_clause=True)]
    for unit in units:
        # "Opacity that was thought to be pneumonia" is one part.
        if unit.kind in ("break", "comma") and unit.form not in ("that", "which"):
            parts.append(_Part([], begins_clause=unit.kind == "break"))
        if unit.kind not in ("break", "comma") or speaks(text[unit.begin : unit.end]):
            parts[-1].units.append(unit)
    return parts


def _concerned(parts: list[_Part], number: int) -> list[TaggedToken]:
    """Find what a part is about: its mentions, and those of its list before.

    "A, B and C have melted away" is of all three. A part that names nothing speaks of
    the one before, or else of the one behind.
    """
    mentions = list(parts[number].mentions)
    before = number
    while before > 0 and (not mentions or not parts[before].begins_clause):
        before -= 1
        mentions += parts[before].mentions
    behind = number + 1
    while not mentions and behind < len(parts):
        mentions += parts[behind].mentions
        behind += 1
    return mentions


def _unread(units: list[TaggedToken], text: str) -> Iterator[TaggedToken]:
    """Yield the units of a part that nothing answered for."""
    for at, unit in enumerate(units):
        is_answered = unit.aside or unit.has_spoken
        if not is_answered and _is_unread(units, at, text):
            yield unit


def _is_unread(units: list[TaggedToken], at: int, text: str) -> bool:
    """Whether a unit says something that no rule has read."""
    unit = units[at]
    if unit.cue.id:
        return unit.cue.category in _ASKED
    if unit.kind == "break":
        # An exception that names no finding: "clear, except for the left base".
        return not has_kind(units, *_MENTIONS)
    words = text[unit.begin : unit.end].lower()
    is_unknown = speaks(words) or _is_unknown(units, at, words)
    is_behind_finding = kind_at(units, at - 1) == "finding"
    if unit.form == ":" and is_behind_finding:
        # "Pneumothorax: -" and "effusion: per report" answer nothing.
        return {answer.kind for answer in units[at + 1 :]} <= {"other", "preposition"}
    return unit.kind == "other" and is_unknown


def _is_unknown(units: list[TaggedToken], at: int, words: str) -> bool:
    """Whether a word is in no list, and stands where it may turn a statement round."""
    form = units[at].form
    is_word = _WORD.fullmatch(words) and not _REMOVED.match(form)
    if not is_word or form in harmless_words():
        return False
    before = kind_at(units, at - 1)
    leads = kind_beyond(reversed(units[:at]), ("place", "word"))
    if leads == "preposition" and kind_at(units, at + 1) in ("", "preposition"):
        # "In the azygoesophageal recess": what something is in or of.
        return False
    noun = first_beyond(units[at + 1 :], OWN_WORDS - {"anatomy"})
    is_described = noun is not None and noun.kind in ("finding", "anatomy")
    # "Frilly opacity", but "film refutes pneumonia" and "I doubtlessly see".
    is_adjective = before in ("", "preposition", "word", "place", "negated", "copula")
    is_turning = words.endswith(("ly", "ing", "s"))
    return not (is_described and is_adjective) or is_turning
