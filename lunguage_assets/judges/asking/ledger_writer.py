"""Group commit: what many calls have to write at the same time is one transaction.

Every call is written down before it is sent and recorded before its answer is used, and
each of these must be on disk. A disk does few commits a second, so that calls in flight
share them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from lunguage_assets.judges.ledger.ledger import Ledger

R = TypeVar("R")


@dataclass(frozen=True)
class _PendingWrite:
    """Work that waits for its transaction, and where its result is awaited."""

    work: Callable[[sa.Connection], Any]
    result: asyncio.Future[Any]


class LedgerWriter:
    """Writes to a ledger what several tasks of one event loop ask for.

    Args:
        ledger: the ledger to write to.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._pending: asyncio.Queue[_PendingWrite] = asyncio.Queue()

    async def write(self, work: Callable[[sa.Connection], R]) -> R:
        """Do some work on the ledger; return what it returns once that is on disk.

        Raises:
            LedgerError: nothing was written.
        """
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._pending.put_nowait(_PendingWrite(work, result))
        return await result

    async def run(self) -> None:
        """Commit what waits, again and again, until cancelled."""
        while True:
            # What came during the last commit is the next one.
            writes = [await self._pending.get()]
            while not self._pending.empty():
                writes.append(self._pending.get_nowait())
            await self._commit(writes)

    async def _commit(self, writes: list[_PendingWrite]) -> None:
        def work_through(connection: sa.Connection) -> list[Any]:
            return [write.work(connection) for write in writes]

        try:
            values = await asyncio.to_thread(self._ledger.transaction, work_through)
        except Exception as error:
            # What fails for one call is on disk for none of them.
            for write in writes:
                write.result.set_exception(error)
            return
        for write, value in zip(writes, values, strict=True):
            write.result.set_result(value)
