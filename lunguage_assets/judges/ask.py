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
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.budget import Budget, BudgetExceeded, most_usd
from lunguage_assets.judges.judge_config import Limits, LLMJudgeConfig
from lunguage_assets.judges.ledger import Attempt, Flaw, Ledger, Settled
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.judges.requests import (
    Provider,
    ProviderFailure,
    Reply,
    Request,
)

T = TypeVar("T")

Parse = Callable[[str], T | None]

FIRST_LOOK = 40
"""Answers after which a step looks at a judge for the first time: half of them have to
be readable.
"""

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
"""A broken service may put anything in the place of a model's name, the prompt too."""


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
        self._surplus_places = 0
        self._timeouts_in_a_row = 0
        self._interval_s = 60.0 / (limits.requests_per_minute or float("inf"))
        self._next_call_at = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place, and until a call may go."""
        await self._places.acquire()
        try:
            # Another call, or a pause, may come first while one waits.
            while (wait_s := self._next_call_at - time.monotonic()) > 0:
                await asyncio.sleep(wait_s)
            # Calls are spaced evenly, so that no minute has more than the rate allows.
            self._next_call_at = time.monotonic() + self._interval_s
            yield
        finally:
            if self._surplus_places:
                self._surplus_places -= 1
            else:
                self._places.release()

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
        # As long as places that go are in use, more calls are in flight than allowed.
        if self._place_count == 1:
            return self._surplus_places > 0
        self._timeouts_in_a_row += 1
        if self._timeouts_in_a_row == TIMEOUTS_IN_A_ROW:
            self._timeouts_in_a_row = 0
            remaining_count = self._place_count // 2
            # A place that goes is in use, and is not given back.
            self._surplus_places += self._place_count - remaining_count
            self._place_count = remaining_count
        return True


class Answered(NamedTuple, Generic[T]):
    """How a question was answered.

    Attributes:
        value: as the parser read it; None: it is invalid for good.
        margin: see `Reply`.
    """

    value: T | None
    margin: float | None


class Asker:
    """Asks the model of one judge.

    Args:
        key: of the judge, for the record and for messages.
        config: its table. Without a price costs are null, and a budget refuses.
        provider: of the model; not touched when the ledger has everything.
        ledger: where answers are looked up and recorded.
        budget: ceilings in US dollars; None: none.
        progress: told what every recorded call adds.
    """

    def __init__(
        self,
        key: str,
        config: LLMJudgeConfig,
        provider: Provider,
        ledger: Ledger,
        *,
        budget: Budget | None = None,
        progress: Callable[[Progress], None] = announce,
    ) -> None:
        self.key = key
        self.config = config
        self.report = progress
        self._provider = provider
        self._ledger = ledger
        self._limits = config.limits
        self._limiter = Limiter(config.limits)
        self._budget = budget or Budget()
        self._has_replied = False
        self._given_up_in_a_row = 0
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
        keys = [self.config.key_of(request) for request in requests]
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

    def ask_in_looks(
        self, requests: Sequence[Request], parse: Parse[T]
    ) -> Iterator[list[Answered[T]]]:
        """Ask up to the next look at a judge: after 40 answers, 400, and so on.

        Whoever looks may stop, before more is paid.

        Args:
            requests: the questions.
            parse: see `ask`.

        Yields:
            Answers, in the order of the requests.

        Raises:
            NothingReadable: of forty answers fewer than half can be read, or of fewer
                none, and none ever could.
            LunguageError: see `ask`.
        """
        next_look = FIRST_LOOK
        while requests:
            while next_look <= self._answer_count:
                next_look *= 10
            count = next_look - self._answer_count
            answers = self.ask(requests[:count], parse)
            requests = requests[count:]
            self._answer_count += len(answers)
            self._readable_count += sum(it.value is not None for it in answers)
            self._require_readable()
            yield answers

    def interrupt(self) -> None:
        """End what other threads are asking, once calls in flight are recorded."""
        self._stop(JudgeIncomplete("interrupted"))

    async def _settle(self, batch: _Batch) -> None:
        """Ask what the ledger has not, until all is settled or an error stops it."""
        keys = list(batch.requests)
        batch.settled = await asyncio.to_thread(self._ledger.settled, keys)
        await asyncio.to_thread(self._budget.look_at, self._ledger)
        hits = len(batch.settled)
        self._note(questions=len(keys), hits=hits, settled=hits)
        open_keys = [key for key in keys if key not in batch.settled]
        # One iterator for all: each worker takes the next question.
        next_keys = iter(open_keys)
        workers = min(len(open_keys), self._limits.in_flight)
        await asyncio.gather(*(self._work(batch, next_keys) for _ in range(workers)))

    async def _work(self, batch: _Batch, next_keys: Iterator[str]) -> None:
        """Settle question after question; the first error stops all workers."""
        try:
            for key in next_keys:
                await self._settle_question(batch, key)
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
            failure = await self._call(batch, key)
            if self._limiter.is_crowded(failure):
                continue
            if failure is None:
                self._given_up_in_a_row = 0
                continue
            failures += 1
            if self._is_hopeless(failure, failures):
                batch.given_up[str(failure)] += 1
                return
            # More doublings would overflow, and the bound was met long before.
            bound_s = self._limits.backoff_s * 2.0 ** min(failures - 1, 60)
            await asyncio.sleep(random.uniform(0, min(LONGEST_BACKOFF_S, bound_s)))

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
        if (
            failure.retryable
            and failure.retry_after <= LONGEST_WAIT_S
            and failures < self._limits.failures_per_request
            and self._error is None
        ):
            return False
        self._given_up_in_a_row += 1
        if self._given_up_in_a_row >= MAX_CONSECUTIVE_FAILURES:
            self._stop(JudgeIncomplete("its service keeps failing"))
        return True

    async def _call(self, batch: _Batch, key: str) -> ProviderFailure | None:
        """Send a question once, as soon as places, rate and budget let it go.

        The call is recorded, and its answer taken if it settles the question.

        Args:
            batch: of the question.
            key: of the question.

        Returns:
            Why no reply came; None: one did.

        Raises:
            BudgetExceeded: the call could pass a ceiling.
            LunguageError: the policy refused, or something is not configured.
        """
        request = batch.requests[key]
        attempt = Attempt(key, self.key, request.task, self.config.model)
        price = self.config.price
        worst_usd = most_usd(self.config, request.prompt)
        no_reply: ProviderFailure | None = None
        async with self._limiter.turn():
            self._budget.begin(self.key, worst_usd)
            # Where nothing was sent, nothing is paid.
            cost_usd: float | None = 0.0
            try:
                reply = await self._provider.answer(request)
                cost_usd = None
                if price is not None and reply.input_tokens:
                    cost_usd = price.cost(reply.input_tokens, reply.output_tokens)
                attempt = self._replied(attempt, reply, batch.parse)
            except ProviderFailure as failure:
                no_reply = failure
                if failure.kind in _MAY_BE_BILLED:
                    cost_usd = worst_usd
                if failure.retry_after <= LONGEST_WAIT_S:
                    self._limiter.pause(failure.retry_after)
                attempt = replace(attempt, failure=failure.kind)
            finally:
                self._budget.end(worst_usd, cost_usd)
        await self._record(batch, replace(attempt, cost_usd=cost_usd))
        return no_reply

    def _replied(self, attempt: Attempt, reply: Reply, parse: Parse[object]) -> Attempt:
        """Complete a call by the reply that came."""
        self._has_replied = True
        name = reply.returned_model
        failure: Flaw | None = None
        if reply.refused:
            failure = "refused"
        elif parse(reply.text) is None:
            failure = "unreadable"
        # A service that refuses a prompt may leave out the model's name.
        is_unnamed = reply.refused and not name
        names = (self.config.model, *self.config.aliases)
        if name not in names and not is_unnamed:
            failure = "wrong_model"
            if not _MODEL_NAME.fullmatch(name):
                name = "(not a model's name)"
        return replace(
            attempt,
            answer=reply.text,
            margin=reply.margin,
            failure=failure,
            returned_model=name,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
        )

    async def _record(self, batch: _Batch, attempt: Attempt) -> None:
        """Record a call, and take its answer if it settles the question."""
        settled = await asyncio.to_thread(self._ledger.record, attempt)
        if settled is not None:
            batch.settled[attempt.key] = settled
        has_reply = attempt.answer is not None
        self._note(
            settled=int(settled is not None),
            calls=1,
            invalid=int(has_reply and attempt.failure is not None),
            failures=int(not has_reply),
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
            f"judge {self.key!r}: {missing} of {total} questions of this round have no "
            f"answer ({', '.join([*reasons, str(error)])}). The other "
            f"{total - missing} are in the ledger; run again, and only the missing "
            "ones are asked, then those of the rounds that follow."
        )

    def _require_readable(self) -> None:
        """Stop where too few of all answers can be read."""
        if self._readable_count >= self._answer_count / 2:
            return
        # Of few answers some may be unreadable, but not all that there ever were.
        if self._answer_count < FIRST_LOOK and (
            self._readable_count or self._ledger.has_valid(self.key)
        ):
            return
        raise NothingReadable(
            f"judge {self.key!r}: of {self._answer_count} answers "
            f"{self._readable_count or 'none'} can be read; expected what the prompts "
            "ask for. Look at its model, mode, parameters and prompts, or leave it out "
            "of the preset. Where its service was at fault, name another "
            "$LUNGUAGE_LEDGER: this one keeps the answers."
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
