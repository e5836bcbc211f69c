"""The arithmetic of an estimate: questions that the ledger lacks, times tokens.

A judge's own record in the ledger goes before an assumption. How many questions a run
would ask, `orchestration/estimate.py` counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lunguage_assets.judges.ask import estimated_input_tokens, output_limit
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import TRIES
from lunguage_assets.judges.requests import Prompt

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper (explicit.md section 5), until a home has fits."""
PUBLISHED_PATIENCE = 10
"""At which these steps were measured."""
PUBLISHED_PAIRS = 2066
PUBLISHED_REPORTS = 1473
PUBLISHED_PHRASES = 42
"""Tentative pairs of the published corpus, its reports, and the phrases that it ranks
(explicit.md sections 0 and 1).
"""

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


class Range(NamedTuple):
    """How often something is expected, and the bounds of it."""

    at_least: float
    expected: float
    at_most: float

    def times(self, factors: Range) -> Range:
        """Multiply two ranges, bound by bound."""
        pairs = zip(self, factors, strict=True)
        return Range(*(own * factor for own, factor in pairs))

    def less(self, count: float) -> Range:
        """Take away what need not be asked."""
        return Range(*(max(0.0, own - count) for own in self))


def exactly(count: float) -> Range:
    """Return a range of a known number."""
    return Range(count, count, count)


def total(ranges: Iterable[Range]) -> Range:
    """Add up ranges, bound by bound."""
    return Range(*(sum(bounds) for bounds in zip(exactly(0.0), *ranges, strict=True)))


class Questions(NamedTuple):
    """Questions of one stage to one language model.

    Attributes:
        stage: the table that is made.
        key: of the judge.
        config: its table in the judges file.
        number: how many there are.
        hits: of these, that the ledger has answered.
        prompt: an example, as long as they are on average.
        answer_tokens: of an answer without reasoning.
        rounds: that follow each other: a round waits for the answers before it.
    """

    stage: str
    key: str
    config: LLMJudgeConfig
    number: Range
    hits: float
    prompt: Prompt
    answer_tokens: float
    rounds: float = 1.0

    @property
    def task(self) -> str:
        """What is asked, in the ledger's words."""
        return _TASK_BY_STAGE.get(self.stage, "compare")


def estimate_line(
    questions: Questions, record: Mapping[Hashable, Any] | None
) -> dict[str, Any]:
    """Estimate what one judge would be asked in one stage, and what that costs.

    Args:
        questions: how many there are.
        record: how this judge has answered so far, as in `Ledger.statistics`; None:
            never, or with tokens that nobody counted.

    Returns:
        `hits` of the `questions` are in the ledger and need no call. `calls` include
        repeated ones; tokens are those billed. Dollars are None when unknown:
        `usd_at_least` has the fewest questions, each answered at once; `usd_at_most`
        the most, each with all tries and all output tokens. `minutes`: this judge
        alone.
        `basis`: where tokens and seconds come from.
    """
    config = questions.config
    lacking = questions.number.less(questions.hits)
    calls = replies = lacking.expected
    # Rather too many are estimated for budgets: three letters a token, not four.
    input_tokens = 0.75 * estimated_input_tokens(questions.prompt)
    output_tokens = questions.answer_tokens + expected_reasoning(config)
    seconds = FIRST_TOKEN_S + output_tokens / TOKENS_PER_S
    if record is not None:
        calls *= record["attempts"] / record["questions"]
        replies *= (record["valid"] + record["invalid"]) / record["questions"]
        input_tokens = record["input_tokens"] / record["metered"]
        output_tokens = record["output_tokens"] / record["metered"]
        seconds = record["seconds"] / record["metered"]
    # So many calls follow each other: those in flight at the same time wait together.
    waits = max(questions.rounds, math.ceil(calls / config.limits.in_flight))
    calls_per_minute = config.limits.requests_per_minute or math.inf
    hits = min(questions.hits, questions.number.expected)
    line = {
        "stage": questions.stage,
        "judge": questions.key,
        "questions": round(hits + lacking.expected),
        "hits": round(hits),
        "calls": math.ceil(calls),
        "input_tokens": math.ceil(replies * input_tokens),
        "output_tokens": math.ceil(replies * output_tokens),
        "usd": None,
        "usd_at_least": None,
        # To ask nothing is free, whatever the price.
        "usd_at_most": None if lacking.at_most else 0.0,
        "minutes": max(bool(calls) * waits * seconds / 60.0, calls / calls_per_minute),
        "basis": "assumed" if record is None else "ledger",
    }
    if config.price is None:
        return line
    usd_of_reply = config.price.cost(input_tokens, output_tokens)
    line["usd"] = replies * usd_of_reply
    line["usd_at_least"] = lacking.at_least * usd_of_reply
    most_output = output_limit(config.binding)
    if most_output is not None:
        # Where the ledger knows of longer prompts, as long as those. At worst only the
        # last try can be read, and every answer takes all its room.
        most_input = max(estimated_input_tokens(questions.prompt), input_tokens)
        worst_usd = config.price.cost(most_input, most_output)
        line["usd_at_most"] = lacking.at_most * TRIES * worst_usd
    return line


def record_of(
    questions: Questions, statistics: pd.DataFrame | None
) -> dict[Hashable, Any] | None:
    """Find how a judge has answered such questions so far.

    Args:
        questions: of the judge.
        statistics: as `Ledger.statistics`; None: there is no ledger.
    """
    if statistics is None:
        return None
    this_judge = {
        "judge": questions.key,
        "stage": questions.task,
        "model": questions.config.binding.model,
    }
    for row in statistics.to_dict("records"):
        if row["metered"] and this_judge.items() <= row.items():
            return row
    return None


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
