"""The log of fits: one row per sentence and opponent played (explicit.md section 5).

The log is what `lunguage explain` shows of a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lunguage_assets.explicit.arrays import Floats
from lunguage_assets.explicit.fit.fits import INVALID, LOST, NOT_ASKED, WON, Answers, Fits, Play
from lunguage_assets.tables.explicit import FIT_LOG

_WORDS = {WON: "won", LOST: "lost", INVALID: "invalid"}


@dataclass
class FitLog:
    """Collects the plays of one chunk of sentences; `judges` and `phrases` are the names of the numbers."""

    judges: Sequence[str]
    phrases: Sequence[str]
    _rounds: list[dict[str, NDArray[Any]]] = field(default_factory=list, repr=False)

    def note(self, play: Play, draw: Floats, said: Answers, fits: Fits) -> None:
        """Note the plays of a round and where each sentence stands in `fits` after it.

        Arrays have shape (plays,), `said` (plays, judges).
        """
        own = play.sentence
        whole = {
            "sentence_key": own,
            "step": play.step,
            "opponent": play.opponent,
            "rank": fits.rank[own],
        }
        self._rounds.append(
            {
                **{name: values.astype(np.int32) for name, values in whole.items()},
                "draw_probability": draw,
                "answers": said,
                "mu": fits.mu[own],
                "sigma": np.sqrt(fits.variance[own]),
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
        columns["answers"] = self._answers(columns["answers"])
        return pa.table(
            {field.name: pa.array(columns[field.name], field.type) for field in FIT_LOG.arrow},
            schema=FIT_LOG.arrow,
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
