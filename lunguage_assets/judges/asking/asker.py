"""The asker of a judge: answers from the ledger where they are, else from its model.

Any number of threads may ask. Their batches (`request_batch.py`) share one event loop,
the rate and the budget of the judge; each attempt is recorded before it is used.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, TypeVar

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.asking.limits import Budget, Limiter
from lunguage_assets.judges.asking.model_call import MeteredModel
from lunguage_assets.judges.asking.progress import Progress, announce
from lunguage_assets.judges.asking.request_batch import GRACE_S, Parse, RequestBatch
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.bills import Bill
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import Provider, Request

T = TypeVar("T")

MIN_ANSWERS_TO_JUDGE = 10
"""Answers of which one at least can be read, if the model is any use."""

ANSWERS_TO_COUNT = 40
"""Answers of which half can be read."""


class NothingReadable(LunguageError):
    """No answer of a model can be read."""


class Asker:
    """Asks the model of one judge; several threads may ask at once.

    Args:
        key: of the judge, for the record and for messages.
        provider: of the model; not touched when the ledger has everything.
        ledger: where answers are looked up and recorded.
        limits: of the judge.
        budget: ceilings in US dollars; None: none.
        price: for costs; without it they are null, and a budget refuses.
        progress: told in the event loop what every recorded attempt adds.
        bill: on which calls are charged in the ledger; None: on nobody's.
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
        bill: Bill | None = None,
    ) -> None:
        self.key = key
        self.binding = provider.binding
        self._model = MeteredModel(
            key, provider, ledger, limits, Limiter(limits), budget, price, bill
        )
        self._progress = progress
        self._running: set[Future[Any]] = set()
        self._answer_count = 0
        self._readable_count = 0

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[T | None]:
        """Answer every request, in their order (explicit.md section 5).

        Identical requests are asked once, settled ones not at all. An answer that
        `parse` cannot read is asked for again, up to `attempts.tries_of` its task, then
        the question is invalid for good. A call that fails is tried again as the
        limiter says. While another asks this model, here or in another process that
        shares the ledger, its answers are waited for. When the waiting is interrupted,
        the asking is, and its end awaited.

        Args:
            requests: the questions.
            parse: reads an answer; None: it is not one.

        Returns:
            One value per request; None: it is invalid for good.

        Raises:
            JudgeIncomplete: questions without answer: given up, deadline, or the judge
                failed altogether.
            BudgetExceeded: the next call could pass a ceiling.
            WrongModel: another model answered.
            LedgerError: a call could not be written down, or an attempt not recorded.
        """
        if not requests:
            return []
        has_ended = threading.Event()

        async def settle_batch() -> list[T | None]:
            try:
                # Made in the loop, to which its tasks and locks belong.
                batch = RequestBatch(self._model, requests, parse, self._progress)
                return await batch.settle()
            finally:
                has_ended.set()

        loop = _event_loop(os.getpid())
        future = asyncio.run_coroutine_threadsafe(settle_batch(), loop)
        self._running.add(future)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C ends the waiting here; calls in flight in the loop are paid, and
            # get the time to be recorded.
            if future.cancel():
                has_ended.wait(2 * GRACE_S)
            raise
        finally:
            self._running.discard(future)

    def has_answered(self, requests: Sequence[Request]) -> bool:
        """Whether the ledger has the answers of all requests: none would be sent."""
        keys = {request_key(self.binding, request) for request in requests}
        return len(self._model.ledger.settled(list(keys))) == len(keys)

    def report(self, progress: Progress) -> None:
        """Tell whoever follows the asking what was counted in its answers."""
        self._progress(progress)

    def interrupt(self) -> None:
        """End what other threads are asking.

        Calls in flight are recorded, nothing more is sent, and the asking threads get
        an error.
        """
        # Copied: whoever ends meanwhile leaves the set.
        for future in list(self._running):
            future.cancel()

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
        statistics = self._model.ledger.statistics()
        is_own = (
            (statistics["judge"] == self.key)
            & (statistics["stage"] == stage)
            & (statistics["model"] == self.binding.model)
        )
        if not statistics.loc[is_own, "valid"].sum():
            raise NothingReadable(
                f"judge {self.key!r}: none of its {len(values)} answers can be read, "
                "and none was before; expected what the prompts ask for. Look at its "
                "model, mode, parameters and prompts, or choose another structurer."
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
