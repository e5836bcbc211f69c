"""The score as a reward function for trainers of the TRL family (docs/score.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lunguage_assets.annotation.scoring import rewards
from lunguage_assets.corpus.columns import shown_names
from lunguage_assets.errors import InputError

REFERENCE_COLUMNS = (
    "reference",
    "references",
    "ground_truth",
    "solution",
    "target",
    "report",
)
"""Names of the column with the references, the first that the data set has."""

END_OF_THOUGHT = "</think>"
"""What a reasoning model writes between its thoughts and its report."""


def reward_function_of(*names: str) -> Callable[..., list[float]]:
    """Make a reward function for trainers (`GRPOTrainer(reward_funcs=...)`).

    It takes completions, as text or as chat messages, of which the last is the report,
    and the columns of the data set by name, with a value for every completion. What
    stands before `</think>` is no part of a report. It returns what `rewards` does.

    Args:
        *names: of the column of the references; of several the first that is there.
    """

    def reward(completions: Sequence[Any], **columns: Any) -> list[float]:
        # A trainer may hand on a column of nothing.
        present = [name for name in names if columns.get(name) is not None]
        if not present:
            raise InputError(
                "reward_function",
                f"columns {shown_names([*columns])}",
                f"one of {', '.join(names)}",
                "Rename the column, or name it: reward_function_of(its name).",
            )
        references = columns[present[0]]
        return rewards([*map(_text, references)], [*map(_text, completions)])

    # Trainers log a reward under the name of its function.
    reward.__name__ = f"lunguage_{names[0]}"
    return reward


reward_function = reward_function_of(*REFERENCE_COLUMNS)


def _text(message: Any) -> Any:
    """Read a completion or a reference: a text, or the last of its messages.

    What is neither is returned as it is, and refused by the score.
    """
    # Of a conversation the last message is the report.
    if isinstance(message, list | tuple):
        message = ["", *message][-1]
    if isinstance(message, Mapping):
        message = message.get("content", message)
    # Models that take pictures write their content in parts.
    if isinstance(message, list | tuple):
        message = "".join(part.get("text") or "" for part in message)
    if not isinstance(message, str):
        return message
    # A model's thoughts stand before its report, and are no part of it.
    return message.rpartition(END_OF_THOUGHT)[2]
