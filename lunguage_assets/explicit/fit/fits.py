"""State of fits: places, plays and answers per sentence.

How a fit proceeds is in `fitting.py` and `economy.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.fit.asking import INVALID, LOST, WON, Answers
from lunguage_assets.explicit.rating import trueskill

VOID_STEPS = 10
"""Steps without a valid answer after which a sentence is given up."""

STOPS = (
    *("stable rank", "step limit", "no opponent left", "no valid answers"),
    *("narrow posterior", "round limit"),
)
RUNNING, STABLE, LIMIT, NO_OPPONENT, NO_ANSWERS, NARROW, ROUNDS = -1, 0, 1, 2, 3, 4, 5
"""Reasons for the end of a fit, as numbers into `STOPS`; the last two are the economy fit's."""

Counts = NDArray[np.int16]


@dataclass
class Fits:
    """State of the fits while they run and their result at the end; arrays over sentences.

    `counts` (sentences, phrases): steps with a valid answer against each phrase. `won`, `lost` (sentences,
    judges, phrases): valid answers. `steps` had a valid answer, `void` had none; `stop` is a number into
    `STOPS`. A fit given up keeps no meaningful mu.
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
    def start(cls, sentences: int, phrases: int, judges: int) -> Fits:
        def zeros() -> Integers:
            return np.zeros(sentences, dtype=np.int64)

        return cls(
            mu=np.full(sentences, trueskill.MU),
            variance=np.full(sentences, trueskill.SIGMA**2),
            counts=np.zeros((sentences, phrases), dtype=np.int16),
            won=np.zeros((sentences, judges, phrases), dtype=np.int16),
            lost=np.zeros((sentences, judges, phrases), dtype=np.int16),
            steps=zeros(),
            void=zeros(),
            invalid=zeros(),
            rank=zeros() - 1,
            stable=zeros(),
            stop=zeros() + RUNNING,
        )

    @property
    def answers(self) -> Integers:
        """Valid answers, shape (sentences,)."""
        total: Integers = (self.won + self.lost).sum(axis=(1, 2), dtype=np.int64)
        return total

    def running(self) -> Integers:
        """Numbers of the sentences whose fit has not ended."""
        return np.flatnonzero(self.stop == RUNNING)

    def count(self, sentence: Integers, opponent: Integers, said: Answers) -> NDArray[np.bool_]:
        """Count plays, any number per sentence; returns which had a valid answer, shape (plays,)."""
        for judge in range(said.shape[1]):
            for counts, value in ((self.won, WON), (self.lost, LOST)):
                rows = said[:, judge] == value
                np.add.at(counts, (sentence[rows], judge, opponent[rows]), 1)
        np.add.at(self.invalid, sentence, (said == INVALID).sum(axis=1))
        answered = np.asarray((said >= 0).any(axis=1))
        np.add.at(self.void, sentence[~answered], 1)
        np.add.at(self.steps, sentence[answered], 1)
        np.add.at(self.counts, (sentence[answered], opponent[answered]), 1)
        return answered


@dataclass(frozen=True)
class Places:
    """Places at the end of fits; arrays over sentences.

    mu, sigma, rank: the place that the fit states; `steps` includes those without a valid answer.
    `mu_centre`, `mu_sd`: mean and deviation of the place given all answers, from which the interval is made
    (docs/trust.md).
    """

    mu: Floats
    sigma: Floats
    rank: Integers
    mu_centre: Floats
    mu_sd: Floats
    steps: Integers
    answers: Integers
    invalid_answers: Integers
    stop: Integers

    @classmethod
    def join(cls, parts: Sequence[Places]) -> Places:
        """Several chunks of sentences as one."""
        return cls(*(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(cls)))
