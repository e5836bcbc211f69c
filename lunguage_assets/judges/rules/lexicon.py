"""The `lexicon` judge: the hedge of a finding has a score on the published scale.

Which hedge governs it, the engine of `assertion/` says. The phrases and their scores
are in `resources/hedges.yaml`. The 42 published ones, with invented sentences that show
them, are the reference scale of explicit.md section 1: a ranking made with this judge
alone agrees with the published one by construction. Only these 42 scores are published.
Those of other phrases and cues, the shifts by context, and all weights are the author's
own estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pandas as pd

from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.assertion.named import PREFERRED
from lunguage_assets.judges.rules.reading import Hedging, RuleJudge, total
from lunguage_assets.packaged_data import resource

_LEXICON = bundled_lexicon()
_SCORE_BY_PHRASE = _LEXICON.place_by_phrase
_SCORE_BY_CUE = _LEXICON.places_by_cue
_SHARE_OF_ALTERNATIVES = 0.25
_WHOLE_SCALE = 50.0
"""A denied hedge is as far from one end of the scale as it would be from the other."""


@cache
def reference_sentences() -> pd.Series:
    """Read masked, invented example sentences of every published phrase."""
    rows = pd.read_csv(resource("ruler_sentences.csv"))
    return rows.groupby("phrase", sort=False)["sentence"].agg(tuple)


class LexiconJudge(RuleJudge):
    """Answers from the governing hedge."""

    def __init__(self, key: str) -> None:
        super().__init__(
            key,
            method="lexicon",
            files=["hedges.yaml", "published_ranking.csv"],
            phrases=_SCORE_BY_PHRASE,
        )

    def score(self, masked_sentence: str) -> float | None:
        """Score how certain a finding is; None: no hedge that the judge knows."""
        scope = self.scope_of(masked_sentence)
        hedge_scores = _scores_of(scope.hedges)
        joint_scores = _scores_of(scope.joints)
        if hedge_scores:
            # "Could be consistent with": the weaker one wins.
            score = min(hedge_scores)
            if joint_scores:
                # An alternative takes some of the belief.
                score += _SHARE_OF_ALTERNATIVES * (min(joint_scores) - score)
            # "No longer suspicious for <finding>": what spoke for it speaks against it.
            if scope.denials:
                score = min(score, _WHOLE_SCALE - score)
        elif scope.denials or not (joint_scores or scope.is_preferred):
            # "No <finding>" hedges nothing.
            return None
        else:
            # "<finding> or edema is seen": the alternative alone hedges it. Without one
            # it is "<finding> rather than edema".
            score = max(joint_scores, default=_SCORE_BY_CUE[PREFERRED])
        # Words that strengthen or weaken a finding, such as those of size, shift it.
        return round(score + total(_LEXICON.shifts, scope.context), 6)


def _scores_of(hedges: Iterable[Hedging]) -> list[float]:
    """Score hedges by their phrases, or else by their cues, where one is known."""
    scores: list[float] = []
    for hedge in hedges:
        of_phrases = [_SCORE_BY_PHRASE[phrase] for phrase in hedge.phrases]
        if hedge.is_doubt:
            # "Little suspicion for": the phrase in the doubt is none itself.
            of_phrases = [it for it in of_phrases if it < _WHOLE_SCALE / 2]
        names = (hedge.cue.cue, hedge.cue.category)
        of_cue = [_SCORE_BY_CUE[name] for name in names if name in _SCORE_BY_CUE]
        scores += of_phrases or of_cue[:1]
    return scores
