"""Many writes to a ledger in few commits."""

from __future__ import annotations

import asyncio
from typing import Any

from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger


class Commits:
    """The writes of whoever holds a model's lock, in one event loop: a call before it is sent, its attempt
    before the answer is used. What waits while one lot is committed is the next lot: a disk does few commits
    a second.
    """

    def __init__(self, ledger: Ledger, lock: str, daily_usd: float | None) -> None:
        self._ledger, self._lock, self._daily_usd = ledger, lock, daily_usd
        self._waiting: list[tuple[Attempt, float | None, asyncio.Future[Any]]] = []
        self._committing: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def write(self, attempt: Attempt, worst_usd: float | None = None) -> Any:
        """The permit of a call that costs at most `worst_usd`; without it, what settles the question now that
        the attempt is recorded. Cancelling the waiting does not undo it.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((attempt, worst_usd, future))
        task = asyncio.create_task(self._commit())
        self._committing.add(task)
        task.add_done_callback(self._committing.discard)
        return await asyncio.shield(future)

    async def close(self) -> None:
        """Everything submitted is recorded, or has failed, when this returns."""
        while self._committing:
            await asyncio.wait(self._committing)

    async def _commit(self) -> None:
        async with self._turn:
            lot, self._waiting = self._waiting, []
            if not lot:
                return
            begun = [(attempt, worst) for attempt, worst, _ in lot if worst is not None]
            ended = [attempt for attempt, worst, _ in lot if worst is None]
            write = self._ledger.write
            try:
                permits, entries = await asyncio.to_thread(write, self._lock, begun, ended, self._daily_usd)
            except Exception as error:
                for _, _, future in lot:
                    future.set_exception(error)
                    future.exception()  # seen, even where nobody waits any more
                return
            results = iter(permits), iter(entries)
            for _, worst, future in lot:
                future.set_result(next(results[worst is None]))
