"""A slot that is bound to a language model: who asks it, and what `ModelJudge` (hedging phrases) and
`ModelStructurer` (whole reports) have in common.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, Generic, TypeVar

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.asking.engine import GRACE_S, Parse, Round, Settled
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import Mode, ModelBinding, Provider, Request
from lunguage_assets.judges.slots import Limits, Price

T = TypeVar("T")


class Asker:
    """Asks the model of one slot; several threads may ask at once.

    The calls of all askers run in one event loop, in a thread apart: connections are kept from one round of
    questions to the next.

    Args:
        key: the slot's name, for the record and for messages.
        provider: does one attempt; not touched when the ledger has everything.
        ledger: where attempts are found and recorded.
        limits: what may be sent when; what others who share the ledger send counts too.
        budget: ceilings of the run and of the day, or None.
        price: for costs; without it they are null, and a budget refuses.
        progress: told in the event loop of the asking after every recorded attempt.
        time: `clock` and `sleep` for the limiter.
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
        progress: Callable[[Progress], None] | None = None,
        **time: Any,
    ) -> None:
        self.key, self.provider, self.ledger, self.limiter = key, provider, ledger, Limiter(limits, **time)
        self.budget, self.price, self.progress = budget, price, progress
        self._working: set[Future[Any]] = set()
        self._process = 0

    @property
    def binding(self) -> ModelBinding:
        """What of the slot decides its answers."""
        return self.provider.binding

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
        """One `Settled` per request, in their order; identical requests are asked once, settled ones not at
        all (explicit.md section 5).

        An answer that `parse` cannot read is asked for again, up to `attempts.tries_of` its task, then
        invalid for good. A call that fails is tried again as the limiter says. While another asks this model,
        here or in another process that shares the ledger, its answers are waited for. When the waiting is
        interrupted, the asking is, and its end awaited.

        Raises:
            JudgeIncomplete: questions without answer: given up, deadline, or the judge failed altogether.
            BudgetExceeded: the next call could pass a ceiling.
            WrongModel: another model answered.
            LedgerError: a call could not be written down, or an attempt not recorded.
        """
        ended, self._process = threading.Event(), os.getpid()

        async def whole() -> list[Settled[T]]:
            try:
                return await Round(self, parse).settled(requests)
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(whole(), _loop(self._process))
        self._working.add(future)
        future.add_done_callback(self._working.discard)
        try:
            return future.result()
        except BaseException:
            if not ended.is_set():
                future.cancel()
                ended.wait(2 * GRACE_S)
            raise

    def interrupt(self) -> None:
        """End what other threads are asking: calls in flight are recorded, nothing more is sent, and the
        asking threads get an error.
        """
        for future in list(self._working):
            future.cancel()

    def close(self) -> None:
        """Close the connections."""
        if self._process == os.getpid():
            asyncio.run_coroutine_threadsafe(self.provider.close(), _loop(self._process)).result()


@lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """This process's event loop for all judges, running in a thread of its own; a forked process has its
    own.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="judges", daemon=True).start()
    return loop


P = TypeVar("P")

MANY = 10
"""Answers of which one at least can be read, if the model is any use."""


class NothingReadable(LunguageError):
    """No answer of a model can be read."""


class AskedModel(ABC, Generic[P]):
    """A slot with its prompts, asked by its asker; several threads may ask at once."""

    def __init__(self, asker: Asker, prompts: P, mode: Mode = "text") -> None:
        self._asker, self._prompts, self._mode = asker, prompts, mode
        self._asked = self._read = 0

    def _require_readable(self, readable: Sequence[bool]) -> None:
        """Count whether answers could be read, all that this object got.

        Raises:
            NothingReadable: there are many, and none could.
        """
        self._asked += len(readable)
        self._read += sum(readable)
        if self._asked >= MANY and not self._read:
            raise NothingReadable(
                f"judge {self.key!r}: of {self._asked} answers none can be read; expected what the prompts "
                "ask for. Look at its model, mode, parameters and prompts, or leave it out of the preset. "
                "Where its service was at fault, name another $LUNGUAGE_LEDGER: this one keeps the answers."
            )

    @property
    def key(self) -> str:
        return self._asker.key

    @property
    def identity(self) -> str:
        """What changes the answers: see `model_identity`."""
        return self.identity_of(self._asker.binding, self._prompts, self._mode)

    @staticmethod
    @abstractmethod
    def identity_of(binding: ModelBinding, prompts: P, mode: Mode) -> str:
        """Identity of a slot that nobody has opened."""

    def interrupt(self) -> None:
        """End what other threads are asking; see `Asker.interrupt`."""
        self._asker.interrupt()

    def close(self) -> None:
        """Close the connections."""
        self._asker.close()


def model_identity(binding: ModelBinding, mode: Mode, deciding: str) -> str:
    """A language model's identity: provider, model, mode, and a hash of whatever else decides its answers."""
    digest = hashlib.sha256(deciding.encode("ascii")).hexdigest()[:12]
    return f"{binding.endpoint_class}/{binding.model}/{mode}/{digest}"
