"""A slot that is bound to a language model: who asks it, and what everything asked of it has in common.

What a model is asked about is up to `ModelJudge` (hedging phrases) and `ModelStructurer` (whole reports).
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
from lunguage_assets.judges.asking.engine import GRACE_S, Asking, Parse, Settled, ask
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import Mode, ModelBinding, Provider, Request
from lunguage_assets.judges.slots import Limits, Price

T = TypeVar("T")


class Asker:
    """Asks the model of one slot.

    The calls of all askers run in one event loop, in a thread apart: connections are kept from one round of
    questions to the next, and a caller that itself runs in an event loop can use it too. Several threads may
    ask at once.
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
    ) -> None:
        self.key, self._provider = key, provider
        self._asking = Asking(key, ledger, Limiter(limits), budget, price, progress)
        self._working: set[Future[Any]] = set()
        self._process = 0

    @property
    def binding(self) -> ModelBinding:
        """What of the slot decides its answers."""
        return self._provider.binding

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
        """One `Settled` per request, in their order. When the waiting is interrupted, the asking is, and its
        end awaited.

        Raises:
            LunguageError: see `engine.ask`; what was answered is in the ledger.
        """
        ended, self._process = threading.Event(), os.getpid()

        async def whole() -> list[Settled[T]]:
            try:
                return await ask(requests, self._provider, self._asking, parse)
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
            asyncio.run_coroutine_threadsafe(self._provider.close(), _loop(self._process)).result()


@lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """This process's event loop for all judges, running in a thread of its own from the first question on.

    One for all, because loops in several threads take the interpreter from each other; a forked process has
    its own.
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
