"""The log of fits: one row per sentence and opponent played (explicit.md section 5). It is what `lunguage
explain` shows of a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.fit.fits import INVALID, LOST, NOT_ASKED, WON, Answers, Fits
from lunguage_assets.tables.explicit import FIT_LOG

_WORDS = {WON: "won", LOST: "lost", INVALID: "invalid"}


@dataclass
class FitLog:
    """Collects the plays of one chunk of sentences; `judges` and `phrases` are the names of the numbers."""

    judges: Sequence[str]
    phrases: Sequence[str]
    _rounds: list[dict[str, NDArray[Any]]] = field(default_factory=list, repr=False)

    def note(
        self, active: Integers, opponent: Integers, step: Integers, draw: Floats, said: Answers, fits: Fits
    ) -> None:
        """Note the plays of a round and where each sentence stands in `fits` after it.

        Arrays have shape (plays,), `said` (plays, judges).
        """
        self._rounds.append(
            {
                "sentence_key": active.astype(np.int32),
                "step": step.astype(np.int32),
                "opponent": opponent.astype(np.int32),
                "draw_probability": draw,
                "answers": said,
                "mu": fits.mu[active],
                "sigma": np.sqrt(fits.variance[active]),
                "rank": fits.rank[active].astype(np.int32),
            }
        )

    def table(self, sentence_keys: Sequence[str]) -> pa.Table:
        """The chunk's rows as an Arrow table of `FIT_LOG`, in the order of `sentence_keys`, then by step."""
        if not self._rounds:
            return FIT_LOG.arrow.empty_table()
        plays = {name: np.concatenate([each[name] for each in self._rounds]) for name in FIT_LOG.names}
        order = np.lexsort((plays["step"], plays["sentence_key"]))
        columns: dict[str, Any] = {name: values[order] for name, values in plays.items()}
        columns["sentence_key"] = _named(sentence_keys, columns["sentence_key"])
        columns["opponent"] = _named(self.phrases, columns["opponent"])
        said, which = np.unique(columns["answers"], axis=0, return_inverse=True)
        columns["answers"] = _named([self._told(answers) for answers in said.tolist()], which)
        arrays = [pa.array(columns[column.name], column.type) for column in FIT_LOG.arrow]
        return pa.Table.from_arrays(arrays, schema=FIT_LOG.arrow)

    def _told(self, answers: Sequence[int]) -> str:
        """'judge=won' of every judge that was asked, in panel order, joined by blanks."""
        named = zip(self.judges, answers, strict=True)
        return " ".join(f"{judge}={_WORDS[answer]}" for judge, answer in named if answer != NOT_ASKED)


def _named(names: Sequence[str], numbers: NDArray[Any]) -> pa.Array:
    return pa.array(list(names), type=pa.string()).take(pa.array(numbers))
