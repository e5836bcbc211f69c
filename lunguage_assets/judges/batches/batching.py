"""Getting answers that may wait: questions go to a provider's batch endpoint, at its batch price, and come
back within a day.

Ledger, parser, model check and tries are those of single calls (`asking/engine.py`, `asking/round.py`);
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
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from lunguage_assets.judges.asking.budget import (
    BudgetExceeded,
    Reservation,
    estimated_input_tokens,
)
from lunguage_assets.judges.asking.round import Asking, JudgeIncomplete, Parse, Round, Settled
from lunguage_assets.judges.batches.batch_watch import Batching, BatchWatch, unbroken
from lunguage_assets.judges.batches.submissions import Submission, Submissions, new_name
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger_place import LedgerError
from lunguage_assets.judges.requests import ModelBinding, Request

T = TypeVar("T")

_log = logging.getLogger(__name__)
_BUDGET_LOOK_S = 0.05
_FRAME_BYTES = 1500
"""What a request in a batch needs besides its prompt and parameters: key, names of fields, the schema of a
constrained answer.
"""


async def ask_in_batches(
    requests: Sequence[Request], batching: Batching, binding: ModelBinding, asking: Asking, parse: Parse[T]
) -> list[Settled[T]]:
    """One `Settled` per request, in their order, as `engine.ask` gives them; only what the ledger cannot
    answer is sent. All requests are of one task, mode and labels.

    Batches of an earlier run, or of another process, that hold some of the questions are collected instead of
    sent again, and questions that somebody asks by single calls are waited for. What failed or could not be
    read goes into a further batch. The worst case of all batches of a round is reserved before the first is
    sent; a batch counts against the budget of the run that sends it, and against the day's for as long as it
    is out. Of the limiter the waiting after failures is used, not the rates: batches have limits of their
    own. There is no deadline: every provider ends a batch after a day or two. When interrupted, batches that
    are out stay out, and the next run collects them.

    Raises:
        JudgeIncomplete: some questions have no answer: refused, cancelled, given up, or the service failed.
        BudgetExceeded: the batches could pass the ceiling; nothing of them was sent.
        PolicyRefused: the judge may not receive this text; nothing was sent.
        WrongModel: another model answered.
        LedgerError: something could not be recorded.
    """
    return await _Batches(batching, binding, asking, parse).settled(requests)


class _Batches(Round[T]):
    """One call of `ask_in_batches`: batches are sent until all questions are settled or something stops the
    judge.
    """

    def __init__(self, batching: Batching, binding: ModelBinding, asking: Asking, parse: Parse[T]) -> None:
        super().__init__(binding, replace(asking, price=batching.price), parse)
        self.batching, self.owner = batching, new_name()
        self.sent: Counter[str] = Counter()
        self.spent: dict[str, float] = {}
        self.given_up: dict[str, str] = {}

    async def settle_open(self) -> None:
        self.provider = self.batching.provider()
        self.submissions = await asyncio.to_thread(Submissions, self.ledger)
        self.watch = BatchWatch(self, self.provider, self.submissions, self.batching, self.owner)
        try:
            while open_ := self._open():
                await self._send_all(open_)
        except asyncio.CancelledError:
            self._say_what_is_out()
            raise
        self._raise_if_incomplete()

    def _open(self) -> list[str]:
        return [key for key in self.questions if key not in self.entries and key not in self.given_up]

    async def _send_all(self, open_: Sequence[str]) -> None:
        """Every open question is sent or already out; this returns when all those batches have ended."""
        outstanding = await asyncio.to_thread(self.submissions.outstanding, open_)
        waiting = await asyncio.to_thread(self.submissions.waiting, open_)
        chunks = self._chunks([key for key in open_ if key not in waiting])
        worst = [self._worst(chunk) for chunk in chunks]
        reservation = await self._reserve(worst)
        self.spent = {}
        gate = asyncio.Semaphore(self.batching.rules.at_once)
        try:
            async with asyncio.TaskGroup() as batches:
                for submission in outstanding:
                    batches.create_task(self._follow(submission))
                for chunk, worst_usd in zip(chunks, worst, strict=True):
                    batches.create_task(self._send(chunk, worst_usd, gate))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            reservation.settle(sum(self.spent.values()))
        self.entries |= await asyncio.to_thread(self.ledger.answers, open_)
        self.report()

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
            prompt = self.questions[key].prompt
            own = frame + len(json.dumps([prompt.system, prompt.user]))
            if not chunks or len(chunks[-1]) == most or size + own > room:
                chunks.append([])
                size = 0
            chunks[-1].append(key)
            size += own
        return chunks

    def _worst(self, keys: Sequence[str]) -> float:
        """What a batch can cost at most, as far as that is known."""
        tokens = (estimated_input_tokens(self.questions[key].prompt) for key in keys)
        return sum(self.worst_usd(of_one) or 0.0 for of_one in tokens)

    async def _reserve(self, worst: Sequence[float]) -> Reservation:
        """Leave to spend the worst case of a whole round, before anything of it is sent."""
        if self.budget is None or not worst:
            return Reservation(None, 0.0)
        total = sum(worst) if self.worst_usd(0) is not None else None
        try:
            await asyncio.to_thread(self.submissions.require_room, self.budget, self.judge, total or 0.0)
            while (reservation := self.budget.reserve(self.judge, total)) is None:
                await self.limiter.sleep(_BUDGET_LOOK_S)
        except BudgetExceeded as error:
            missing = len(self.questions) - len(self.entries)
            raise BudgetExceeded(
                f"{error} The questions go in batches, paid as a whole; {missing} of "
                f"{len(self.questions)} questions of judge {self.judge!r}"
                " have no answer yet."
            ) from None
        return reservation

    async def _send(self, chunk: Sequence[str], worst: float, gate: asyncio.Semaphore) -> None:
        """Claim, send, and wait for one batch, when there is room for it at the provider. What of the chunk
        another process has claimed meanwhile is left to the next round.
        """
        async with gate:
            batch = Submission(
                self.judge, self.task, self.binding.provider, self.binding.model, owner=self.owner
            )
            keys = await asyncio.to_thread(self.submissions.claim, batch, chunk, worst, self.budget)
            if not keys:  # others are answering these very questions
                await self.limiter.sleep(self.batching.rules.first_look_s)
                return
            self.sent.update(keys)
            self.spent[batch.name] = worst  # until it is collected: it may be paid though no answer came
            problem = await unbroken(self.watch.send(batch, {key: self.questions[key] for key in keys}))
            if problem is not None:
                self.spent[batch.name] = worst if problem.doubtful else 0.0
                self.given_up.update(dict.fromkeys(keys, problem.reason))
                return
            _log.info("judge %r: a batch of %d questions is out", self.judge, len(keys))
            attempts = await self._follow(batch)
            if attempts is not None:
                costs = [worst / len(keys) if one.cost_usd is None else one.cost_usd for one in attempts]
                self.spent[batch.name] = sum(costs)

    async def _follow(self, submission: Submission) -> Sequence[Attempt] | None:
        """Wait until a batch has ended; what this process recorded of it, None when it is still out or
        another process recorded it.
        """
        ended = await self.watch.until_ended(submission.name)
        self.given_up.update((key, reason) for key, reason in ended.given_up.items() if key in self.questions)
        for attempt in ended.attempts or ():
            self.calls.add(attempt)
        keys = [attempt.key for attempt in ended.attempts or () if attempt.key in self.questions]
        self.entries |= await asyncio.to_thread(self.ledger.answers, keys)
        self.report()
        if self.error is not None:
            raise self.error
        return ended.attempts

    def _say_what_is_out(self) -> None:
        with contextlib.suppress(LedgerError):
            if out := self.submissions.outstanding(self._open()):
                _log.warning(
                    "judge %r: %d questions are still out with %s (batches: %d). Run again to collect their "
                    "answers; they are not asked twice.",
                    self.judge, sum(batch.questions for batch in out), self.binding.provider, len(out),
                )  # fmt: skip

    def _raise_if_incomplete(self) -> None:
        missing = [key for key in self.questions if key not in self.entries]
        if missing:
            reasons = Counter(self.given_up.get(key, "stopped") for key in missing)
            raise JudgeIncomplete(
                self.judge,
                len(missing),
                len(self.questions),
                ", ".join(f"{count} x {reason}" for reason, count in sorted(reasons.items())),
            )
