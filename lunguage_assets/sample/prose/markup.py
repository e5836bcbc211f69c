"""Statements written out in full: their words are chosen, their finding markup becomes text and facts."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from functools import lru_cache

from lunguage_assets.sample.knowledge import FIND, Knowledge, MarkedFinding, StockStatement, findings_in
from lunguage_assets.sample.prose.language import capitalised
from lunguage_assets.sample.records import Fact, PrintedSentence, is_evidence

_SLOT = re.compile(r"\{([A-Za-z_]+?)(\d?)\}")


def say(statement: StockStatement, rng: random.Random, knowledge: Knowledge) -> dict[str, PrintedSentence]:
    """The statement's sentences by section, `text` for the section the caller wants.

    Slots agree over all of them.
    """
    whole = "\n".join(statement.texts.values())
    chosen = _choose(whole, rng, knowledge)
    return {
        section: _sentence(_put(text, chosen), statement.order, knowledge)
        for section, text in statement.texts.items()
    }


def _choose(text: str, rng: random.Random, knowledge: Knowledge) -> dict[str, str]:
    """A word for every slot; numbered slots of one list differ from each other."""
    chosen: dict[str, str] = {}
    for name, digit in sorted({(match[1].lower(), match[2]) for match in _SLOT.finditer(text)}):
        taken = {word for slot, word in chosen.items() if slot.rstrip("0123456789") == name}
        chosen[name + digit] = rng.choice([word for word in knowledge.words[name] if word not in taken])
    return chosen


def _put(text: str, chosen: dict[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        found = chosen[match[1].lower() + match[2]]
        return capitalised(found) if match[1][0].isupper() else found

    return _SLOT.sub(word, text)


def _sentence(text: str, order: int, knowledge: Knowledge) -> PrintedSentence:
    marks = findings_in(text)
    facts = [_fact(mark, knowledge) for mark in marks]
    for mark, fact in zip(marks, facts, strict=True):
        if mark.evidence:
            is_evidence(facts[mark.evidence - 1], fact)
    return PrintedSentence(_printed(text), facts, order)


@lru_cache(maxsize=65_536)
def _printed(text: str) -> str:
    """The text without markup, with `an` before a number that was chosen: an 8 mm, an 11 mm."""
    bare = FIND.sub(lambda match: match["shown"].split("|")[0] if match["shown"] else "", text)
    return re.sub(r"\b([Aa]) (?=(?:8|11)\b)", r"\1n ", bare)


def _fact(mark: MarkedFinding, knowledge: Knowledge) -> Fact:
    cells = dict(mark.cells)
    location = cells.pop("location", "")
    return Fact(
        mark.words.lower(), knowledge.term(mark.words), mark.status, location, cells, located=mark.shown
    )


def cells_of(statement: StockStatement, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Every (column, value) that the statement can write, over all choices of its words.

    The vocabulary file lists them.
    """
    for mark in (mark for text in statement.texts.values() for mark in findings_in(text)):
        for column, value in mark.cells.items():
            slots = sorted({match[1] + match[2] for match in _SLOT.finditer(value)})
            lists = [knowledge.words[slot.rstrip("0123456789")] for slot in slots]
            for choice in itertools.product(*lists):
                yield column, _put(value, dict(zip(slots, choice, strict=True)))
