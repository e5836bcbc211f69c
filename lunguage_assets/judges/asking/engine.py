"""Getting answers: from the ledger where they are, from the model where they are not, each attempt recorded
before it is used.

What may be sent when is decided by `limiter.py`, what it may cost by `budget.py`, which model may answer by
`policy.py`; the provider does one attempt. Of all who share a ledger one at a time asks a model; the others
find its answers in the ledger. Prompts and answers appear in no message here.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.budget import BudgetExceeded, estimated_input_tokens, output_limit
from lunguage_assets.judges.asking.commits import Commits
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.ledger.attempts import Attempt, Flaw, Settlement, request_key, storable
from lunguage_assets.judges.ledger.ledger_place import Release, lock_name
from lunguage_assets.judges.policy import is_requested, told_name, wrong_model
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request

if TYPE_CHECKING:
    from lunguage_assets.judges.asker import Asker

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

GRACE_S = 10.0
"""Seconds that an interrupted run waits for the calls in flight: their answers are paid."""

IN_VAIN = 20
"""After so many questions given up without a reply between them the judge has failed."""

_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed"})
_BUDGET_LOOK_S = 0.05
_LOOK_S = 0.25
"""Who waits for a model's lock, or for the day's money, looks so often."""

_NUMBERS = itertools.count(1)


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger."""


@dataclass(frozen=True, slots=True)
class Settled(Generic[T]):
    """How one request is settled: its value, or None when it is invalid for good after `tries` replies."""

    key: str
    value: T | None = field(repr=False)
    tries: int

    @property
    def valid(self) -> bool:
        return self.value is not None


class Round(Generic[T]):
    """One round of questions to one judge: identical ones are one, and those that the ledger has settled are
    not asked. Workers take open questions until all are settled or something stops the judge.
    """

    def __init__(self, asker: Asker, parse: Parse[T]) -> None:
        self.judge, self.ledger, self.limiter = asker.key, asker.ledger, asker.limiter
        self.provider, self.binding, self.parse = asker.provider, asker.binding, parse
        self.budget, self.price, self.progress = asker.budget, asker.price, asker.progress
        self.output_limit, self.lock = output_limit(self.binding), lock_name(self.binding)
        limit = self.limiter.limits.deadline_s
        self.deadline = math.inf if limit is None else self.limiter.clock() + limit
        self.questions: dict[str, Request] = {}
        self.entries: dict[str, Settlement] = {}
        self.in_vain = 0  # questions given up since the last reply
        self.underestimated = 1.0
        self.given_up: Counter[str] = Counter()
        self.error: Exception | None = None
        self.halted = asyncio.Event()
        self.is_elsewhere = False

    async def settled(self, requests: Sequence[Request]) -> list[Settled[T]]:
        """One `Settled` per request, in their order; see `Asker.ask`."""
        keys = [request_key(self.binding, request) for request in requests]
        self.questions = dict(zip(keys, requests, strict=True))
        task = requests[0].task if requests else ""
        self.standing = Progress(self.judge, task, next(_NUMBERS), len(self.questions))
        await self._look_up()
        self._report()
        if self._open():
            release = await self._locked()
            if release is not None:
                try:
                    await self._look_up()  # others may have answered meanwhile
                    if self._open() and not self._stopped():
                        await self._ask_open()
                finally:
                    await asyncio.to_thread(release)
            self._raise_if_incomplete()
        settled = {key: self._read(entry) for key, entry in self.entries.items()}
        return [settled[key] for key in keys]

    def _open(self) -> list[str]:
        return [key for key in self.questions if key not in self.entries]

    def _stopped(self) -> bool:
        return self.halted.is_set() or self.limiter.clock() >= self.deadline

    async def _look_up(self) -> None:
        """Take what the ledger has of the open questions."""
        found = await asyncio.to_thread(self.ledger.answers, self._open())
        self.entries |= found
        self.standing = replace(self.standing, hits=self.standing.hits + len(found))

    async def _locked(self) -> Release | None:
        """What releases the model's lock, which is held then; None when others have answered everything
        meanwhile, or the judge stops.
        """
        while True:
            trying = asyncio.ensure_future(asyncio.to_thread(self.ledger.try_lock, self.lock))
            try:
                release = await asyncio.shield(trying)
            except asyncio.CancelledError:
                if (held := await trying) is not None:
                    held()
                raise
            self.is_elsewhere = release is None
            if release is not None:
                return release
            await self._look_up()
            if not self._open() or self._stopped():
                return None
            self._report()
            await self._pause(_LOOK_S)

    async def _ask_open(self) -> None:
        """Ask what is open; the lock is held. When interrupted, send nothing more, and give the calls in
        flight a moment to be recorded.
        """
        if self.limiter.rated:
            recent = await asyncio.to_thread(self.ledger.recent_usage, self.judge, self.binding.model)
            self.limiter.note_recent(recent)
        open_ = deque(self._open())
        self.writer = Commits(self.ledger, self.lock, self.budget.of_day_usd if self.budget else None)
        # Twice the calls in flight: while some requests wait after a failure, others keep the judge busy.
        count = min(len(open_), 2 * self.limiter.limits.in_flight)
        workers = [asyncio.create_task(self._work(open_)) for _ in range(count)]
        try:
            await asyncio.wait(workers)
        except asyncio.CancelledError:
            self.halted.set()
            await asyncio.wait(workers, timeout=GRACE_S)
            raise
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self.writer.close()

    async def _work(self, open_: deque[str]) -> None:
        while open_ and not self._stopped():
            try:
                await self._settle_one(open_.popleft())
            except Exception as error:
                self._stop(error)

    async def _settle_one(self, key: str) -> None:
        failures = unusable = 0
        while not self._stopped():
            result = await self._attempt(key, replace(self.questions[key], attempt=unusable))
            if result == "later":
                continue
            if isinstance(result, Settlement):
                self.entries[key] = result
            self._report()
            if isinstance(result, Settlement):
                return
            if result is None:
                unusable += 1
                continue
            failures += 1
            wait = self.limiter.backoff(failures, result)
            if wait is None:
                self.given_up[str(result)] += 1
                self.in_vain += 1
                if result.kind == "authentication" or self.in_vain >= IN_VAIN:
                    self.halted.set()
                return
            await self._pause(wait)

    async def _attempt(
        self, key: str, request: Request
    ) -> Settlement | ProviderFailure | Literal["later"] | None:
        """One call, recorded. The entry that settles the question, the failure, or None: an answer that is
        not used. Nothing was sent when it has to wait for later.
        """
        expected = math.ceil(estimated_input_tokens(request.prompt) * self.underestimated)
        attempt = Attempt(key, self.judge, request.task, self.binding.model)
        if not await self.limiter.acquire(
            self._stopped, expected + (self.output_limit or 0), attempt.receipt
        ):
            return "later"
        try:
            worst_usd = self._worst_usd(expected)
            if not await self._reserved(worst_usd):
                return "later"
            cost_usd: float | None = 0.0
            try:
                permit = await self.writer.write(attempt, worst_usd or 0.0)
                if permit == "go":
                    cost_usd = None  # until it is known
                    attempt, result = await self._sent(attempt, request)
                    cost_usd = attempt.cost_usd
                    return await self._recorded(attempt, request, result)
            finally:
                if self.budget is not None:
                    self.budget.settle(worst_usd or 0.0, cost_usd)
            if permit == "spent" and self.budget is not None:
                raise self.budget.of_day_exceeded(self.judge)
            self.limiter.put_off(attempt.receipt, _LOOK_S)
            await asyncio.to_thread(self.ledger.in_flight)  # the dead may have reserved what is missing
            return "later"
        finally:
            # Only now is the call no longer in flight: what a crash can lose is never more than `in_flight`.
            self.limiter.release()

    async def _sent(self, attempt: Attempt, request: Request) -> tuple[Attempt, Reply | ProviderFailure]:
        """The attempt with its end. A failure that may have been billed has no known cost; a reply's failure
        is None when it is of the requested model, or of an alias, and can be read.
        """
        started = self.limiter.clock()
        result: Reply | ProviderFailure
        try:
            result = await self.provider.answer(request)
        except ProviderFailure as failure:
            result = failure
        except LunguageError:  # refused or not configured: nothing was sent
            await asyncio.to_thread(self.ledger.forget, attempt.receipt)
            raise
        except Exception as error:
            self._stop(error)
            result = ProviderFailure("malformed")
        attempt = replace(attempt, latency_s=max(0.0, self.limiter.clock() - started))
        if isinstance(result, ProviderFailure):
            cost_usd = None if result.kind in _MAY_BE_BILLED else 0.0
            return replace(attempt, failure=result.kind, cost_usd=cost_usd), result
        text = storable(result.text)
        flaw: Flaw | None = None
        nameless = result.refused and not result.returned_model
        if not nameless and not is_requested(self.binding, result.returned_model):
            flaw = "wrong_model"
        elif result.refused or self.parse(text) is None:
            flaw = "refused" if result.refused else "unreadable"
        ended = replace(
            attempt,
            answer=text,
            failure=flaw,
            returned_model=told_name(self.binding, result.returned_model),
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            reasoning_tokens=result.reasoning_tokens,
            cost_usd=self._cost(result),
        )
        return ended, result

    async def _recorded(
        self, attempt: Attempt, request: Request, result: Reply | ProviderFailure
    ) -> Settlement | ProviderFailure | None:
        entry: Settlement | None = await self.writer.write(attempt)
        self.standing = self.standing.after(attempt)
        if isinstance(result, ProviderFailure):
            self.limiter.failed(attempt.receipt, result)
            return result
        if attempt.failure == "wrong_model":
            self._stop(wrong_model(self.judge, self.binding, result.returned_model))
        self.in_vain = 0
        self.limiter.replied(attempt.receipt, result.input_tokens + result.output_tokens)
        exceeded = result.input_tokens / estimated_input_tokens(request.prompt)
        self.underestimated = max(self.underestimated, exceeded)
        return entry

    async def _reserved(self, worst_usd: float | None) -> bool:
        """Whether the run's budget, if there is one, has reserved the worst case; false when the run stops,
        also while it waits for calls in flight to be settled. Leave of the day comes with the permit.
        """
        while self.budget is not None and not self.budget.reserve(self.judge, worst_usd):
            await self.limiter.sleep(_BUDGET_LOOK_S)
            if self._stopped():
                return False
        return True

    def _cost(self, reply: Reply) -> float | None:
        if self.price is None or not reply.metered:
            return None
        return self.price.cost(reply.input_tokens, reply.output_tokens)

    def _worst_usd(self, tokens: int) -> float | None:
        """What a call with that many tokens of input can cost at most; None: that is not known."""
        if self.price is None or self.output_limit is None:
            return None
        return self.price.cost(tokens, self.output_limit)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not past the deadline, and not when the judge has stopped."""
        left = max(0.0, self.deadline - self.limiter.clock())
        with suppress(TimeoutError):
            await asyncio.wait_for(self.halted.wait(), min(seconds, left))

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(replace(self.standing, settled=len(self.entries)))

    def _stop(self, error: Exception) -> None:
        """Ask nothing more; the first error is raised in the end, without its text, which may hold a prompt
        or an answer, unless it is one of ours.
        """
        if not isinstance(error, LunguageError):
            name = type(error).__name__
            error = MethodError(f"judge {self.judge!r} failed unexpectedly ({name}). Please report this.")
        self.error = self.error or error
        self.halted.set()

    def _raise_if_incomplete(self) -> None:
        total, missing = len(self.questions), len(self._open())
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
            raise JudgeIncomplete(
                f"judge {self.judge!r}: {missing} of {total} questions have no answer "
                f"({', '.join(reasons) or 'stopped'}). The other {total - missing} are in the ledger; run "
                "again, and only the missing ones are asked."
            )

    def _read(self, entry: Settlement) -> Settled[T]:
        value = self.parse(entry.answer) if entry.valid and entry.answer is not None else None
        if entry.valid and value is None:
            raise MethodError(
                f"judge {self.judge!r}: a recorded valid answer cannot be read by this version (key "
                f"{entry.key[:12]}); expected the parser that recorded it. Change the prompt templates' "
                "version together with the parser."
            )
        return Settled(entry.key, value, entry.tries)
