"""Words that no cue answered for: nothing is certain that was not understood.

A word that speaks of doubt, denial or time and reached no mention, and a word that is
in no list at all, leave open what their clause says for certain: "pneumonia has melted
away". Which words these are is data: `resources/assertion/unanswered.yaml` and
`harmless.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from lunguage_assets.assertion.lists import JUDGED
from lunguage_assets.assertion.tokens import GAP
from lunguage_assets.assertion.units import (
    DEVICE,
    OWN_WORDS,
    Units,
    first_beyond,
    has_kind,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS, words_by_group

_BEFORE_ADJECTIVE: frozenset[Kind] = frozenset(
    {"break", "comma", "preposition", "word", "place", "negated", "copula"}
)
_WORD = re.compile(r"[^\W\d_]{2,}")


def _matching(words: Iterable[str]) -> re.Pattern[str]:
    patterns = (re.escape(word).replace(r"\*", r"\w*") for word in words)
    return re.compile("|".join(patterns))


_SPEAKING = _matching(
    chain.from_iterable(words_by_group("unanswered", "assertion").values())
)
"""Words that speak of doubt, denial or time, in all their forms."""
_HARMLESS = frozenset().union(
    *words_by_group("harmless", "assertion").values(),
    WORDS["properties"],
    WORDS["of_cause"],
)
"""Words that reports use and that say nothing of doubt."""


def speaks(words: str) -> bool:
    """Whether these words speak of doubt, denial or time."""
    return _SPEAKING.fullmatch(words.lower()) is not None


def mark_unanswered(units: Units, text: str) -> None:
    """Note for every mention which words of its clause nothing answered for.

    "A, B and C have melted away" is of all three. Words of a clause that names nothing
    speak of the clause before, or else of what is named next.

    Args:
        units: of the sentence, with what their cues have said; changed in place.
        text: of the sentence.
    """
    named: Units = []
    named_before: Units = []
    waiting: Units = []
    for part in _parts_of(units):
        if part and part[0].kind == "break":
            named_before = named or named_before
            named = []
        named += [unit for unit in part if unit.kind in JUDGED]
        positions = range(len(part))
        waiting += [part[at] for at in positions if _is_unread(part, at, text)]
        concerned = named or named_before
        if concerned:
            _leave_open(concerned, waiting, text)
            waiting = []


def _leave_open(concerned: Units, unread: Units, text: str) -> None:
    """Note the words that nobody answered for in the mentions that they concern."""
    # Devices have names that no list has; "no line has moved" is no denial of one.
    listed = [unit for unit in unread if speaks(text[unit.begin : unit.end])]
    for mention in concerned:
        is_named_freely = mention.code == DEVICE and not mention.is_denied
        words = listed if is_named_freely else unread
        mention.unanswered = (*mention.unanswered, *words)


def _parts_of(units: Units) -> list[Units]:
    """Cut a sentence before commas and breaks."""
    parts: list[Units] = [[]]
    for unit in units:
        # "Opacity that was thought to be pneumonia" is one part.
        if unit.kind in ("break", "comma") and unit.form not in ("that", "which"):
            parts.append([])
        parts[-1].append(unit)
    return parts


def _is_unread(units: Units, at: int, text: str) -> bool:
    """Whether a unit of a part says something that no rule has read."""
    unit = units[at]
    if unit.aside or unit.has_spoken:
        return False
    if unit.cue.id:
        return unit.cue.rule.must_reach
    words = text[unit.begin : unit.end].lower()
    if unit.kind == "break":
        # An exception that names no finding: "clear, except for the left base".
        return speaks(words) and not has_kind(units, *JUDGED)
    if unit.form == ":" and kind_at(units, at - 1) == "finding":
        # "Pneumothorax: -" and "effusion: per report" answer nothing.
        return {answer.kind for answer in units[at + 1 :]} <= {"other", "preposition"}
    return unit.kind == "other" and (speaks(words) or _is_unknown(units, at, words))


def _is_unknown(units: Units, at: int, words: str) -> bool:
    """Whether a word is in no list, and stands where it may turn a statement round."""
    form = units[at].form
    if not _WORD.fullmatch(words) or form == GAP or form in _HARMLESS:
        return False
    before = kind_at(units, at - 1) or "break"
    is_last = kind_at(units, at + 1) in ("", "preposition")
    if before == "preposition" and units[at - 1].form != "to" and is_last:
        # "In the azygoesophageal recess": what something is in or of.
        return False
    noun = first_beyond(units[at + 1 :], OWN_WORDS - {"anatomy"})
    is_described = noun is not None and noun.kind in ("finding", "anatomy")
    # "Frilly opacity", but "film refutes pneumonia" and "I doubtlessly see".
    is_adjective = before in _BEFORE_ADJECTIVE
    is_turning = words.endswith(("ly", "ing", "s"))
    return not (is_described and is_adjective) or is_turning
