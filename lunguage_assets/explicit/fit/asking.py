"""Questions of a fit: example sentences, positions, and the judges' answers (explicit.md section 5).

Which opponents play, and what an answer changes, is decided in `fitting.py` and `economy.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.draws import U64, coins, mix, smallest, text_hash, text_hashes
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_panel
from lunguage_assets.settings import ExplicitSettings

NOT_ASKED, INVALID, LOST, WON = -2, -1, 0, 1
"""Codes of a judge's answer about a sentence and its opponent."""

Answers = NDArray[np.int8]
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
