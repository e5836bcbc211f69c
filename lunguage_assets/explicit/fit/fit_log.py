"""The log of fits: one row per sentence and opponent played (explicit.md section 5).

The log is what `lunguage explain` shows of a probability; how a fit proceeds is in `fitting.py` and
`economy.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.fit.asking import INVALID, LOST, NOT_ASKED, WON, Answers, Play
from lunguage_assets.explicit.fit.fits import Fits
from lunguage_assets.tables.explicit import FIT_LOG

_WORDS = {WON: "won", LOST: "lost", INVALID: "invalid"}


@dataclass
class FitLog:
    """Collects the plays of one chunk of sentences; `judges` and `phrases` are the names of the numbers."""

    judges: Sequence[str]
    phrases: Sequence[str]
    _rounds: list[tuple[tuple[NDArray[np.int32], ...], tuple[Floats, ...], Answers]] = field(
        default_factory=list, repr=False
    )

    def note(self, play: Play, number: Integers, draw: Floats, said: Answers, fits: Fits) -> None:
        """Note the plays of a round and where each sentence stands in `fits` after it.

        Arrays have shape (plays,), `said` (plays, judges).
        """
        own = play.sentence
        whole = (own, play.opponent, play.step, number, fits.rank[own])
        stands = (draw, fits.mu[own], np.sqrt(fits.variance[own]))
        self._rounds.append(((*(values.astype(np.int32) for values in whole),), stands, said))

    def table(self, sentence_keys: Sequence[str]) -> pa.Table:
        """The chunk's rows as an Arrow table of `FIT_LOG`, in the order of `sentence_keys`, then by step."""
        if not self._rounds:
            return FIT_LOG.arrow.empty_table()
        sentence, opponent, step, number, rank = (
            np.concatenate(parts) for parts in zip(*(entry[0] for entry in self._rounds), strict=True)
        )
        order = np.lexsort((step, sentence))
        draw, mu, sigma = (
            np.concatenate(parts)[order] for parts in zip(*(entry[1] for entry in self._rounds), strict=True)
        )
        said = np.concatenate([entry[2] for entry in self._rounds])[order]
        columns = {
            "sentence_key": _named(sentence_keys, sentence[order]),
            "step": step[order].astype(np.int64),
            "round": number[order].astype(np.int64),
            "opponent": _named(self.phrases, opponent[order]),
            "draw_probability": draw,
            "answers": self._answers(said),
            "mu": mu,
            "sigma": sigma,
            "rank": rank[order].astype(np.int64),
        }
        return pa.table(
            {column.name: pa.array(columns[column.name]) for column in FIT_LOG.columns}, schema=FIT_LOG.arrow
        )

    def _answers(self, said: Answers) -> pa.Array:
        """'judge=won' of every judge that was asked, in panel order, joined by blanks.

        Each distinct outcome is written once.
        """
        base = 4 ** np.arange(said.shape[1], dtype=np.int64)
        _, first, which = np.unique(
            (said.astype(np.int64) - NOT_ASKED) @ base, return_index=True, return_inverse=True
        )
        texts = [
            " ".join(
                f"{judge}={_WORDS[answer]}"
                for judge, answer in zip(self.judges, row, strict=True)
                if answer != NOT_ASKED
            )
            for row in said[first].tolist()
        ]
        return _named(texts, which)


def _named(names: Sequence[str], numbers: NDArray[Any]) -> pa.Array:
    return pa.array(list(names), type=pa.string()).take(pa.array(numbers))
