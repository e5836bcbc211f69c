"""Asks a panel of judges about the plays of a fit.

Step 2 of section 5 of docs/method/explicit.md: who plays, which example of the opponent
it is shown, and on which side. What follows from the answers is in `algorithm.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    Judge,
    ask_panel,
)
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


class _Plays(NamedTuple):
    """What one judge plays in one step; every field has an entry per play.

    Attributes:
        sentences: masked sentences that are fitted.
        opponent: number of the phrase on the reference scale.
        step: number of the play for that sentence.
        hashes: of (seed, sentence, step, judge).
    """

    sentences: list[str]
    opponent: Integers
    step: Integers
    hashes: U64


class _Presentation(NamedTuple):
    """Questions to a language model, and which of them show the sentence second."""

    questions: list[ComparisonQuestion]
    is_second: NDArray[np.bool_]

    def outcomes(self, choices: Sequence[Choice]) -> Outcomes:
        """Turn the side that the judge chose into the outcome for the sentence."""
        # LOST is 0 and WON is 1, so that 1 - outcome is the other one.
        if_first = np.array(
            [_OUTCOME_IF_FIRST[choice] for choice in choices], dtype=np.int8
        )
        is_turned = (if_first >= Outcome.LOST) & self.is_second
        return np.where(is_turned, 1 - if_first, if_first)


_NO_QUESTIONS = _Presentation([], np.empty(0, dtype=np.bool_))


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
        # Without a language model the step alone says who plays alone: sentences of the
        # same score then meet the same judges, and have the same probability.
        seeds: U64 | int = self._seed
        if not all(isinstance(judge, Scorer) for judge in self.panel):
            seeds = self._sentence_seeds[active]
        hashes = np.stack(
            [mix(seeds, step, text_hash(judge.key)) for judge in self.panel], axis=1
        )
        lone_judge = np.argmin(mix(hashes, _LONE_JUDGE), axis=1)
        is_lone_judge = np.arange(len(self.panel)) == lone_judge[:, None]
        is_asked = is_whole_panel[:, None] | is_lone_judge
        outcomes = np.full(is_asked.shape, Outcome.NOT_ASKED, dtype=np.int8)
        presentations: list[_Presentation] = []
        for number, judge in enumerate(self.panel):
            rows = np.flatnonzero(is_asked[:, number])
            plays = _Plays(
                sentences=[self.sentences[i] for i in active[rows].tolist()],
                opponent=opponent[rows],
                step=step[rows],
                hashes=hashes[rows, number],
            )
            if isinstance(judge, Scorer):
                outcomes[rows, number] = self._compare_scores(judge.key, judge, plays)
                presentations.append(_NO_QUESTIONS)
            else:
                presentations.append(self._present(plays))
        choices_by_judge = ask_panel(
            self.panel, [presentation.questions for presentation in presentations]
        )
        for number, choices in enumerate(choices_by_judge):
            if choices:
                rows = np.flatnonzero(is_asked[:, number])
                outcomes[rows, number] = presentations[number].outcomes(choices)
        return outcomes

    def _present(self, plays: _Plays) -> _Presentation:
        """Pair each sentence with an example of its opponent, in a random order."""
        examples = self._draw_examples(plays.opponent, mix(plays.hashes, _EXAMPLE))
        is_drawn_second = random_bits(mix(plays.hashes, _COIN))
        is_second = is_drawn_second & (self.settings.position == "coin")
        questions = []
        for sentence, example, replicate, is_behind in zip(
            plays.sentences,
            examples,
            plays.step.tolist(),
            is_second.tolist(),
            strict=True,
        ):
            first, second = (example, sentence) if is_behind else (sentence, example)
            questions.append(ComparisonQuestion(first, second, replicate))
        return _Presentation(questions, is_second)

    def _compare_scores(
        self, judge_key: str, scorer: Scorer, plays: _Plays
    ) -> Outcomes:
        """Let the higher score win; without a score of both the answer is invalid.

        The example, and the coin between equal scores, follow from seed, step and judge
        alone, so that sentences of the same score have the same probability.
        """
        hashes = mix(self._seed, plays.step, text_hash(judge_key))
        examples = self._draw_examples(plays.opponent, mix(hashes, _EXAMPLE))
        mu, _ = scorer.scores(plays.sentences)
        opponent_mu, _ = scorer.scores(examples)
        is_won_by_coin = random_bits(mix(hashes, _COIN))
        has_won = np.where(mu == opponent_mu, is_won_by_coin, mu > opponent_mu)
        is_valid = ~(np.isnan(mu) | np.isnan(opponent_mu))
        outcomes = np.where(has_won, Outcome.WON, Outcome.LOST)
        return np.where(is_valid, outcomes, Outcome.INVALID).astype(np.int8)

    def _draw_examples(self, opponent: Integers, draws: U64) -> list[str]:
        """Draw one example sentence of each opponent, that with the smallest hash.

        An example that is added later changes few draws.
        """
        examples = [""] * len(opponent)
        for phrase in np.unique(opponent).tolist():
            plays = np.flatnonzero(opponent == phrase)
            drawn = smallest(draws[plays], self.reference.hashes[phrase])
            sentences = self.reference.sentences[phrase]
            for play, number in zip(plays.tolist(), drawn.tolist(), strict=True):
                examples[play] = sentences[number]
        return examples

    @cached_property
    def _seed(self) -> int:
        return text_hash(self.settings.seed, "fit")

    @cached_property
    def _sentence_seeds(self) -> U64:
        return mix(self._seed, text_hashes(self.sentences))
