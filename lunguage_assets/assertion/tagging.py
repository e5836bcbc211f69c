"""A sentence as units: known spellings in order, the longest first.

What a spelling means by itself stands in the word files (`vocabulary.py`). Here are the
meanings that hang on the word right before it.
"""

from __future__ import annotations

import re

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.tokens import Token
from lunguage_assets.assertion.units import UNKNOWN, TaggedToken
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary, entry_of
from lunguage_assets.assertion.word_files import WORDS

_LEVEL_OF_BONE = re.compile(r"[ctls]\d{1,2}|\d{1,2}(?:st|nd|rd|th)")
_NUMBER = r"\d[\d.,]*"
_SIZE = re.compile(
    # "2.3 x 1.4 cm", "2 to 3 cm", "5 mm"
    rf"{_NUMBER}(?:\s*(?:x|by|to|-|–)\s*{_NUMBER})*[\s-]*"
    rf"(?:{'|'.join(sorted(WORDS['units_of_size']))})s?\b",
    re.IGNORECASE,
)

_LEVEL = LexiconEntry("place")
_SIZE_ENTRY = LexiconEntry("word", code="measurement")
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
    tokens = vocabulary.tokens(text)
    units: list[TaggedToken] = []
    position = 0
    is_definite = False
    while position < len(tokens):
        entry, end = vocabulary.match(tokens, position, section)
        if entry is None:
            read, end = _unlisted(tokens, position, text)
        else:
            kind_before = units[-1].kind if units else ""
            read = _listed(entry, tokens[position:end], kind_before, section)
        is_article = read[-1].kind == "article"
        if not is_article:
            read[-1].is_definite = is_definite
            units += read
        is_definite = is_article and read[-1].form in WORDS["definite"]
        position = end
    if [unit.kind for unit in units[:3]] == ["anatomy", "break", "normal"]:
        # "Ribs. Normal." (`text/sentences.py`)
        units[1].become(LexiconEntry("copula"))
    return units


def _unlisted(tokens: list[Token], at: int, text: str) -> tuple[list[TaggedToken], int]:
    """Read what begins no spelling: a vertebra, a size, a distance, or unknown.

    Args:
        tokens: of the sentence.
        at: position of the first one.
        text: of the sentence.

    Returns:
        The units, and the position behind them.
    """
    token = tokens[at]
    size = _SIZE.match(text, token.begin)
    if size is None:
        # "At T8", "the 5th".
        entry = _LEVEL if _LEVEL_OF_BONE.fullmatch(token.form) else UNKNOWN
        return [TaggedToken(entry, token.form, token.begin, token.end)], at + 1
    begin = token.begin
    if at > 0 and tokens[at - 1].form in WORDS["about"]:
        # "About 3 cm" is quoted as a whole.
        begin = tokens[at - 1].begin
    end = at
    while end < len(tokens) and tokens[end].begin < size.end():
        end += 1
    if end < len(tokens) and tokens[end].form in WORDS["distance_from"]:
        # "5 cm above the carina" is where a device ends, no size.
        away = tokens[end]
        distance = TaggedToken(_DISTANCE, away.form, begin, away.end)
        return [distance, TaggedToken(_AWAY, "at", away.end, away.end)], end + 1
    return [TaggedToken(_SIZE_ENTRY, token.form, begin, size.end())], end


def _listed(
    entry: LexiconEntry, words: list[Token], kind_before: str, section: str
) -> list[TaggedToken]:
    """Make the unit of a spelling, and of what it names besides.

    Args:
        entry: its meaning alone; it may depend on the word before.
        words: its tokens.
        kind_before: kind of the unit before.
        section: code of the sentence's section.
    """
    first = words[0]
    last = words[-1]
    read: list[TaggedToken] = []
    if entry.kind == "question":
        entry = _question(kind_before, section)
    elif first.form == "free":
        # "The lungs are free of infiltrate" also says that the lungs are clear.
        read.append(TaggedToken(_NORMAL, first.form, first.begin, first.end))
    elif first.form in WORDS["extubated"]:
        # An endotracheal tube was there, and is no more.
        read.append(TaggedToken(_AIRWAY, first.form, first.begin, first.end))
    unit = TaggedToken(entry, first.form, first.begin, last.end)
    unit.is_single_word = len(words) == 1
    if unit.kind in ("place", "anatomy") and not unit.is_single_word:
        unit.noun = _noun_of_place(words)
    _quote_less(unit, words)
    return [*read, unit]


def _noun_of_place(words: list[Token]) -> TaggedToken | None:
    """Take the noun of a place: "zone" of "right upper lung zone" is "lung zone"."""
    last = words[-1]
    if last.form not in WORDS["nouns_of_places"]:
        return None
    # "Lung zone" of "right upper lung zone", and "zone" of "lung zone".
    noun = words[-2] if words[-2].form == "lung" else last
    return TaggedToken(_LEVEL, last.form, noun.begin, last.end)


def _quote_less(unit: TaggedToken, words: list[Token]) -> None:
    """Leave out of a spelling what a row does not quote of it.

    Args:
        unit: of the spelling; changed in place.
        words: its tokens.
    """
    *leading, last = words
    if unit.kind == "break" and last.form in WORDS["then"]:
        # "There was no effusion on the prior film": what is told of a film may be past.
        unit.code = "there was"
    if unit.kind == "ended":
        # "Removed" of "has now been removed" is what stands in the row.
        quoted = (word for word in words if word.form not in WORDS["auxiliaries"])
        unit.begin = next(quoted, last).begin
    if unit.kind in ("word", "ended") and leading and last.form in WORDS["leads_on"]:
        # "Increased" of "increased in": the last word only leads on to the finding.
        unit.end = leading[-1].end


def _question(kind_before: str, section: str) -> LexiconEntry:
    """Read words that ask, in a section of this code: "any", "rule out"."""
    # "Without any effusion": it belongs to the denial, and asks nothing.
    if kind_before in ("negated", "ended"):
        return UNKNOWN
    # Under History "any effusion" is a question; elsewhere, the aim of an examination.
    cue = "question.of_request" if section == "hist" else "aim.of_question"
    return entry_of(cue_named(cue))
