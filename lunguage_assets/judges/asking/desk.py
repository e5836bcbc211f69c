"""Where one round of questions meets the ledger: a question is claimed there before it is sent, and its
attempt recorded before it is used. Many in one transaction when many wait: a disk does few commits a second.

What a claim is, and who gets it, is in `ledger/claims.py`; nothing here knows a prompt or a provider.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from lunguage_assets.judges.ledger import claims, spending
from lunguage_assets.judges.ledger.attempts import Attempt, Settlement
from lunguage_assets.judges.ledger.claims import Terms, Verdict, Wish
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_place import LedgerError
from lunguage_assets.judges.ledger.reading import settled


class Desk:
    """The claims and records of one round; made and used in one event loop, and closed at its end."""

    def __init__(self, ledger: Ledger, terms: Terms) -> None:
        self._ledger, self._terms, self._owner = ledger, terms, uuid.uuid4().hex
        self._waiting: list[tuple[Wish | Attempt, asyncio.Future[Any]]] = []
        self._wake, self._closing = asyncio.Event(), False
        self._on_their_way: set[str] = set()
        self._working = asyncio.create_task(self._work())
        self._beating = asyncio.create_task(self._beat())

    async def claim(self, wish: Wish) -> Verdict:
        """Whether this call may go out now; then nobody else asks its question until it is recorded."""
        verdict: Verdict = await self._hand_in(wish)
        if verdict.kind == "go":
            self._on_their_way.add(wish.receipt)
        return verdict

    async def record(self, attempt: Attempt) -> Settlement | None:
        """What settles the question now. Cancelling the waiting does not undo the recording."""
        entry: Settlement | None = await self._hand_in(attempt)
        self._on_their_way.discard(attempt.receipt)
        return entry

    async def give_back(self, receipt: str) -> None:
        """A call that was claimed was not sent, and will not be."""
        self._on_their_way.discard(receipt)
        await asyncio.to_thread(
            self._ledger.transaction, lambda connection: claims.give_back(connection, receipt)
        )

    async def look(self, keys: Sequence[str]) -> tuple[dict[str, Settlement], set[str]]:
        """Of questions that others had claimed: those that are settled by now, and those that are still
        claimed.
        """

        def work(connection: Connection) -> tuple[dict[str, Settlement], set[str]]:
            self._ledger.end_dead(connection)
            return settled(connection, keys), set(claims.claimed(connection, keys))

        return await asyncio.to_thread(self._ledger.transaction, work)

    async def close(self) -> None:
        """Everything handed in is recorded, or has failed, when this returns; what was sent and never
        answered is counted as lost, and no claim is left.
        """
        self._beating.cancel()
        self._closing = True
        self._wake.set()
        await asyncio.shield(self._working)
        with contextlib.suppress(LedgerError):  # said where it was handed in; the claims end by themselves
            await asyncio.shield(asyncio.to_thread(self._ledger.transaction, self._leave))

    async def _hand_in(self, item: Wish | Attempt) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        self._wake.set()
        return await asyncio.shield(future)

    async def _work(self) -> None:
        """What is handed in while one lot is being committed is the next lot."""
        while self._waiting or not self._closing:
            await self._wake.wait()
            self._wake.clear()
            lot, self._waiting = self._waiting, []
            if lot:
                await self._commit(lot)

    async def _commit(self, lot: Sequence[tuple[Wish | Attempt, asyncio.Future[Any]]]) -> None:
        wishes = [item for item, _ in lot if isinstance(item, Wish)]
        attempts = [item for item, _ in lot if isinstance(item, Attempt)]
        try:
            verdicts, entries = await asyncio.to_thread(self._transact, wishes, attempts)
        except Exception as error:
            for _, future in lot:
                future.set_exception(error)
                future.exception()  # seen, even where nobody waits any more
            return
        results: Mapping[type, Iterator[Any]] = {Wish: iter(verdicts), Attempt: iter(entries)}
        for item, future in lot:
            future.set_result(next(results[type(item)]))

    def _transact(
        self, wishes: Sequence[Wish], attempts: Sequence[Attempt]
    ) -> tuple[list[Verdict], list[Settlement | None]]:
        def work(connection: Connection) -> tuple[list[Verdict], list[Settlement | None]]:
            entries = self._ledger.add_all(connection, attempts)
            if not wishes:
                return [], entries
            return self._ledger.claim(connection, self._owner, self._terms, wishes), entries

        return self._ledger.transaction(work)

    def _leave(self, connection: Connection) -> None:
        open_ = claims.forget(connection, [self._owner])
        self._ledger.lose(connection, [call for call in open_ if call["receipt"] in self._on_their_way])

    async def _beat(self) -> None:
        """Signs of life, while calls take long."""

        def work(connection: Connection) -> None:
            now = spending.clock(connection)
            claims.prolong(connection, self._owner, now + self._ledger.lease_s)
            claims.prune(connection, now)

        while True:
            await asyncio.sleep(self._ledger.lease_s / 4)
            with contextlib.suppress(LedgerError):  # the next claim or record says so
                await asyncio.to_thread(self._ledger.transaction, work)
