"""Asks a panel of judges about the plays of a fit.

Step 2 of section 5 of docs/method/explicit.md: who plays, which example of the opponent
it is shown, and on which side. What follows from the answers is in `algorithm.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_panel
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import (
    U64,
    Integers,
    mix,
    random_bits,
    smallest,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings

# Mixed into the hash of a play, so that its draws are independent.
_EXAMPLE = 0
_COIN = 1
_LONE_JUDGE = 2


class Outcome(IntEnum):
    """What a judge said of a sentence and its opponent; valid from `LOST` on."""

    NOT_ASKED = -2
    INVALID = -1
    LOST = 0
    WON = 1


Outcomes = NDArray[np.int8]

_OUTCOME_IF_FIRST = {
    "sentence_1": Outcome.WON,
    "sentence_2": Outcome.LOST,
    "invalid": Outcome.INVALID,
}


@dataclass(frozen=True)
class FitPanel:
    """Asks a panel about distinct masked sentences.

    Every draw follows from (seed, sentence, step, judge) and nothing else. For a judge
    that is a scorer the sentence is left out: it gives a sentence one number, and
    chance would tell apart sentences of the same number (section 5).

    Attributes:
        sentences: masked sentences, by their number in the fits.
        reference: the phrases that they play.
        panel: the judges, in the order in which their answers are used.
        settings: seed and position.
    """

    sentences: Sequence[str]
    reference: ReferenceScale
    panel: Sequence[Judge]
    settings: ExplicitSettings

    def ask(
        self,
        active: Integers,
        opponent: Integers,
        step: Integers,
        is_whole_panel: NDArray[np.bool_],
    ) -> Outcomes:
        """Ask every judge about its plays; all judges are asked at the same time.

        Args:
            active: numbers of the sentences that play, shape (plays,).
            opponent: number of the phrase that each plays, shape (plays,).
            step: number of the play for that sentence, shape (plays,).
            is_whole_panel: whether all judges play; else one of them plays alone.

        Returns:
            An `Outcome` for each play and judge, shape (plays, judges).
        """
        judges = text_hashes(judge.key for judge in self.panel)
        by_step = mix(self._seed, step[:, None], judges)
        by_sentence = mix(self._sentence_seeds[active, None], step[:, None], judges)
        # Without a language model the step alone says who plays alone: sentences of the
        # same score then meet the same judges, and have the same probability.
        turns = by_step if all(self._is_scorer) else by_sentence
        lone_judge = mix(turns, _LONE_JUDGE).argmin(axis=1)
        is_lone_judge = np.arange(len(self.panel)) == lone_judge[:, None]
        is_asked = is_whole_panel[:, None] | is_lone_judge
        outcomes = np.full(is_asked.shape, Outcome.NOT_ASKED, dtype=np.int8)
        is_second = np.zeros(is_asked.shape, dtype=bool)
        questions: list[list[ComparisonQuestion]] = [[] for _ in self.panel]
        for number, judge in enumerate(self.panel):
            rows = np.flatnonzero(is_asked[:, number])
            draws = by_step if self._is_scorer[number] else by_sentence
            hashes = draws[rows, number]
            examples = self._draw_examples(opponent[rows], mix(hashes, _EXAMPLE))
            sentences = [self.sentences[i] for i in active[rows].tolist()]
            coin = random_bits(mix(hashes, _COIN))
            if isinstance(judge, Scorer):
                outcomes[rows, number] = _compare(judge, sentences, examples, coin)
                continue
            is_second[rows, number] = coin & (self.settings.position == "coin")
            questions[number] = list(
                map(_question, sentences, examples, is_second[rows, number], step[rows])
            )
        for number, choices in enumerate(ask_panel(self.panel, questions)):
            if choices:
                chosen = [_OUTCOME_IF_FIRST[choice] for choice in choices]
                outcomes[is_asked[:, number], number] = chosen
        # LOST is 0 and WON is 1, so that 1 - outcome is the other one.
        is_turned = is_second & (outcomes >= Outcome.LOST)
        return np.where(is_turned, 1 - outcomes, outcomes)

    def _draw_examples(self, opponent: Integers, draws: U64) -> list[str]:
        """Draw one example sentence of each opponent, that with the smallest hash.

        An example that is added later changes few draws.
        """
        examples = np.empty(len(opponent), dtype=object)
        for phrase in np.unique(opponent).tolist():
            plays = opponent == phrase
            drawn = smallest(draws[plays], self.reference.hashes[phrase])
            sentences = np.array(self.reference.sentences[phrase], dtype=object)
            examples[plays] = sentences[drawn]
        return list(examples)

    @cached_property
    def _is_scorer(self) -> list[bool]:
        return [isinstance(judge, Scorer) for judge in self.panel]

    @cached_property
    def _seed(self) -> int:
        return text_hash(self.settings.seed, "fit")

    @cached_property
    def _sentence_seeds(self) -> U64:
        return mix(self._seed, text_hashes(self.sentences))


def _question(
    sentence: str, example: str, is_second: np.bool_, step: np.int64
) -> ComparisonQuestion:
    """Show a sentence and an example of its opponent, the sentence first or second."""
    if is_second:
        return ComparisonQuestion(example, sentence, int(step))
    return ComparisonQuestion(sentence, example, int(step))


def _compare(
    scorer: Scorer,
    sentences: Sequence[str],
    examples: Sequence[str],
    coin: NDArray[np.bool_],
) -> Outcomes:
    """Let the higher score win; without a score of both the answer is invalid.

    Args:
        scorer: whose scores they are.
        sentences: that are fitted.
        examples: of their opponents.
        coin: decides between equal scores.
    """
    mu, _ = scorer.scores(sentences)
    opponent_mu, _ = scorer.scores(examples)
    has_won = np.where(mu == opponent_mu, coin, mu > opponent_mu)
    is_valid = ~(np.isnan(mu) | np.isnan(opponent_mu))
    outcomes = np.where(has_won, Outcome.WON, Outcome.LOST)
    return np.where(is_valid, outcomes, Outcome.INVALID).astype(np.int8)
