"""The score as the programs of others call it (docs/score.md).

A reward function for trainers of the TRL family, and a metric for RadEval. Neither
program is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lunguage_assets.annotation.given_reports import is_missing
from lunguage_assets.annotation.scoring import MEASURES, rewards, score
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

_DECIMALS = 4
"""RadEval's metrics round the values of a corpus to so many places."""


def reward_function(completions: Sequence[Any], **columns: Any) -> list[float]:
    """Reward completions (`GRPOTrainer(reward_funcs=reward_function)`).

    Args:
        completions: generated reports, as text or as chat messages, of which the last
            is the report. What stands before `</think>` in it is no part of the report.
        **columns: what the trainer gives beside them: the columns of the data set, with
            a value for every completion. The references are in the first of the columns
            `reference`, `references`, `ground_truth`, `solution`, `target`, `report`;
            other columns are not read.

    Returns:
        The score of the findings of each completion, from 0 to 1.

    Raises:
        InputError: no such column, another number of references, or something that is
            no text.
    """
    # A trainer may hand on a column of nothing.
    present = [name for name in REFERENCE_COLUMNS if columns.get(name) is not None]
    if not present:
        raise InputError(
            "reward_function",
            f"columns {shown_names([*columns], REFERENCE_COLUMNS)}",
            f"one of {', '.join(REFERENCE_COLUMNS)}",
            "Rename the column of the references, or use reward_function_of(its name).",
        )
    return _rewards(completions, columns[present[0]])


def reward_function_of(column: str) -> Callable[..., list[float]]:
    """Make a reward function whose references are in `column` of the data set."""

    def reward(completions: Sequence[Any], **columns: Any) -> list[float]:
        if columns.get(column) is None:
            raise InputError(
                "reward_function_of",
                f"columns {shown_names([*columns], REFERENCE_COLUMNS)}",
                f"a column {column!r}",
                "Name a column of the data set that the trainer is given.",
            )
        return _rewards(completions, columns[column])

    # Trainers log a reward under the name of its function.
    reward.__name__ = f"lunguage_{column}"
    return reward


def _rewards(completions: Sequence[Any], references: Sequence[Any]) -> list[float]:
    generated = []
    for completion in completions:
        text = _text(completion)
        if isinstance(text, str):
            # A model's thoughts stand before its report, and are no part of it.
            text = text.rpartition(END_OF_THOUGHT)[2]
        generated.append(text)
    return rewards([_text(reference) for reference in references], generated)


def _text(message: Any) -> Any:
    """Read a completion or a reference: a text, or the last of its messages.

    What is neither is returned as it is, and refused by the score.
    """
    # Of a conversation the last message is the report.
    if _is_list(message):
        message = message[-1] if message else ""
    if isinstance(message, Mapping) and "content" in message:
        message = message["content"]
        # Models that take pictures write their content in parts.
        if _is_list(message):
            parts = [part for part in message if isinstance(part, Mapping)]
            return "".join(part.get("text") or "" for part in parts)
    return "" if is_missing(message) else message


def _is_list(content: Any) -> bool:
    return isinstance(content, Sequence) and not isinstance(content, str | bytes)


class RadEvalMetric:
    """The score as a metric of RadEval, by the contract of its `MetricBase`.

    RadEval finds a metric by name in its registry:
    `METRIC_REGISTRY["lunguage"] = (MODULE, "RadEvalMetric")`, where MODULE is
    `"lunguage_assets.annotation.training"`.
    """

    name = "lunguage"
    display_name = "Lunguage"
    is_api_based = False

    def metric_keys(self, detailed: bool = False) -> list[str]:
        """List the keys of what `compute` returns."""
        if not detailed:
            return [self.name]
        return [self.name, *(f"{self.name}_{measure}" for measure in MEASURES)]

    def compute(
        self,
        refs: Sequence[str],
        hyps: Sequence[str],
        per_sample: bool = False,
        detailed: bool = False,
        on_progress: Callable[[], Any] | None = None,
    ) -> dict[str, Any]:
        """Score generated reports.

        Args:
            refs: the references.
            hyps: the generated reports, one for each reference.
            per_sample: whether to return the score of every report, instead of their
                mean.
            detailed: whether to return all measures of the corpus.
            on_progress: called once for every report.

        Returns:
            `lunguage`, and with `detailed` a value for every measure.
        """
        raw = self._compute_raw(refs, hyps, on_progress)[self.name]
        if per_sample:
            return {self.name: raw["per_sample"]}
        values = {self.name: round(raw["aggregate"], _DECIMALS)}
        if detailed:
            values |= raw["detailed"]
        return values

    def _compute_raw(
        self,
        refs: Sequence[str],
        hyps: Sequence[str],
        on_progress: Callable[[], Any] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Score reports once, in all the forms that `compute` returns."""
        scores = score(refs, hyps)
        per_sample: list[float] = scores.studies["findings"].tolist()
        values = scores.corpus["value"]
        # All reports are scored together, so that progress is told at the end.
        if on_progress is not None:
            for _ in per_sample:
                on_progress()
        detailed = {}
        for measure in MEASURES:
            value = round(float(values[measure]), _DECIMALS)
            detailed[f"{self.name}_{measure}"] = value
        return {
            self.name: {
                "aggregate": float(values["findings"]),
                "per_sample": per_sample,
                "detailed": detailed,
            }
        }
