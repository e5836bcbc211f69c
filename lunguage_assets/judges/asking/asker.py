"""Asking a language model: answers come from the ledger where they are, from the model where they are not,
and each attempt is recorded before it is used.

When a call may go and what it may cost is decided by `limits.py`; the provider does one attempt. Of all who
share a ledger one at a time asks a model; the others find its answers in the ledger. Prompts and answers
appear in no message here.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.limits import (
    Budget,
    BudgetExceeded,
    Limiter,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger.attempts import (
    REPLIED,
    Attempt,
    Flaw,
    request_key,
    storable,
)
from lunguage_assets.judges.ledger.bills import Bill
from lunguage_assets.judges.ledger.ledger import Ledger, begin, forget, record
from lunguage_assets.judges.ledger.ledger_location import model_lock_name
from lunguage_assets.judges.requests import Provider, ProviderFailure, Reply, Request

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

GRACE_S = 10.0
"""Seconds that an interrupted run waits for the calls in flight: their answers are paid."""

MAX_CONSECUTIVE_FAILURES = 20
"""After so many questions given up without a reply between them the judge has failed."""

MAX_CONNECT_ATTEMPTS = 4
"""Tries of a question to a service that has not answered any yet, and to which no connection is made."""

MIN_ANSWERS_TO_JUDGE = 10
"""Answers of which one at least can be read, if the model is any use."""

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127})?")
_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed"})
POLL_INTERVAL_S = 0.25
"""Who waits for a model's lock, or for money that calls in flight have reserved, looks so often."""
_LOOKED_UP = 50
"""Who waits for a model's lock looks up so many open questions at a time."""


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger."""


class WrongModel(LunguageError):
    """Another model answered than the requested one; its answers are recorded and not used."""


class NothingReadable(LunguageError):
    """No answer of a model can be read."""


class Asker:
    """Asks the model of one slot; several threads may ask at once.

    Args:
        key: the slot's name, for the record and for messages.
        provider: not touched when the ledger has everything.
        price: for costs; without it they are null, and a budget refuses.
        progress: told in the event loop of the asking what every recorded attempt adds.
        bill: on which calls are charged in the ledger; None: on nobody's.
    """

    def __init__(
        self,
        key: str,
        provider: Provider,
        ledger: Ledger,
        limits: Limits,
        *,
        budget: Budget | None = None,
        price: Price | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
        bill: Bill | None = None,
    ) -> None:
        self.key, self.provider, self.binding, self.ledger = (
            key,
            provider,
            provider.binding,
            ledger,
        )
        self.limits, self.limiter = limits, Limiter(limits)
        self.budget, self.price, self.progress, self.bill = (
            budget,
            price,
            progress,
            bill,
        )
        self._working: set[Future[Any]] = set()
        self._asked = self._read = 0
        self.is_reached = False

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[T | None]:
        """One value per request, in their order; identical requests are asked once, settled ones not at
        all (explicit.md section 5).

        An answer that `parse` cannot read is asked for again, up to `attempts.tries_of` its task, then
        invalid for good: None. A call that fails is tried again as the limiter says. While another asks this
        model, here or in another process that shares the ledger, its answers are waited for. When the waiting
        is interrupted, the asking is, and its end awaited.

        Raises:
            JudgeIncomplete: questions without answer: given up, deadline, or the judge failed altogether.
            BudgetExceeded: the next call could pass a ceiling.
            WrongModel: another model answered.
            LedgerError: a call could not be written down, or an attempt not recorded.
        """
        if not requests:
            return []
        ended = threading.Event()

        async def whole() -> list[T | None]:
            try:
                return await _Round(self, requests, parse).settled()
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(whole(), _loop(os.getpid()))
        self._working.add(future)
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(2 * GRACE_S)
            raise
        finally:
            self._working.discard(future)

    def interrupt(self) -> None:
        """End what other threads are asking: calls in flight are recorded, nothing more is sent, and the
        asking threads get an error.
        """
        for future in list(self._working):
            future.cancel()

    def require_readable(self, values: Sequence[object | None]) -> None:
        """Count the answers that could be read, of all that this object got.

        Raises:
            NothingReadable: there are many, and none could.
        """
        self._asked += len(values)
        self._read += sum(value is not None for value in values)
        if self._asked >= MIN_ANSWERS_TO_JUDGE and not self._read:
            raise NothingReadable(
                f"judge {self.key!r}: of {self._asked} answers none can be read; expected what the prompts "
                "ask for. Look at its model, mode, parameters and prompts, or leave it out of the preset. "
                "Where its service was at fault, name another $LUNGUAGE_LEDGER: this one keeps the answers."
            )

    def require_one_readable(self, values: Sequence[object | None], stage: str) -> None:
        """Refuse answers of which none could be read, however few, of a model of which no answer ever was.

        Args:
            values: what was read in the answers, None where nothing could be.
            stage: what the model was asked for, as the ledger names it.

        Raises:
            NothingReadable: there are some, none could be read, and the ledger has none that could.
        """
        if not values or any(value is not None for value in values):
            return
        known = self.ledger.statistics()
        own = (
            (known["judge"] == self.key)
            & (known["stage"] == stage)
            & (known["model"] == self.binding.model)
        )
        if not known.loc[own, "valid"].sum():
            raise NothingReadable(
                f"judge {self.key!r}: none of its {len(values)} answers can be read, and none was before; "
                "expected what the prompts ask for. Look at its model, mode, parameters and prompts, or "
                "choose another structurer."
            )


@lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """This process's event loop for all judges, in a thread apart: connections are kept from one round to the
    next. A forked process has its own.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="judges", daemon=True).start()
    return loop


class _Round(Generic[T]):
    """One round of questions to one judge. Workers take open questions until all are settled, or an error,
    the deadline or an interruption cancels them.
    """

    deadline: asyncio.Timeout

    def __init__(
        self, asker: Asker, requests: Sequence[Request], parse: Parse[T]
    ) -> None:
        self.asker, self.judge, self.ledger, self.budget = (
            asker,
            asker.key,
            asker.ledger,
            asker.budget,
        )
        self.binding, self.parse, self.limiter = asker.binding, parse, asker.limiter
        self.slots = asyncio.Semaphore(asker.limits.in_flight)
        self.waiting: asyncio.Queue[tuple[tuple[Any, ...], asyncio.Future[Any]]] = (
            asyncio.Queue()
        )
        self.keys = [request_key(self.binding, request) for request in requests]
        self.questions = dict(zip(self.keys, requests, strict=True))
        self.entries: dict[str, str | None] = {}
        self.given_up: Counter[str] = Counter()
        self.in_vain = 0  # questions given up since the last reply
        self.underestimated = 1.0
        self.error: LunguageError | None = None
        self.workers: list[asyncio.Task[None]] = []

    async def settled(self) -> list[T | None]:
        """See `Asker.ask`."""
        await self._look_up(list(self.questions), new=len(self.questions))
        if self._open():
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    self.asker.limits.deadline_s
                ) as self.deadline:
                    await self._ask_alone()
            if not self.workers:
                await self._look_up(
                    self._open()
                )  # it only waited: what others answered meanwhile counts
            self._raise_if_incomplete()
        read = {key: self._read(key, answer) for key, answer in self.entries.items()}
        return [read[key] for key in self.keys]

    def _open(self) -> list[str]:
        return [key for key in self.questions if key not in self.entries]

    async def _look_up(self, keys: Sequence[str], new: int = 0) -> None:
        """Take what the ledger has of these open questions, of which so many are new."""
        found = await asyncio.to_thread(self.ledger.settled, keys)
        self.entries |= {key: one.answer for key, one in found.items()}
        self._report(
            questions=new,
            hits=len(found),
            settled=len(found),
            invalid_before=sum(one.invalid for one in found.values()),
            void=sum(one.answer is None for one in found.values()),
        )

    async def _look_up_next(self, awaited: deque[str]) -> None:
        """Take what the ledger has of the next questions that are awaited, and of those after them as long
        as it has all.

        A look costs the same however many are open; who holds the lock asks in about the same order.
        """
        is_settled = True
        while awaited and is_settled:
            some = [awaited.popleft() for _ in range(min(len(awaited), _LOOKED_UP))]
            await self._look_up(some)
            still_open = [key for key in some if key not in self.entries]
            awaited.extendleft(reversed(still_open))
            is_settled = not still_open

    async def _ask_alone(self) -> None:
        """Ask what is open when the model's lock is ours, unless others answer everything before."""
        awaited = deque(self._open())
        while (release := self.ledger.try_lock(model_lock_name(self.binding))) is None:
            await self._look_up_next(awaited)
            if not awaited:
                return
            await asyncio.sleep(POLL_INTERVAL_S)
        try:
            await self._look_up(self._open())  # others may have answered meanwhile
            if self._open():
                await self._ask_open()
        finally:
            release()

    async def _ask_open(self) -> None:
        """Ask what is open; the lock is held. What is in flight in the end is paid, and awaited: when
        interrupted only for a moment.
        """
        open_ = deque(self._open())
        # Twice the calls in flight: while some requests wait after a failure, others keep the judge busy.
        count = min(len(open_), 2 * self.asker.limits.in_flight)
        self.workers = [asyncio.create_task(self._work(open_)) for _ in range(count)]
        writer = asyncio.create_task(self._write())
        try:
            await asyncio.wait(self.workers)
        except asyncio.CancelledError:
            self._halt()
            await asyncio.wait(
                self.workers, timeout=None if self.deadline.expired() else GRACE_S
            )
            raise
        finally:
            for task in (*self.workers, writer):
                task.cancel()
            await asyncio.gather(*self.workers, writer, return_exceptions=True)

    def _halt(self) -> None:
        """Send nothing more."""
        for worker in self.workers:
            if not worker.cancelling():
                worker.cancel()

    async def _work(self, open_: deque[str]) -> None:
        """Settle question after question; the first error is told in the end, without its text, which may
        hold a prompt or an answer, unless it is one of ours.
        """
        try:
            while open_:
                await self._settle_one(open_.popleft())
        except Exception as error:
            told = f"judge {self.judge!r} failed unexpectedly ({type(error).__name__}). Please report this."
            self.error = self.error or (
                error if isinstance(error, LunguageError) else MethodError(told)
            )
            self._halt()

    async def _settle_one(self, key: str) -> None:
        failures = unusable = 0
        while key not in self.entries:
            failure = await self._attempt(
                key, replace(self.questions[key], attempt=unusable)
            )
            if failure is None:
                unusable += 1
                continue
            failures += 1
            wait_s = self.limiter.backoff(failures, failure)
            is_down = failure.kind == "connection" and not self.asker.is_reached
            if wait_s is None or (is_down and failures >= MAX_CONNECT_ATTEMPTS):
                self._report(failures=1)
                self.given_up[str(failure)] += 1
                self.in_vain += 1
                if (
                    failure.kind == "authentication"
                    or self.in_vain >= MAX_CONSECUTIVE_FAILURES
                ):
                    raise JudgeIncomplete("its service refuses or keeps failing")
                return
            self._report(retried=1)
            await asyncio.sleep(wait_s)

    async def _attempt(self, key: str, request: Request) -> ProviderFailure | None:
        """One call, as soon as limits and budgets let it go; its failure, or None after a reply."""
        tokens = math.ceil(estimated_input_tokens(request.prompt) * self.underestimated)
        room, price, worst_usd = output_limit(self.binding), self.asker.price, None
        if price is not None and room is not None:
            worst_usd = price.cost(tokens, room)
        async with (
            self.slots
        ):  # until recorded: a crash never loses more than `in_flight`
            await self.limiter.turn()
            while True:
                if self.budget is None or self.budget.reserve(self.judge, worst_usd):
                    attempt = Attempt(key, self.judge, request.task, self.binding.model)
                    result = await _finished(
                        self._call(attempt, request, worst_usd or 0.0)
                    )
                    if result != "wait":
                        return result
                await asyncio.sleep(POLL_INTERVAL_S)

    async def _call(
        self, attempt: Attempt, request: Request, worst_usd: float
    ) -> ProviderFailure | Literal["wait"] | None:
        """A call with its money reserved in this run: written down, sent, recorded; or `wait`: calls in
        flight have reserved the day's money.
        """
        cost_usd: float | None = 0.0
        try:
            lock = model_lock_name(self.binding)
            daily_usd = self.budget.daily_usd if self.budget is not None else None
            permit = await self._written(
                begin, attempt, lock, worst_usd, daily_usd, self.asker.bill
            )
            if permit == "wait":
                await asyncio.to_thread(
                    self.ledger.in_flight
                )  # the dead may have reserved what is missing
                return "wait"
            if permit == "spent":
                raise BudgetExceeded(
                    f"daily budget of ${daily_usd:.2f}: with what all that share the ledger spent in the "
                    f"last 24 hours, the next call of judge {self.judge!r} could pass it. All answers are "
                    "kept; run again later, or with a higher LUNGUAGE_DAILY_BUDGET, and only the rest is "
                    "asked."
                )
            cost_usd, started = None, time.monotonic()  # the cost is not known yet
            try:
                reply = await self.asker.provider.answer(request)
            except LunguageError:  # refused or not configured: nothing was sent
                cost_usd = 0.0
                await self._written(forget, attempt, self.asker.bill)
                raise
            except Exception as error:
                failure = (
                    error
                    if isinstance(error, ProviderFailure)
                    else ProviderFailure("malformed")
                )
                cost_usd = None if failure.kind in _MAY_BE_BILLED else 0.0
                await self._record(
                    replace(attempt, failure=failure.kind, cost_usd=cost_usd)
                )
                self.limiter.failed(failure)
                if failure is not error:
                    raise
                return failure
            ended = self._ended(attempt, reply, time.monotonic() - started)
            cost_usd = ended.cost_usd
            await self._record(ended)
            if ended.failure == "wrong_model":
                raise WrongModel(
                    f"judge {self.judge!r}: model {self.binding.model!r} was requested and "
                    f"{ended.returned_model!r} answered; expected the requested one or a listed alias. The "
                    "judge was stopped and the answer is not used. If both are the same model, add the name "
                    "to the judge's aliases and run again."
                )
            self.in_vain, self.asker.is_reached = 0, True
            exceeded = reply.input_tokens / estimated_input_tokens(request.prompt)
            self.underestimated = max(self.underestimated, exceeded)
            return None
        finally:
            if self.budget is not None:
                self.budget.settle(worst_usd, cost_usd)

    def _ended(self, attempt: Attempt, reply: Reply, seconds: float) -> Attempt:
        """The attempt with its reply, whose failure is None when it is of the requested model, or of an
        alias, and can be read.
        """
        text, price = storable(reply.text), self.asker.price if reply.metered else None
        flaw: Flaw | None = None
        model = reply.returned_model
        is_requested = model in (
            self.binding.model,
            *self.binding.aliases,
        )  # a dated name is another one
        if not is_requested and (model or not reply.refused):
            flaw = "wrong_model"
        elif reply.refused or self.parse(text) is None:
            flaw = "refused" if reply.refused else "unreadable"
        return replace(
            attempt,
            answer=text,
            failure=flaw,
            # a broken service may put anything there, the prompt too
            returned_model=model
            if is_requested or _NAME.fullmatch(model)
            else "(not a model's name)",
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            reasoning_tokens=reply.reasoning_tokens,
            cost_usd=price.cost(reply.input_tokens, reply.output_tokens)
            if price
            else None,
            latency_s=seconds,
        )

    async def _record(self, attempt: Attempt) -> None:
        settled = await self._written(record, attempt, self.asker.bill)
        self.entries |= settled
        self._report(
            settled=len(settled),
            void=sum(answer is None for answer in settled.values()),
            calls=1,
            invalid=int(attempt.failure in REPLIED),
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            cost_usd=attempt.cost_usd or 0.0,
        )

    async def _written(self, *write: Any) -> Any:
        """What one of `Ledger.write` returns."""
        result = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait((write, result))
        return await result

    async def _write(self) -> None:
        """Commit lot after lot: what waits while one is committed is the next."""
        while True:
            lot = [await self.waiting.get()]
            while not self.waiting.empty():
                lot.append(self.waiting.get_nowait())
            try:
                found = await asyncio.to_thread(
                    self.ledger.write, *(write for write, _ in lot)
                )
            except Exception as error:
                for _, result in lot:
                    result.set_exception(error)
            else:
                for (_, result), value in zip(lot, found, strict=True):
                    result.set_result(value)

    def _report(self, **counts: Any) -> None:
        self.asker.progress(Progress(self.judge, **counts))

    def _raise_if_incomplete(self) -> None:
        total, missing = len(self.questions), len(self._open())
        if isinstance(self.error, BudgetExceeded):
            raise BudgetExceeded(
                f"{self.error} {missing} of {total} questions of judge {self.judge!r} have no answer yet."
            )
        if self.error is not None and not isinstance(self.error, JudgeIncomplete):
            raise self.error
        if missing:
            reasons = [
                f"{count} x {failure}"
                for failure, count in sorted(self.given_up.items())
            ]
            if not self.workers:
                reasons.append("another process is asking this model")
            if self.error is not None:
                reasons.append(str(self.error))
            if self.deadline.expired():
                reasons.append(f"deadline of {self.asker.limits.deadline_s:g} s")
            raise JudgeIncomplete(
                f"judge {self.judge!r}: {missing} of {total} questions have no answer "
                f"({', '.join(reasons)}). The other {total - missing} are in the ledger; run again, and only "
                "the missing ones are asked."
            )

    def _read(self, key: str, answer: str | None) -> T | None:
        value = None if answer is None else self.parse(answer)
        if answer is not None and value is None:
            raise MethodError(
                f"judge {self.judge!r}: a recorded valid answer cannot be read by this version (key "
                f"{key[:12]}). Change the version of the prompt templates together with the parser."
            )
        return value


async def _finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that is paid for: who waits for it goes on waiting when cancelled once."""
    task = asyncio.ensure_future(work)
    # seen, also where nobody waits any more: asyncio would log its text
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        raise
    return task.result()
