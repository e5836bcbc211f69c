"""The `cues` judge: the evidence of the words of all cues of a finding, added up.

Which cues govern it, the engine of `assertion/` says; the words are in
`resources/cues.yaml`. Each word speaks for or against presence with a weight of the
author's choosing, in logits; a score is the sum over all cues. The judge knows neither
the scores of phrases nor the published ranking: it averages where the `lexicon` judge
picks. A sentence without a cue word that governs the finding is answered as invalid.
"""

from __future__ import annotations

from itertools import chain

from pydantic import BaseModel

from lunguage_assets.assertion.tokens import alternatives
from lunguage_assets.judges.rules.reading import Hedging, RuleJudge, total
from lunguage_assets.packaged_data import read_as, resource

_PREFERRED = 0.8
"""Of the finding for which another is dismissed ("X rather than Y")."""
_MOST_OF_DOUBT = -2.0
"""The most that a doubt leaves, whatever its words: "a small likelihood of"."""
_SHARE_OF_JOINTS = 0.6
"""What the words that join a finding to alternatives count."""


Weights = dict[str, float]
"""Word -> evidence for presence in logits."""


class WordWeights(BaseModel, extra="forbid"):
    """The content of `resources/cues.yaml`.

    Attributes:
        cues: words of belief.
        negations: words that deny.
        context: words about size, change and the picture.
        phrases: words that stand together as one phrase ("may be due to").
    """

    cues: Weights
    negations: Weights
    context: Weights
    phrases: list[str]


_WEIGHTS = read_as(
    resource("cues.yaml"),
    WordWeights,
    'Give every word a weight in logits, and quote words such as "no" and "?".',
)


class CuesJudge(RuleJudge):
    """Answers from the sum of cues."""

    def __init__(self, key: str) -> None:
        super().__init__(
            key,
            method="cues",
            files=["cues.yaml", "hedges.yaml"],
            phrases=chain.from_iterable(map(alternatives, _WEIGHTS.phrases)),
        )

    def score(self, masked_sentence: str) -> float | None:
        """Score how certain a finding is.

        Returns:
            None: no word of belief governs it, and no other finding is dismissed for
            it.
        """
        scope = self.scope_of(masked_sentence)
        if not scope.is_preferred and not any(
            hedge.is_doubt or _WEIGHTS.cues.keys() & hedge.words
            for hedge in (*scope.hedges, *scope.joints)
        ):
            return None
        # "Could be consistent with" is no surer than "could be".
        beliefs = sorted(map(_belief, scope.hedges))[:1]
        beliefs += [_SHARE_OF_JOINTS * _belief(joint) for joint in scope.joints]
        if scope.denials:
            # "No longer suspicious for <finding>": words that speak for a finding speak
            # against it when they are denied.
            beliefs = [-abs(belief) for belief in beliefs]
        score = sum(beliefs) + _PREFERRED * scope.is_preferred
        for denial in scope.denials:
            score += total(_WEIGHTS.negations, denial.words)
        # Equal sums tie, in whatever order their words are added up.
        return round(score + total(_WEIGHTS.context, scope.context), 9)


def _belief(hedge: Hedging) -> float:
    """Weigh a hedge's words; a doubt never speaks for presence."""
    belief = total(_WEIGHTS.cues, hedge.words)
    if not hedge.is_doubt:
        return belief
    negation = total(_WEIGHTS.negations, hedge.words)
    return min(negation - abs(belief), _MOST_OF_DOUBT)
