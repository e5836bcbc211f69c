"""A round of questions to one judge, by single calls (`engine.py`) or in batches (`batches/batching.py`):
what of it the ledger has, what is open, and what comes of it.
"""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Generic, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.budget import output_limit
from lunguage_assets.judges.asking.progress import Calls, Progress
from lunguage_assets.judges.asking.recording import Asking, Parse, Recording
from lunguage_assets.judges.ledger.attempts import Settlement, request_key
from lunguage_assets.judges.requests import ModelBinding, Request

T = TypeVar("T")

_NUMBERS = itertools.count(1)


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger. `missing` of `total` distinct
    questions.
    """

    def __init__(self, judge: str, missing: int, total: int, reason: str) -> None:
        self.judge, self.missing, self.total = judge, missing, total
        super().__init__(
            f"judge {judge!r}: {missing} of {total} questions have no answer ({reason}). The "
            f"other {total - missing} are in the ledger;"
            " run again, and only the missing ones are asked."
        )


@dataclass(frozen=True, slots=True)
class Settled(Generic[T]):
    """How one request is settled: its value, or None when it is invalid for good after `tries` replies."""

    key: str
    value: T | None = field(repr=False)
    tries: int

    @property
    def valid(self) -> bool:
        return self.value is not None


class Round(ABC, Generic[T]):
    """One round of questions; identical ones are one, and those that the ledger has settled are not asked."""

    def __init__(self, binding: ModelBinding, asking: Asking, parse: Parse[T]) -> None:
        self.binding, self.parse = binding, parse
        self.judge, self.ledger, self.limiter = asking.judge, asking.ledger, asking.limiter
        self.budget, self.price, self.progress = asking.budget, asking.price, asking.progress
        self.recording = Recording(binding, asking, parse, self.stop)
        self.output_limit = output_limit(binding)
        self.number = next(_NUMBERS)
        self.task = ""
        self.questions: dict[str, Request] = {}
        self.entries: dict[str, Settlement] = {}
        self.hits = 0
        self.calls = Calls()
        self.error: Exception | None = None

    async def settled(self, requests: Sequence[Request]) -> list[Settled[T]]:
        """One `Settled` per request, in their order."""
        keys = [request_key(self.binding, request) for request in requests]
        self.questions = dict(zip(keys, requests, strict=True))
        self.task = requests[0].task if requests else ""
        self.entries = await asyncio.to_thread(self.recording.settled, list(self.questions))
        self.hits = len(self.entries)
        self.report()
        if self.error is not None:
            raise self.error
        if len(self.entries) < len(self.questions):
            self.limiter.begin()
            await self.settle_open()
        settled = {key: self._read(entry) for key, entry in self.entries.items()}
        return [settled[key] for key in keys]

    @abstractmethod
    async def settle_open(self) -> None:
        """Add what settles the open questions to `entries`, or raise."""

    def worst_usd(self, tokens: int) -> float | None:
        """What a call with that many tokens of input can cost at most; None: that is not known."""
        if self.price is None or self.output_limit is None:
            return None
        return self.price.cost(tokens, self.output_limit)

    def report(self) -> None:
        """Tell where the round stands."""
        if self.progress is not None:
            counts = len(self.questions), self.hits, len(self.entries), *astuple(self.calls)
            self.progress(Progress(self.judge, self.task, self.number, *counts))

    def stop(self, error: Exception) -> None:
        """Ask nothing more; the first error is raised in the end."""
        self.error = self.error or error

    def _read(self, entry: Settlement) -> Settled[T]:
        value = self.parse(entry.answer) if entry.valid and entry.answer is not None else None
        if entry.valid and value is None:
            raise MethodError(
                f"judge {self.judge!r}: a recorded valid answer cannot be read by this version (key "
                f"{entry.key[:12]}); expected the parser that recorded it. Change the prompt templates' "
                "version together with the parser."
            )
        return Settled(entry.key, value, entry.tries)
