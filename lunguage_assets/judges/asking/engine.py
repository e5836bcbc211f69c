"""Getting answers: from the ledger where they are, from the model where they are not, each attempt recorded
before it is used.

What may be sent when is decided by `limiter.py`, what it may cost by `budget.py`, which model may answer by
`policy.py`; the provider does one attempt. Prompts and answers appear in no message here.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.budget import BudgetExceeded, Reservation, estimated_input_tokens
from lunguage_assets.judges.asking.desk import Desk
from lunguage_assets.judges.asking.limiter import Leave
from lunguage_assets.judges.asking.round import Asking, JudgeIncomplete, Parse, Round, Settled
from lunguage_assets.judges.ledger.attempts import Attempt, Settlement
from lunguage_assets.judges.ledger.claims import Terms, Verdict, Wish
from lunguage_assets.judges.requests import Provider, ProviderFailure, Reply, Request

T = TypeVar("T")

GRACE_S = 10.0
"""An interrupted run waits so long for the calls in flight: their answers are paid, and are recorded when
they come.
"""

_BUDGET_LOOK_S = 0.05
_FIRST_LOOK_S, _LONGEST_LOOK_S, _GROWTH = 0.1, 5.0, 1.5
"""Questions that others ask are looked for in the ledger so often, more seldom while none is answered."""


async def ask(
    requests: Sequence[Request], provider: Provider, asking: Asking, parse: Parse[T]
) -> list[Settled[T]]:
    """One `Settled` per request, in their order; identical requests are asked once, settled ones not at all
    (explicit.md section 5).

    An answer that `parse` cannot read is asked for again, up to `attempts.tries_of` its task, then invalid
    for good. A call that fails is tried again as the limiter says. A question that another asks at the
    moment, here or in another process that shares the ledger, is waited for and not sent. The provider is not
    touched when the ledger has everything.

    Raises:
        JudgeIncomplete: some questions have no answer: given up, deadline, or the judge failed altogether.
        BudgetExceeded: the next call could pass a ceiling.
        WrongModel: another model answered.
        LedgerError: a question could not be claimed, or an attempt not recorded.
    """
    return await _SingleCalls(provider, asking, parse).settled(requests)


class _SingleCalls(Round[T]):
    """One call of `ask`: workers take open questions until all are settled or something stops the judge."""

    def __init__(self, provider: Provider, asking: Asking, parse: Parse[T]) -> None:
        super().__init__(provider.binding, asking, parse)
        self.provider = provider
        self.underestimated = 1.0
        self.elsewhere: dict[str, Request] = {}
        self.looking, self.look_s = asyncio.Lock(), _FIRST_LOOK_S
        self.given_up: Counter[str] = Counter()
        self.halted = asyncio.Event()

    async def settle_open(self) -> None:
        open_ = deque((key, request) for key, request in self.questions.items() if key not in self.entries)
        limit = self.limiter.limits.deadline_s
        self.deadline = self.limiter.clock() + limit if limit is not None else math.inf
        self.desk = Desk(self.ledger, self._terms())
        # Twice the calls in flight: while some requests wait after a failure, others keep the judge busy.
        workers = min(len(open_), 2 * self.limiter.limits.in_flight)
        await self._drain([asyncio.create_task(self._work(open_)) for _ in range(workers)])
        self._raise_if_incomplete()

    def _terms(self) -> Terms:
        limits = self.limiter.limits
        rates = limits.requests_per_minute, limits.tokens_per_minute
        daily_usd = None if self.budget is None else self.budget.of_day_usd
        return Terms(self.judge, self.binding.model, self.limiter.name, limits.in_flight, *rates, daily_usd)

    async def _drain(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """Wait for all; when interrupted, send nothing more, and give the calls in flight a moment to be
        recorded.
        """
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
            await self.desk.close()

    async def _work(self, open_: deque[tuple[str, Request]]) -> None:
        while (open_ or self.elsewhere) and not self._stopped():
            try:
                if open_:
                    await self._settle_one(*open_.popleft())
                else:
                    await self._look_elsewhere(open_)
            except Exception as error:
                self.stop(error)

    async def _look_elsewhere(self, open_: deque[tuple[str, Request]]) -> None:
        """Wait a moment, take what others have answered meanwhile, and what they ask no more; one worker at a
        time.
        """
        async with self.looking:
            if open_ or not self.elsewhere:
                return
            await self._pause(self.look_s)
            if self._stopped():
                return
            entries, claimed = await self.desk.look(list(self.elsewhere))
            free = [key for key in self.elsewhere if key not in entries and key not in claimed]
            moved = bool(entries or free)
            self.look_s = _FIRST_LOOK_S if moved else min(_GROWTH * self.look_s, _LONGEST_LOOK_S)
            open_.extend((key, self.elsewhere.pop(key)) for key in free)
            for key in entries:
                del self.elsewhere[key]
            self.entries |= entries
            self.hits += len(entries)
            self.report()

    async def _settle_one(self, key: str, request: Request) -> None:
        failures = unusable = 0
        while not self._stopped():
            result = await self._attempt(key, replace(request, attempt=unusable))
            if isinstance(result, Settlement):
                self.entries[key] = result
                self.report()
                return
            if result == "elsewhere":
                self.elsewhere[key] = request
                return
            if result == "later":
                continue
            self.report()
            if isinstance(result, ProviderFailure):
                failures += 1
                wait = self.limiter.backoff(key, failures, result)
                if wait is None:
                    self.given_up[str(result)] += 1
                    if result.kind == "authentication":
                        self.halted.set()
                    return
                await self._pause(wait)
            else:
                unusable += 1

    async def _attempt(
        self, key: str, request: Request
    ) -> Settlement | ProviderFailure | Literal["later", "elsewhere"] | None:
        """One call, recorded. The entry that settles the question, the failure, or None: an answer that is
        not used. Nothing was sent when another asks the question, or when it has to wait for later.
        """
        expected = math.ceil(estimated_input_tokens(request.prompt) * self.underestimated)
        tokens = expected + (self.output_limit or 0)
        leave = await self.limiter.acquire(self._stopped)
        if leave is None:
            return "later"
        reservation: Reservation | None = None
        try:
            worst_usd = self.worst_usd(expected)
            reservation = await self._reserve(worst_usd)
            if reservation is None:
                return "later"
            attempt = self.blank(key, request)
            verdict = await self.desk.claim(
                Wish(key, attempt.receipt, attempt.stage, attempt.time, tokens, worst_usd or 0.0)
            )
            if verdict.kind != "go":
                reservation.settle(0.0)
                leave.put_off(verdict.wait_s)
                return self._unsent(verdict)
            return await self._sent(attempt, request, leave, reservation)
        finally:
            leave.lost()
            if reservation is not None:
                reservation.settle(None)

    def _unsent(self, verdict: Verdict) -> Settlement | Literal["later", "elsewhere"]:
        """What follows from a claim that was not granted."""
        if verdict.kind == "spent" and self.budget is not None:
            raise self.budget.of_day_exceeded(self.judge, verdict.spent_usd)
        if verdict.entry is not None:
            self.hits += 1
            return verdict.entry
        return "elsewhere" if verdict.kind == "taken" else "later"

    async def _sent(
        self, attempt: Attempt, request: Request, leave: Leave, reservation: Reservation
    ) -> Settlement | ProviderFailure | None:
        try:
            attempt, result = await self._call(attempt, request)
        except LunguageError:  # nothing was sent
            await self.desk.give_back(attempt.receipt)
            raise
        reservation.settle(attempt.cost_usd)
        entry = await self.desk.record(attempt)
        self.calls.add(attempt)
        # Only now is the call no longer in flight: what a crash can lose is never more than `in_flight`.
        if isinstance(result, ProviderFailure):
            leave.failed(result)
            return result
        leave.succeeded()
        exceeded = result.input_tokens / estimated_input_tokens(request.prompt)
        self.underestimated = max(self.underestimated, exceeded)
        return entry

    async def _call(self, attempt: Attempt, request: Request) -> tuple[Attempt, Reply | ProviderFailure]:
        """Send; what came, and its record, which holds what is known even of a failure."""
        started = self.limiter.clock()
        result: Reply | ProviderFailure
        try:
            result = await self.provider.answer(request)
        except ProviderFailure as failure:
            result = failure
        except LunguageError:  # refused or not configured: nothing was sent
            raise
        except Exception as error:  # its text may hold the prompt
            problem = f"its provider failed unexpectedly ({type(error).__name__}). Please report this."
            self.stop(MethodError(f"judge {self.judge!r}: {problem}"))
            result = ProviderFailure("malformed")
        attempt = replace(attempt, latency_s=max(0.0, self.limiter.clock() - started))
        return self.filled(attempt, result), result

    async def _reserve(self, worst_usd: float | None) -> Reservation | None:
        """Leave of the run to spend the worst case; None when the run stops, also while it waits for calls in
        flight to be settled. Leave of the day comes with the claim.
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
        return self.halted.is_set() or self.limiter.broken or self.limiter.clock() >= self.deadline

    def stop(self, error: Exception) -> None:
        super().stop(error)
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
            if self.elsewhere:
                reasons.append(f"{len(self.elsewhere)} are being asked by another process")
            if self.limiter.broken:
                reasons.append("its service kept failing")
            if self.limiter.clock() >= self.deadline:
                reasons.append(f"deadline of {self.limiter.limits.deadline_s:g} s")
            raise JudgeIncomplete(self.judge, missing, total, ", ".join(reasons) or "stopped")
