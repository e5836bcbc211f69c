"""One batch of questions to one model, asked until each is settled.

Of all who share a ledger, one at a time asks a model (its lock); the others find its
answers in the ledger. How often a question is asked is a rule of the method
(explicit.md section 2; `ledger/attempts.py`): a reply that cannot be read uses up a
try, a failure without a reply does not. Questions and answers appear in no message.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.ledger_writer import LedgerWriter
from lunguage_assets.judges.asking.limits import BudgetExceeded
from lunguage_assets.judges.asking.model_call import (
    POLL_INTERVAL_S,
    CallSender,
    MeteredModel,
)
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.ledger.attempts import REPLIED, Attempt, request_key
from lunguage_assets.judges.ledger.model_locks import model_lock_name
from lunguage_assets.judges.requests import ProviderFailure, Request

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

GRACE_S = 10.0
"""Seconds that an interrupted batch waits for calls in flight, which are paid."""

MAX_CONSECUTIVE_FAILURES = 20
"""So many questions given up without a reply between them: the judge has failed."""

MAX_CONNECT_ATTEMPTS = 4
"""Tries of a question while no connection is made to a service that never answered."""

LOOKUP_SIZE = 50
"""Open questions that are looked up at a time while another asks the model."""


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger."""


class RequestBatch(Generic[T]):
    """Settles some questions: from the ledger, from another asker, or by asking.

    Workers take open questions until all are settled, or until an error, the deadline
    or an interruption stops them.

    Args:
        model: the model to ask.
        requests: the questions; the same one may stand there several times.
        parse: reads an answer.
        report: told what every look into the ledger and every attempt adds.
    """

    _deadline: asyncio.Timeout

    def __init__(
        self,
        model: MeteredModel,
        requests: Sequence[Request],
        parse: Parse[T],
        report: Callable[[Progress], None],
    ) -> None:
        self._model = model
        self._parse = parse
        self._report_progress = report
        self._keys = [request_key(model.binding, request) for request in requests]
        # Equal questions have one key, and are asked once.
        self._request_by_key = dict(zip(self._keys, requests, strict=True))
        self._answer_by_key: dict[str, str | None] = {}
        self._writer = LedgerWriter(model.ledger)
        self._sender = CallSender(
            model,
            self._writer,
            is_readable=lambda answer: parse(answer) is not None,
            on_recorded=self._note_attempt,
        )
        self._workers: list[asyncio.Task[None]] = []
        # By the failure after which they were: only counts appear in messages.
        self._given_up: Counter[str] = Counter()
        self._consecutive_failures = 0
        self._error: LunguageError | None = None

    async def settle(self) -> list[T | None]:
        """Settle all questions; see `Asker.ask`."""
        questions = list(self._request_by_key)
        await self._look_up(questions, new_questions=len(questions))
        if self._open_keys():
            await self._ask_until_deadline()
            self._raise_if_incomplete()
        value_by_key = {
            key: self._parsed(key, answer)
            for key, answer in self._answer_by_key.items()
        }
        return [value_by_key[key] for key in self._keys]

    def _open_keys(self) -> list[str]:
        return [key for key in self._request_by_key if key not in self._answer_by_key]

    # --- what the ledger has

    async def _look_up(self, keys: Sequence[str], new_questions: int = 0) -> None:
        """Take what the ledger has of open questions; so many are reported as new."""
        settled = await asyncio.to_thread(self._model.ledger.settled, keys)
        for key, question in settled.items():
            self._answer_by_key[key] = question.answer
        self._report(
            questions=new_questions,
            hits=len(settled),
            settled=len(settled),
            invalid_before=sum(question.invalid for question in settled.values()),
            void=sum(question.answer is None for question in settled.values()),
        )

    async def _look_up_next(self, awaited: deque[str]) -> None:
        """Take what the ledger has of the questions that another answers next.

        A look costs the same however many questions are open: it goes on only as long
        as all were answered. Whoever holds the lock asks in about the same order.
        """
        is_settled = True
        while awaited and is_settled:
            count = min(len(awaited), LOOKUP_SIZE)
            looked_up = [awaited.popleft() for _ in range(count)]
            await self._look_up(looked_up)
            still_open = [key for key in looked_up if key not in self._answer_by_key]
            awaited.extendleft(reversed(still_open))
            is_settled = not still_open

    # --- asking

    async def _ask_until_deadline(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._model.limits.deadline_s) as self._deadline:
                await self._ask_when_alone()
        if not self._workers:
            # It only waited for the lock: what another answered meanwhile counts.
            await self._look_up(self._open_keys())

    async def _ask_when_alone(self) -> None:
        """Ask what is open once the model's lock is ours; before, look for answers."""
        lock_name = model_lock_name(self._model.binding)
        awaited = deque(self._open_keys())
        while (release := self._model.ledger.try_lock(lock_name)) is None:
            await self._look_up_next(awaited)
            if not awaited:
                return
            await asyncio.sleep(POLL_INTERVAL_S)
        try:
            # Others may have answered between the last look and the lock.
            await self._look_up(self._open_keys())
            if self._open_keys():
                await self._ask_open()
        finally:
            release()

    async def _ask_open(self) -> None:
        """Ask what is open; the lock is held."""
        open_keys = deque(self._open_keys())
        # Twice the calls in flight: while some questions wait after a failure, others
        # keep the judge busy.
        worker_count = min(len(open_keys), 2 * self._model.limits.in_flight)
        self._workers = [
            asyncio.create_task(self._work(open_keys)) for _ in range(worker_count)
        ]
        writing = asyncio.create_task(self._writer.run())
        try:
            await asyncio.wait(self._workers)
        except asyncio.CancelledError:
            self._stop_sending()
            # Calls in flight are paid. After the deadline each of them ends by its own
            # timeout; a person who interrupts does not wait as long.
            grace_s = None if self._deadline.expired() else GRACE_S
            await asyncio.wait(self._workers, timeout=grace_s)
            raise
        finally:
            for task in (*self._workers, writing):
                task.cancel()
            await asyncio.gather(*self._workers, writing, return_exceptions=True)

    def _stop_sending(self) -> None:
        for worker in self._workers:
            if not worker.cancelling():
                worker.cancel()

    async def _work(self, open_keys: deque[str]) -> None:
        """Settle question after question; the first error stops all workers."""
        try:
            while open_keys:
                await self._settle_question(open_keys.popleft())
        except LunguageError as error:
            self._fail(error)
        except Exception as error:
            # Only its type is told: its text may hold a prompt or an answer.
            unexpected = MethodError(
                f"judge {self._model.judge!r} failed unexpectedly "
                f"({type(error).__name__}). Please report this."
            )
            self._fail(unexpected)

    def _fail(self, error: LunguageError) -> None:
        self._error = self._error or error
        self._stop_sending()

    async def _settle_question(self, key: str) -> None:
        """Ask a question until it is settled, or given up after failures."""
        failures = 0
        unusable_replies = 0
        while key not in self._answer_by_key:
            request = replace(self._request_by_key[key], attempt=unusable_replies)
            failure = await self._sender.call(key, request)
            if failure is None:
                self._consecutive_failures = 0
                unusable_replies += 1
                continue
            failures += 1
            wait_s = self._wait_before_retry(failures, failure)
            if wait_s is None:
                self._give_up(failure)
                return
            self._report(retried=1)
            await asyncio.sleep(wait_s)

    def _wait_before_retry(
        self, failures: int, failure: ProviderFailure
    ) -> float | None:
        """Say how many seconds to wait before the next try; None: none is made."""
        is_unreachable = failure.kind == "connection" and not self._model.has_replied
        if is_unreachable and failures >= MAX_CONNECT_ATTEMPTS:
            return None
        return self._model.limiter.backoff(failures, failure)

    def _give_up(self, failure: ProviderFailure) -> None:
        """Leave a question open.

        Raises:
            JudgeIncomplete: the other questions would fare no better.
        """
        self._report(failures=1)
        self._given_up[str(failure)] += 1
        self._consecutive_failures += 1
        is_judge_down = self._consecutive_failures >= MAX_CONSECUTIVE_FAILURES
        if is_judge_down or failure.kind == "authentication":
            raise JudgeIncomplete("its service refuses or keeps failing")

    def _note_attempt(
        self, attempt: Attempt, answer_by_key: Mapping[str, str | None]
    ) -> None:
        """Take what a recorded attempt has settled."""
        self._answer_by_key |= answer_by_key
        self._report(
            settled=len(answer_by_key),
            void=sum(answer is None for answer in answer_by_key.values()),
            calls=1,
            invalid=int(attempt.failure in REPLIED),
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            cost_usd=attempt.cost_usd or 0.0,
        )

    def _report(self, **counts: Any) -> None:
        self._report_progress(Progress(self._model.judge, **counts))

    # --- the end

    def _raise_if_incomplete(self) -> None:
        total = len(self._request_by_key)
        missing = len(self._open_keys())
        if isinstance(self._error, BudgetExceeded):
            raise BudgetExceeded(
                f"{self._error} {missing} of {total} questions of judge "
                f"{self._model.judge!r} have no answer yet."
            )
        if self._error is not None and not isinstance(self._error, JudgeIncomplete):
            raise self._error
        if missing:
            raise JudgeIncomplete(
                f"judge {self._model.judge!r}: {missing} of {total} questions have no "
                f"answer ({', '.join(self._reasons())}). The other {total - missing} "
                "are in the ledger; run again, and only the missing ones are asked."
            )

    def _reasons(self) -> list[str]:
        """Say why questions have no answer."""
        reasons = [
            f"{count} x {failure}" for failure, count in sorted(self._given_up.items())
        ]
        if not self._workers:
            reasons.append("another process is asking this model")
        if self._error is not None:
            reasons.append(str(self._error))
        if self._deadline.expired():
            reasons.append(f"deadline of {self._model.limits.deadline_s:g} s")
        return reasons

    def _parsed(self, key: str, answer: str | None) -> T | None:
        """Read a recorded answer; None: the question is invalid for good."""
        if answer is None:
            return None
        value = self._parse(answer)
        if value is None:
            raise MethodError(
                f"judge {self._model.judge!r}: a recorded valid answer cannot be read "
                f"by this version (key {key[:12]}). Change the version of the prompt "
                "templates together with the parser."
            )
        return value
