"""Asking a language model: answers from the ledger where they are, else from its model.

Workers take open questions; each call waits for its place, the rate and the budget, and
is recorded before its answer is used. How often a question is asked is a rule of the
method (explicit.md section 2): a reply that cannot be read uses up a try, a failure
without a reply does not. A crash loses the answers in flight, and a budget can be
passed by them. Questions and answers appear in no message.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from lunguage_assets.errors import ConfigurationError, LunguageError, MethodError
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger import REPLIED, Attempt, Flaw, Ledger, Settled
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.judges.requests import (
    ModelBinding,
    Prompt,
    Provider,
    ProviderFailure,
    Reply,
    Request,
    request_key,
)

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

MIN_ANSWERS_TO_JUDGE = 10
"""Answers of which one at least can be read, if the model is any use."""

ANSWERS_TO_COUNT = 40
"""Answers of which half can be read."""

LONGEST_BACKOFF_S = 60.0
LONGEST_WAIT_S = 300.0
"""A service that asks to wait longer is not waited for: the question is given up."""

MAX_CONSECUTIVE_FAILURES = 20
"""So many questions given up without a reply between them: the judge has failed."""

MAX_CONNECT_ATTEMPTS = 4
"""Tries of a question while no connection is made to a service that never answered."""

TIMEOUTS_IN_A_ROW = 2
"""After so many a server has fewer places than it is asked for."""

GRACE_S = 10.0
"""Seconds that an interrupted person waits for calls in flight, which are paid."""

_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed"})
"""Failures after which the service may have answered, and charged for it."""

_MODEL_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127})?")

_MOST_FRAME_TOKENS = 32
"""Tokens that roles, separators and the schema of a constrained answer add at most."""

_OUTPUT_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
)
"""Parameters that bound an answer, of whichever service."""


class BudgetExceeded(LunguageError):
    """A ceiling is reached, or what a call costs cannot be known.

    What was answered is in the ledger.
    """


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger."""


class NothingReadable(LunguageError):
    """Too few answers of a model can be read."""


class WrongModel(LunguageError):
    """Another model answered than the requested one; its answers are not used."""


def estimated_input_tokens(prompt: Prompt) -> int:
    """Estimate the tokens of a prompt, rather too many, so that a budget holds.

    Three ASCII characters a token (English text has about four), and two tokens for any
    other character.
    """
    text = prompt.system + prompt.user
    ascii_count = len(text.encode("ascii", "ignore"))
    other_count = len(text) - ascii_count
    return math.ceil(ascii_count / 3) + 2 * other_count + _MOST_FRAME_TOKENS


def output_limit(binding: ModelBinding) -> int | None:
    """Find how many output tokens a judge's parameters allow; None: they do not say."""
    parameters = dict(binding.parameters)
    # Some services have them in a table, such as Vertex's `thinking_config`.
    for value in dict(binding.parameters).values():
        if isinstance(value, dict):
            parameters = value | parameters
    # `type`, not `isinstance`: `max_tokens = true` is no number.
    limits = [
        parameters[name] for name in _OUTPUT_LIMITS if type(parameters.get(name)) is int
    ]
    return max(limits, default=None)


def shown_usd(usd: float) -> str:
    """Write US dollars with the digits that a small sum needs: $0.006, not $0.01."""
    if usd >= 1.0 or usd <= 0.0:
        return f"${usd:,.2f}"
    digits = max(2, 1 - math.floor(math.log10(usd)))
    return f"${usd:.{digits}f}"


class Budget:
    """Ceilings in US dollars, shared by all judges of a run.

    Args:
        ceiling_usd: of this run, in this process; None: none.
        daily_usd: of the last 24 hours, for all who share the ledger; None: none.

    Raises:
        ConfigurationError: a ceiling is not a number of zero or more.
    """

    def __init__(
        self, ceiling_usd: float | None, daily_usd: float | None = None
    ) -> None:
        for ceiling in (ceiling_usd, daily_usd):
            if ceiling is not None and not 0 <= ceiling < math.inf:
                raise ConfigurationError(
                    "invalid budget; expected US dollars, zero or more."
                )
        self.ceiling_usd = ceiling_usd
        self.daily_usd = daily_usd
        self.spent_usd = 0.0
        self._in_flight_usd = 0.0
        self._others_today_usd = 0.0
        self._calls_in_round = 0

    def begin(
        self, judge: str, worst_usd: float | None, round_of: int, ledger: Ledger
    ) -> None:
        """Refuse a call that could pass a ceiling; `end` ends one that may go.

        Args:
            judge: whose call it is, for messages.
            worst_usd: the most that the call can cost; None: unknown.
            round_of: calls after which the ledger is looked at again.
            ledger: that sums up what all who share it have spent.

        Raises:
            BudgetExceeded: it could, or its cost is unknown.
        """
        if worst_usd is None:
            raise BudgetExceeded(
                f"judge {judge!r} has no price, or no limit on output tokens in its "
                "parameters, so a budget cannot be kept. Give both in the judges file, "
                "or run without a budget."
            )
        ceilings = [("budget", self.ceiling_usd, self.spent_usd, "in this run")]
        if self.daily_usd is not None:
            # A sum over a day's rows for every call would hold up the others.
            if self._calls_in_round == 0:
                self._others_today_usd = ledger.spent_today() - self.spent_usd
            self._calls_in_round = (self._calls_in_round + 1) % round_of
            spent_today = self._others_today_usd + self.spent_usd
            since = "in the last 24 hours by all that share the ledger"
            ceilings.append(("daily budget", self.daily_usd, spent_today, since))
        for name, ceiling_usd, spent_usd, since in ceilings:
            if ceiling_usd is None or spent_usd + worst_usd <= ceiling_usd:
                continue
            raise BudgetExceeded(
                f"{name} of {shown_usd(ceiling_usd)}: {shown_usd(spent_usd)} are spent "
                f"{since}, and the next call of judge {judge!r} could cost up to "
                f"{shown_usd(worst_usd)}. Calls in flight add "
                f"{shown_usd(self._in_flight_usd)} at most. All answers are kept; run "
                "again with a higher budget, and only the rest is asked."
            )
        self._in_flight_usd += worst_usd

    def end(self, worst_usd: float, cost_usd: float | None) -> None:
        """End a call that was begun; of unknown cost, at its worst."""
        # The sum of many begun and ended calls is nothing only but for its last digit.
        self._in_flight_usd = max(0.0, self._in_flight_usd - worst_usd)
        self.spent_usd += worst_usd if cost_usd is None else cost_usd


class Limiter:
    """When the next call of a judge may go: places, rate, and pauses.

    Args:
        limits: of the judge.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.places = limits.in_flight
        self._in_flight = 0
        self._next_turn = time.monotonic()
        self._paused_until = time.monotonic()
        self._timeouts = 0

    async def turn(self) -> None:
        """Wait until a call may go, and take a place, which `leave` gives back."""
        while self._in_flight >= self.places:
            await asyncio.sleep(0.005)
        self._in_flight += 1
        # Calls are spaced evenly, so that no minute has more than the rate allows.
        my_turn = max(time.monotonic(), self._next_turn)
        calls_per_minute = self._limits.requests_per_minute or math.inf
        self._next_turn = my_turn + 60.0 / calls_per_minute
        # A failure may pause the judge again while one waits.
        while (wait_s := max(my_turn, self._paused_until) - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)

    def leave(self, failure: ProviderFailure | None) -> bool:
        """Give back a place; Retry-After holds for all calls of the judge.

        Returns:
            Whether the server may only have fewer places than were asked for: then no
            question has failed, and it is asked again.
        """
        self._in_flight -= 1
        if failure is None:
            self._timeouts = 0
            return False
        if failure.retryable and failure.retry_after <= LONGEST_WAIT_S:
            pause_ends = time.monotonic() + failure.retry_after
            self._paused_until = max(self._paused_until, pause_ends)
        # A server with one place answers in time once it is asked one call at a time.
        is_timeout = failure.kind == "timeout"
        has_places_to_spare = self.places > 1
        self._timeouts = self._timeouts + 1 if is_timeout else 0
        if self._timeouts >= TIMEOUTS_IN_A_ROW and has_places_to_spare:
            self.places //= 2
            self._timeouts = 0
        return is_timeout and has_places_to_spare

    def backoff(self, failures: int, failure: ProviderFailure) -> float | None:
        """Draw the seconds before a question that failed is asked again.

        Args:
            failures: how often it has failed, from 1.
            failure: the last one.

        Returns:
            Seconds between Retry-After and a bound beyond it that doubles with every
            failure; None: it is given up.
        """
        is_exhausted = failures >= self._limits.failures_per_request
        if is_exhausted or not failure.retryable:
            return None
        if failure.retry_after > LONGEST_WAIT_S:
            return None
        # More doublings would overflow, and the bound was met long before.
        bound_s = self._limits.backoff_s * 2.0 ** min(failures - 1, 60)
        return failure.retry_after + random.uniform(0, min(LONGEST_BACKOFF_S, bound_s))


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
        self.ledger = ledger
        self.limits = limits
        self.limiter = Limiter(limits)
        self.has_replied = False
        self._provider = provider
        self._budget = budget
        self._price = price
        self._batches: set[_Batch] = set()
        self._answer_count = 0
        self._readable_count = 0

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[T | None]:
        """Answer every request, in their order; see `settle`.

        Returns:
            One value per request; None: it is invalid for good.
        """
        values: list[T | None] = []
        for question in self.settle(requests, parse):
            value = None if question.answer is None else parse(question.answer)
            if question.answer is not None and value is None:
                raise MethodError(
                    f"judge {self.key!r}: a recorded valid answer cannot be read by "
                    "this version. Change the version of the prompt templates together "
                    "with the parser."
                )
            values.append(value)
        return values

    def settle(
        self, requests: Sequence[Request], parse: Parse[object]
    ) -> list[Settled]:
        """Settle every request, in their order (explicit.md section 5).

        Identical requests are asked once, settled ones not at all. An answer that
        `parse` cannot read is asked for again, up to `ledger.TRIES`, then the question
        is invalid for good. When the waiting is interrupted, the asking is.

        Args:
            requests: the questions.
            parse: reads an answer; None: it is not one.

        Raises:
            JudgeIncomplete: questions without answer: given up, or the judge failed.
            BudgetExceeded: the next call could pass a ceiling.
            WrongModel: another model answered.
            LedgerError: a call could not be recorded.
        """
        if not requests:
            return []
        batch = _Batch(self, requests, parse)
        self._batches.add(batch)
        loop = _event_loop(os.getpid())
        future = asyncio.run_coroutine_threadsafe(batch.settle(), loop)
        try:
            settled = future.result()
        except KeyboardInterrupt:
            batch.stop(JudgeIncomplete("interrupted"))
            # Calls in flight are paid, but are not waited for for ever.
            with suppress(TimeoutError):
                future.exception(timeout=GRACE_S)
            raise
        finally:
            self._batches.discard(batch)
        return [settled[key] for key in batch.keys]

    def has_answered(self, requests: Sequence[Request]) -> bool:
        """Whether the ledger has the answers of all requests: none would be sent."""
        keys = {request_key(self.binding, request) for request in requests}
        return self.ledger.settled(list(keys)).keys() == keys

    def interrupt(self) -> None:
        """End what other threads are asking, once calls in flight are recorded."""
        # Copied: a batch that ends meanwhile leaves the set.
        for batch in list(self._batches):
            batch.stop(JudgeIncomplete("interrupted"))

    def require_readable(self, values: Sequence[object | None]) -> None:
        """Count the answers that could be read, of all that this asker got.

        Raises:
            NothingReadable: of ten none could, or of forty fewer than half.
        """
        self._answer_count += len(values)
        self._readable_count += sum(value is not None for value in values)
        least = 0.0
        if self._answer_count >= MIN_ANSWERS_TO_JUDGE:
            least = 1.0
        if self._answer_count >= ANSWERS_TO_COUNT:
            least = self._answer_count / 2
        if self._readable_count < least:
            readable = self._readable_count or "none"
            raise NothingReadable(
                f"judge {self.key!r}: of {self._answer_count} answers {readable} can "
                "be read; expected what the prompts ask for. Look at its model, mode, "
                "parameters and prompts, or leave it out of the preset. Where its "
                "service was at fault, name another $LUNGUAGE_LEDGER: this one keeps "
                "the answers."
            )

    def require_one_readable(self, values: Sequence[object | None], stage: str) -> None:
        """Refuse answers, however few, of a model of which none could ever be read.

        Args:
            values: what was read in the answers, None where nothing could be.
            stage: what the model was asked for, as the ledger names it.

        Raises:
            NothingReadable: there are some, none could be read, and the ledger has none
                that could.
        """
        if not values or any(value is not None for value in values):
            return
        mine = {"judge": self.key, "stage": stage, "model": self.binding.model}
        for row in self.ledger.statistics().to_dict("records"):
            if row["valid"] and mine.items() <= row.items():
                return
        raise NothingReadable(
            f"judge {self.key!r}: none of its {len(values)} answers can be read, and "
            "none was before; expected what the prompts ask for. Look at its model, "
            "mode, parameters and prompts, or choose another structurer."
        )

    async def call(
        self, attempt: Attempt, request: Request
    ) -> tuple[Attempt, ProviderFailure | None, bool]:
        """Send a request once, as soon as places, rate and budget let it go.

        Args:
            attempt: what is known of the call.
            request: the question.

        Returns:
            The call as it ended, not yet recorded; why no reply came; and whether that
            may only come of too many calls at once.

        Raises:
            BudgetExceeded: the call could pass a ceiling.
            LunguageError: the policy refused, or something is not configured.
        """
        worst_usd = self._worst_usd(request.prompt)
        await self.limiter.turn()
        failure: ProviderFailure | None = None
        asks_too_much = False
        # Where nothing was sent, nothing is paid.
        ended = replace(attempt, cost_usd=0.0)
        started = time.monotonic()
        budget = self._budget
        try:
            if budget is not None:
                places = self.limits.in_flight
                budget.begin(self.key, worst_usd, places, self.ledger)
            try:
                reply = await self._provider.answer(request)
                ended = self._with_reply(attempt, reply, time.monotonic() - started)
            except ProviderFailure as error:
                failure = error
                may_be_billed = failure.kind in _MAY_BE_BILLED
                cost_usd = worst_usd if may_be_billed else 0.0
                ended = replace(attempt, failure=failure.kind, cost_usd=cost_usd)
            finally:
                if budget is not None and worst_usd is not None:
                    budget.end(worst_usd, ended.cost_usd)
        finally:
            asks_too_much = self.limiter.leave(failure)
        return ended, failure, asks_too_much

    def _worst_usd(self, prompt: Prompt) -> float | None:
        """Compute the most that a call can cost; None: unknown."""
        most_output_tokens = output_limit(self.binding)
        if self._price is None or most_output_tokens is None:
            return None
        return self._price.cost(estimated_input_tokens(prompt), most_output_tokens)

    def _with_reply(self, attempt: Attempt, reply: Reply, seconds: float) -> Attempt:
        """Complete a call by the reply that came."""
        cost_usd = None
        if self._price is not None and reply.metered:
            cost_usd = self._price.cost(reply.input_tokens, reply.output_tokens)
        self.has_replied = True
        name = reply.returned_model
        is_requested = name == self.binding.model or name in self.binding.aliases
        failure: Flaw | None = None
        # A service that refuses a prompt may leave out the model's name.
        if not is_requested and not (reply.refused and not name):
            failure = "wrong_model"
        elif reply.refused:
            failure = "refused"
        if not is_requested and not _MODEL_NAME.fullmatch(name):
            # A broken service may put anything there, the prompt too.
            name = "(not a model's name)"
        return replace(
            attempt,
            answer=reply.text,
            margin=reply.margin,
            failure=failure,
            returned_model=name,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            reasoning_tokens=reply.reasoning_tokens,
            cost_usd=cost_usd,
            latency_s=seconds,
        )


class _Batch:
    """Questions to one model, asked until each is settled or an error stops all.

    Args:
        asker: that asks them.
        requests: the questions; the same one may stand there several times.
        parse: reads an answer; None: it is not one.
    """

    def __init__(
        self,
        asker: Asker,
        requests: Sequence[Request],
        parse: Parse[object],
    ) -> None:
        self.keys = [request_key(asker.binding, request) for request in requests]
        self._asker = asker
        # Equal questions have one key, and are asked once.
        self._request_by_key = dict(zip(self.keys, requests, strict=True))
        self._parse = parse
        self._settled: dict[str, Settled] = {}
        # By the failure after which they were: only counts appear in messages.
        self._given_up: Counter[str] = Counter()
        self._consecutive_failures = 0
        self._error: LunguageError | None = None

    async def settle(self) -> dict[str, Settled]:
        """Settle all questions; see `Asker.answers`."""
        questions = list(self._request_by_key)
        self._settled = await asyncio.to_thread(self._asker.ledger.settled, questions)
        hits = list(self._settled.values())
        self._report(
            questions=len(questions),
            hits=len(hits),
            settled=len(hits),
            invalid_before=sum(question.invalid for question in hits),
            void=sum(question.answer is None for question in hits),
        )
        open_keys = deque(key for key in questions if key not in self._settled)
        # No more workers than places: who waits after a failure is not replaced.
        workers = min(len(open_keys), self._asker.limits.in_flight)
        await asyncio.gather(*(self._work(open_keys) for _ in range(workers)))
        self._raise_if_incomplete()
        return self._settled

    def stop(self, error: LunguageError) -> None:
        """Send nothing more; the first error counts."""
        self._error = self._error or error

    async def _work(self, open_keys: deque[str]) -> None:
        """Settle question after question; the first error stops all workers."""
        try:
            while open_keys and self._error is None:
                await self._settle_question(open_keys.popleft())
        except LunguageError as error:
            self.stop(error)
        except Exception as error:
            # Only its type is told: its text may hold a prompt or an answer.
            unexpected = MethodError(
                f"judge {self._asker.key!r} failed unexpectedly "
                f"({type(error).__name__}). Please report this."
            )
            self.stop(unexpected)

    async def _settle_question(self, key: str) -> None:
        """Ask a question until it is settled, or given up after failures."""
        failures = 0
        request = self._request_by_key[key]
        asker = self._asker
        while key not in self._settled and self._error is None:
            attempt = Attempt(key, asker.key, request.task, asker.binding.model)
            attempt, failure, asks_too_much = await asker.call(attempt, request)
            await self._record(attempt)
            if failure is None:
                self._consecutive_failures = 0
                continue
            # The question did not fail: the server has fewer places.
            if asks_too_much:
                self._report(retried=1)
                continue
            failures += 1
            wait_s = asker.limiter.backoff(failures, failure)
            is_unreachable = failure.kind == "connection" and not asker.has_replied
            if is_unreachable and failures >= MAX_CONNECT_ATTEMPTS:
                wait_s = None
            if wait_s is None:
                self._give_up(failure)
                return
            self._report(retried=1)
            await asyncio.sleep(wait_s)

    async def _record(self, attempt: Attempt) -> None:
        """Record a call, and take its answer if it settles the question."""
        is_reply = attempt.failure is None
        if is_reply and self._parse(attempt.answer or "") is None:
            attempt = replace(attempt, failure="unreadable")
        settled = await asyncio.to_thread(self._asker.ledger.record, attempt)
        if settled is not None:
            self._settled[attempt.key] = settled
        self._report(
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
                f"judge {self._asker.key!r}: model {attempt.model!r} was requested and "
                f"{attempt.returned_model!r} answered; expected the requested one or a "
                "listed alias. The judge was stopped and the answer is not used. If "
                "both are the same model, add the name to the judge's aliases and run "
                "again."
            )

    def _give_up(self, failure: ProviderFailure) -> None:
        """Leave a question open; stop where the others would fare no better."""
        self._report(failures=1)
        self._given_up[str(failure)] += 1
        self._consecutive_failures += 1
        is_judge_down = self._consecutive_failures >= MAX_CONSECUTIVE_FAILURES
        if is_judge_down or failure.kind == "authentication":
            self.stop(JudgeIncomplete("its service refuses or keeps failing"))

    def _report(self, **counts: Any) -> None:
        self._asker.report(Progress(self._asker.key, **counts))

    def _raise_if_incomplete(self) -> None:
        total = len(self._request_by_key)
        missing = total - len(self._settled)
        judge = self._asker.key
        if isinstance(self._error, BudgetExceeded):
            raise BudgetExceeded(
                f"{self._error} {missing} of {total} questions of judge {judge!r} have "
                "no answer yet."
            )
        if self._error is not None and not isinstance(self._error, JudgeIncomplete):
            raise self._error
        if not missing:
            return
        reasons = [
            f"{count} x {failure}" for failure, count in sorted(self._given_up.items())
        ]
        if self._error is not None:
            reasons.append(str(self._error))
        raise JudgeIncomplete(
            f"judge {judge!r}: {missing} of {total} questions have no answer "
            f"({', '.join(reasons)}). The other {total - missing} are in the ledger; "
            "run again, and only the missing ones are asked."
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
