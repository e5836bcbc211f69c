"""Getting answers: from the ledger where they are, from the model where they are not, each attempt recorded
before it is used.

What may be sent when is decided by `limiter.py`, what it may cost by `budget.py`, which model may answer by
`policy.py`; the provider does one attempt. Of all who share a ledger one at a time asks a model
(`ModelLock`); the others find its answers in the ledger. Prompts and answers appear in no message here.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.budget import (
    Budget,
    BudgetExceeded,
    Reservation,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.asking.recording import WriteQueue, ended
from lunguage_assets.judges.ledger.attempts import Attempt, Settlement, request_key
from lunguage_assets.judges.ledger.in_flight import Call
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_place import ModelLock, lock_name
from lunguage_assets.judges.policy import wrong_model
from lunguage_assets.judges.requests import Provider, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import Price

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

GRACE_S = 10.0
"""Seconds that an interrupted run waits for the calls in flight: their answers are paid."""

IN_VAIN = 20
"""After so many questions given up without a reply between them the judge has failed."""

_BUDGET_LOOK_S = 0.05
_DAY_LOOK_S = 0.25
_LOCK_LOOK_S = 0.25
"""Who waits for a model's lock looks so often whether it is free, and for answers."""

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


async def ask(
    requests: Sequence[Request], provider: Provider, asking: Asking, parse: Parse[T]
) -> list[Settled[T]]:
    """One `Settled` per request, in their order; identical requests are asked once, settled ones not at all
    (explicit.md section 5).

    An answer that `parse` cannot read is asked for again, up to `attempts.tries_of` its task, then invalid
    for good. A call that fails is tried again as the limiter says. While another asks this model, here or in
    another process that shares the ledger, its answers are waited for. The provider is not touched when the
    ledger has everything.

    Raises:
        JudgeIncomplete: some questions have no answer: given up, deadline, or the judge failed altogether.
        BudgetExceeded: the next call could pass a ceiling.
        WrongModel: another model answered.
        LedgerError: a call could not be written down, or an attempt not recorded.
    """
    return await _Round(provider, asking, parse).settled(requests)


class _Round(Generic[T]):
    """One round of questions to one judge: identical ones are one, and those that the ledger has settled are
    not asked. Workers take open questions until all are settled or something stops the judge.
    """

    def __init__(self, provider: Provider, asking: Asking, parse: Parse[T]) -> None:
        self.provider, self.binding, self.parse = provider, provider.binding, parse
        self.judge, self.ledger, self.limiter = asking.judge, asking.ledger, asking.limiter
        self.budget, self.price, self.progress = asking.budget, asking.price, asking.progress
        self.output_limit = output_limit(self.binding)
        self.questions: dict[str, Request] = {}
        self.entries: dict[str, Settlement] = {}
        self.standing = Progress(self.judge, "", next(_NUMBERS))
        self.in_vain = 0  # questions given up since the last reply
        self.underestimated = 1.0
        self.given_up: Counter[str] = Counter()
        self.error: Exception | None = None
        self.halted = asyncio.Event()
        self.is_elsewhere = False

    async def settled(self, requests: Sequence[Request]) -> list[Settled[T]]:
        """One `Settled` per request, in their order."""
        keys = [request_key(self.binding, request) for request in requests]
        self.questions = dict(zip(keys, requests, strict=True))
        task = requests[0].task if requests else ""
        self.standing = replace(self.standing, task=task, questions=len(self.questions))
        await self._look_up()
        self.report()
        if self._open():
            await self._settle_open()
        settled = {key: self._read(entry) for key, entry in self.entries.items()}
        return [settled[key] for key in keys]

    def _open(self) -> list[str]:
        return [key for key in self.questions if key not in self.entries]

    async def _look_up(self) -> bool:
        """Take what the ledger has of the open questions; whether there was any."""
        found = await asyncio.to_thread(self.ledger.answers, self._open())
        self.entries |= found
        self.standing = replace(self.standing, hits=self.standing.hits + len(found))
        return bool(found)

    async def _settle_open(self) -> None:
        limit = self.limiter.limits.deadline_s
        self.deadline = self.limiter.clock() + limit if limit is not None else math.inf
        lock = await self._locked()
        try:
            if lock is not None and self._open() and not self._stopped():
                await self._ask_open()
        finally:
            if lock is not None:
                await asyncio.to_thread(lock.release)
        self._raise_if_incomplete()

    async def _locked(self) -> ModelLock | None:
        """The model's lock, and what others have answered meanwhile; None when nothing is open any more, or
        the judge stops.
        """
        while True:
            trying = asyncio.ensure_future(asyncio.to_thread(self.ledger.try_lock, lock_name(self.binding)))
            try:
                lock = await asyncio.shield(trying)
            except asyncio.CancelledError:
                if (held := await trying) is not None:
                    held.release()
                raise
            self.is_elsewhere = lock is None
            if await self._look_up() and lock is None:
                self.report()
            if lock is not None or not self._open() or self._stopped():
                return lock
            await self._pause(_LOCK_LOOK_S)

    async def _ask_open(self) -> None:
        """Ask what is open; the lock is held. When interrupted, send nothing more, and give the calls in
        flight a moment to be recorded.
        """
        if self.limiter.rated:
            recent = await asyncio.to_thread(self.ledger.recent_usage, self.judge, self.binding.model)
            self.limiter.note_recent(recent)
        open_ = deque((key, self.questions[key]) for key in self._open())
        daily_usd = None if self.budget is None else self.budget.of_day_usd
        self.queue = WriteQueue(self.ledger, lock_name(self.binding), daily_usd)
        # Twice the calls in flight: while some requests wait after a failure, others keep the judge busy.
        count = min(len(open_), 2 * self.limiter.limits.in_flight)
        workers = [asyncio.create_task(self._work(open_)) for _ in range(count)]
        try:
            await asyncio.wait(workers)
        except asyncio.CancelledError:
            self.halted.set()
            _, late = await asyncio.wait(workers, timeout=GRACE_S)
            for worker in late:
                worker.cancel()
            if late:
                await asyncio.wait(late)
            raise
        finally:
            for worker in workers:
                worker.cancel()
            await self.queue.close()

    async def _work(self, open_: deque[tuple[str, Request]]) -> None:
        while open_ and not self._stopped():
            try:
                await self._settle_one(*open_.popleft())
            except Exception as error:
                self.stop(error)

    async def _settle_one(self, key: str, request: Request) -> None:
        failures = unusable = 0
        while not self._stopped():
            result = await self._attempt(key, replace(request, attempt=unusable))
            if isinstance(result, Settlement):
                self.entries[key] = result
                self.report()
                return
            if result == "later":
                continue
            self.report()
            if isinstance(result, ProviderFailure):
                failures += 1
                wait = self.limiter.backoff(key, failures, result)
                if wait is None:
                    self.given_up[str(result)] += 1
                    self.in_vain += 1
                    if result.kind == "authentication" or self.in_vain >= IN_VAIN:
                        self.halted.set()
                    return
                await self._pause(wait)
            else:
                unusable += 1

    async def _attempt(
        self, key: str, request: Request
    ) -> Settlement | ProviderFailure | Literal["later"] | None:
        """One call, recorded. The entry that settles the question, the failure, or None: an answer that is
        not used. Nothing was sent when it has to wait for later.
        """
        expected = math.ceil(estimated_input_tokens(request.prompt) * self.underestimated)
        attempt = Attempt(key, self.judge, request.task, self.binding.model)
        receipt, tokens = attempt.receipt, expected + (self.output_limit or 0)
        if not await self.limiter.acquire(self._stopped, tokens, receipt):
            return "later"
        reservation: Reservation | None = None
        try:
            worst_usd = self._worst_usd(expected)
            reservation = await self._reserve(worst_usd)
            if reservation is None:
                return "later"
            call = Call(
                receipt, key, self.judge, attempt.stage, attempt.model, attempt.time, worst_usd or 0.0
            )
            permit = await self.queue.begin(call)
            if permit.kind == "go":
                return await self._sent(attempt, request, reservation)
            reservation.settle(0.0)
            if permit.kind == "spent" and self.budget is not None:
                raise self.budget.of_day_exceeded(self.judge, permit.spent_usd)
            self.limiter.put_off(receipt, _DAY_LOOK_S)
            await asyncio.to_thread(self.ledger.count_lost)  # the dead may have reserved what is missing
            return "later"
        finally:
            # Only now is the call no longer in flight: what a crash can lose is never more than `in_flight`.
            self.limiter.release()
            if reservation is not None:
                reservation.settle(None)

    async def _sent(
        self, attempt: Attempt, request: Request, reservation: Reservation
    ) -> Settlement | ProviderFailure | None:
        started = self.limiter.clock()
        result: Reply | ProviderFailure
        try:
            result = await self.provider.answer(request)
        except ProviderFailure as failure:
            result = failure
        except LunguageError:  # refused or not configured: nothing was sent
            await self.queue.give_back(attempt.receipt)
            raise
        except Exception as error:
            self.stop(error)
            result = ProviderFailure("malformed")
        attempt = replace(attempt, latency_s=max(0.0, self.limiter.clock() - started))
        attempt = ended(attempt, result, self.binding, self.price, self.parse)
        reservation.settle(attempt.cost_usd)
        entry = await self.queue.record(attempt)
        self.standing = self.standing.after(attempt)
        if isinstance(result, ProviderFailure):
            self.limiter.failed(attempt.receipt, result)
            return result
        if attempt.failure == "wrong_model":
            self.stop(wrong_model(self.judge, self.binding, result.returned_model))
        self.in_vain = 0
        self.limiter.replied(attempt.receipt, result.input_tokens + result.output_tokens)
        exceeded = result.input_tokens / estimated_input_tokens(request.prompt)
        self.underestimated = max(self.underestimated, exceeded)
        return entry

    async def _reserve(self, worst_usd: float | None) -> Reservation | None:
        """Leave of the run to spend the worst case; None when the run stops, also while it waits for calls in
        flight to be settled. Leave of the day comes with the permit.
        """
        if self.budget is None:
            return Reservation(None, 0.0)
        while not self._stopped():
            if (reservation := self.budget.reserve(self.judge, worst_usd)) is not None:
                return reservation
            await self.limiter.sleep(_BUDGET_LOOK_S)
        return None

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not past the deadline, and not when the judge has stopped."""
        left = max(0.0, self.deadline - self.limiter.clock())
        sleeping = asyncio.ensure_future(self.limiter.sleep(min(seconds, left)))
        halted = asyncio.ensure_future(self.halted.wait())
        try:
            await asyncio.wait((sleeping, halted), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            halted.cancel()

    def _stopped(self) -> bool:
        return self.halted.is_set() or self.limiter.clock() >= self.deadline

    def _worst_usd(self, tokens: int) -> float | None:
        """What a call with that many tokens of input can cost at most; None: that is not known."""
        if self.price is None or self.output_limit is None:
            return None
        return self.price.cost(tokens, self.output_limit)

    def report(self) -> None:
        """Tell where the round stands."""
        if self.progress is not None:
            self.progress(replace(self.standing, settled=len(self.entries)))

    def stop(self, error: Exception) -> None:
        """Ask nothing more; the first error is raised in the end, without its text, which may hold a prompt
        or an answer, unless it is one of ours.
        """
        if not isinstance(error, LunguageError):
            name = type(error).__name__
            error = MethodError(f"judge {self.judge!r} failed unexpectedly ({name}). Please report this.")
        self.error = self.error or error
        self.halted.set()

    def _raise_if_incomplete(self) -> None:
        total, missing = len(self.questions), len(self.questions) - len(self.entries)
        if isinstance(self.error, BudgetExceeded):
            raise BudgetExceeded(
                f"{self.error} {missing} of {total} questions of judge {self.judge!r} have no answer yet."
            )
        if self.error is not None:
            raise self.error
        if missing:
            reasons = [f"{count} x {failure}" for failure, count in sorted(self.given_up.items())]
            if self.is_elsewhere:
                reasons.append("another process is asking this model")
            if self.in_vain >= IN_VAIN:
                reasons.append("its service kept failing")
            if self.limiter.clock() >= self.deadline:
                reasons.append(f"deadline of {self.limiter.limits.deadline_s:g} s")
            raise JudgeIncomplete(self.judge, missing, total, ", ".join(reasons) or "stopped")

    def _read(self, entry: Settlement) -> Settled[T]:
        value = self.parse(entry.answer) if entry.valid and entry.answer is not None else None
        if entry.valid and value is None:
            raise MethodError(
                f"judge {self.judge!r}: a recorded valid answer cannot be read by this version (key "
                f"{entry.key[:12]}); expected the parser that recorded it. Change the prompt templates' "
                "version together with the parser."
            )
        return Settled(entry.key, value, entry.tries)
