"""Questions and state of fits: what judges are asked of a sentence, and where it stands (explicit.md
section 5). How a fit proceeds is in `fitting.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.draws import U64, coins, mix, smallest, text_hash, text_hashes
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_panel
from lunguage_assets.settings import ExplicitSettings

VOID_STEPS = 10
"""Steps without a valid answer after which a sentence is given up."""

STOPS = ("stable rank", "step limit", "no opponent left", "no valid answers")
RUNNING, STABLE, LIMIT, NO_OPPONENT, NO_ANSWERS = -1, 0, 1, 2, 3
"""Reasons for the end of a fit, as numbers into `STOPS`."""

NOT_ASKED, INVALID, LOST, WON = -2, -1, 0, 1
"""Codes of a judge's answer about a sentence and its opponent."""

Answers = NDArray[np.int8]
Counts = NDArray[np.int16]
_FIRST_WON = {"sentence_1": 1, "sentence_2": 0, "invalid": INVALID}


@dataclass(frozen=True)
class Play:
    """One play per entry, arrays of shape (plays,).

    `sentence`: number of the sentence; `opponent`: place in the ranking; `step`: number of the play for that
    sentence.
    """

    sentence: Integers
    opponent: Integers
    step: Integers


@dataclass(frozen=True)
class FitPanel:
    """Asks a panel about distinct masked sentences.

    Every draw follows from (seed, sentence, step, judge) and nothing else.
    """

    sentences: Sequence[str]
    seeds: U64
    reference: Reference
    panel: Sequence[Judge]
    position: str

    @classmethod
    def of(
        cls,
        sentences: Sequence[str],
        reference: Reference,
        panel: Sequence[Judge],
        settings: ExplicitSettings,
    ) -> FitPanel:
        seeds = mix(text_hash(settings.seed, "fit"), text_hashes(sentences))
        return cls(sentences, seeds, reference, panel, settings.position)

    def keys(self, play: Play) -> U64:
        """Hash of every draw about a play, shape (plays, judges)."""
        return np.stack(
            [mix(self.seeds[play.sentence], play.step, text_hash(judge.key)) for judge in self.panel], axis=1
        )

    def everyone(self, play: Play) -> NDArray[np.bool_]:
        """All judges play, shape (plays, judges)."""
        return np.ones((len(play.sentence), len(self.panel)), dtype=bool)

    def one_at_random(self, play: Play) -> NDArray[np.bool_]:
        """One judge of the panel plays, drawn by hash, shape (plays, judges)."""
        drawn = np.argmin(mix(self.keys(play), 2), axis=1)
        chosen: NDArray[np.bool_] = np.arange(len(self.panel)) == drawn[:, None]
        return chosen

    def ask(self, play: Play, asked: NDArray[np.bool_]) -> Answers:
        """The judges' answers, shape (plays, judges).

        All judges are asked at the same time, each against its own sentence of the opponent.
        """
        keys = self.keys(play)
        rows_of = [np.flatnonzero(asked[:, j]) for j in range(len(self.panel))]
        swaps, questions = [], []
        for j, rows in enumerate(rows_of):
            shown = self._opponent_sentences(play.opponent[rows], mix(keys[rows, j], 0))
            drawn = coins(mix(keys[rows, j], 1))
            swapped = drawn if self.position == "coin" else np.zeros(len(rows), dtype=bool)
            own = [self.sentences[i] for i in play.sentence[rows].tolist()]
            swaps.append(swapped)
            sides = zip(own, shown, play.step[rows].tolist(), swapped.tolist(), strict=True)
            questions.append(
                [
                    ComparisonQuestion(theirs, mine, step)
                    if second
                    else ComparisonQuestion(mine, theirs, step)
                    for mine, theirs, step, second in sides
                ]
            )
        won = np.full(asked.shape, NOT_ASKED, dtype=np.int8)
        for j, answers in enumerate(ask_panel(self.panel, questions)):
            first = np.array([_FIRST_WON[answer.answer] for answer in answers], dtype=np.int8)
            won[rows_of[j], j] = np.where((first >= 0) & swaps[j], 1 - first, first)
        return won

    def _opponent_sentences(self, opponent: Integers, draws: U64) -> list[str]:
        """One example sentence of each opponent, the one with the smallest hash.

        Added examples change few draws.
        """
        shown = [""] * len(opponent)
        by_phrase = np.argsort(opponent, kind="stable")
        for rows in np.split(by_phrase, np.flatnonzero(np.diff(opponent[by_phrase])) + 1):
            if not len(rows):
                continue
            phrase = int(opponent[rows[0]])
            chosen = smallest(draws[rows], self.reference.hashes[phrase])
            for row, example in zip(rows.tolist(), chosen.tolist(), strict=True):
                shown[row] = self.reference.sentences[phrase][example]
        return shown


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
