"""Getting answers that may wait: questions go to a provider's batch endpoint, at its batch price, and come
back within a day.

Ledger, parser, model check and tries are those of single calls (`asking/engine.py`, `asking/recording.py`);
which batches are out is on record in `submissions.py`; how an endpoint is spoken to is in the modules that
bear the providers' names; watching and collecting one batch is in `batch_watch.py`. Prompts and answers
appear in no message here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from lunguage_assets.judges.asking.budget import (
    Budget,
    BudgetExceeded,
    Pricing,
    Reservation,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.asking.engine import JudgeIncomplete, Settled, next_round, settled_as
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Calls, Progress
from lunguage_assets.judges.asking.recording import Parse, Recording
from lunguage_assets.judges.batches.batch_watch import BatchWatch, Ended, unbroken
from lunguage_assets.judges.batches.submissions import Submission, Submissions, new_name
from lunguage_assets.judges.ledger.attempts import Entry, request_key
from lunguage_assets.judges.ledger.ledger import Ledger, LedgerError
from lunguage_assets.judges.requests import BatchProvider, ModelBinding, Request
from lunguage_assets.judges.slots import Batches, ModelSlot

T = TypeVar("T")

_log = logging.getLogger(__name__)
_BUDGET_LOOK_S = 0.05
_FRAME_BYTES = 1500
"""What a request in a batch needs besides its prompt and parameters: key, names of fields, the schema of a
constrained answer.
"""


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
    price: Pricing | None = None
    rules: Batches = field(default_factory=Batches)
    lease_s: float = 60.0
    rounds: int = 6

    @classmethod
    def of(cls, slot: ModelSlot, provider: Callable[[], BatchProvider]) -> Batching:
        """As the judges file has it."""
        return cls(provider, slot.price.in_batches if slot.price is not None else None, slot.batches)


async def ask_in_batches(
    requests: Sequence[Request],
    batching: Batching,
    binding: ModelBinding,
    ledger: Ledger,
    limiter: Limiter,
    budget: Budget | None,
    parse: Parse[T],
    *,
    judge: str,
    progress: Callable[[Progress], None] | None = None,
) -> list[Settled[T]]:
    """One `Settled` per request, in their order, as `engine.ask` gives them; only what the ledger cannot
    answer is sent.

    Batches of an earlier run, or of another process, that hold some of the questions are collected instead of
    sent again, and questions that somebody asks by single calls are waited for. What failed or could not be
    read goes into a further batch. The worst case of all batches of a round is reserved before the first is
    sent; a batch counts against the budget of the run that sends it, and against the day's for as long as it
    is out.
    There is no deadline: every provider ends a batch after a day or two. When interrupted, batches that are
    out stay out, and the next run collects them.

    Args:
        requests: all of one task, mode and labels.
        batching: how they are sent.
        binding: the model.
        ledger: where attempts and batches are recorded.
        limiter: its waiting after failures is used, not its rates: batches have limits of their own.
        budget: ceilings of the run and of the day, or None.
        parse: reads a reply.
        judge: the slot's name, for the record and for messages.
        progress: told after every batch that was collected.

    Raises:
        JudgeIncomplete: some questions have no answer: refused, cancelled, given up, or the service failed.
        BudgetExceeded: the batches could pass the ceiling; nothing of them was sent.
        PolicyRefused: the judge may not receive this text; nothing was sent.
        WrongModel: another model answered.
        LedgerError: something could not be recorded.
    """
    keys = [request_key(binding, request) for request in requests]
    run = _BatchRun(batching, binding, ledger, limiter, budget, parse, judge, progress)
    entries = await run.settle(dict(zip(keys, requests, strict=True)))
    settled = {key: settled_as(judge, entry, parse) for key, entry in entries.items()}
    return [settled[key] for key in keys]


class _BatchRun(Generic[T]):
    """One call of `ask_in_batches`: rounds of batches until all questions are settled or something stops the
    judge.
    """

    def __init__(
        self,
        batching: Batching,
        binding: ModelBinding,
        ledger: Ledger,
        limiter: Limiter,
        budget: Budget | None,
        parse: Parse[T],
        judge: str,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.batching, self.binding, self.ledger, self.limiter = batching, binding, ledger, limiter
        self.budget, self.judge, self.progress = budget, judge, progress
        self.recording = Recording(judge, binding, ledger, parse, batching.price, self._stop)
        self.owner = new_name()
        self.entries: dict[str, Entry] = {}
        self.sent: Counter[str] = Counter()
        self.given_up: dict[str, str] = {}
        self.error: Exception | None = None
        self.calls = Calls()

    async def settle(self, questions: Mapping[str, Request]) -> dict[str, Entry]:
        self.asked, self.round = questions, next_round()
        self.task = next((request.task for request in questions.values()), "")
        self.entries = await asyncio.to_thread(self.recording.settled, list(questions))
        self.hits = len(self.entries)
        self._report()
        if self.error is not None:
            raise self.error
        if self._open():
            self.limiter.begin()
            self.provider = self.batching.provider()
            self.submissions = await asyncio.to_thread(Submissions, self.ledger)
            self.watch = BatchWatch(
                self.provider,
                self.submissions,
                self.recording,
                self.limiter,
                self.batching.rules,
                self.batching.lease_s,
                self.owner,
                questions,
            )
            try:
                while open_ := self._open():
                    await self._one_round(open_)
            except asyncio.CancelledError:
                self._say_what_is_out()
                raise
            self._raise_if_incomplete()
        return self.entries

    def _open(self) -> list[str]:
        return [key for key in self.asked if key not in self.entries and key not in self.given_up]

    async def _one_round(self, open_: Sequence[str]) -> None:
        """Every open question is sent or already out; this returns when all those batches have ended."""
        outstanding = await asyncio.to_thread(self.submissions.outstanding, open_)
        waiting = await asyncio.to_thread(self.submissions.waiting, open_)
        chunks = self._chunks([key for key in open_ if key not in waiting])
        worst = [self._worst(chunk) for chunk in chunks]
        reservation = await self._reserve(worst)
        spent = [0.0] * len(chunks)
        gate = asyncio.Semaphore(self.batching.rules.at_once)

        async def send(number: int) -> None:
            async with gate:
                await self._send(chunks[number], worst[number], number, spent)

        try:
            await _all(
                [self._follow(submission) for submission in outstanding]
                + [send(number) for number in range(len(chunks))]
            )
        finally:
            reservation.settle(sum(spent))
        self.entries |= await asyncio.to_thread(self.ledger.answers, open_)
        self._report()

    def _chunks(self, keys: Sequence[str]) -> list[list[str]]:
        """The keys in their order, as many to a batch as the provider and the judge's own limits allow."""
        for key in keys:
            if self.sent[key] >= self.batching.rounds:
                self.given_up[key] = f"no readable answer in {self.batching.rounds} batches"
        rules, limits = self.batching.rules, self.provider.limits
        most = min(limits.requests, rules.questions or limits.requests)
        room = min(limits.size_bytes, round(rules.megabytes * 1e6) if rules.megabytes else limits.size_bytes)
        frame = _FRAME_BYTES + len(json.dumps(self.binding.parameters))
        chunks: list[list[str]] = []
        size = 0
        for key in keys:
            if key in self.given_up:
                continue
            prompt = self.asked[key].prompt
            own = frame + len(json.dumps([prompt.system, prompt.user]))
            if not chunks or len(chunks[-1]) == most or size + own > room:
                chunks.append([])
                size = 0
            chunks[-1].append(key)
            size += own
        return chunks

    def _worst(self, keys: Sequence[str]) -> float | None:
        """What a batch can cost at most; None: that is not known."""
        limit = output_limit(self.binding)
        if self.batching.price is None or limit is None:
            return None
        return sum(
            self.batching.price.cost(estimated_input_tokens(self.asked[key].prompt), limit) for key in keys
        )

    async def _reserve(self, worst: Sequence[float | None]) -> Reservation:
        """Leave to spend the worst case of a whole round, before anything of it is sent."""
        if self.budget is None or not worst:
            return Reservation(None, 0.0)
        known = [value for value in worst if value is not None]
        total = sum(known) if len(known) == len(worst) else None
        try:
            await asyncio.to_thread(self.submissions.require_room, self.budget, self.judge, total or 0.0)
            while (reservation := self.budget.reserve(self.judge, total)) is None:
                await self.limiter.sleep(_BUDGET_LOOK_S)
        except BudgetExceeded as error:
            missing = len(self.asked) - len(self.entries)
            raise BudgetExceeded(
                f"{error} The questions go in batches, paid as a whole; {missing} of "
                f"{len(self.asked)} questions of judge {self.judge!r}"
                " have no answer yet."
            ) from None
        return reservation

    async def _send(self, chunk: Sequence[str], worst: float | None, number: int, spent: list[float]) -> None:
        """Claim, send, and wait for one batch. What of the chunk another process has claimed meanwhile is
        left to the next round.
        """
        intended = Submission(
            self.judge, self.task, self.binding.provider, self.binding.model, owner=self.owner
        )
        keys = await asyncio.to_thread(self.submissions.claim, intended, chunk, worst or 0.0, self.budget)
        if not keys:  # others are answering these very questions
            await self.limiter.sleep(self.batching.rules.first_look_s)
            return
        self.sent.update(keys)
        spent[number] = (
            worst or 0.0
        )  # until it is collected: perhaps it was sent, and is paid, though no answer came
        problem = await unbroken(self.watch.send(intended, {key: self.asked[key] for key in keys}))
        if problem is not None:
            spent[number] = worst or 0.0 if problem.doubtful else 0.0
            self.given_up.update(dict.fromkeys(keys, problem.reason))
            return
        _log.info("judge %r: a batch of %d questions is out", self.judge, len(keys))
        collected = await self._follow(intended)
        if collected is not None:
            share = (worst or 0.0) / len(keys)
            spent[number] = sum(
                share if attempt.cost_usd is None else attempt.cost_usd for attempt in collected.attempts
            )

    async def _follow(self, submission: Submission) -> Ended | None:
        """Wait until a batch has ended; what this process recorded of it, None when it is still out or
        another process recorded it.
        """
        collected = await self.watch.until_ended(submission.name)
        self.given_up.update((key, reason) for key, reason in collected.given_up.items() if key in self.asked)
        for attempt in collected.attempts:
            self.calls.add(attempt)
        settled = await asyncio.to_thread(
            self.ledger.answers, [attempt.key for attempt in collected.attempts if attempt.key in self.asked]
        )
        self.entries |= settled
        self._report()
        if self.error is not None:
            raise self.error
        return collected if collected.recorded else None

    def _stop(self, error: Exception) -> None:
        self.error = self.error or error

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(
                self.calls.progress(
                    self.judge, self.task, self.round, len(self.asked), self.hits, len(self.entries)
                )
            )

    def _say_what_is_out(self) -> None:
        with contextlib.suppress(LedgerError):
            self._say(self.submissions.outstanding(self._open()))

    def _say(self, out: Sequence[Submission]) -> None:
        if out:
            _log.warning(
                "judge %r: %d questions are still out with %s (batches: %d). Run again to collect their "
                "answers; they are not asked twice.",
                self.judge, sum(submission.questions for submission in out), self.binding.provider, len(out),
            )  # fmt: skip

    def _raise_if_incomplete(self) -> None:
        missing = [key for key in self.asked if key not in self.entries]
        if missing:
            reasons = Counter(self.given_up.get(key, "stopped") for key in missing)
            raise JudgeIncomplete(
                self.judge,
                len(missing),
                len(self.asked),
                ", ".join(f"{count} x {reason}" for reason, count in sorted(reasons.items())),
            )


async def _all(work: Sequence[Coroutine[Any, Any, Any]]) -> None:
    """Do all of it at once; when one part fails, or when interrupted, the others stop waiting, and the first
    failure is raised.
    """
    tasks = [asyncio.create_task(part) for part in work]
    if not tasks:
        return
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in done and (error := task.exception()) is not None:
            raise error
