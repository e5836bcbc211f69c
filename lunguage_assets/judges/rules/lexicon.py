"""The `lexicon` judge: finds the hedge that governs the finding and knows that hedge's place on the published
scale. The phrases are in resources/hedges.yaml; the 42 published ones, with invented sentences that show
them, are the ruler of explicit.md section 1.

A ranking made with it alone agrees with the published one by construction. Only the 42 places are published:
those of other phrases, the shifts by context, and all weights are the author's own estimates.
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple, Self, get_args

from pydantic import BaseModel

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.judges.protocol import MASK, ExtractionQuestion
from lunguage_assets.judges.rules.reading import (
    SAME_CLAUSE,
    Reading,
    RuleJudge,
    contrast_of,
    denies_list,
    is_denied,
    is_predicate,
)

VERSION = "3"
"""Part of the judge's identity: raise it with every change of rules that changes an answer."""

Side = Literal["right", "left", "both", "list"]
_WRONG_SIDE = 12
_LIST_REACH = {"left": 5, "right": 4}
_EXCLUSION = frozenset({"exclude", "excluded", "rule", "ruled"})
_CHAIN_BREAKS = frozenset({MASK, ".", ",", ";", ":", "and", "or", "but"})
_PREFERRED, _DISMISSED = 34.0, 8.0
"""Places of the two findings of a contrast ("X rather than Y"): the author's own estimates on the published
scale.
"""
_SHIFT_REACH = 8


class PublishedPhrase(NamedTuple):
    """A phrase of the published ranking; rank 0 is the most certain."""

    rank: int
    phrase: str
    mu: float
    sigma: float


@lru_cache(maxsize=1)
def published_ranking() -> tuple[PublishedPhrase, ...]:
    """The published ranking, most certain first."""
    return tuple(
        PublishedPhrase(int(row["rank"]), row["phrase"], float(row["mu"]), float(row["sigma"]))
        for row in _rows("published_ranking.csv")
    )


@lru_cache(maxsize=1)
def ruler_sentences() -> dict[str, tuple[str, ...]]:
    """Masked, invented example sentences of every published phrase."""
    rows = _rows("ruler_sentences.csv")
    return {
        entry.phrase: tuple(row["sentence"] for row in rows if row["phrase"] == entry.phrase)
        for entry in published_ranking()
    }


def _rows(name: str) -> list[dict[str, str]]:
    with resource(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@dataclass(frozen=True, slots=True)
class Hedge:
    """A phrase of the lexicon, its place on the published scale, and the side on which its finding stands.

    `structured`: the offline structurer takes it for a hedge, too; it has words of its own for the others.
    """

    phrase: str
    place: float
    side: Side
    structured: bool = True


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A hedge at tokens start..end-1 of a sentence, and its cost: how far it is from the finding, wrong side
    and clause breaks included.
    """

    hedge: Hedge
    start: int
    end: int
    cost: int
    mention: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The phrases, the words near the finding that shift a phrase's place, in points of mu, and word -> all
    its inflections.
    """

    hedges: tuple[Hedge, ...]
    shifts: Mapping[str, float]
    inflections: Mapping[str, tuple[str, ...]]


class _File(BaseModel):
    """The content of resources/hedges.yaml."""

    published: dict[Side, list[str]]
    inflections: list[tuple[str, ...]]
    rarer: list[Hedge]
    judged: list[Hedge]
    shifts: dict[str, float]


@lru_cache(maxsize=1)
def bundled_lexicon() -> Lexicon:
    """Published, rarer and judged phrases in every inflection, those of one phrase at the mean of the places
    that are given, and shifts, of resources/hedges.yaml.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    remedy = f"Give every phrase a place and a side, one of {get_args(Side)}, and every shift a number."
    file = read_as(resource("hedges.yaml"), _File, remedy)
    side_of = {phrase: side for side, phrases in file.published.items() for phrase in phrases}
    hedges = [Hedge(entry.phrase, entry.mu, side_of[entry.phrase]) for entry in published_ranking()]
    hedges += [*file.rarer, *(replace(hedge, structured=False) for hedge in file.judged)]
    forms = {word: group for group in file.inflections for word in group}
    known: dict[tuple[tuple[str, ...], ...], list[Hedge]] = {}
    for hedge in hedges:
        known.setdefault(tuple(forms.get(word, (word,)) for word in hedge.phrase.split()), []).append(hedge)
    found = []
    for inflected, group in known.items():
        place = sum(hedge.place for hedge in group) / len(group)
        named = {hedge.phrase: hedge for hedge in group}
        for phrase in map(" ".join, product(*inflected)):
            one = named.get(phrase, replace(group[0], phrase=phrase, structured=False))
            found.append(replace(one, place=place))
    return Lexicon(tuple(found), file.shifts, forms)


class LexiconJudge(RuleJudge):
    """Answers from the governing hedge."""

    def __init__(self, key: str, lexicon: Lexicon) -> None:
        hedges = sorted((hedge.phrase, hedge.place, hedge.side) for hedge in lexicon.hedges)
        super().__init__(key, "lexicon", VERSION, hedges, sorted(lexicon.shifts.items()))
        self._shifts = lexicon.shifts
        self._by_first: dict[str, list[tuple[list[str], Hedge]]] = {}
        of_words = [(hedge.phrase.split(), hedge) for hedge in lexicon.hedges]
        for words, hedge in sorted(of_words, key=lambda known: (-len(known[0]), known[1].phrase)):
            self._by_first.setdefault(words[0], []).append((words, hedge))

    @classmethod
    def bundled(cls, key: str) -> Self:
        return cls(key, bundled_lexicon())

    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """The governing hedge, hedges that it is chained to, and the connectors of the list that the finding
        stands in.

        Without a masked sentence the place is unknown and every hedge of the sentence is given: such pairs
        are reviewed by a person.
        """
        if question.masked_sentence is None:
            found = self._occurrences(Reading.of(question.sentence))
        else:
            found = self._in_scope(Reading.of(question.masked_sentence))
        return tuple(dict.fromkeys(one.hedge.phrase for one in sorted(found, key=lambda known: known.start)))

    def _occurrences(self, reading: Reading) -> list[Occurrence]:
        """All hedges, longest match first, none overlapping."""
        found: list[Occurrence] = []
        place, tokens = 0, reading.tokens
        while place < len(tokens):
            known = self._by_first.get(tokens[place], ())
            ends = ((hedge, self._end(words, tokens, place)) for words, hedge in known)
            hedge, end = next(((hedge, end) for hedge, end in ends if end), (None, place + 1))
            if hedge is not None:
                nearest = reading.nearest_mentions(place, end)
                costs = ((_cost(reading, hedge, place, end, at), at) for at in nearest)
                found.append(Occurrence(hedge, place, end, *min(costs, default=(0, -1))))
            place = end
        return found

    def _end(self, words: Sequence[str], tokens: Sequence[str], place: int) -> int:
        """The token behind a hedge that begins here, or 0.

        Adverbs inside an exclusion do not matter: "cannot be confidently excluded".
        """
        for number, word in enumerate(words):
            while word in _EXCLUSION and number and place < len(tokens) and self._is_adverb(tokens[place]):
                place += 1
            if place == len(tokens) or tokens[place] != word:
                return 0
            place += 1
        return place

    def _is_adverb(self, token: str) -> bool:
        return token.endswith("ly") and token not in self._by_first

    def _in_scope(self, reading: Reading) -> list[Occurrence]:
        """The hedges that are about the finding, the governing one first."""
        found = self._occurrences(reading)
        hedges = [o for o in found if o.hedge.side != "list"]
        joins = [o for o in found if o.hedge.side == "list" and not denies_list(reading, o.start)]
        near = (o for o in hedges if o.cost < SAME_CLAUSE)
        governing = min(near, key=lambda o: (o.cost, o.start), default=None)
        chosen = [] if governing is None else [governing, *_chained(reading, governing, hedges)]
        starts = [one.start for one in hedges]
        return [*chosen, *(one for one in joins if _connects(reading, one, starts))]

    def score(self, masked_sentence: str) -> float | None:
        """None without a hedge that the judge knows."""
        reading = Reading.of(masked_sentence)
        scope, contrast = self._in_scope(reading), contrast_of(reading)
        governing = [o for o in scope if o.hedge.side != "list"]
        joined = [o.hedge.place for o in scope if o.hedge.side == "list"]
        if governing:
            weakest = min(one.hedge.place for one in governing)  # "could be consistent with"
            score = weakest - 0.2 * governing[0].cost
            if joined:  # an alternative takes some of the belief
                score = 0.75 * score + 0.25 * min(joined)
            if _turned(reading, governing[0]):
                score = min(score, 50.0 - score)
        elif joined or contrast is not None:
            score = max(joined, default=_PREFERRED)
        else:
            return None
        if contrast is not None:  # "less likely Y than X" dismisses Y, and prefers X
            between, is_preferred = contrast
            if not is_preferred:
                score = min(score, _DISMISSED)
            elif not between.first_preferred:
                score = max(score, _PREFERRED)
        return round(score + _context(reading, scope, self._shifts), 6)


def _cost(reading: Reading, hedge: Hedge, start: int, end: int, mention: int) -> int:
    leads = hedge.side == "right" and not is_predicate(reading, start, end)
    fits = hedge.side in ("both", "list") or leads == (end <= mention)
    return reading.apart(start, end, mention) + (0 if fits else _WRONG_SIDE)


def _chained(reading: Reading, governing: Occurrence, hedges: Sequence[Occurrence]) -> list[Occurrence]:
    """Hedges next to the governing one, at most one word between ("could possibly represent"), and those next
    to them; `hedges` in the order of the sentence.
    """
    place, chain = hedges.index(governing), []
    for others in (hedges[:place][::-1], hedges[place + 1 :]):
        edge = governing
        for other in others:
            first, second = sorted((edge, other), key=lambda o: o.start)
            between = reading.tokens[first.end : second.start]
            if len(between) > 1 or _CHAIN_BREAKS.intersection(between):
                break
            edge = other
            chain.append(edge)
    return chain


def _connects(reading: Reading, connector: Occurrence, hedge_starts: Sequence[int]) -> bool:
    """Whether it joins the list in which the mention stands: near it, with no other hedge between.
    `hedge_starts` are in the order of the sentence.
    """
    before = connector.end <= connector.mention
    start, end = (connector.end, connector.mention) if before else (connector.mention + 1, connector.start)
    reach = _LIST_REACH["left" if before else "right"] + (3 if connector.hedge.phrase == "either" else 0)
    first, last = bisect_left(hedge_starts, start), bisect_left(hedge_starts, end)
    return reading.between(start, end) <= reach and first >= last


def _turned(reading: Reading, governing: Occurrence) -> bool:
    """Whether the governing hedge is denied, or denies the finding ("not likely", "likely not")."""
    if reading.word(governing.start - 1) in {"no", "without"}:
        return True
    return governing.mention >= 0 and is_denied(reading, governing.start, governing.end, governing.mention)


def _context(reading: Reading, scope: Sequence[Occurrence], shifts: Mapping[str, float]) -> float:
    """Shift by words near the finding that strengthen or weaken a statement, outside the hedges
    themselves.
    """
    inside = {place for occurrence in scope for place in range(occurrence.start, occurrence.end)}
    shift = 0.0
    for place, token in enumerate(reading.tokens):
        if token in shifts and place not in inside:
            nearest = reading.nearest_mentions(place, place + 1)
            costs = (reading.between(*sorted((place, mention))) for mention in nearest)
            shift += shifts[token] if min(costs, default=0) <= _SHIFT_REACH else 0.0
    return max(-5.0, min(5.0, shift))
