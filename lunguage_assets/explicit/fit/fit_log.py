"""The log of a fit: every play of every sentence, as a table.

What a round of `fitting.py` leaves behind is in numbers of sentences, phrases and
judges; the names are put in here, once for all rounds. No sentence is in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.fit_state import Outcome, Outcomes
from lunguage_assets.randomness import Floats, Integers
from lunguage_assets.tables.explicit import FIT_LOG

_OUTCOME_WORDS = {
    Outcome.WON: "won",
    Outcome.LOST: "lost",
    Outcome.INVALID: "invalid",
}


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


def log_table(
    rounds: Sequence[Round],
    sentence_keys: Sequence[str],
    judges: Sequence[str],
    phrases: Sequence[str],
) -> pa.Table:
    """Make an Arrow table of `FIT_LOG` from the rounds of a fit.

    Args:
        rounds: in the order in which they were played.
        sentence_keys: key of each sentence, in the order of the result.
        judges: key of each judge, in panel order.
        phrases: wording of each phrase, in ranking order.
    """
    if not rounds:
        return FIT_LOG.arrow.empty_table()
    # Rounds are in the order of steps; the log has each sentence's steps together.
    plays = Round._make(map(np.concatenate, zip(*rounds, strict=True)))
    order = np.lexsort((plays.step, plays.sentence))
    plays = Round._make(values[order] for values in plays)
    columns: dict[str, Any] = {
        "sentence_key": _named(sentence_keys, plays.sentence),
        "step": plays.step,
        "opponent": _named(phrases, plays.opponent),
        "draw_probability": plays.draw_probability,
        "answers": _answer_texts(plays.outcomes, judges),
        "mu": plays.mu,
        "sigma": plays.sigma,
        "rank": plays.rank,
    }
    arrays = [pa.array(columns[column.name], column.type) for column in FIT_LOG.arrow]
    return pa.Table.from_arrays(arrays, schema=FIT_LOG.arrow)


def _named(names: Sequence[str], numbers: NDArray[Any]) -> pa.Array:
    return pa.array(list(names), type=pa.string()).take(pa.array(numbers))


def _answer_texts(outcomes: Outcomes, judges: Sequence[str]) -> pa.Array:
    """Write 'judge=won' for every judge that a play asked, in panel order."""
    # A few combinations make up millions of plays: each is put into words once.
    distinct, numbers = np.unique(outcomes, axis=0, return_inverse=True)
    texts = []
    for combination in distinct.tolist():
        answers = [
            f"{judge}={_OUTCOME_WORDS[Outcome(outcome)]}"
            for judge, outcome in zip(judges, combination, strict=True)
            if outcome != Outcome.NOT_ASKED
        ]
        texts.append(" ".join(answers))
    return _named(texts, numbers)
