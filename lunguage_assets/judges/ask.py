"""Asking a language model: answers from the ledger where they are, else from its model.

Workers take open questions; each call needs room in the budget, and is recorded before
its answer is used. How often a question is asked is a rule of the method (explicit.md
section 2): a reply that cannot be read uses up a try, a failure without a reply does
not: such a question waits behind all others. A crash loses the answers in flight, and a
budget can be passed by them. Questions and answers appear in no message.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import cache, lru_cache

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.budget import Budget, BudgetExceeded, most_usd
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import Attempt, Ledger, Settled
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.judges.requests import (
    Provider,
    ProviderFailure,
    Request,
)

Parse = Callable[[str], object | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

FIRST_LOOK = 40
"""Answers after which a step looks at a judge for the first time: half of them have to
be readable.
"""

LONGEST_BACKOFF_S = 60.0
MOST_REJECTED = 20
"""After so many questions that are rejected in a row the others are not asked."""

MOST_UNREACHED = 3
"""Rounds of calls that cannot be sent, before a service that never answered is taken to
be down.
"""

TIMEOUTS_IN_A_ROW = 2
"""After so many a server is asked half as many questions at once."""

GRACE_S = 10.0
"""Seconds that an interrupted person waits for calls in flight, which are paid."""

_MAY_BE_BILLED = ("timeout", "connection", "malformed")
"""Failures after which the service may have answered, and charged for it."""


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger."""


class NothingReadable(LunguageError):
    """Too few answers of a model can be read."""


@dataclass
class _Batch:
    """Questions to one model.

    Attributes:
        requests: by key.
        parse: reads an answer; None: it is not one.
        open_keys: those that are to be asked.
        settled: those that are, by key.
        given_up: the others, counted by failure: no message shows a question.
    """

    requests: dict[str, Request]
    parse: Parse
    open_keys: deque[str] = field(default_factory=deque)
    settled: dict[str, Settled] = field(default_factory=dict)
    given_up: Counter[str] = field(default_factory=Counter)


@dataclass
class Asker:
    """Asks the model of one judge.

    Attributes:
        key: of the judge, for the record and for messages.
        config: its table. Without a price costs are null, and a budget refuses.
        open_provider: makes the provider of the model; not called when the ledger has
            everything.
        ledger: where answers are looked up and recorded.
        budget: ceilings in US dollars.
        progress: told what every recorded call adds.
    """

    key: str
    config: LLMJudgeConfig
    open_provider: Callable[[], Provider]
    ledger: Ledger
    budget: Budget = field(default_factory=Budget)
    progress: Callable[[Progress], None] = announce

    def __post_init__(self) -> None:
        self._provider = cache(self.open_provider)
        self._paused_until = 0.0
        self._places = self.config.limits.in_flight
        self._failures_in_a_row = 0
        self._has_replied = False
        # After an error, or an interruption, nothing more is sent.
        self._error: LunguageError | None = None
        self._answer_count = 0
        self._readable_count = 0

    def ask(self, requests: Sequence[Request], parse: Parse) -> list[Settled]:
        """Answer every request, in their order (explicit.md section 5).

        Identical requests are asked once, answered ones not at all. An answer that
        `parse` cannot read is asked for again, up to `ledger.TRIES`, then the question
        is invalid for good. When the waiting is interrupted, the asking is.

        Args:
            requests: the questions.
            parse: says whether an answer can be read.

        Raises:
            JudgeIncomplete: questions without answer: given up, or the judge failed.
            BudgetExceeded: the next call could pass a ceiling.
            LedgerError: a call could not be recorded.
        """
        keys = [self.config.key_of(request) for request in requests]
        # Equal questions have one key, and are asked once.
        batch = _Batch(dict(zip(keys, requests, strict=True)), parse)
        asking = asyncio.run_coroutine_threadsafe(
            self._settle(batch), _event_loop(os.getpid())
        )
        try:
            asking.result()
        except BaseException:
            self.interrupt()
            # Calls in flight are paid, but are not waited for for ever.
            wait([asking], GRACE_S)
            raise
        self._require_complete(batch)
        return [batch.settled[key] for key in keys]

    def ask_in_looks(
        self, requests: Sequence[Request], parse: Parse
    ) -> Iterator[list[Settled]]:
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
            self._readable_count += sum(it.answer is not None for it in answers)
            self._require_readable()
            yield answers

    def interrupt(self) -> None:
        """End what other threads are asking, once calls in flight are recorded."""
        self._stop(JudgeIncomplete("interrupted"))

    async def _settle(self, batch: _Batch) -> None:
        """Ask what the ledger has not, until all is settled or an error stops it."""
        keys = list(batch.requests)
        batch.settled = await asyncio.to_thread(self.ledger.settled, keys)
        await asyncio.to_thread(self.budget.look_at, self.ledger)
        hits = len(batch.settled)
        self.progress(Progress(self.key, questions=len(keys), hits=hits, settled=hits))
        batch.open_keys.extend(key for key in keys if key not in batch.settled)
        # Again where a place that went has left a question behind.
        while batch.open_keys and self._error is None:
            workers = [self._work(batch, number) for number in range(self._places)]
            await asyncio.gather(*workers)

    async def _work(self, batch: _Batch, number: int) -> None:
        """Ask question after question; the first error stops all workers."""
        try:
            while batch.open_keys and self._error is None and number < self._places:
                await self._ask_question(batch, batch.open_keys.popleft())
        except LunguageError as error:
            self._stop(error)
        except Exception as error:
            # Only its type is told: its text may hold a prompt or an answer.
            message = (
                f"judge {self.key!r} failed unexpectedly ({type(error).__name__}). "
                "Please report this."
            )
            self._stop(MethodError(message))

    async def _ask_question(self, batch: _Batch, key: str) -> None:
        """Ask a question once; it stays open unless it is settled or given up."""
        failure = await self._call(batch, key)
        if failure is None:
            self._failures_in_a_row = 0
            self._has_replied = True
        else:
            self._failures_in_a_row += 1
            self._respond_to(failure)
            if not failure.retryable:
                batch.given_up[str(failure)] += 1
                return
            # Up to twice as long with every round of failures; more doublings would
            # overflow, and the bound was met long before.
            doublings = min(self._failures_in_a_row // self._places, 60)
            bound_s = self.config.limits.backoff_s * 2.0**doublings
            await asyncio.sleep(random.uniform(0, min(LONGEST_BACKOFF_S, bound_s)))
        if key not in batch.settled:
            batch.open_keys.append(key)

    def _respond_to(self, failure: ProviderFailure) -> None:
        """Ask fewer questions at once, or none where others would fare no better."""
        if failure.kind == "timeout" and self._places > 1:
            # A server with one place answers in time once it is asked one call at a
            # time: its time-outs count as failures only then.
            if self._failures_in_a_row >= TIMEOUTS_IN_A_ROW:
                self._places //= 2
                self._failures_in_a_row = 0
            return
        rounds = self.config.limits.failures_per_request
        if failure.kind == "connection" and not self._has_replied:
            rounds = min(rounds, MOST_UNREACHED)
        most = rounds * self._places if failure.retryable else MOST_REJECTED
        if self._failures_in_a_row >= most or failure.kind == "authentication":
            self._stop(JudgeIncomplete(f"its service keeps failing: {failure}"))

    def _stop(self, error: LunguageError) -> None:
        """Send nothing more; the first error counts."""
        self._error = self._error or error

    async def _call(self, batch: _Batch, key: str) -> ProviderFailure | None:
        """Send a question once, as soon as a pause is over and if the budget allows it.

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
        worst_usd = most_usd(self.config, request)
        # A pause may come, or grow, while one waits.
        while (wait_s := self._paused_until - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
        attempt = Attempt(key, self.key, request.stage, self.config.model)
        failure: ProviderFailure | None = None
        self.budget.begin(self.key, worst_usd)
        try:
            reply = await self._provider().answer(request)
            attempt.reply = reply
            # At its worst where the service does not count, or nobody knows its price.
            attempt.cost_usd = worst_usd
            if self.config.price is not None and reply.input_tokens:
                attempt.cost_usd = self.config.price.cost(
                    reply.input_tokens, reply.output_tokens
                )
            if batch.parse(reply.text) is None:
                attempt.failure = "unreadable"
        except ProviderFailure as no_reply:
            failure = no_reply
            attempt.failure = failure.kind
            if failure.kind in _MAY_BE_BILLED:
                attempt.cost_usd = worst_usd
            if failure.retryable:
                # Retry-After holds for all calls of a judge, at once.
                pause_ends = time.monotonic() + failure.retry_after
                self._paused_until = max(self._paused_until, pause_ends)
        finally:
            self.budget.end(worst_usd, attempt.cost_usd)
        settled = await asyncio.to_thread(self.ledger.record, attempt)
        if settled is not None:
            batch.settled[key] = settled
        progress = Progress(
            self.key,
            settled=settled is not None,
            calls=1,
            invalid=attempt.failure == "unreadable",
            failures=failure is not None,
            input_tokens=attempt.reply.input_tokens,
            output_tokens=attempt.reply.output_tokens,
            cost_usd=attempt.cost_usd or 0.0,
        )
        self.progress(progress)
        return failure

    def _require_complete(self, batch: _Batch) -> None:
        total = len(batch.requests)
        missing = total - len(batch.settled)
        if not missing:
            return
        error = self._error or JudgeIncomplete("given up")
        if not isinstance(error, JudgeIncomplete | BudgetExceeded):
            raise error
        given_up = sorted(batch.given_up.items())
        reasons = [f"{count} x {failure}" for failure, count in given_up]
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
            self._readable_count or self.ledger.has_valid(self.key)
        ):
            return
        raise NothingReadable(
            f"judge {self.key!r}: of {self._answer_count} answers "
            f"{self._readable_count or 'none'} can be read; expected what the prompts "
            "ask for. Look at its model, mode and parameters, or leave it out of the "
            "preset. Where its service was at fault, name another $LUNGUAGE_LEDGER: "
            "this one keeps the answers."
        )


@lru_cache(maxsize=1)
def _event_loop(process_id: int) -> asyncio.AbstractEventLoop:
    """Start the event loop of all judges of a process, in a thread of its own.

    It outlives a batch, so that connections are kept from one to the next. A forked
    process inherits no thread: it has another id, and so a loop of its own.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="judges", daemon=True).start()
    return loop
