"""Algorithm 1 of the paper: a sentence plays ranked phrases until its rank is stable.

Section 5 of docs/method/explicit.md, whose steps are numbered here. A sentence's steps
follow one another, but sentences are independent: every round plays one step of each
sentence, and asks each judge once. How a judge is asked is in `fit_panel.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.fit_panel import FitPanel, Outcome, Outcomes
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.progress import Fitting, announce
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.randomness import Floats, Integers
from lunguage_assets.settings import ExplicitSettings

DRAW_BETA = 25.0 / 6.0
"""b of the draw probability, which is not the rounded 4.167 of the updates."""

MAX_STEPS_WITHOUT_ANSWER = 10
"""Steps without a valid answer after which the fit of a sentence is given up."""

RUNNING = ""
STABLE_RANK = "stable rank"
STEP_LIMIT = "step limit"
NO_OPPONENT = "no opponent left"
NO_ANSWERS = "no valid answers"
"""Why a fit ended, in the words of the column `stop`."""


class Round(NamedTuple):
    """The plays of one round, and where each sentence is after it.

    Attributes:
        sentence: number of each sentence that played, shape (plays,) as all but one.
        step: number of the play for that sentence.
        opponent: number of the phrase.
        draw_probability: how even the play was expected to be.
        outcomes: an `Outcome` per judge, shape (plays, judges).
        mu: score after the play.
        sigma: its deviation.
        rank: phrases with a higher mu.
    """

    sentence: Integers
    step: Integers
    opponent: Integers
    draw_probability: Floats
    outcomes: Outcomes
    mu: Floats
    sigma: Floats
    rank: Integers


def fit_sentences(
    sentences: Sequence[str],
    reference: ReferenceScale,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
    log: list[Round] | None = None,
) -> Fits:
    """Fit distinct masked sentences.

    Args:
        sentences: masked sentences.
        reference: the phrases that they play.
        panel: judges, in the order in which their answers are used.
        settings: N (`opponent_limit`), K (`panel_steps`), patience and step limit.
        log: every round is added to it.

    Returns:
        The fits, all ended.
    """
    fits = Fits(len(sentences), reference, len(panel))
    judges = FitPanel(sentences, reference, panel, settings)
    while len(active := fits.running()):
        step = fits.tried[active]
        opponent, draw = fits.opponents(active, settings.opponent_limit)
        # Steps without a valid answer do not use up the whole panel's share of K steps.
        is_whole_panel = fits.steps[active] < settings.panel_steps
        outcomes = judges.ask(active, opponent, step, is_whole_panel)
        fits.play(active, opponent, outcomes)
        fits.end(
            active, settings.opponent_limit, settings.step_limit, settings.patience
        )
        if log is not None:
            mu = fits.mu[active]
            sigma = np.sqrt(fits.variance[active])
            rank = fits.rank[active]
            log.append(Round(active, step, opponent, draw, outcomes, mu, sigma, rank))
        announce(Fitting(len(fits.running()), len(sentences), int(step.max()) + 1))
    return fits


class Fits:
    """Fits of many sentences; every sentence begins at the prior, without an answer.

    Attributes:
        mu: score of each sentence, shape (sentences,) as all that have no other.
        variance: square of its sigma.
        counts: steps with a valid answer against each phrase, (sentences, phrases).
        won: valid answers that it won, (sentences, judges, phrases).
        lost: valid answers that it lost, of the same shape.
        steps: steps with a valid answer.
        tried: steps with and without one.
        invalid: invalid answers.
        rank: number of phrases with a higher mu; -1 before the first step.
        stable: consecutive steps with this rank.
        stop: why it ended; `RUNNING` before.
    """

    def __init__(self, sentences: int, reference: ReferenceScale, judges: int) -> None:
        phrases = len(reference.mu)
        self._reference = reference
        self.mu = np.full(sentences, trueskill.MU)
        self.variance = np.full(sentences, trueskill.SIGMA**2)
        self.counts = np.zeros((sentences, phrases), dtype=np.int16)
        self.won = np.zeros((sentences, judges, phrases), dtype=np.int16)
        self.lost = np.zeros_like(self.won)
        self.steps = np.zeros(sentences, dtype=np.int64)
        self.tried = np.zeros_like(self.steps)
        self.invalid = np.zeros_like(self.steps)
        self.stable = np.zeros_like(self.steps)
        self.rank = np.full(sentences, -1)
        self.stop = np.full(sentences, RUNNING, dtype=object)

    def running(self) -> Integers:
        """Numbers of the sentences whose fit has not ended."""
        return np.flatnonzero(self.stop == RUNNING)

    def opponents(
        self, active: Integers, limit: Integers | int
    ) -> tuple[Integers, Floats]:
        """Step 1: choose the most even opponent that was played less than N times.

        Args:
            active: numbers of the sentences that play; each has such an opponent.
            limit: N, for each of them or for all.

        Returns:
            The phrase of each, the first in ranking order where several are as even,
            and the probability of a draw.
        """
        mu = self.mu[active, None]
        variance = self.variance[active, None]
        draw = draw_probability(
            mu, variance, self._reference.mu, self._reference.variance
        )
        # Below every probability, so that what was played often enough is not chosen.
        is_eligible = self.counts[active] < np.reshape(limit, (-1, 1))
        phrase = np.where(is_eligible, draw, -1.0).argmax(axis=1)
        return phrase, draw[np.arange(len(active)), phrase]

    def play(self, active: Integers, opponent: Integers, outcomes: Outcomes) -> None:
        """Step 3: move the scores of sentences by the answers of one step.

        Args:
            active: numbers of the sentences that play, each once, shape (plays,).
            opponent: number of the phrase that each plays, shape (plays,).
            outcomes: an `Outcome` of every judge in panel order, (plays, judges).
        """
        for judge, outcomes_of_judge in enumerate(outcomes.T):
            has_won = outcomes_of_judge == Outcome.WON
            has_lost = outcomes_of_judge == Outcome.LOST
            self.won[active, judge, opponent] += has_won
            self.lost[active, judge, opponent] += has_lost
            is_valid = has_won | has_lost
            sentences = active[is_valid]
            phrases = opponent[is_valid]
            # The scale is fixed: only the sentence moves, answer by answer.
            self.mu[sentences], self.variance[sentences] = trueskill.update(
                mu=self.mu[sentences],
                variance=self.variance[sentences],
                opponent_mu=self._reference.mu[phrases],
                opponent_variance=self._reference.variance[phrases],
                won=has_won[is_valid],
            )
        # A step in which every answer was invalid has taught nothing: neither patience
        # nor counts advance by it.
        is_answered = (outcomes >= Outcome.LOST).any(axis=1)
        self.invalid[active] += (outcomes == Outcome.INVALID).sum(axis=1)
        self.tried[active] += 1
        self.steps[active] += is_answered
        self.counts[active, opponent] += is_answered
        rank = (self._reference.mu > self.mu[active, None]).sum(axis=1)
        stable = np.where(rank == self.rank[active], self.stable[active] + 1, 1)
        self.stable[active] = np.where(is_answered, stable, self.stable[active])
        self.rank[active] = rank

    def end(
        self,
        active: Integers,
        opponent_limit: Integers | int,
        step_limit: int,
        patience: int,
    ) -> None:
        """Step 4: end the fits that have a reason to end.

        Args:
            active: numbers of the sentences that have just played.
            opponent_limit: N, for each of them or for all.
            step_limit: steps with a valid answer after which a fit ends.
            patience: consecutive steps with the same rank after which it ends.
        """
        steps = self.steps[active]
        is_given_up = self.tried[active] - steps >= MAX_STEPS_WITHOUT_ANSWER
        is_without_opponent = self.counts[active].min(axis=1) >= opponent_limit
        # The strongest reason is written last: a fit that is stable says so, even where
        # it has run out of opponents in the same step.
        self.stop[active[is_given_up]] = NO_ANSWERS
        self.stop[active[is_without_opponent]] = NO_OPPONENT
        self.stop[active[steps >= step_limit]] = STEP_LIMIT
        self.stop[active[self.stable[active] >= patience]] = STABLE_RANK


def draw_probability(
    mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any
) -> NDArray[np.float64]:
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
