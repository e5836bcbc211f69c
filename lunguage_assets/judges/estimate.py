"""The arithmetic of an estimate: questions that the ledger lacks, times tokens.

A judge's own record in the ledger goes before an assumption. Which questions a run
would ask, `orchestration/estimate.py` finds out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from lunguage_assets.judges.asking.limits import (
    estimated_input_tokens,
    expected_input_tokens,
    output_limit,
)
from lunguage_assets.judges.asking.request_batch import Parse
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger.attempts import TRIES, request_key
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import Prompt, Request

T = TypeVar("T")

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper (explicit.md section 5), until a home has fits."""
PUBLISHED_PATIENCE = 10
"""At which these steps were measured."""

FIRST_TOKEN_S = 1.0
"""Seconds until a hosted model begins to answer: a round figure of the author's."""
TOKENS_PER_S = 80.0
"""How fast it goes on: a round figure of the author's."""

LABEL_TOKENS = 5.0
"""Tokens of a label."""
PHRASES_TOKENS = 10.0
"""Tokens of a list of a phrase or two."""
FINDINGS_TOKENS_PER_SENTENCE = 150.0
"""Tokens of the findings of one sentence of a report."""

THINKING_SHARE = 0.1
"""Part of its room for output that a thinking model thinks in. From the paper: its
extraction cost about $1 for 2,066 pairs (explicit.md section 1), which at $0.30 and
$2.50 leaves about 110 output tokens an answer, of a budget of 1,000.
"""

_THINKING_PARAMETER = re.compile("thinking|reasoning|^effort$|^budget_tokens$")
_TASK_BY_STAGE = {"structured_findings": "structure", "hedge_phrases": "extract"}
"""What a stage asks, in the ledger's words; the others ask to compare."""

_COUNTS = ("questions", "hits", "calls", "input_tokens", "output_tokens")
_DOLLARS = ("usd", "usd_at_least", "usd_at_most")


class NotRecorded(Exception):
    """The ledger lacks an answer."""


class RecordedAsker:
    """Stands in for the `Asker` of a model: answers as recorded, and sends nothing.

    Args:
        key: of the judge.
        config: its table.
        ledger: None: there is none.

    Attributes:
        keys: the distinct questions so far, and whether the ledger settles each.
        prompts: theirs.
    """

    def __init__(self, key: str, config: LLMJudgeConfig, ledger: Ledger | None) -> None:
        self.key = key
        self.config = config
        self.binding = config.binding
        self.keys: dict[str, bool] = {}
        self.prompts: list[Prompt] = []
        self._ledger = ledger

    @property
    def hits(self) -> int:
        """Questions so far that need no call."""
        return sum(self.keys.values())

    def record(self, task: str) -> dict[Hashable, Any] | None:
        """Find how this judge has answered a task so far, as in `Ledger.statistics`.

        Returns:
            None: never, or with tokens that nobody counted.
        """
        if self._ledger is None:
            return None
        this_judge = {"judge": self.key, "stage": task, "model": self.binding.model}
        for row in self._ledger.statistics().to_dict("records"):
            if row["metered"] and this_judge.items() <= row.items():
                return row
        return None

    def interrupt(self) -> None:
        """Do nothing: nothing is being asked."""

    def require_readable(self, values: Sequence[object | None]) -> None:
        """Do nothing: a run looks at what can be read."""

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[T | None]:
        """Answer every request as `Asker.ask` does.

        Raises:
            NotRecorded: the ledger lacks an answer.
        """
        keys = [request_key(self.binding, request) for request in requests]
        answers = self._ledger.answers(keys) if self._ledger is not None else {}
        for key, request in zip(keys, requests, strict=True):
            # A run asks a repeated question once.
            if key not in self.keys:
                self.prompts.append(request.prompt)
        self.keys |= {key: key in answers for key in keys}
        if not all(key in answers for key in keys):
            raise NotRecorded
        texts = [answers[key] for key in keys]
        return [None if text is None else parse(text) for text in texts]


class _Calls(NamedTuple):
    """The calls that a judge is expected to make, and what one of them takes.

    Attributes:
        calls: with repeated ones.
        replies: of these.
        input_tokens: of one.
        output_tokens: of one.
        seconds: of one.
        basis: where tokens and seconds come from.
    """

    calls: float
    replies: float
    input_tokens: float
    output_tokens: float
    seconds: float
    basis: str


def estimate_line(
    stage: str,
    judge: RecordedAsker,
    answer_tokens: float,
    lacking: Sequence[float] = (),
    rounds: float = 1.0,
) -> dict[str, Any]:
    """Estimate what one judge would be asked in one stage, and what that costs.

    Args:
        stage: the table that it makes.
        judge: what was asked of it, as far as that is known beforehand.
        answer_tokens: of an answer without reasoning.
        lacking: questions that the ledger does not answer: at least, expected, at most;
            empty: all are known.
        rounds: questions of one round are sent together, and the next round waits for
            them.

    Returns:
        `hits` of the `questions` are in the ledger and need no call. `calls` include
        repeated ones; tokens are those billed. Dollars are None when unknown:
        `usd_at_least` has the fewest questions, each answered at once; `usd_at_most`
        the most, each with all tries and all output tokens. `minutes`: this judge
        alone.
        `basis`: where tokens and seconds come from.
    """
    unanswered = float(len(judge.keys) - judge.hits)
    fewest, expected, most = lacking or (unanswered, unanswered, unanswered)
    record = judge.record(_TASK_BY_STAGE.get(stage, "compare"))
    if record is None:
        calls = _assumed_calls(judge, expected, answer_tokens)
    else:
        calls = _recorded_calls(record, expected)
    limits = judge.config.limits
    waits = 0.0
    if expected:
        # So many calls follow each other: those in flight at the same time wait
        # together.
        waits = max(rounds, math.ceil(calls.calls / limits.in_flight))
    calls_per_minute = limits.requests_per_minute or math.inf
    seconds_by_rate = 60.0 * calls.calls / calls_per_minute
    return {
        "stage": stage,
        "judge": judge.key,
        "questions": round(judge.hits + expected),
        "hits": judge.hits,
        "calls": math.ceil(calls.calls),
        "input_tokens": math.ceil(calls.replies * calls.input_tokens),
        "output_tokens": math.ceil(calls.replies * calls.output_tokens),
        **_dollars(judge, calls, fewest, most),
        "minutes": max(waits * calls.seconds, seconds_by_rate) / 60.0,
        "basis": calls.basis,
    }


def _recorded_calls(record: Mapping[Hashable, Any], expected: float) -> _Calls:
    """Expect calls as they were before."""
    replies = record["valid"] + record["invalid"]
    return _Calls(
        calls=expected * record["attempts"] / record["questions"],
        replies=expected * replies / record["questions"],
        input_tokens=record["input_tokens"] / record["metered"],
        output_tokens=record["output_tokens"] / record["metered"],
        seconds=record["seconds"] / record["metered"],
        basis="ledger",
    )


def _assumed_calls(
    judge: RecordedAsker, expected: float, answer_tokens: float
) -> _Calls:
    """Expect one call a question, with the tokens of its prompts."""
    output_tokens = answer_tokens + expected_reasoning(judge.config)
    return _Calls(
        calls=expected,
        replies=expected,
        input_tokens=mean([expected_input_tokens(prompt) for prompt in judge.prompts]),
        output_tokens=output_tokens,
        seconds=FIRST_TOKEN_S + output_tokens / TOKENS_PER_S,
        basis="assumed",
    )


def _dollars(
    judge: RecordedAsker, calls: _Calls, fewest: float, most: float
) -> dict[str, float | None]:
    """Estimate what calls cost; None: unknown."""
    dollars: dict[str, float | None] = dict.fromkeys(_DOLLARS)
    # To ask nothing is free, whatever the price.
    if not most:
        dollars["usd_at_most"] = 0.0
    price = judge.config.price
    if price is None:
        return dollars
    usd_of_reply = price.cost(calls.input_tokens, calls.output_tokens)
    dollars["usd"] = calls.replies * usd_of_reply
    dollars["usd_at_least"] = fewest * usd_of_reply
    most_output_tokens = output_limit(judge.binding)
    if most_output_tokens is not None:
        estimates = [estimated_input_tokens(prompt) for prompt in judge.prompts]
        # Where the ledger knows of longer prompts, as long as those.
        most_input_tokens = max(mean(estimates), calls.input_tokens)
        # At worst only the last try can be read, and every answer takes all its room.
        worst_usd = price.cost(most_input_tokens, most_output_tokens)
        dollars["usd_at_most"] = most * TRIES * worst_usd
    return dollars


def estimate_totals(
    lines: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, float], dict[str, Any]]:
    """Sum up lines of an estimate.

    Returns:
        Minutes of each stage, where the slowest judge counts; and sums over judges and
        stages. Dollars are those of the judges with a price; at most: None when one
        judge's worst case is unknown.
    """
    minutes_by_stage: dict[str, float] = {}
    for line in lines:
        stage = line["stage"]
        minutes_by_stage[stage] = max(line["minutes"], minutes_by_stage.get(stage, 0.0))
    total: dict[str, Any] = {}
    for name in (*_COUNTS, *_DOLLARS):
        total[name] = sum(line[name] or 0 for line in lines)
    unpriced = [line["judge"] for line in lines if line["usd_at_most"] is None]
    if unpriced:
        total["usd_at_most"] = None
    total["minutes"] = sum(minutes_by_stage.values())
    total["judges_without_price"] = list(dict.fromkeys(unpriced))
    return minutes_by_stage, total


def answers_per_judge(steps: float, panel_steps: int, judges: int) -> float:
    """Count one judge's answers about a sentence (explicit.md section 5).

    Args:
        steps: that its fit takes.
        panel_steps: of these the first, in which every judge is asked; later each has
            its share.
        judges: of the panel.
    """
    together = min(steps, panel_steps)
    return together + (steps - together) / judges


def expected_reasoning(config: LLMJudgeConfig) -> float:
    """Estimate the tokens of reasoning in one answer; see `THINKING_SHARE`."""
    parameters = dict(config.params)
    # Some services have them in a table: `thinking_config = {thinking_budget = 0}`.
    for value in config.params.values():
        if isinstance(value, dict):
            parameters |= value
    thinking = [
        value
        for name, value in parameters.items()
        if _THINKING_PARAMETER.search(name) and not isinstance(value, dict)
    ]
    # None at all, too: a model that nobody told to think is taken not to.
    if all(value in (0, "none", "minimal") for value in thinking):
        return 0.0
    return THINKING_SHARE * (output_limit(config.binding) or 0)


def mean(sizes: Sequence[float]) -> float:
    """Compute the mean; 0 of nothing."""
    return sum(sizes) / max(1, len(sizes))
