"""A sentence as units: known spellings in order, the longest first.

What a spelling means by itself stands in the word files (`vocabulary.py`). Here are the
meanings that hang on the word right before it; those that hang on the sentence are in
`meaning/`.
"""

from __future__ import annotations

import re

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.tokens import Token
from lunguage_assets.assertion.units import UNKNOWN, TaggedToken, kind_at
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary, sense_of
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
    cue = _comparison(tokens, at, before) if token.form == "than" else ""
    if cue:
        sense = sense_of(cue_named(cue))
        return TaggedToken(sense, token.form, token.begin, token.end), at + 1
    # "At T8", "the 5th".
    if _LEVEL_OF_BONE.fullmatch(token.form):
        return TaggedToken(_LEVEL, token.form, token.begin, token.end), at + 1
    end = _end_of_size(tokens, at) if _NUMBER.match(token.form) else at + 1
    if end == at + 1:
        return TaggedToken(UNKNOWN, token.form, token.begin, token.end), end
    # "About 3 cm" is quoted as a whole.
    begin = token.begin
    if at and tokens[at - 1].form in WORDS["about"]:
        begin = tokens[at - 1].begin
    if end < len(tokens) and tokens[end].form in WORDS["distance_from"]:
        # "5 cm above the carina" is where a device ends, no size.
        direction = tokens[end]
        before.append(TaggedToken(_DISTANCE, direction.form, begin, direction.end))
        return TaggedToken(_AWAY, "at", direction.end, direction.end), end + 1
    return TaggedToken(_SIZE, token.form, begin, tokens[end - 1].end), end


def _comparison(tokens: list[Token], at: int, before: list[TaggedToken]) -> str:
    """Name the cue that "than" is behind a comparison of two findings.

    "More likely edema than pneumonia" doubts the second; "less likely edema than
    pneumonia" prefers it.
    """
    # "More than three nodules" compares no findings: the words right before are none.
    for token in reversed(tokens[: at - 1]):
        if token.form in (".", ";"):
            return ""
        if token.form in WORDS["comparisons"]:
            is_doubt = token.form == "more"
            cues = [unit for unit in before if unit.begin <= token.begin < unit.end]
            if any(unit.kind == "hedged" or unit.doubts for unit in cues):
                return "doubted.than" if is_doubt else "hedged.than"
    return ""


def _end_of_size(tokens: list[Token], at: int) -> int:
    """Find the end of "2.3 x 1.4 cm" or "5 mm"; the next token where it is no size."""
    end = at
    while end < len(tokens) and (
        _NUMBER.match(tokens[end].form) or tokens[end].form in _IN_SIZES
    ):
        end += 1
    if end < len(tokens) and tokens[end].form in WORDS["units_of_size"]:
        return end + 1
    return at + 1


def _listed(
    sense: LexiconEntry,
    tokens: list[Token],
    at: int,
    end: int,
    before: list[TaggedToken],
    section: str,
) -> TaggedToken:
    """Make the unit of a spelling, whose meaning may depend on the word before."""
    first = tokens[at]
    last = tokens[end - 1]
    previous = tokens[at - 1] if at else None
    sense = _beside(sense, first, previous, before, section)
    unit = TaggedToken(sense, first.form, first.begin, last.end)
    unit.is_single_word = last is first
    if sense.kind in ("place", "anatomy") and last is not first:
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
    is_led_on = last is not first and last.form in WORDS["leads_on"]
    if is_led_on and sense.kind in ("word", "ended"):
        unit.end = tokens[end - 2].end
    return unit


def _noun_of_place(tokens: list[Token]) -> TaggedToken | None:
    """Take the noun of a place: "zone" of "right upper lung zone" is "lung zone"."""
    last = tokens[-1]
    if last.form not in WORDS["nouns_of_places"]:
        return None
    is_lung = len(tokens) > 2 and tokens[-2].form == "lung"
    begin = tokens[-2].begin if is_lung else last.begin
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
    unit_before = before[-1] if before else None
    kind_before = unit_before.kind if unit_before is not None else ""
    if sense.kind == "question":
        return _question(first, kind_before, section)
    besides = _named_besides(sense, first, kind_before)
    if besides is not None:
        before.append(TaggedToken(besides, first.form, first.begin, first.end))
        return sense
    # "The lungs are clear of infiltrate" denies; "of the lung" does not.
    if sense.kind == "preposition" and first.form in WORDS["clear_of"]:
        is_behind_clear = unit_before is not None and unit_before.form in WORDS["clear"]
        return sense_of(cue_named("negated.clear_of")) if is_behind_clear else sense
    if _says_nothing_here(sense, first, previous, before):
        return UNKNOWN
    return sense


def _question(first: Token, kind_before: str, section: str) -> LexiconEntry:
    # "Without any effusion": it belongs to the denial, and asks nothing.
    if first.form == "any" and kind_before in ("negated", "ended"):
        return UNKNOWN
    # Under History "any effusion" is a question; elsewhere, the aim of an examination.
    cue = "question.of_request" if section == "hist" else "aim.of_question"
    return sense_of(cue_named(cue))


def _named_besides(
    sense: LexiconEntry, first: Token, kind_before: str
) -> LexiconEntry | None:
    """Find what a cue names itself, besides what it says of others."""
    # "The lungs are free of infiltrate" also says that the lungs are clear.
    if first.form == "free" and sense.kind == "negated" and kind_before == "copula":
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
    # "The lungs are otherwise clear": nothing new begins.
    if first.form == "otherwise" and sense.kind == "break":
        return kind_at(before, len(before) - 1) in ("copula", "anatomy")
    # "The possibility of pneumonia is raised": not elevated.
    if first.form == "raised":
        return any(unit.kind == "hedged" for unit in before)
    # "75 year old".
    is_age = previous is not None and previous.form in WORDS["ages"]
    return first.form == "old" and is_age
