"""The state of fits while they run: scores, counts, and why each fit ended.

Steps 1, 3 and 4 of section 5 of docs/method/explicit.md: which phrase a sentence plays
next, how an answer moves its score, and when its fit stops. The questions are asked in
`fit_panel.py`; the loop over the steps is in `fitting.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.randomness import Floats, Integers

DRAW_BETA = 25.0 / 6.0
"""b of the draw probability, which is not the rounded 4.167 of the updates."""

MAX_STEPS_WITHOUT_ANSWER = 10
"""Steps without a valid answer after which the fit of a sentence is given up."""


class Outcome(IntEnum):
    """What a judge said of a sentence and its opponent; valid from `LOST` on."""

    NOT_ASKED = -2
    INVALID = -1
    LOST = 0
    WON = 1


class Stop(IntEnum):
    """Why the fit of a sentence ended."""

    RUNNING = -1
    STABLE_RANK = 0
    STEP_LIMIT = 1
    NO_OPPONENT = 2
    NO_ANSWERS = 3


STOP_LABELS = {
    Stop.STABLE_RANK: "stable rank",
    Stop.STEP_LIMIT: "step limit",
    Stop.NO_OPPONENT: "no opponent left",
    Stop.NO_ANSWERS: "no valid answers",
}
"""Words of the column `stop`."""

Outcomes = NDArray[np.int8]
Counts = NDArray[np.int16]


@dataclass
class FitState:
    """Fits of many sentences, side by side.

    Attributes:
        mu: score of each sentence, shape (sentences,) as all that have no other.
        variance: square of its sigma.
        counts: steps with a valid answer against each phrase, (sentences, phrases).
        won: valid answers that it won, (sentences, judges, phrases).
        lost: valid answers that it lost, of the same shape.
        steps: steps with a valid answer.
        void: steps without one.
        invalid: invalid answers.
        rank: number of phrases with a higher mu; -1 before the first step.
        stable: consecutive steps with this rank.
        stop: a `Stop`. A fit that was given up has no meaningful mu.
    """

    mu: Floats
    variance: Floats
    counts: Counts
    won: Counts
    lost: Counts
    steps: Integers
    void: Integers
    invalid: Integers
    rank: Integers
    stable: Integers
    stop: Integers

    @classmethod
    def start(cls, sentences: int, phrases: int, judges: int) -> FitState:
        """Put every sentence at the prior, without an answer.

        Args:
            sentences: how many are fitted.
            phrases: how many the reference scale has.
            judges: how many the panel has.
        """
        return cls(
            mu=np.full(sentences, trueskill.MU),
            variance=np.full(sentences, trueskill.SIGMA**2),
            counts=np.zeros((sentences, phrases), dtype=np.int16),
            won=np.zeros((sentences, judges, phrases), dtype=np.int16),
            lost=np.zeros((sentences, judges, phrases), dtype=np.int16),
            steps=np.zeros(sentences, dtype=np.int64),
            void=np.zeros(sentences, dtype=np.int64),
            invalid=np.zeros(sentences, dtype=np.int64),
            rank=np.full(sentences, -1, dtype=np.int64),
            stable=np.zeros(sentences, dtype=np.int64),
            stop=np.full(sentences, Stop.RUNNING, dtype=np.int64),
        )

    @property
    def answers(self) -> Integers:
        """Valid answers about each sentence, shape (sentences,)."""
        total: Integers = (self.won + self.lost).sum(axis=(1, 2), dtype=np.int64)
        return total

    def running(self) -> Integers:
        """Numbers of the sentences whose fit has not ended."""
        return np.flatnonzero(self.stop == Stop.RUNNING)

    def play(
        self,
        active: Integers,
        opponent: Integers,
        outcomes: Outcomes,
        reference: ReferenceScale,
    ) -> None:
        """Move the scores of sentences by the answers of one step (step 3).

        Args:
            active: numbers of the sentences that play, each once, shape (plays,).
            opponent: number of the phrase that each plays, shape (plays,).
            outcomes: an `Outcome` of every judge in panel order, (plays, judges).
            reference: the phrases, which do not move.
        """
        for judge, outcomes_of_judge in enumerate(outcomes.T):
            is_valid = outcomes_of_judge >= Outcome.LOST
            sentences = active[is_valid]
            phrases = opponent[is_valid]
            # The scale is fixed: only the sentence moves, answer by answer.
            new_mu, new_variance = trueskill.update(
                mu=self.mu[sentences],
                variance=self.variance[sentences],
                opponent_mu=reference.mu[phrases],
                opponent_variance=reference.variance[phrases],
                won=outcomes_of_judge[is_valid] == Outcome.WON,
            )
            self.mu[sentences] = new_mu
            self.variance[sentences] = new_variance
            self.won[active, judge, opponent] += outcomes_of_judge == Outcome.WON
            self.lost[active, judge, opponent] += outcomes_of_judge == Outcome.LOST
        # A step in which every answer was invalid has taught nothing: neither patience
        # nor counts advance by it (step 3).
        is_answered = np.any(outcomes >= Outcome.LOST, axis=1)
        self.invalid[active] += (outcomes == Outcome.INVALID).sum(axis=1)
        self.void[active] += ~is_answered
        self.steps[active] += is_answered
        self.counts[active, opponent] += is_answered
        self._update_rank(active, is_answered, reference)

    def _update_rank(
        self,
        active: Integers,
        is_answered: NDArray[np.bool_],
        reference: ReferenceScale,
    ) -> None:
        """Count how long the rank has been the same; a void step does not count."""
        # 0 is the most certain: no phrase has a higher mu (step 4).
        rank = (reference.mu > self.mu[active, None]).sum(axis=1)
        is_same = rank == self.rank[active]
        stable_if_answered = np.where(is_same, self.stable[active] + 1, 1)
        self.stable[active] = np.where(
            is_answered, stable_if_answered, self.stable[active]
        )
        self.rank[active] = rank

    def end(
        self,
        active: Integers,
        opponent_limit: Integers | int,
        step_limit: int,
        patience: int,
    ) -> None:
        """End the fits that have a reason to end (step 4).

        Args:
            active: numbers of the sentences that have just played.
            opponent_limit: plays against one phrase, for each of them or for all.
            step_limit: steps with a valid answer after which a fit ends.
            patience: consecutive steps with the same rank after which it ends.
        """
        plays_of_rarest = self.counts[active].min(axis=1)
        # The strongest reason is written last: a fit that is stable says so, even where
        # it has run out of opponents in the same step.
        is_given_up = self.void[active] >= MAX_STEPS_WITHOUT_ANSWER
        self.stop[active[is_given_up]] = Stop.NO_ANSWERS
        self.stop[active[plays_of_rarest >= opponent_limit]] = Stop.NO_OPPONENT
        self.stop[active[self.steps[active] >= step_limit]] = Stop.STEP_LIMIT
        self.stop[active[self.stable[active] >= patience]] = Stop.STABLE_RANK


class Opponents(NamedTuple):
    """The phrase that each sentence plays next; both have shape (sentences,).

    Attributes:
        phrase: number of the phrase on the reference scale.
        draw: draw probability, which says how even the play is expected to be.
    """

    phrase: Integers
    draw: Floats


def choose_opponents(
    active: Integers,
    fits: FitState,
    reference: ReferenceScale,
    limit: Integers | int,
) -> Opponents:
    """Choose the most even opponent that was played fewer than `limit` times (step 1).

    Args:
        active: numbers of the sentences that play; each has such an opponent.
        fits: where they are.
        reference: the phrases. The first in ranking order wins a tie.
        limit: plays against one phrase, for each sentence or for all.
    """
    draw = draw_probability(
        mu=fits.mu[active, None],
        variance=fits.variance[active, None],
        opponent_mu=reference.mu,
        opponent_variance=reference.variance,
    )
    is_eligible = fits.counts[active] < np.reshape(limit, (-1, 1))
    # Below every probability, so that what was played often enough is not chosen.
    eligible_draw = np.where(is_eligible, draw, -1.0)
    phrase = np.argmax(eligible_draw, axis=1).astype(np.int64)
    return Opponents(phrase, draw[np.arange(len(active)), phrase])


def draw_probability(
    mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any
) -> Floats:
    """Compute how probable a draw would be, with the formula of step 1.

    Args:
        mu: scores of one side; all arguments broadcast.
        variance: squares of their sigma.
        opponent_mu: scores of the other side.
        opponent_variance: squares of their sigma.
    """
    c2 = 2.0 * DRAW_BETA**2 + variance + opponent_variance
    distance = np.exp(-((mu - opponent_mu) ** 2) / (2.0 * c2))
    draw: Floats = np.sqrt(2.0 * DRAW_BETA**2 / c2) * distance
    return draw
