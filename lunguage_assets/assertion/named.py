"""How a sentence means a finding that somebody names: judges and rules of labels ask.

What belongs here: the questions of those who know the finding already. What it is that
a cue reaches, the other modules of this folder say.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.tokens import MASK
from lunguage_assets.assertion.units import (
    Edge,
    TaggedToken,
)
from lunguage_assets.assertion.vocabulary import bundled_vocabulary

PREFERRED = "preferred"
"""What the cue of "A rather than B" makes of A."""

_CONTRASTS = frozenset({"doubted.rather_than", "doubted.than", "doubted.favored_over"})
"""Cues that set one finding against another."""
_DENYING = ("negated", "doubted", "mimic", "reservation")
_NEAR = 30
"""Units that are looked through for what belongs to a mention."""
_BEFORE_DESCRIPTION = ("break", "copula", "negated", "negated before", "ended")
"""What a description begins with, or behind: "no definite large effusion"."""


class NamedFinding(NamedTuple):
    """How a sentence means the finding that was named.

    Attributes:
        cues: hedges, denials and alternatives that govern it, the nearest first; of the
            category `PREFERRED` one that dismisses another finding for it.
        mentions: characters (begin, end) of every mention.
        clauses: characters (begin, end) of the clauses in which it is mentioned.
    """

    cues: tuple[Edge, ...]
    mentions: tuple[tuple[int, int], ...]
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
    units = _read(sentence)
    mentions = [at for at, unit in enumerate(units) if unit.name == MASK]
    begins = [unit.begin for unit in units]
    # Of two edges from the same words the first counts.
    nearest_by_span: dict[tuple[int, int], tuple[int, int, Edge]] = {}
    for at, edge in _edges(units, mentions):
        distance = abs(bisect_left(begins, edge.begin) - at)
        if edge.cue == "hedged.than":
            edge = edge._replace(category=PREFERRED)
        span = (edge.begin, edge.end)
        nearest_by_span.setdefault(span, (distance, edge.begin, edge))
    nearest_first = tuple(edge for *_, edge in sorted(nearest_by_span.values()))
    spans = tuple((units[at].begin, units[at].end) for at in mentions)
    return NamedFinding(nearest_first, spans, tuple(_clauses(units)))


def _read(sentence: str) -> list[TaggedToken]:
    units = tag(sentence, bundled_vocabulary(), "find")
    mark_assertions(units, sentence, bundled_vocabulary())
    return units


def _clauses(units: list[TaggedToken]) -> Iterator[tuple[int, int]]:
    """Yield the characters of each clause in which the named finding stands."""
    for is_break, clause in groupby(units, lambda unit: unit.kind == "break"):
        words = list(clause)
        if not is_break and any(unit.name == MASK for unit in words):
            yield words[0].begin, words[-1].end


def _edges(units: list[TaggedToken], mentions: list[int]) -> Iterator[tuple[int, Edge]]:
    """Yield what reaches each mention, and what prefers it to something else."""
    stated = [at for at in mentions if not units[at].negation]
    for at in mentions:
        yield from ((at, edge) for edge in units[at].edges)
    for at in stated:
        contrast = _contrast(units, at)
        if contrast is not None:
            yield at, contrast.edge_as(PREFERRED)
    if stated:
        # "Crowded vessels or <finding>": what else it may be is in no word list.
        for unit in units:
            if unit.kind == "alternative":
                yield stated[0], unit.edge_as("alternative")


def _contrast(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find the dismissal of another: "reflects <finding> rather than edema"."""
    for unit in units[at + 1 : at + _NEAR]:
        if unit.kind in ("finding", "break"):
            return None
        if unit.cue.id in _CONTRASTS:
            return unit
    return None


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
    denied = [mention for mention in mentions if mention.negation]
    denials: list[NamedDenial] = []
    for mention in denied or mentions:
        before = units[: units.index(mention)]
        begins = [unit.begin for unit in before if unit.kind in _BEFORE_DESCRIPTION]
        description = masked[max(begins, default=0) : mention.begin]
        described = f"{description} {finding}".lower().split()
        words = tuple(word.strip(".,;:()") for word in reversed(described))
        # What has gone, has gone whole; "large effusion: none" has no list either.
        is_behind_denial = any(
            edge.category in _DENYING and edge.begin < mention.begin
            for edge in mention.edges
        )
        denials.append(NamedDenial(words, is_behind_denial))
    return denials
