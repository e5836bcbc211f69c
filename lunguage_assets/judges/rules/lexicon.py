"""The `lexicon` judge: the hedge of a finding has a score on the published scale.

Which hedge governs it, the engine of `assertion/` says. The phrases and their scores
are in `resources/hedges.yaml`. The 42 published ones, with invented sentences that show
them, are the reference scale of explicit.md section 1: a ranking made with this judge
alone agrees with the published one by construction. Only these 42 scores are published.
Those of other phrases and cues, the shifts by context, and all weights are the author's
own estimates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from lunguage_assets.assertion.hedges import (
    bundled_lexicon,
    csv_rows,
)
from lunguage_assets.assertion.named import PREFERRED
from lunguage_assets.judges.rules.reading import Hedging, RuleJudge, Scope, total

_SHARE_OF_ALTERNATIVES = 0.25
_WHOLE_SCALE = 50.0
"""A denied hedge is as far from one end of the scale as it would be from the other."""


@cache
def reference_sentences() -> dict[str, tuple[str, ...]]:
    """Read masked, invented example sentences of every published phrase."""
    sentences: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for row in csv_rows("ruler_sentences.csv"):
        sentences[row["phrase"]] += (row["sentence"],)
    return sentences


class LexiconJudge(RuleJudge):
    """Answers from the governing hedge."""

    def __init__(self, key: str) -> None:
        lexicon = bundled_lexicon()
        self._shifts = lexicon.shifts
        self._score_by_cue = lexicon.places_by_cue
        self._score_by_phrase = lexicon.place_by_phrase
        super().__init__(
            key,
            method="lexicon",
            files=["hedges.yaml", "published_ranking.csv"],
            phrases=self._score_by_phrase,
        )

    def score_of(self, scope: Scope) -> float | None:
        """Score how certain a finding is; None: no hedge that the judge knows."""
        hedge_scores = self._scores_of(scope.hedges)
        joint_scores = self._scores_of(scope.joints)
        if hedge_scores:
            # "Could be consistent with": the weaker one wins.
            score = min(hedge_scores)
            if joint_scores:
                # An alternative takes some of the belief.
                score += _SHARE_OF_ALTERNATIVES * (min(joint_scores) - score)
            # "No longer suspicious for <finding>": what spoke for it speaks against it.
            if scope.denials:
                score = min(score, _WHOLE_SCALE - score)
        elif joint_scores and not scope.denials:
            # "<finding> or edema is seen": the alternative alone hedges it.
            score = max(joint_scores)
        elif scope.is_preferred and not scope.denials:
            # "<finding> rather than edema".
            score = self._score_by_cue[PREFERRED]
        else:
            # "No <finding>" hedges nothing.
            return None
        # Words that strengthen or weaken a finding, such as those of size, shift it.
        return round(score + total(self._shifts, scope.context), 6)

    def _scores_of(self, hedges: Iterable[Hedging]) -> list[float]:
        """Score hedges by their phrases, or else by their cues, where one is known."""
        scores: list[float] = []
        for hedge in hedges:
            of_phrases = [self._score_by_phrase[phrase] for phrase in hedge.phrases]
            if hedge.is_doubt:
                # "Little suspicion for": the phrase in the doubt is none itself.
                of_phrases = [it for it in of_phrases if it < _WHOLE_SCALE / 2]
            of_cue = self._score_by_cue.get(hedge.cue.category)
            of_cue = self._score_by_cue.get(hedge.cue.cue, of_cue)
            if not of_phrases and of_cue is not None:
                of_phrases.append(of_cue)
            scores += of_phrases
        return scores
