"""One batch from intention to its answers in the ledger: sending it once, looking at it until it has ended,
collecting what came.

Which questions go into which batch, and what is done about those without an answer, is decided in
`batching.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.engine import GRACE_S
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.round import Round
from lunguage_assets.judges.batches.submissions import State, Submission, Submissions
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.requests import (
    BatchProvider,
    BatchResults,
    BatchStatus,
    BatchView,
    ProviderFailure,
    Reply,
    Request,
)
from lunguage_assets.judges.slots import Batches, ModelSlot, Price

R = TypeVar("R")

LOST_AFTER = timedelta(hours=48)
"""No provider works longer on a batch: one that the account does not know is then taken for lost, and its
questions are free again.
"""

_NOT_TAKEN = frozenset({"rate_limited", "rejected", "authentication"})
"""Failures after which a batch was certainly not accepted; after any other one it may have been."""

_DOWNLOADS = 3
_GROWTH = 1.5


@dataclass(frozen=True)
class Batching:
    """How one judge's questions that may wait are sent.

    Args:
        provider: called when a batch has to be sent, watched or collected; refuses here what the data policy
            forbids.
        price: what a token costs in a batch; None: unknown.
        rules: size, number and pace of the judge's batches.
        lease_s: seconds without a sign of life, after which a batch that another process was about to send
            is abandoned.
        rounds: how often a question is sent in a run; those that failed or could not be read go into the next
            round.
    """

    provider: Callable[[], BatchProvider]
    price: Price | None = None
    rules: Batches = field(default_factory=Batches)
    lease_s: float = 60.0
    rounds: int = 6

    @classmethod
    def of(cls, slot: ModelSlot, provider: Callable[[], BatchProvider]) -> Batching:
        """As the judges file has it."""
        return cls(provider, slot.price.in_batches if slot.price is not None else None, slot.batches)


@dataclass(frozen=True, slots=True)
class Unsent:
    """Why a batch was not sent; `doubtful`: it may have been, and a later run will look for it."""

    reason: str
    doubtful: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a batch: the attempts that this process recorded (None: it is still out, or another
    process recorded what came of it), and why some keys are not to be asked again in this run.
    """

    attempts: tuple[Attempt, ...] | None = None
    given_up: Mapping[str, str] = field(default_factory=dict)


@dataclass
class BatchWatch:
    """Sends, watches and collects the batches of one run; any number at once, in one event loop."""

    round: Round[Any]
    provider: BatchProvider
    submissions: Submissions
    batching: Batching
    owner: str

    @property
    def limiter(self) -> Limiter:
        return self.round.limiter

    # --- sending

    async def send(self, intended: Submission, requests: Mapping[str, Request]) -> Unsent | None:
        """Send a batch that is on record as intended, and record the provider's handle; None: it is out.

        After a failure that leaves open whether the provider has it, it is looked for before it is sent
        again.
        """
        name, doubtful, failures = intended.name, False, 0
        beating = asyncio.create_task(self._beat(name))
        try:
            while True:
                sending = False
                try:
                    handle = await self._find(intended, list(requests)) if doubtful else None
                    found = handle is not None
                    if handle is None:
                        sending = True
                        handle = await self._ask(lambda: self.provider.submit(name, requests))
                    await asyncio.to_thread(self.submissions.submitted, name, self.owner, handle, found=found)
                    return None
                except ProviderFailure as failure:
                    failures += 1
                    doubtful = failure.kind not in _NOT_TAKEN if sending else doubtful
                    wait = self.limiter.backoff(name, failures, failure)
                    if wait is None:
                        if not doubtful:
                            await asyncio.to_thread(self.submissions.finish, name, "void")
                        return Unsent(f"its batch could not be sent: {failure}", doubtful)
                    await self.limiter.sleep(wait)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _beat(self, name: str) -> None:
        """Signs of life, so that no other process takes the batch for abandoned."""
        while await asyncio.to_thread(self.submissions.alive, name, self.owner):
            await asyncio.sleep(self.batching.lease_s / 4)

    async def _find(self, submission: Submission, keys: Sequence[str]) -> str | None:
        known, since = (
            await asyncio.to_thread(self.submissions.handles),
            datetime.fromisoformat(submission.time),
        )
        return await self._ask(lambda: self.provider.find(submission.name, keys, since, known))

    # --- watching

    async def until_ended(self, name: str) -> Ended:
        """Look at a batch until it has ended and what came of it is recorded, by this process or another
        one.
        """
        rules = self.batching.rules
        wait, failures = rules.first_look_s, 0
        while (submission := await asyncio.to_thread(self.submissions.get, name)).open:
            try:
                if submission.handle is None:
                    await self._adopt(submission)
                    continue
                view = await self._ask(lambda: self.provider.look(str(submission.handle)))
                if view.status == "missing":
                    return await self._missing(submission)
                if view.status != "running":
                    return await self._collect(submission, view)
                failures = 0
            except ProviderFailure as failure:
                failures += 1
                if failure.status == 404 and submission.handle is not None:
                    return await self._missing(submission)
                if not failure.retryable or failures >= self.limiter.limits.failures_per_request:
                    problem = f"its batch is out and could not be looked at: {failure}"
                    return await self._left(submission, problem)
                wait = max(wait, failure.retry_after or 0.0)
            await self.limiter.sleep(wait)
            wait = min(wait * _GROWTH, max(rules.first_look_s, rules.longest_look_s))
        return Ended()

    async def _adopt(self, before: Submission) -> None:
        """A batch that a process intends to send: wait while that process lives; after its end find out
        whether it was sent.
        """
        await self.limiter.sleep(self.batching.lease_s)
        if not await asyncio.to_thread(self.submissions.take_over, before, self.owner):
            return
        keys = await asyncio.to_thread(self.submissions.keys, before.name)
        handle = await self._find(before, keys)
        if handle is None:
            await asyncio.to_thread(self.submissions.finish, before.name, "void")
        else:
            await asyncio.to_thread(self.submissions.submitted, before.name, self.owner, handle, found=True)

    async def _missing(self, submission: Submission) -> Ended:
        """The account does not know the batch: collected by another process just now, sent by another
        account, or lost.

        One that was found is in no other account: it was not ours, and whoever sent it has deleted it.
        """
        gone: State | None = "void" if submission.found else "lost" if submission.age > LOST_AFTER else None
        if gone is not None:
            await asyncio.to_thread(self.submissions.finish, submission.name, gone)
            return Ended()
        if not (await asyncio.to_thread(self.submissions.get, submission.name)).open:
            return Ended()
        return await self._left(
            submission,
            f"its batch of {submission.time[:16]} is not known to this account; whoever sent it "
            "can collect it, after"
            f" {LOST_AFTER // timedelta(hours=1)} hours it counts as lost",
        )

    async def _left(self, submission: Submission, reason: str) -> Ended:
        keys = await asyncio.to_thread(self.submissions.keys, submission.name)
        return Ended(given_up=dict.fromkeys(keys, reason))

    # --- collecting

    async def _collect(self, submission: Submission, view: BatchView) -> Ended:
        """Record every answer of a batch that has ended, also to questions that nobody asks any more, and
        that it is no longer out.
        """
        keys = await asyncio.to_thread(self.submissions.keys, submission.name)
        results = await self._results(submission, keys, view.status)
        known = _by_key(results, set(keys))
        if submission.found and results.rows and not known:
            # it only looked like ours: a provider without names had no other sign
            await asyncio.to_thread(self.submissions.finish, submission.name, "void")
            return Ended()
        if view.status == "completed" and known:
            known = {key: known.get(key, ProviderFailure("malformed")) for key in keys}
        attempts = tuple(self._attempt(submission, key, result) for key, result in known.items())
        state: State = "failed" if view.status == "failed" and not known else "collected"
        if not await asyncio.to_thread(self.submissions.finish, submission.name, state, attempts):
            return Ended()
        if known and not submission.found:
            await self.provider.forget(str(submission.handle))
        return Ended(attempts, _given_up(keys, known, view))

    async def _results(
        self, submission: Submission, keys: Sequence[str], status: BatchStatus
    ) -> BatchResults:
        """What a batch brought; asked for again when rows are missing or cannot be read, for the transfer may
        have failed.
        """
        like = next(self.round.questions[key] for key in keys if key in self.round.questions)
        for download in range(1, _DOWNLOADS + 1):
            results = await self._ask(lambda: self.provider.collect(str(submission.handle), keys, like))
            whole = status != "completed" or {key for key, _ in results.rows} >= set(keys)
            if whole and not results.unreadable:
                break
            if download < _DOWNLOADS:
                wait = self.limiter.backoff(submission.name, download, ProviderFailure("malformed"))
                await self.limiter.sleep(wait or 0.0)
        return results

    def _attempt(self, submission: Submission, key: str, result: Reply | ProviderFailure) -> Attempt:
        """The record of one row. Its receipt follows from the batch and the key: collected twice, it is
        stored once.
        """
        blank = Attempt(key, submission.judge, submission.stage, submission.model)
        if (request := self.round.questions.get(key)) is not None:
            blank = self.round.blank(key, request)
        attempt = self.round.filled(blank, result)
        if attempt.answer is None and attempt.failure != "malformed":
            attempt = replace(attempt, cost_usd=0.0)  # providers bill a batch's answers only
        receipt = hashlib.sha256(f"batch {submission.handle} {key}".encode()).hexdigest()[:32]
        latency_s = max(0.0, submission.age.total_seconds())
        return replace(attempt, receipt=receipt, time=submission.time, latency_s=latency_s)

    async def _ask(self, call: Callable[[], Awaitable[R]]) -> R:
        """What the provider says.

        Raises:
            MethodError: it failed in a way that it does not explain; the exception, which may hold a prompt,
                is not kept.
        """
        try:
            return await call()
        except (ProviderFailure, LunguageError):
            raise
        except Exception as error:
            name = type(error).__name__
        raise MethodError(
            f"a batch endpoint's provider failed unexpectedly ({name}). Batches that are out stay "
            "on record. Please report this."
        )


def _by_key(results: BatchResults, keys: set[str]) -> dict[str, Reply | ProviderFailure]:
    """One result per key: the first reply among its rows, else the first failure; keys that were not sent are
    left out.
    """
    found: dict[str, Reply | ProviderFailure] = {}
    for key, result in results.rows:
        if key in keys and (
            key not in found or (isinstance(found[key], ProviderFailure) and isinstance(result, Reply))
        ):
            found[key] = result
    return found


def _given_up(
    keys: Sequence[str], known: Mapping[str, Reply | ProviderFailure], view: BatchView
) -> dict[str, str]:
    """Which questions of an ended batch are not to be sent again in this run, and why."""
    reason = ""
    if view.status == "failed":
        reason = f"the provider refused the batch{f' ({view.reason})' if view.reason else ''}"
    elif view.status == "cancelled":
        reason = "the batch was cancelled"
    elif view.status == "completed" and not known:
        reason = "nothing that the batch brought could be matched to its questions"
    refused = {
        key: str(result)
        for key, result in known.items()
        if isinstance(result, ProviderFailure) and not result.retryable
    }
    unanswered = {key: reason for key in keys if not isinstance(known.get(key), Reply)} if reason else {}
    return refused | unanswered


async def unbroken(work: Coroutine[Any, Any, R]) -> R:
    """Do `work` to its end even when the waiting is interrupted, within reason: what is being sent is then on
    record.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=GRACE_S)
        task.cancel()
        raise
