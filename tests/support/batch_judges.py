"""Judges that send what may wait in batches, for the tests of batches and for the processes that these tests
kill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loopback import Call
from loopback_batches import Fate

from lunguage_assets.judges.asker import Asker
from lunguage_assets.judges.batches import batches_of
from lunguage_assets.judges.batches.batch_watch import Batching
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
    Judge,
    ask_to_compare,
)
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.slots import Batches, Limits, ModelSlot

WIRES = ("openai", "anthropic", "gemini")
KEYS = {"OPENAI_API_KEY": "key-o", "ANTHROPIC_API_KEY": "key-a", "GEMINI_API_KEY": "key-g"}
LEASE_S = 0.4


HEDGES = ("likely", "may be", "possible", "suspected", "doubtful")


def pairs(count: int, start: int = 0) -> list[ComparisonQuestion]:
    """Questions that differ, and whose answers do."""
    return [
        ComparisonQuestion(
            f"There is {HEDGES[n % 5]} <finding> number {n}.",
            f"There is {HEDGES[n * n % 4]} <finding>.",
            n % 3,
        )
        for n in range(start, start + count)
    ]


def sentences(count: int) -> list[ExtractionQuestion]:
    return [
        ExtractionQuestion(
            "opacity", f"Possible opacity in invented zone {n}.", f"Possible <finding> in invented zone {n}."
        )
        for n in range(count)
    ]


def slot_of(wire: str, url: str, **fields: Any) -> ModelSlot:
    limit = "max_output_tokens" if wire == "gemini" else "max_tokens"
    price = {"input": 1.0, "output": 2.0, "as_of": "2026-11-01"}
    address = f"{url}/v1" if wire == "openai" else url
    values = {
        "provider": wire,
        "model": "model-1",
        "base_url": address,
        "params": {limit: 50},
        "price": price,
        **fields,
    }
    return ModelSlot(**values)


def judge_of(
    wire: str,
    url: str,
    ledger: Ledger,
    *,
    budget: Any = None,
    slot: Any = None,
    progress: Any = None,
    **options: Any,
) -> ModelJudge:
    """A judge that sends what may wait in batches; `options` are those of `Batching`, and of its rules."""
    slot = slot if slot is not None else slot_of(wire, url)
    provider = provider_of("one", slot, KEYS)
    limits = Limits(in_flight=8, backoff_s=0.01, failures_per_request=6)
    rules = {name: options.pop(name) for name in list(options) if name in Batches.model_fields}
    batching = replace(
        Batching.of(slot, lambda: batches_of("one", provider)),
        rules=Batches(**{"first_look_s": 0.01, "longest_look_s": 0.05, **rules}),
        **{"lease_s": LEASE_S, **options},
    )
    asker = Asker(
        "one",
        provider,
        ledger,
        limits,
        budget=budget,
        price=slot.price,
        progress=progress,
        batching=batching,
    )
    return ModelJudge(asker, load_prompts(), slot.mode)


def once(*fates: Fate, share: int = 2) -> Callable[[Call, int], Fate]:
    """One question in `share` meets one of these fates when it is sent for the first time; all are answered
    afterwards.
    """

    def fate(call: Call, times: int) -> Fate:
        number = sum(call.user.encode())
        return fates[number // share % len(fates)] if times == 1 and number % share == 0 else "answer"

    return fate


def by_the_rules(count: int = 20) -> list[ComparisonAnswer]:
    """What the loopback server answers, in single calls and in batches: the rules of its own judge."""
    answers = CuesJudge.bundled("loopback").compare(pairs(count))
    assert len({answer.answer for answer in answers}) == 2, "one answer to everything would show nothing"
    return answers


def patiently(judge: Judge, count: int = 20) -> list[ComparisonAnswer]:
    return ask_to_compare(judge, pairs(count), may_wait=True)


@dataclass
class Hurried:
    """A judge that knows single calls only, whoever asks."""

    judge: ModelJudge
    key: str = "one"
    identity: str = "one"

    def extract(
        self, questions: Sequence[ExtractionQuestion], *, may_wait: bool = False
    ) -> list[ExtractionAnswer]:
        return self.judge.extract(questions)

    def compare(
        self, questions: Sequence[ComparisonQuestion], *, may_wait: bool = False
    ) -> list[ComparisonAnswer]:
        return self.judge.compare(questions)


class Unhurried(Hurried):
    """A judge that knows batches only."""

    def extract(
        self, questions: Sequence[ExtractionQuestion], *, may_wait: bool = False
    ) -> list[ExtractionAnswer]:
        return self.judge.extract(questions, may_wait=True)

    def compare(
        self, questions: Sequence[ComparisonQuestion], *, may_wait: bool = False
    ) -> list[ComparisonAnswer]:
        return self.judge.compare(questions, may_wait=True)


def row(ledger: Ledger) -> dict[str, Any]:
    frame = ledger.statistics()
    assert len(frame) == 1
    return dict(frame.iloc[0])
