"""How a sentence means a finding that somebody names: judges and rules of labels ask.

What belongs here: the questions of those who know the finding already. What it is that
a cue reaches, the other modules of this folder say.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.tokens import MASK
from lunguage_assets.assertion.units import (
    Edge,
    Units,
)
from lunguage_assets.assertion.vocabulary import bundled_vocabulary

PREFERRED = "preferred"
"""What the cue of "A rather than B" makes of A."""

_CONTRASTS = frozenset({"doubted.rather_than", "doubted.than", "doubted.favored_over"})
"""Cues that set one finding against another."""
_DENYING = ("negated", "doubted", "mimic", "reservation")
_BEFORE_DESCRIPTION = ("break", "copula", "negated", "negated before", "ended")
"""What a description begins with, or behind: "no definite large effusion"."""


class NamedFinding(NamedTuple):
    """How a sentence means the finding that was named.

    Attributes:
        cues: hedges, denials and alternatives that govern it; of the category
            `PREFERRED` one that dismisses another finding for it.
        clauses: characters (begin, end) of the clauses in which it is mentioned.
    """

    cues: tuple[Edge, ...]
    clauses: tuple[tuple[int, int], ...]


class NamedDenial(NamedTuple):
    """The words that describe a mention of the named finding, the nearest first.

    Attributes:
        words: from its denial on, in lower case.
        is_behind_denial: whether a cue before them denies the mention: they may be said
            of all of its list.
    """

    words: tuple[str, ...]
    is_behind_denial: bool


def governing_cues(sentence: str) -> NamedFinding:
    """Find the cues that govern the masked finding of a sentence."""
    edges: list[Edge] = []
    clauses: list[tuple[int, int]] = []
    units = _read(sentence)
    is_stated = any(unit.name == MASK and not unit.is_denied for unit in units)
    for _, words in groupby(units, lambda unit: unit.kind == "break"):
        clause = list(words)
        is_named = False
        for unit in clause:
            if unit.name == MASK:
                is_named = True
                edges += unit.edges
            elif is_stated and unit.kind == "alternative":
                # "Crowded vessels or <finding>": what else it may be is in no list.
                edges.append(unit.edge_as("alternative"))
            elif is_stated and is_named and unit.cue.id in _CONTRASTS:
                # "Reflects <finding> rather than edema"
                edges.append(unit.edge_as(PREFERRED))
        if is_named:
            clauses.append((clause[0].begin, clause[-1].end))
    return NamedFinding(tuple(dict.fromkeys(edges)), tuple(clauses))


def _read(sentence: str) -> Units:
    units = tag(sentence, bundled_vocabulary(), "find")
    mark_assertions(units, sentence, bundled_vocabulary())
    return units


def denials_of(sentence: str, finding: str) -> list[NamedDenial]:
    """Find the words that describe a finding where a sentence denies it.

    "No large effusion" denies less than "no effusion". Which words restrict a denial,
    and of which findings, say those who ask.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there.

    Returns:
        One for each mention that is denied, in the order of the sentence; one for each
        mention where none is. Whoever asks knows from elsewhere that it is.
    """
    # As one word, "possible scar" holds no hedge.
    words_of_finding = r"\s+".join(map(re.escape, finding.split()))
    masked = re.sub(words_of_finding, MASK, sentence, flags=re.IGNORECASE)
    units = _read(masked)
    mentions = [unit for unit in units if unit.name == MASK]
    denied = [mention for mention in mentions if mention.is_denied]
    denials: list[NamedDenial] = []
    for mention in denied or mentions:
        before = units[: units.index(mention)]
        begins = [
            # "Clear of" is said of the lungs; "no clear effusion" describes it.
            unit.end if unit.cue.id == "negated.free_of" else unit.begin
            for unit in before
            if unit.kind in _BEFORE_DESCRIPTION
        ]
        description = masked[max(begins, default=0) : mention.begin]
        # "Non-calcified" names the kind that "calcified" does.
        described = f"{description} {finding}".lower().replace("-", " ").split()
        words = tuple(word.strip(".,;:()") for word in reversed(described))
        # What has gone, has gone whole; "large effusion: none" has no list either.
        is_behind_denial = any(
            edge.category in _DENYING and edge.begin < mention.begin
            for edge in mention.edges
        )
        denials.append(NamedDenial(words, is_behind_denial))
    return denials
