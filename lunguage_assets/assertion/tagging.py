"""A sentence as units: known spellings in order, the longest first.

What a spelling means by itself stands in the word files (`vocabulary.py`). Here are the
meanings that hang on the word right before it.
"""

from __future__ import annotations

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.tokens import Token, tokens_of
from lunguage_assets.assertion.units import UNKNOWN, TaggedToken, Units
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary, entry_of
from lunguage_assets.assertion.word_files import WORDS

_PLACE = LexiconEntry("place")
_AT = LexiconEntry("preposition")
_AIRWAY = LexiconEntry("finding", "endotracheal tube", "OTH")


def tag(text: str, vocabulary: Vocabulary, section: str) -> Units:
    """Cut a sentence into units; articles are left out.

    Args:
        text: of the sentence.
        vocabulary: the spellings that are known.
        section: code of its section: words of a request ask, words of findings state.
    """
    tokens = tokens_of(text)
    units: Units = []
    position = 0
    is_definite = False
    while position < len(tokens):
        entry, end = vocabulary.match(tokens, position, section)
        words = tokens[position:end]
        if entry is not None and entry.kind == "question":
            entry = _question(units, section)
        read = _read(entry or UNKNOWN, words)
        is_article = read[-1].kind == "article"
        if not is_article:
            read[-1].is_definite = is_definite
            units += read
        is_definite = words[0].form in WORDS["definite"]
        position = end
    if [unit.kind for unit in units[:3]] == ["anatomy", "break", "normal"]:
        # "Ribs. Normal." (`text/sentences.py`)
        units[1].become(LexiconEntry("copula"))
    return units


def _read(entry: LexiconEntry, words: list[Token]) -> Units:
    """Make the unit of a spelling, and of what it names besides.

    Args:
        entry: its meaning.
        words: its tokens.
    """
    first = words[0]
    last = words[-1]
    unit = TaggedToken(entry, first.form, first.begin, last.end)
    if len(words) > 1:
        _read_last_word(unit, words)
    if entry.code == "placement" and last.form in WORDS["distance_from"]:
        # "5 cm above the carina" is where a device ends.
        return [unit, TaggedToken(_AT, "at", last.end, last.end)]
    if entry.kind == "ended" and first.form in WORDS["extubated"]:
        # An endotracheal tube was there, and is no more.
        return [TaggedToken(_AIRWAY, first.form, first.begin, first.end), unit]
    return [unit]


def _read_last_word(unit: TaggedToken, words: list[Token]) -> None:
    """Read what the last word of a spelling of several says besides."""
    last = words[-1]
    unit.is_single_word = False
    if last.form in WORDS["nouns_of_places"]:
        # "Zone" of "right upper zone"
        unit.noun = TaggedToken(_PLACE, last.form, last.begin, last.end)
    elif unit.kind in ("word", "ended") and last.form in WORDS["leads_on"]:
        # "Increased" of "increased in": the last word only leads on to the finding.
        unit.end = words[-2].end


def _question(units: Units, section: str) -> LexiconEntry:
    """Read words that ask, in a section of this code: "any", "rule out"."""
    # "Without any effusion": it belongs to the denial, and asks nothing.
    if units and units[-1].kind in ("negated", "ended"):
        return UNKNOWN
    # Under History "any effusion" is a question; elsewhere, the aim of an examination.
    cue = "question.of_request" if section == "hist" else "aim.of_question"
    return entry_of(cue_named(cue))
