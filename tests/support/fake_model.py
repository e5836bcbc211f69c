"""A language model in memory for the tests of ledger and engine: answers by hash, fails
by hash, counts what it was asked.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request

CONFIG = LLMJudgeConfig(
    provider="openai", model="fake-1", params={"max_tokens": 10, "temperature": 1}
)
LABELS = ("sentence_1", "sentence_2")
FAILURES = ("rate_limited", "timeout", "connection", "server", "malformed")


def question(number: int, **changes: object) -> Request:
    user = f"Invented question {number}?"
    plain = Request(
        "compare", "You judge invented sentences.", user, "v1", "text", LABELS
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def questions(count: int) -> list[Request]:
    return [question(number) for number in range(count)]


def draw(*values: object) -> float:
    digest = hashlib.sha256(repr(values).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2.0**64


def label(request: Request) -> str:
    return LABELS[draw("label", request.user) < 0.5]


def read_label(text: str) -> str | None:
    return text if text in LABELS else None


class FakeModel:
    """`failing` of its calls bring no reply; `answer` may say anything; `log` gets the
    key of every call that is sent.
    """

    def __init__(
        self,
        failing: float = 0.0,
        *,
        latency: float = 0.0,
        answer: Callable[[Request, int], Reply | ProviderFailure | None] | None = None,
        log: Path | None = None,
    ) -> None:
        self._failing = failing
        self._latency = latency
        self._answer = answer
        self.sent: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self._log = log

    @property
    def calls(self) -> int:
        return sum(self.sent.values())

    async def answer(self, request: Request) -> Reply:
        key = CONFIG.key_of(request)
        self.sent[key] += 1
        occurrence = self.sent[key]
        if self._log is not None:
            with self._log.open("a") as stream:
                stream.write(f"{key}\n")
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self._latency)
        finally:
            self.in_flight -= 1
        result = self._answer(request, occurrence) if self._answer is not None else None
        if result is None and draw("fails", 0, key, occurrence) < self._failing:
            number = int(draw("kind", 0, key, occurrence) * len(FAILURES))
            result = ProviderFailure(FAILURES[number])  # type: ignore[arg-type]
        if isinstance(result, ProviderFailure):
            raise result
        return result if result is not None else reply(label(request))


def reply(text: str, **changes: object) -> Reply:
    return replace(Reply(text, "fake-1", 40, 4), **changes)  # type: ignore[arg-type]
