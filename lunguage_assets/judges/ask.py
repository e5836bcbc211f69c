"""Asking a language model: answers from the ledger where they are, else from its model.

Workers take open questions; each call waits for its place, the rate and the budget, and
is recorded before its answer is used. How often a question is asked is a rule of the
method (explicit.md section 2): a reply that cannot be read uses up a try, a failure
without a reply does not. A crash loses the answers in flight, and a budget can be
passed by them. Questions and answers appear in no message.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import wait
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.budget import (
    Budget,
    BudgetExceeded,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger import REPLIED, Attempt, Flaw, Ledger, Settled
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.judges.requests import (
    Prompt,
    Provider,
    ProviderFailure,
    Reply,
    Request,
    request_key,
)

T = TypeVar("T")

Parse = Callable[[str], T | None]

ANSWERS_TO_COUNT = 40
"""Answers of which half can be read."""

LONGEST_BACKOFF_S = 60.0
LONGEST_WAIT_S = 300.0
"""A service that asks to wait longer is not waited for: the question is given up."""

MAX_CONSECUTIVE_FAILURES = 20
"""So many questions given up without a reply between them: the judge has failed."""

MAX_CONNECT_ATTEMPTS = 3
"""Tries of a question that cannot be sent, before a service that never answered is
taken to be down.
"""

TIMEOUTS_IN_A_ROW = 2
"""After so many a server is asked half as many questions at once."""

GRACE_S = 10.0
"""Seconds that an interrupted person waits for calls in flight, which are paid."""

_MAY_BE_BILLED = ("timeout", "connection", "malformed")
"""Failures after which the service may have answered, and charged for it."""

_MODEL_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127})?")


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger."""


class NothingReadable(LunguageError):
    """Too few answers of a model can be read."""


class WrongModel(LunguageError):
    """Another model answered than the requested one; its answers are not used."""


class Limiter:
    """When the next call of a judge may go: places, rate, and pauses.

    Args:
        limits: of the judge.
    """

    def __init__(self, limits: Limits) -> None:
        self._place_count = limits.in_flight
        self._places = asyncio.Semaphore(limits.in_flight)
        self._withheld: list[asyncio.Future[bool]] = []
        self._timeouts_in_a_row = 0
        self._interval_s = 60.0 / (limits.requests_per_minute or float("inf"))
        self._next_call_at = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place, and until a call may go."""
        async with self._places:
            # Another call, or a pause, may come first while one waits.
            while (wait_s := self._next_call_at - time.monotonic()) > 0:
                await asyncio.sleep(wait_s)
            # Calls are spaced evenly, so that no minute has more than the rate allows.
            self._next_call_at = time.monotonic() + self._interval_s
            yield

    def pause(self, seconds: float) -> None:
        """Let no call go for some time: Retry-After holds for all calls of a judge."""
        self._next_call_at = max(self._next_call_at, time.monotonic() + seconds)

    def is_crowded(self, failure: ProviderFailure | None) -> bool:
        """Whether a call may have timed out for want of places; half of them go then.

        A server with one place answers in time once it is asked one call at a time.

        Args:
            failure: of the newest call; None: it was answered.
        """
        if failure is None or failure.kind != "timeout":
            self._timeouts_in_a_row = 0
            return False
        has_places_to_spare = self._place_count > 1
        self._timeouts_in_a_row += 1
        if has_places_to_spare and self._timeouts_in_a_row >= TIMEOUTS_IN_A_ROW:
            self._timeouts_in_a_row = 0
            remaining_count = self._place_count // 2
            # A place that goes is taken, and not given back.
            for _ in range(self._place_count - remaining_count):
                self._withheld.append(asyncio.ensure_future(self._places.acquire()))
            self._place_count = remaining_count
        return has_places_to_spare


class Answered(NamedTuple, Generic[T]):
    """What a question brought.

    Attributes:
        value: the answer, as it was read; None: it is invalid for good.
        margin: see `Reply`.
    """

    value: T | None
    margin: float | None


class Asker:
    """Asks the model of one judge; several threads may ask at once.

    Args:
        key: of the judge, for the record and for messages.
        provider: of the model; not touched when the ledger has everything.
        ledger: where answers are looked up and recorded.
        limits: of the judge.
        budget: ceilings in US dollars; None: none.
        price: for costs; without it they are null, and a budget refuses.
        progress: told what every recorded call adds.
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
        progress: Callable[[Progress], None] = announce,
    ) -> None:
        self.key = key
        self.binding = provider.binding
        self.report = progress
        self._provider = provider
        self._ledger = ledger
        self._limits = limits
        self._limiter = Limiter(limits)
        self._budget = budget
        self._price = price
        self._has_replied = False
        self._consecutive_failures = 0
        # After an error, or an interruption, nothing more is sent.
        self._error: LunguageError | None = None
        self._answer_count = 0
        self._readable_count = 0

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Answered[T]]:
        """Answer every request, in their order (explicit.md section 5).

        Identical requests are asked once, answered ones not at all. An answer that
        `parse` cannot read is asked for again, up to `ledger.TRIES`, then the question
        is invalid for good. When the waiting is interrupted, the asking is.

        Args:
            requests: the questions.
            parse: reads an answer strictly; None: it is not one. Never raises.

        Raises:
            JudgeIncomplete: questions without answer: given up, or the judge failed.
            BudgetExceeded: the next call could pass a ceiling.
            WrongModel: another model answered.
            LedgerError: a call could not be recorded.
        """
        if not requests:
            return []
        keys = [request_key(self.binding, request) for request in requests]
        # Equal questions have one key, and are asked once.
        batch = _Batch(dict(zip(keys, requests, strict=True)), parse)
        asking = asyncio.run_coroutine_threadsafe(
            self._settle(batch), _event_loop(os.getpid())
        )
        try:
            # Raises nothing of the asking: only an interruption ends it here.
            wait([asking])
        except BaseException:
            self.interrupt()
            # Calls in flight are paid, but are not waited for for ever.
            wait([asking], GRACE_S)
            raise
        asking.result()
        self._require_complete(batch)
        settled = [batch.settled[key] for key in keys]
        # No answer is read as an empty one, which is none either.
        return [Answered(parse(it.answer or ""), it.margin) for it in settled]

    def has_answered(self, requests: Sequence[Request]) -> bool:
        """Whether the ledger has the answers of all requests: none would be sent."""
        keys = {request_key(self.binding, request) for request in requests}
        return self._ledger.settled(list(keys)).keys() == keys

    def interrupt(self) -> None:
        """End what other threads are asking, once calls in flight are recorded."""
        self._stop(JudgeIncomplete("interrupted"))

    def require_readable(self, values: Sequence[object | None]) -> None:
        """Count the answers that could be read, of all that this asker got.

        Raises:
            NothingReadable: of forty fewer than half, or of however few none, and none
                was before.
        """
        self._answer_count += len(values)
        self._readable_count += sum(value is not None for value in values)
        is_seldom = self._readable_count < self._answer_count / 2
        if not is_seldom or (
            self._answer_count < ANSWERS_TO_COUNT
            and (self._readable_count or self._ledger.has_valid(self.key))
        ):
            return
        readable = self._readable_count or "none"
        raise NothingReadable(
            f"judge {self.key!r}: of {self._answer_count} answers {readable} can be "
            "read; expected what the prompts ask for. Look at its model, mode, "
            "parameters and prompts, or leave it out of the preset. Where its service "
            "was at fault, name another $LUNGUAGE_LEDGER: this one keeps the answers."
        )

    async def _settle(self, batch: _Batch) -> None:
        """Ask what the ledger has not, until all is settled or an error stops it."""
        questions = list(batch.requests)
        batch.settled = await asyncio.to_thread(self._ledger.settled, questions)
        if self._budget is not None:
            await asyncio.to_thread(self._budget.look_at, self._ledger)
        hits = list(batch.settled.values())
        self._note(
            questions=len(questions),
            hits=len(hits),
            settled=len(hits),
            void=sum(question.answer is None for question in hits),
        )
        open_keys = deque(key for key in questions if key not in batch.settled)
        workers = min(len(open_keys), self._limits.in_flight)
        await asyncio.gather(*(self._work(batch, open_keys) for _ in range(workers)))

    async def _work(self, batch: _Batch, open_keys: deque[str]) -> None:
        """Settle question after question; the first error stops all workers."""
        try:
            while open_keys and self._error is None:
                await self._settle_question(batch, open_keys.popleft())
        except LunguageError as error:
            self._stop(error)
        except Exception as error:
            # Only its type is told: its text may hold a prompt or an answer.
            unexpected = MethodError(
                f"judge {self.key!r} failed unexpectedly ({type(error).__name__}). "
                "Please report this."
            )
            self._stop(unexpected)

    def _stop(self, error: LunguageError) -> None:
        """Send nothing more; the first error counts."""
        self._error = self._error or error

    async def _settle_question(self, batch: _Batch, key: str) -> None:
        """Ask a question until it is settled, or given up after failures."""
        failures = 0
        while key not in batch.settled and self._error is None:
            attempt, failure = await self._call(key, batch.requests[key])
            await self._record(batch, attempt)
            is_crowded = self._limiter.is_crowded(failure)
            if failure is None:
                self._consecutive_failures = 0
                continue
            if is_crowded:
                self._note(retried=1)
                continue
            failures += 1
            if self._is_hopeless(failure, failures):
                self._note(failures=1)
                batch.given_up[str(failure)] += 1
                self._consecutive_failures += 1
                if self._consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
                    self._stop(JudgeIncomplete("its service keeps failing"))
                return
            self._note(retried=1)
            # More doublings would overflow, and the bound was met long before.
            bound_s = self._limits.backoff_s * 2.0 ** min(failures - 1, 60)
            backoff_s = random.uniform(0, min(LONGEST_BACKOFF_S, bound_s))
            await asyncio.sleep(failure.retry_after + backoff_s)

    def _is_hopeless(self, failure: ProviderFailure, failures: int) -> bool:
        """Whether a question is given up; stop where others would fare no better.

        Args:
            failure: the last one of the question.
            failures: how many it has had.
        """
        is_unreachable = failure.kind == "connection" and not self._has_replied
        if is_unreachable and failures >= MAX_CONNECT_ATTEMPTS:
            self._stop(JudgeIncomplete("its service cannot be reached"))
        if failure.kind == "authentication":
            self._stop(JudgeIncomplete("its service refuses"))
        return (
            self._error is not None
            or not failure.retryable
            or failure.retry_after > LONGEST_WAIT_S
            or failures >= self._limits.failures_per_request
        )

    async def _call(
        self, key: str, request: Request
    ) -> tuple[Attempt, ProviderFailure | None]:
        """Send a request once, as soon as places, rate and budget let it go.

        Args:
            key: of the question.
            request: the question.

        Returns:
            The call as it ended, not yet recorded; and why no reply came.

        Raises:
            BudgetExceeded: the call could pass a ceiling.
            LunguageError: the policy refused, or something is not configured.
        """
        worst_usd = self._worst_usd(request.prompt)
        async with self._limiter.turn():
            attempt = Attempt(key, self.key, request.task, self.binding.model)
            if self._budget is not None:
                self._budget.begin(self.key, worst_usd)
            # Where nothing was sent, nothing is paid.
            cost_usd: float | None = 0.0
            try:
                reply = await self._provider.answer(request)
                cost_usd = self._cost(reply)
            except ProviderFailure as failure:
                if failure.kind in _MAY_BE_BILLED:
                    cost_usd = worst_usd
                if failure.retry_after <= LONGEST_WAIT_S:
                    self._limiter.pause(failure.retry_after)
                return replace(
                    attempt, failure=failure.kind, cost_usd=cost_usd
                ), failure
            finally:
                if self._budget is not None and worst_usd is not None:
                    self._budget.end(worst_usd, cost_usd)
        self._has_replied = True
        return self._with_reply(replace(attempt, cost_usd=cost_usd), reply), None

    def _worst_usd(self, prompt: Prompt) -> float | None:
        """Compute the most that a call can cost; None: unknown."""
        most_output_tokens = output_limit(self.binding)
        if self._price is None or most_output_tokens is None:
            return None
        return self._price.cost(estimated_input_tokens(prompt), most_output_tokens)

    def _cost(self, reply: Reply) -> float | None:
        """Compute what a reply cost; None: unknown."""
        if self._price is None or not reply.is_metered:
            return None
        return self._price.cost(reply.input_tokens, reply.output_tokens)

    def _with_reply(self, attempt: Attempt, reply: Reply) -> Attempt:
        """Complete a call by the reply that came."""
        name = reply.returned_model
        is_requested = name == self.binding.model or name in self.binding.aliases
        failure: Flaw | None = None
        if reply.refused:
            failure = "refused"
        # A service that refuses a prompt may leave out the model's name.
        if not is_requested and not (reply.refused and not name):
            failure = "wrong_model"
        if not is_requested and not _MODEL_NAME.fullmatch(name):
            # A broken service may put anything there, the prompt too.
            name = "(not a model's name)"
        began = datetime.fromisoformat(attempt.time)
        return replace(
            attempt,
            answer=reply.text,
            margin=reply.margin,
            failure=failure,
            returned_model=name,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            latency_s=(datetime.now(UTC) - began).total_seconds(),
        )

    async def _record(self, batch: _Batch, attempt: Attempt) -> None:
        """Record a call, and take its answer if it settles the question."""
        if attempt.failure is None and batch.parse(attempt.answer or "") is None:
            attempt = replace(attempt, failure="unreadable")
        settled = await asyncio.to_thread(self._ledger.record, attempt)
        if settled is not None:
            batch.settled[attempt.key] = settled
        self._note(
            settled=int(settled is not None),
            void=int(settled is not None and settled.answer is None),
            calls=1,
            invalid=int(attempt.failure in REPLIED),
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            cost_usd=attempt.cost_usd or 0.0,
        )
        if attempt.failure == "wrong_model":
            raise WrongModel(
                f"judge {self.key!r}: model {attempt.model!r} was requested and "
                f"{attempt.returned_model!r} answered; expected the requested one or a "
                "listed alias. The judge was stopped and the answer is not used. If "
                "both are the same model, add the name to the judge's aliases and run "
                "again."
            )

    def _note(self, **counts: Any) -> None:
        self.report(Progress(self.key, **counts))

    def _require_complete(self, batch: _Batch) -> None:
        total = len(batch.requests)
        missing = total - len(batch.settled)
        if not missing:
            return
        error = self._error or JudgeIncomplete("given up")
        if not isinstance(error, JudgeIncomplete | BudgetExceeded):
            raise error
        failures = sorted(batch.given_up.items())
        reasons = [f"{count} x {failure}" for failure, count in failures]
        raise type(error)(
            f"judge {self.key!r}: {missing} of {total} questions have no answer "
            f"({', '.join([*reasons, str(error)])}). The other {total - missing} are "
            "in the ledger; run again, and only the missing ones are asked."
        )


@dataclass
class _Batch:
    """Questions to one model.

    Attributes:
        requests: by key.
        parse: reads an answer; None: it is not one.
        settled: those that are, by key.
        given_up: the others, counted by failure: no message shows a question.
    """

    requests: dict[str, Request]
    parse: Parse[object]
    settled: dict[str, Settled] = field(default_factory=dict)
    given_up: Counter[str] = field(default_factory=Counter)


@lru_cache(maxsize=1)
def _event_loop(process_id: int) -> asyncio.AbstractEventLoop:
    """Start the event loop of all judges of a process, in a thread of its own.

    It outlives a batch, so that connections are kept from one to the next. A forked
    process inherits no thread: it has another id, and so a loop of its own.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="judges", daemon=True).start()
    return loop
