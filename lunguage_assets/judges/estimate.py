"""The arithmetic of an estimate: questions that the ledger lacks times the tokens of one, as a range.
A judge's own record (`Ledger.experience`) goes before an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from lunguage_assets.judges.asking.asker import Parse
from lunguage_assets.judges.asking.limits import estimated_input_tokens, expected_input_tokens, output_limit
from lunguage_assets.judges.ledger.attempts import TRIES, request_key
from lunguage_assets.judges.ledger.ledger import Experience, Ledger
from lunguage_assets.judges.requests import Prompt, Request
from lunguage_assets.judges.slots import ModelSlot

T = TypeVar("T")

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper (explicit.md section 5): taken until a home has fits of its own."""

FIRST_TOKEN_S, TOKENS_PER_S = 1.0, 80.0
"""Seconds until a hosted model begins to answer, and how fast it goes on: round figures of the author."""

LABEL_TOKENS, PHRASES_TOKENS = 5.0, 10.0
"""Tokens of an answer: a label, a list of a phrase or two."""

FINDINGS_TOKENS_PER_SENTENCE = 150.0
"""Tokens of what a model states about one sentence of a report: a finding or two of some 80 tokens."""

THINKING_SHARE = 0.1
"""Part of its room for output that a thinking model thinks in. From the paper: its extraction cost about $1
for 2,066 pairs (explicit.md section 1), which at $0.30 and $2.50 leaves about 110 output tokens an answer, of
a budget of 1,000.
"""

_FAULTS_TOKENS = 1000
"""Most tokens of the faults that a second question about a report names, with what stands around them."""


class NotRecorded(Exception):
    """The ledger lacks an answer."""


class RecordedAsker:
    """Stands for the `Asker` of a language model: it gives the answers that the ledger (None: there is none)
    has, and sends nothing.

    `keys`: the distinct questions so far, and whether the ledger settles each; `prompts`: theirs.
    """

    def __init__(self, key: str, slot: ModelSlot, ledger: Ledger | None) -> None:
        self.key, self.slot, self.binding, self._ledger = key, slot, slot.binding, ledger
        self.keys: dict[str, bool] = {}
        self.prompts: list[Prompt] = []

    @property
    def hits(self) -> int:
        """Questions so far that need no call."""
        return sum(self.keys.values())

    def interrupt(self) -> None:
        """Nothing is being asked."""

    def require_readable(self, values: Sequence[object | None]) -> None:
        """A run looks at what can be read."""

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[T | None]:
        """As `Asker.ask`.

        Raises:
            NotRecorded: the ledger lacks one.
        """
        keys = [request_key(self.binding, request) for request in requests]
        known = self._ledger.answers(keys) if self._ledger is not None else {}
        self.prompts += [one.prompt for key, one in zip(keys, requests, strict=True) if key not in self.keys]
        self.keys |= {key: key in known for key in keys}
        if not all(key in known for key in keys):
            raise NotRecorded
        texts = (known[key] for key in keys)
        return [None if text is None else parse(text) for text in texts]


def line(
    stage: str,
    judge: RecordedAsker,
    answer_tokens: float,
    record: Experience | None,
    lacking: tuple[float, float, float] | None = None,
    rounds: float = 1.0,
) -> dict[str, Any]:
    """What one judge would be asked in one stage, and what that costs.

    `hits` of the `questions` are in the ledger and need no call. `calls` include repeated ones; tokens are
    those billed. Dollars are None when unknown: `usd_at_least` has the fewest questions, each answered at
    once; `usd_at_most` the most, each with all tries and all output tokens, and of every report a second
    question. `minutes`: this judge alone. `basis`: where tokens and seconds come from.

    Args:
        stage: the table that it makes.
        judge: what was asked of it, as far as that is known beforehand.
        answer_tokens: of an answer without reasoning.
        record: how the judge has answered so far; None: tokens and seconds are assumed.
        lacking: questions that the ledger does not answer: at least, expected, at most; None: all are known.
        rounds: questions of one round are sent together, and the next round waits for them.
    """
    slot, limits, price = judge.slot, judge.slot.limits, judge.slot.price
    room = output_limit(slot.binding)
    fewest, expected, most = lacking or (float(len(judge.keys) - judge.hits),) * 3
    output = answer_tokens + expected_reasoning(slot)
    size = _mean([expected_input_tokens(prompt) for prompt in judge.prompts])
    known = record or Experience(1.0, 1.0, size, output, FIRST_TOKEN_S + output / TOKENS_PER_S)
    calls, replies = expected * known.calls, expected * known.paid_calls
    tokens = replies * known.input_tokens, replies * known.output_tokens
    in_a_row = max(rounds, math.ceil(calls / limits.in_flight)) if expected else 0.0
    seconds = [0.0, in_a_row * known.latency_s]
    if limits.requests_per_minute is not None:
        seconds.append(60.0 * calls / limits.requests_per_minute)
    usd: dict[str, float | None] = {"usd": None, "usd_at_least": None, "usd_at_most": None if most else 0.0}
    if price is not None:
        usd["usd"] = price.cost(*tokens)
        usd["usd_at_least"] = price.cost(fewest * known.input_tokens, fewest * known.output_tokens)
    if price is not None and room is not None:
        prompt = max(_mean([estimated_input_tokens(prompt) for prompt in judge.prompts]), known.input_tokens)
        dearest = TRIES * prompt, TRIES * room
        if stage == "structured_findings":  # a second question quotes the first, its answer, and the faults
            dearest = 2 * prompt + room + _FAULTS_TOKENS, 2 * room
        usd["usd_at_most"] = most * price.cost(*dearest)
    return {
        "stage": stage,
        "judge": judge.key,
        "questions": round(judge.hits + expected),
        "hits": judge.hits,
        "calls": math.ceil(calls),
        "input_tokens": math.ceil(tokens[0]),
        "output_tokens": math.ceil(tokens[1]),
        **usd,
        "minutes": max(seconds) / 60.0,
        "basis": "ledger" if record else "assumed",
    }


def _mean(sizes: Sequence[float]) -> float:
    return sum(sizes) / max(1, len(sizes))


def answers_per_judge(steps: float, panel_steps: int, judges: int) -> float:
    """Answers of one judge about a sentence whose fit takes so many steps: to all of the first `panel_steps`,
    then to its share (explicit.md section 5, steps 2 and 4).
    """
    together = min(steps, panel_steps)
    return together + (steps - together) / judges


def expected_reasoning(slot: ModelSlot) -> float:
    """Tokens of reasoning in one answer, as far as the judge's parameters tell; see `THINKING_SHARE`."""
    params = dict(slot.params)
    for value in slot.params.values():
        params |= value if isinstance(value, dict) else {}
    thinks = any(
        ("thinking" in name or "reasoning" in name or name in ("effort", "budget_tokens"))
        and not isinstance(value, dict)
        and value not in (0, "none", "minimal")
        for name, value in params.items()
    )
    return THINKING_SHARE * (output_limit(slot.binding) or 0) if thinks else 0.0
