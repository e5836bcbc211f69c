"""Asynchronous work for callers that are not: one event loop in a thread, shared by all judges of the
process.

Shared, because loops in several threads take the interpreter from each other: four judges at once answer a
third fewer questions a second so.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


class _Loop:
    """A running event loop; it ends when nobody holds it any more."""

    def __init__(self) -> None:
        self.loop, self.process = asyncio.new_event_loop(), os.getpid()
        threading.Thread(target=_serve, args=(self.loop,), name="judges", daemon=True).start()
        weakref.finalize(self, self.loop.call_soon_threadsafe, self.loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


_lock = threading.Lock()
_shared: weakref.ReferenceType[_Loop] | None = None


def _shared_loop() -> _Loop:
    """This process's loop, started when nobody holds one, and anew in a forked process."""
    global _shared
    with _lock:
        found = _shared() if _shared is not None else None
        if found is None or found.process != os.getpid():
            found = _Loop()
            _shared = weakref.ref(found)
        return found


@dataclass(eq=False)
class Background:
    """One judge's work in the shared loop, which it holds from its first work until it is closed or
    forgotten.
    """

    grace_s: float
    _held: _Loop | None = None
    _working: set[Future[Any]] = field(default_factory=set)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. When the waiting is interrupted, the work is cancelled and its end awaited,
        twice `grace_s` at most.
        """
        ended = threading.Event()

        async def whole() -> T:
            try:
                return await work
            finally:
                ended.set()

        if self._held is None or self._held.process != os.getpid():
            self._held = _shared_loop()
        future = asyncio.run_coroutine_threadsafe(whole(), self._held.loop)
        self._working.add(future)
        future.add_done_callback(self._working.discard)
        try:
            return future.result()
        except BaseException:
            if not ended.is_set():
                future.cancel()
                ended.wait(2 * self.grace_s)
            raise

    def interrupt(self) -> None:
        """Cancel the work that `run` waits for in any thread."""
        for future in list(self._working):
            future.cancel()

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `last` in the loop, if there was any work, and let go of it."""
        held, self._held = self._held, None
        if held is not None and held.process == os.getpid():
            asyncio.run_coroutine_threadsafe(last(), held.loop).result()
