"""The arithmetic of an estimate: questions that the ledger lacks times the tokens of one, as a range.
A judge's own record in the ledger goes before an assumption.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from lunguage_assets.judges.asking.asker import Parse
from lunguage_assets.judges.asking.limits import (
    estimated_input_tokens,
    expected_input_tokens,
    output_limit,
)
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger.attempts import TRIES, request_key
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import Prompt, Request

T = TypeVar("T")

PUBLISHED_STEPS, PUBLISHED_PATIENCE = 24.61, 10
"""Mean steps of a fit in the paper (explicit.md section 5): taken until a home has fits of its own."""

FIRST_TOKEN_S, TOKENS_PER_S = 1.0, 80.0
"""Seconds until a hosted model begins to answer, and how fast it goes on: round figures of the author."""

LABEL_TOKENS, PHRASES_TOKENS, FINDINGS_TOKENS_PER_SENTENCE = 5.0, 10.0, 150.0
"""Tokens of an answer: a label, a list of a phrase or two, the findings of one sentence of a report."""

THINKING_SHARE = 0.1
"""Part of its room for output that a thinking model thinks in. From the paper: its extraction cost about $1
for 2,066 pairs (explicit.md section 1), which at $0.30 and $2.50 leaves about 110 output tokens an answer, of
a budget of 1,000.
"""

_THINKING = re.compile("thinking|reasoning|^effort$|^budget_tokens$")
_ASKS = {"structured_findings": "structure", "hedge_phrases": "extract"}
"""What a stage asks, in the ledger's words; the others ask to compare."""


class NotRecorded(Exception):
    """The ledger lacks an answer."""


class RecordedAsker:
    """Stands for the `Asker` of a language model: it gives the answers that the ledger (None: there is none)
    has, and sends nothing.

    `keys`: the distinct questions so far, and whether the ledger settles each; `prompts`: theirs.
    """

    def __init__(self, key: str, slot: LLMJudgeConfig, ledger: Ledger | None) -> None:
        self.key, self.slot, self.binding, self._ledger = (
            key,
            slot,
            slot.binding,
            ledger,
        )
        self.keys: dict[str, bool] = {}
        self.prompts: list[Prompt] = []

    @property
    def hits(self) -> int:
        """Questions so far that need no call."""
        return sum(self.keys.values())

    def record(self, task: str) -> dict[Hashable, Any] | None:
        """How this judge has answered a task so far, as in `Ledger.statistics`; None: of unknown tokens."""
        known = (
            self._ledger.statistics().to_dict("records")
            if self._ledger is not None
            else []
        )
        mine = {"judge": self.key, "stage": task, "model": self.binding.model}
        return next(
            (row for row in known if row["metered"] and mine.items() <= row.items()),
            None,
        )

    def interrupt(self) -> None:
        """Nothing is being asked."""

    def require_readable(self, values: Sequence[object | None]) -> None:
        """A run looks at what can be read."""

    def require_one_readable(self, values: Sequence[object | None], stage: str) -> None:
        """A run looks at what can be read."""

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[T | None]:
        """As `Asker.ask`. Raises `NotRecorded`: the ledger lacks an answer."""
        keys = [request_key(self.binding, request) for request in requests]
        known = self._ledger.answers(keys) if self._ledger is not None else {}
        self.prompts += [
            one.prompt
            for key, one in zip(keys, requests, strict=True)
            if key not in self.keys
        ]
        self.keys |= {key: key in known for key in keys}
        if not all(key in known for key in keys):
            raise NotRecorded
        texts = (known[key] for key in keys)
        return [None if text is None else parse(text) for text in texts]


def estimate_line(
    stage: str,
    judge: RecordedAsker,
    answer_tokens: float,
    lacking: Sequence[float] = (),
    rounds: float = 1.0,
) -> dict[str, Any]:
    """What one judge would be asked in one stage, and what that costs.

    `hits` of the `questions` are in the ledger and need no call. `calls` include repeated ones; tokens are
    those billed. Dollars are None when unknown: `usd_at_least` has the fewest questions, each answered at
    once; `usd_at_most` the most, each with all tries and all output tokens. `minutes`: this judge alone.
    `basis`: where tokens and seconds come from.

    Args:
        stage: the table that it makes.
        judge: what was asked of it, as far as that is known beforehand.
        answer_tokens: of an answer without reasoning.
        lacking: questions that the ledger does not answer: at least, expected, at most; none: all are known.
        rounds: questions of one round are sent together, and the next round waits for them.
    """
    slot, limits, price = judge.slot, judge.slot.limits, judge.slot.price
    fewest, expected, most = lacking or (float(len(judge.keys) - judge.hits),) * 3
    record = judge.record(_ASKS.get(stage, "compare"))
    if record is not None:
        calls = expected * record["attempts"] / record["questions"]
        replies = expected * (record["valid"] + record["invalid"]) / record["questions"]
        tokens_in, tokens_out, latency_s = (
            record[name] / record["metered"]
            for name in ("input_tokens", "output_tokens", "seconds")
        )
    else:
        calls = replies = expected
        tokens_in = mean([expected_input_tokens(prompt) for prompt in judge.prompts])
        tokens_out = answer_tokens + expected_reasoning(slot)
        latency_s = FIRST_TOKEN_S + tokens_out / TOKENS_PER_S
    in_a_row = max(rounds, math.ceil(calls / limits.in_flight)) if expected else 0.0
    by_rate_s = 60.0 * calls / (limits.requests_per_minute or math.inf)
    usd: dict[str, float | None] = {
        "usd": None,
        "usd_at_least": None,
        "usd_at_most": None if most else 0.0,
    }
    if price is not None:
        usd["usd"] = replies * price.cost(tokens_in, tokens_out)
        usd["usd_at_least"] = fewest * price.cost(tokens_in, tokens_out)
        if (room := output_limit(slot.binding)) is not None:
            prompt = max(
                mean([estimated_input_tokens(prompt) for prompt in judge.prompts]),
                tokens_in,
            )
            usd["usd_at_most"] = most * TRIES * price.cost(prompt, room)
    return {
        "stage": stage,
        "judge": judge.key,
        "questions": round(judge.hits + expected),
        "hits": judge.hits,
        "calls": math.ceil(calls),
        "input_tokens": math.ceil(replies * tokens_in),
        "output_tokens": math.ceil(replies * tokens_out),
        **usd,
        "minutes": max(in_a_row * latency_s, by_rate_s) / 60.0,
        "basis": "assumed" if record is None else "ledger",
    }


def estimate_totals(
    lines: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, float], dict[str, Any]]:
    """Minutes of each stage, where the slowest judge counts, and sums over judges and stages.

    Dollars are those of the judges with a price; at most: None when one judge's worst case is unknown.
    """
    minutes: dict[str, float] = {}
    for one in lines:
        minutes[one["stage"]] = max(one["minutes"], minutes.get(one["stage"], 0.0))
    names = ["questions", "hits", "calls", "input_tokens", "output_tokens"]
    names += ["usd", "usd_at_least", "usd_at_most"]
    total: dict[str, Any] = {
        name: sum(one[name] or 0 for one in lines) for name in names
    }
    unpriced = list(
        dict.fromkeys(one["judge"] for one in lines if one["usd_at_most"] is None)
    )
    if unpriced:
        total["usd_at_most"] = None
    return minutes, {
        **total,
        "minutes": sum(minutes.values()),
        "judges_without_price": unpriced,
    }


def answers_per_judge(steps: float, panel_steps: int, judges: int) -> float:
    """Answers of one judge about a sentence whose fit takes so many steps: to all of the first `panel_steps`,
    then to its share (explicit.md section 5, steps 2 and 4).
    """
    together = min(steps, panel_steps)
    return together + (steps - together) / judges


def expected_reasoning(slot: LLMJudgeConfig) -> float:
    """Tokens of reasoning in one answer, as far as the judge's parameters tell; see `THINKING_SHARE`."""
    params = dict(slot.params)
    for value in slot.params.values():
        params |= value if isinstance(value, dict) else {}
    told = (value for name, value in params.items() if _THINKING.search(name))
    thinks = any(
        not isinstance(value, dict) and value not in (0, "none", "minimal")
        for value in told
    )
    return THINKING_SHARE * (output_limit(slot.binding) or 0) if thinks else 0.0


def mean(sizes: Sequence[float]) -> float:
    return sum(sizes) / max(1, len(sizes))
