"""One call of a language model: permitted, sent, and recorded before its reply is used.

A call is paid, so that its order matters: its money is reserved in the run's budget, it
is written into the ledger with the most that it can cost, it is sent, and its reply is
recorded. Whoever dies between two steps leaves a trace from which the next one goes on.

Not here: which questions are asked and how often (`request_batch.py`), and the services
themselves (`providers/`).
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.asking.ledger_writer import LedgerWriter
from lunguage_assets.judges.asking.limits import (
    Budget,
    BudgetExceeded,
    Limiter,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger.attempts import Attempt, Flaw, storable
from lunguage_assets.judges.ledger.bills import Bill
from lunguage_assets.judges.ledger.calls import Permit, begin, forget, record
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.model_locks import model_lock_name
from lunguage_assets.judges.requests import (
    ModelBinding,
    Prompt,
    Provider,
    ProviderFailure,
    Reply,
    Request,
)

T = TypeVar("T")

POLL_INTERVAL_S = 0.25
"""How often somebody looks who waits for a model's lock, or for reserved money."""

_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed"})
"""Failures after which the service may have answered, and charged for it."""

_MODEL_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127})?")


class WrongModel(LunguageError):
    """Another model answered than the requested one; its answers are not used."""


@dataclass
class MeteredModel:
    """A model, and what every call of it has to obey.

    Attributes:
        judge: key of the judge, for the record and for messages.
        provider: sends one request.
        ledger: where calls are recorded.
        limits: of the judge.
        limiter: spaces its calls.
        budget: ceilings in US dollars; None: none.
        price: of its tokens; None: unknown, so that a budget refuses.
        bill: on which calls are charged in the ledger; None: on nobody's.
        has_replied: whether its service has answered anything yet.
    """

    judge: str
    provider: Provider
    ledger: Ledger
    limits: Limits
    limiter: Limiter
    budget: Budget | None = None
    price: Price | None = None
    bill: Bill | None = None
    has_replied: bool = False

    @property
    def binding(self) -> ModelBinding:
        """What decides the model's answers."""
        return self.provider.binding


class _CallOutcome(NamedTuple):
    """How a try to send a call ended."""

    was_sent: bool
    failure: ProviderFailure | None = None
    """None: a reply came."""


@dataclass
class _CallCost:
    """What a call has cost so far in US dollars; None: nobody knows."""

    usd: float | None = 0.0


class CallSender:
    """Sends the calls of one batch of questions, within limits and budgets.

    Args:
        model: the model to call.
        writer: writes to the model's ledger.
        is_readable: whether an answer is what its question asks for.
        on_recorded: called with every recorded attempt and the questions that it
            settles, key -> answer.
    """

    def __init__(
        self,
        model: MeteredModel,
        writer: LedgerWriter,
        is_readable: Callable[[str], bool],
        on_recorded: Callable[[Attempt, Mapping[str, str | None]], None],
    ) -> None:
        self._model = model
        self._writer = writer
        self._is_readable = is_readable
        self._on_recorded = on_recorded
        self._in_flight = asyncio.Semaphore(model.limits.in_flight)
        # Prompts may have more tokens than estimated: a budget must hold all the same.
        self._token_correction = 1.0

    async def call(self, key: str, request: Request) -> ProviderFailure | None:
        """Send a request once, as soon as limits and budgets let it go.

        Args:
            key: the ledger's key of the question.
            request: the question.

        Returns:
            Why no reply came; None: one came, and is recorded.

        Raises:
            BudgetExceeded: the call could pass a ceiling.
            WrongModel: another model answered.
            LedgerError: the call could not be written down or recorded.
        """
        model = self._model
        worst_usd = self._worst_usd(request.prompt)
        # Left only when recorded: a crash never loses more answers than `in_flight`.
        async with self._in_flight:
            await model.limiter.turn()
            while True:
                if model.budget is None or model.budget.reserve(model.judge, worst_usd):
                    attempt = Attempt(
                        key, model.judge, request.task, model.binding.model
                    )
                    outcome = await _completed(
                        self._call_with_money(attempt, request, worst_usd or 0.0)
                    )
                    if outcome.was_sent:
                        return outcome.failure
                await asyncio.sleep(POLL_INTERVAL_S)

    def _worst_usd(self, prompt: Prompt) -> float | None:
        """Compute the most that a call can cost; None: unknown."""
        price = self._model.price
        most_output_tokens = output_limit(self._model.binding)
        if price is None or most_output_tokens is None:
            return None
        input_tokens = estimated_input_tokens(prompt) * self._token_correction
        return price.cost(math.ceil(input_tokens), most_output_tokens)

    async def _call_with_money(
        self, attempt: Attempt, request: Request, worst_usd: float
    ) -> _CallOutcome:
        """Make a call for which this run's budget has reserved the worst case."""
        cost = _CallCost()
        try:
            if not await self._is_permitted(attempt, worst_usd):
                return _CallOutcome(was_sent=False)
            failure = await self._send(attempt, request, cost)
            return _CallOutcome(was_sent=True, failure=failure)
        finally:
            if self._model.budget is not None:
                self._model.budget.settle(worst_usd, cost.usd)

    async def _is_permitted(self, attempt: Attempt, worst_usd: float) -> bool:
        """Write the call down, if the daily budget allows it.

        Returns:
            False: calls in flight have reserved the money of the day.

        Raises:
            BudgetExceeded: it is spent.
        """
        model = self._model
        lock = model_lock_name(model.binding)
        daily_usd = model.budget.daily_usd if model.budget is not None else None

        def begin_call(connection: sa.Connection) -> Permit:
            return begin(connection, attempt, lock, worst_usd, daily_usd, model.bill)

        permit = await self._writer.write(begin_call)
        if permit == "wait":
            # Calls of a process that died may have reserved it: they are counted out.
            await asyncio.to_thread(model.ledger.in_flight)
        if permit == "spent":
            raise BudgetExceeded(
                f"daily budget of ${daily_usd:.2f}: with what all that share the "
                "ledger spent in the last 24 hours, the next call of judge "
                f"{model.judge!r} could pass it. All answers are kept; run again "
                "later, or with a higher LUNGUAGE_DAILY_BUDGET, and only the rest is "
                "asked."
            )
        return permit == "go"

    async def _send(
        self, attempt: Attempt, request: Request, cost: _CallCost
    ) -> ProviderFailure | None:
        """Send a call that is written down, and record how it ended."""
        model = self._model
        started = time.monotonic()
        cost.usd = None
        try:
            reply = await model.provider.answer(request)
        except LunguageError:
            # The policy refused, or something is not configured: nothing was sent.
            cost.usd = 0.0
            await self._writer.write(
                lambda connection: forget(connection, attempt, model.bill)
            )
            raise
        except ProviderFailure as failure:
            await self._record_failure(attempt, failure, cost)
            return failure
        except Exception:
            await self._record_failure(attempt, ProviderFailure("malformed"), cost)
            raise
        replied = self._with_reply(attempt, reply, time.monotonic() - started)
        cost.usd = replied.cost_usd
        await self._record(replied)
        self._require_requested_model(replied)
        model.has_replied = True
        estimate = estimated_input_tokens(request.prompt)
        self._token_correction = max(
            self._token_correction, reply.input_tokens / estimate
        )
        return None

    async def _record_failure(
        self, attempt: Attempt, failure: ProviderFailure, cost: _CallCost
    ) -> None:
        cost.usd = None if failure.kind in _MAY_BE_BILLED else 0.0
        await self._record(replace(attempt, failure=failure.kind, cost_usd=cost.usd))
        self._model.limiter.failed(failure)

    async def _record(self, attempt: Attempt) -> None:
        answer_by_key = await self._writer.write(
            lambda connection: record(connection, attempt, self._model.bill)
        )
        self._on_recorded(attempt, answer_by_key)

    def _with_reply(self, attempt: Attempt, reply: Reply, seconds: float) -> Attempt:
        """Complete an attempt by the reply that came, and say what is wrong with it."""
        price = self._model.price if reply.metered else None
        cost_usd = None
        if price is not None:
            cost_usd = price.cost(reply.input_tokens, reply.output_tokens)
        answer = storable(reply.text)
        return replace(
            attempt,
            answer=answer,
            failure=self._flaw(reply, answer),
            returned_model=self._storable_model_name(reply.returned_model),
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            reasoning_tokens=reply.reasoning_tokens,
            cost_usd=cost_usd,
            latency_s=seconds,
        )

    def _flaw(self, reply: Reply, answer: str) -> Flaw | None:
        """Say why a reply is not used; None: it is."""
        # A service that refuses a prompt may leave out the model's name.
        is_nameless_refusal = reply.refused and not reply.returned_model
        if not self._is_requested(reply.returned_model) and not is_nameless_refusal:
            return "wrong_model"
        if reply.refused:
            return "refused"
        return None if self._is_readable(answer) else "unreadable"

    def _is_requested(self, model: str) -> bool:
        """Whether a name is that of the model or an alias; a dated name is neither."""
        binding = self._model.binding
        return model == binding.model or model in binding.aliases

    def _storable_model_name(self, name: str) -> str:
        # A broken service may put anything there, the prompt too.
        if self._is_requested(name) or _MODEL_NAME.fullmatch(name):
            return name
        return "(not a model's name)"

    def _require_requested_model(self, replied: Attempt) -> None:
        if replied.failure == "wrong_model":
            raise WrongModel(
                f"judge {self._model.judge!r}: model {self._model.binding.model!r} was "
                f"requested and {replied.returned_model!r} answered; expected the "
                "requested one or a listed alias. The judge was stopped and the answer "
                "is not used. If both are the same model, add the name to the judge's "
                "aliases and run again."
            )


async def _completed(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of work that is paid for, also when cancelled meanwhile.

    Whoever waits goes on waiting when cancelled once, and is cancelled afterwards; a
    second time, the work is given up.
    """
    task = asyncio.ensure_future(work)
    # asyncio logs the text of an exception that nobody looked at, and this one may hold
    # a prompt: it is looked at, also when nobody waits any more.
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
