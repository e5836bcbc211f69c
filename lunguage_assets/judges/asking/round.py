"""A round of questions to one judge: what of it the ledger has, what is open, what comes of it, and how every
attempt is written down. How the open ones are asked is in `engine.py`. Prompts and answers appear in no
message.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Generic, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.budget import Budget, cost, output_limit
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Calls, Progress
from lunguage_assets.judges.ledger.attempts import Attempt, Flaw, Settlement, adopted, request_key, storable
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.policy import is_requested, told_name, wrong_model
from lunguage_assets.judges.requests import ModelBinding, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import Price

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed", "too_large"})

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Asking:
    """How one judge is asked.

    Args:
        judge: the slot's name, for the record and for messages.
        ledger: where attempts are found and recorded.
        limiter: this judge's flow control; what others send counts against its limits too.
        budget: ceilings of the run and of the day, or None.
        price: for costs; without it they are null, and a budget refuses.
        progress: told in the event loop of the asking after every recorded attempt.
    """

    judge: str
    ledger: Ledger
    limiter: Limiter
    budget: Budget | None = None
    price: Price | None = None
    progress: Callable[[Progress], None] | None = None


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
        self.entries = await asyncio.to_thread(self._recorded, list(self.questions))
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

    # --- from what a provider gave to what the ledger keeps

    def _recorded(self, keys: Sequence[str]) -> dict[str, Settlement]:
        """What the ledger has; a reply under a name that has since been listed as an alias counts from now
        on, where none did before.
        """
        entries = self.ledger.answers(keys)
        open_ = [key for key in keys if key not in entries]
        found = self.ledger.answers_of(self.binding.aliases, open_)
        if not found:
            return entries
        self.ledger.record_all([adopted(attempt, self._unread(attempt.answer or "")) for attempt in found])
        return entries | self.ledger.answers(open_)

    def blank(self, key: str, request: Request) -> Attempt:
        """The attempt before anything is known of its end."""
        sent = [request.prompt.system, request.prompt.user]
        prompt = json.dumps(sent) if self.ledger.stores_prompts else None
        return Attempt(key, self.judge, request.task, self.binding.model, prompt=prompt)

    def filled(self, attempt: Attempt, result: Reply | ProviderFailure) -> Attempt:
        """The attempt with its end; a failure that may have been billed has no known cost."""
        if isinstance(result, ProviderFailure):
            cost_usd = None if result.kind in _MAY_BE_BILLED else 0.0
            return replace(attempt, failure=result.kind, cost_usd=cost_usd)
        text = storable(result.text)
        return replace(
            attempt,
            answer=text,
            failure=self._flaw(result, text),
            returned_model=told_name(self.binding, result.returned_model),
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            reasoning_tokens=result.reasoning_tokens,
            cost_usd=cost(result, self.price),
        )

    def _flaw(self, reply: Reply, text: str) -> Flaw | None:
        nameless = reply.refused and not reply.returned_model
        if not nameless and not is_requested(self.binding, reply.returned_model):
            self.stop(wrong_model(self.judge, self.binding, reply.returned_model))
            return "wrong_model"
        return "refused" if reply.refused else self._unread(text)

    def _unread(self, text: str) -> Flaw | None:
        try:
            return "unreadable" if self.parse(text) is None else None
        except Exception as error:  # the reply is paid: it must be recorded all the same
            problem = f"the parser of answers failed ({type(error).__name__}). Please report this."
            self.stop(MethodError(f"judge {self.judge!r}: {problem}"))
            return "unreadable"
