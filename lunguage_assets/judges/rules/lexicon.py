"""The `lexicon` judge: the hedge that governs the finding has a place on the published scale.

Which hedge governs it, the engine of `assertion/` says. The phrases and their places are in
resources/hedges.yaml; the 42 published ones, with invented sentences that show them, are the ruler of
explicit.md section 1. A ranking made with it alone agrees with the published one by construction. Only the
42 places are published: those of other phrases and cues, the shifts by context, and all weights are the
author's own estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Self

from lunguage_assets.assertion.hedges import (
    Lexicon,
    bundled_lexicon,
    csv_rows,
    published_ranking,
)
from lunguage_assets.judges.protocol import ExtractionQuestion
from lunguage_assets.judges.rules.reading import (
    DOUBTING,
    Hedging,
    PhraseTable,
    RuleJudge,
    Scope,
    all_hedges,
    scope_of,
    texts_of,
    words_of,
)

VERSION = "4"
"""Part of the judge's identity: raise it with every change of rules that changes an answer."""

_MOST_SHIFT = 5.0
_SHARE_OF_ALTERNATIVES = 0.25
_WHOLE_SCALE = 50.0
"""A denied hedge is as far from one end of the scale as it would be from the other."""


@cache
def reference_sentences() -> dict[str, tuple[str, ...]]:
    """Masked, invented example sentences of every published phrase."""
    rows = csv_rows("ruler_sentences.csv")
    return {
        entry.phrase: tuple(
            row["sentence"] for row in rows if row["phrase"] == entry.phrase
        )
        for entry in published_ranking()
    }


class LexiconJudge(RuleJudge):
    """Answers from the governing hedge."""

    def __init__(self, key: str, lexicon: Lexicon) -> None:
        hedges = sorted(
            (hedge.phrase, hedge.place, hedge.side) for hedge in lexicon.hedges
        )
        cues = sorted(lexicon.places_by_cue.items())
        super().__init__(
            key, "lexicon", VERSION, hedges, cues, sorted(lexicon.shifts.items())
        )
        self._shifts = lexicon.shifts
        self._places_by_cue = lexicon.places_by_cue
        self._place_by_phrase = {hedge.phrase: hedge.place for hedge in lexicon.hedges}
        self._table = PhraseTable(self._place_by_phrase)

    @classmethod
    def bundled(cls, key: str) -> Self:
        return cls(key, bundled_lexicon())

    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """The governing hedge, hedges that it is chained to, and what joins the finding to alternatives.

        Without a masked sentence the finding's position is unknown and every hedge of the sentence is given:
        such pairs are reviewed by a person.
        """
        sentence = question.masked_sentence
        if sentence is None:
            found = all_hedges(question.sentence, self._table)
            return tuple(dict.fromkeys(phrase.text for phrase in found))
        scope = scope_of(sentence, self._table)
        return texts_of((*scope.chain, *scope.joints), sentence)

    def score(self, masked_sentence: str) -> float | None:
        """None without a hedge that the judge knows."""
        scope = scope_of(masked_sentence, self._table)
        doubts = [hedge for hedge in scope.farther if hedge.cue.category in DOUBTING]
        places = self._places([*scope.chain, *doubts])
        joined = self._places(scope.joints)
        if places:
            score = min(places)  # "could be consistent with": the weaker one wins
            if joined:
                # An alternative takes some of the belief.
                score += _SHARE_OF_ALTERNATIVES * (min(joined) - score)
            if scope.denials:
                score = min(score, _WHOLE_SCALE - score)
        elif scope.denials:
            return None
        elif joined:
            score = max(joined)
        elif scope.is_preferred:
            score = self._places_by_cue["preferred"]
        else:
            return None
        return round(score + self._shift(masked_sentence, scope), 6)

    def _places(self, hedges: Iterable[Hedging]) -> list[float]:
        """The place of every hedge that has one: of its phrases, of its cue, or of the cue's category."""
        found: list[float] = []
        for hedge in hedges:
            places = [self._place_by_phrase[phrase.text] for phrase in hedge.phrases]
            if hedge.cue.category in DOUBTING:
                # "Little suspicion for": the phrase in the doubt is none itself.
                places = [place for place in places if place < _WHOLE_SCALE / 2]
            found += places
            if not places:
                names = (hedge.cue.cue, hedge.cue.category)
                found += [
                    self._places_by_cue[name]
                    for name in names
                    if name in self._places_by_cue
                ][:1]
        return found

    def _shift(self, sentence: str, scope: Scope) -> float:
        """Shift by words of the finding's clauses that strengthen or weaken it, outside its hedges."""
        inside = [(hedge.begin, hedge.end) for hedge in scope.all]
        shift = 0.0
        for clause in scope.clauses:
            for word in words_of(sentence, *clause):
                if word.text in self._shifts and not _is_inside(word.begin, inside):
                    shift += self._shifts[word.text]
        return max(-_MOST_SHIFT, min(_MOST_SHIFT, shift))


def _is_inside(position: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(begin <= position < end for begin, end in spans)
