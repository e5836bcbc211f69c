"""A sentence as units: known spellings in order, the longest first.

What a spelling means by itself stands in the word files (`vocabulary.py`). Here are the
meanings that hang on the word right before it.
"""

from __future__ import annotations

import re

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.tokens import Token
from lunguage_assets.assertion.units import (
    UNKNOWN,
    TaggedToken,
    has_kind,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary, entry_of
from lunguage_assets.assertion.word_files import WORDS

_NUMBER = re.compile(r"\d")
_LEVEL_OF_BONE = re.compile(r"[ctls]\d{1,2}|\d{1,2}(?:st|nd|rd|th)")
_IN_SIZES = frozenset({"x", "by", "to"})
"""Words inside a size: "2 x 3 cm", "2 to 3 cm"."""

_LEVEL = LexiconEntry("place")
_SIZE = LexiconEntry("word", code="measurement")
_DISTANCE = LexiconEntry("word", code="placement")
_AWAY = LexiconEntry("preposition")
_NORMAL = LexiconEntry("normal", code="morphology")
_AIRWAY = LexiconEntry("finding", "endotracheal tube", "OTH")


def tag(text: str, vocabulary: Vocabulary, section: str) -> list[TaggedToken]:
    """Cut a sentence into units; articles are left out.

    Args:
        text: of the sentence.
        vocabulary: the spellings that are known.
        section: code of its section: words of a request ask, words of findings state.
    """
    return tag_tokens(vocabulary.tokens(text), vocabulary, section)


def tag_tokens(
    tokens: list[Token], vocabulary: Vocabulary, section: str
) -> list[TaggedToken]:
    """Cut the tokens of a sentence into units, as `tag` does.

    Args:
        tokens: of the sentence.
        vocabulary: the spellings that are known.
        section: code of its section.
    """
    units: list[TaggedToken] = []
    position = 0
    is_definite = False
    while position < len(tokens):
        sense, end = vocabulary.match(tokens, position, section)
        if sense is None:
            unit, end = _unlisted(tokens, position, units)
        else:
            unit = _listed(sense, tokens, position, end, units, section)
        if unit.kind != "article":
            unit.is_definite = is_definite
            units.append(unit)
        is_definite = unit.kind == "article" and unit.form in WORDS["definite"]
        position = end
    return units


def _unlisted(
    tokens: list[Token], at: int, before: list[TaggedToken]
) -> tuple[TaggedToken, int]:
    """Read what begins no spelling: a vertebra, a size, a distance, or unknown."""
    token = tokens[at]
    sense = UNKNOWN
    if _LEVEL_OF_BONE.fullmatch(token.form):
        # "At T8", "the 5th".
        sense = _LEVEL
    elif _NUMBER.match(token.form):
        end = _end_of_size(tokens, at)
        if end is not None:
            return _measured(tokens, at, end, before)
    return TaggedToken(sense, token.form, token.begin, token.end), at + 1


def _end_of_size(tokens: list[Token], at: int) -> int | None:
    """Find the position behind "2.3 x 1.4 cm" or "5 mm"; none where it is no size."""
    unit_of_size = at
    while unit_of_size < len(tokens):
        form = tokens[unit_of_size].form
        if not _NUMBER.match(form) and form not in _IN_SIZES:
            break
        unit_of_size += 1
    if unit_of_size == len(tokens):
        return None
    is_size = tokens[unit_of_size].form in WORDS["units_of_size"]
    return unit_of_size + 1 if is_size else None


def _measured(
    tokens: list[Token], at: int, end: int, before: list[TaggedToken]
) -> tuple[TaggedToken, int]:
    """Read a size, or a distance with the preposition of what it is measured from.

    Args:
        tokens: of the sentence.
        at: position of its first number.
        end: position behind its unit.
        before: the units before it; a distance is added.

    Returns:
        The unit, and the position behind it.
    """
    number = tokens[at]
    begin = number.begin
    if at > 0 and tokens[at - 1].form in WORDS["about"]:
        # "About 3 cm" is quoted as a whole.
        begin = tokens[at - 1].begin
    if end < len(tokens) and tokens[end].form in WORDS["distance_from"]:
        # "5 cm above the carina" is where a device ends, no size.
        direction = tokens[end]
        before.append(TaggedToken(_DISTANCE, direction.form, begin, direction.end))
        return TaggedToken(_AWAY, "at", direction.end, direction.end), end + 1
    unit_of_size = tokens[end - 1]
    return TaggedToken(_SIZE, number.form, begin, unit_of_size.end), end


def _listed(
    sense: LexiconEntry,
    tokens: list[Token],
    at: int,
    end: int,
    before: list[TaggedToken],
    section: str,
) -> TaggedToken:
    """Make the unit of a spelling, whose meaning may depend on the word before.

    Args:
        sense: that the spelling has alone.
        tokens: of the sentence.
        at: position of its first token.
        end: position behind its last token.
        before: the units before it; what it names besides is added.
        section: code of the sentence's section.
    """
    first = tokens[at]
    last = tokens[end - 1]
    previous = tokens[at - 1] if at > 0 else None
    sense = _beside(sense, first, previous, before, section)
    unit = TaggedToken(sense, first.form, first.begin, last.end)
    unit.is_single_word = last is first
    if sense.kind in ("place", "anatomy") and not unit.is_single_word:
        unit.noun = _noun_of_place(tokens[at:end])
    # "There was no effusion on the prior film": what is told of a film may be past.
    if sense.kind == "break" and last.form in ("was", "were"):
        unit.code = "there was"
    if sense.kind == "ended":
        # "Removed" of "has now been removed" is what stands in the row.
        for token in tokens[at:end]:
            unit.begin = token.begin
            if token.form not in WORDS["auxiliaries"]:
                break
    # "Increased" of "increased in": the last word only leads on to the finding.
    leads_on = last.form in WORDS["leads_on"] and not unit.is_single_word
    if leads_on and sense.kind in ("word", "ended"):
        last_quoted = tokens[end - 2]
        unit.end = last_quoted.end
    return unit


def _noun_of_place(tokens: list[Token]) -> TaggedToken | None:
    """Take the noun of a place: "zone" of "right upper lung zone" is "lung zone"."""
    last = tokens[-1]
    if last.form not in WORDS["nouns_of_places"]:
        return None
    begin = last.begin
    before_last = tokens[-2]
    # "Lung zone" of "right upper lung zone", and "zone" of "lung zone".
    if before_last.form == "lung" and len(tokens) > 2:
        begin = before_last.begin
    return TaggedToken(_LEVEL, last.form, begin, last.end)


def _beside(
    sense: LexiconEntry,
    first: Token,
    previous: Token | None,
    before: list[TaggedToken],
    section: str,
) -> LexiconEntry:
    """Give a spelling the meaning that it has behind the word before it.

    Args:
        sense: that it has alone.
        first: its first word.
        previous: the word before it.
        before: the units before it; what it names besides is added.
        section: code of its section.
    """
    last_unit = len(before) - 1
    kind_before = kind_at(before, last_unit)
    if sense.kind == "question":
        return _question(first, kind_before, section)
    besides = _named_besides(sense, first, kind_before)
    if besides is not None:
        before.append(TaggedToken(besides, first.form, first.begin, first.end))
        return sense
    if _says_nothing_here(sense, first, previous, before):
        return UNKNOWN
    return sense


def _question(first: Token, kind_before: str, section: str) -> LexiconEntry:
    """Read words that ask: "any", "rule out".

    Args:
        first: their first word.
        kind_before: kind of the unit before.
        section: code of their section.
    """
    # "Without any effusion": it belongs to the denial, and asks nothing.
    if first.form == "any" and kind_before in ("negated", "ended"):
        return UNKNOWN
    # Under History "any effusion" is a question; elsewhere, the aim of an examination.
    cue = "question.of_request" if section == "hist" else "aim.of_question"
    return entry_of(cue_named(cue))


def _named_besides(
    sense: LexiconEntry, first: Token, kind_before: str
) -> LexiconEntry | None:
    """Find what a cue names itself, besides what it says of others."""
    is_free = first.form == "free" and sense.kind == "negated"
    if is_free and kind_before == "copula":
        # "The lungs are free of infiltrate" also says that the lungs are clear.
        return _NORMAL
    # "Extubated": an endotracheal tube was there, and is no more.
    if sense.kind == "ended" and first.form in WORDS["extubated"]:
        return _AIRWAY
    return None


def _says_nothing_here(
    sense: LexiconEntry, first: Token, previous: Token | None, before: list[TaggedToken]
) -> bool:
    """Whether a spelling has lost its meaning behind other words.

    Args:
        sense: that it has alone.
        first: its first word.
        previous: the word before it.
        before: the units before it.
    """
    if first.form == "otherwise" and sense.kind == "break":
        # "The lungs are otherwise clear": nothing new begins.
        last_unit = len(before) - 1
        return kind_at(before, last_unit) in ("copula", "anatomy")
    if first.form == "raised":
        # "The possibility of pneumonia is raised": not elevated.
        return has_kind(before, "hedged")
    if first.form == "old":
        # "75 year old".
        return previous is not None and previous.form in WORDS["ages"]
    return False
