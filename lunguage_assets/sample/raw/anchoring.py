"""Makes the findings of a sentence quote it: every name, place and attribute is words of the printed text.

(method.md section "A row": words are taken from the text as written.)
"""

from __future__ import annotations

import re

from lunguage_assets.sample.knowledge import Knowledge
from lunguage_assets.sample.raw.styles import split_term
from lunguage_assets.sample.records import Fact, PrintedSentence


def anchor(sentence: PrintedSentence, known: Knowledge) -> None:
    """Split names that hold an attribute, take the printed form of every name, drop what is not printed."""
    for fact in sentence.facts:
        _split(fact, known)
        fact.words = _printed_form(fact, sentence.text)
        fact.attributes = {
            column: _lowered(value)
            for column, value in fact.attributes.items()
            if all(quotes(sentence.text, part) for part in value.split(", "))
        }
        _add_amounts(fact, sentence.text, known)
        if fact.inherited is not None:
            fact.location = fact.inherited
        printed = all(quotes(sentence.text, part) for part in fact.location.split(", "))
        fact.location = _lowered(fact.location) if printed else ""


def quotes(text: str, words: str) -> bool:
    """Whether the words stand in the text, as whole words, in any case."""
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


def _lowered(words: str) -> str:
    """Without the capital that begins a sentence; an abbreviation keeps its capitals."""
    return words[:1].lower() + words[1:] if words[1:2].islower() else words


def _add_amounts(fact: Fact, text: str, known: Knowledge) -> None:
    """Amounts that belong to the hedge's own sentence: 'effusion, if any, is minimal'."""
    if "if any" in fact.hedges:
        for words, column in known.wording["amounts"].items():
            if quotes(text, words):
                fact.attributes[column] = words


def _split(fact: Fact, known: Knowledge) -> None:
    parts = split_term(fact.term, known)
    while parts is not None:
        fact.term, modifier, column = parts
        fact.words = fact.words.removeprefix(f"{modifier} ")
        before = fact.attributes.get(column)
        fact.attributes[column] = f"{modifier}, {before}" if before else modifier
        parts = split_term(fact.term, known)


def _printed_form(fact: Fact, text: str) -> str:
    forms = (fact.words, fact.term.plural, fact.term.words)
    return next((form for form in forms if form and quotes(text, form)), fact.words)
