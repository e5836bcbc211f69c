"""What one round of questions writes into the ledger: a call before it is sent, its attempt before the answer
is used. Many in one transaction when many wait: a disk does few commits a second.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import Connection

from lunguage_assets.judges.asking.budget import cost
from lunguage_assets.judges.ledger import in_flight
from lunguage_assets.judges.ledger.attempts import Attempt, Flaw, Settlement, storable
from lunguage_assets.judges.ledger.in_flight import Call, Permit
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_place import LedgerError
from lunguage_assets.judges.policy import is_requested, told_name
from lunguage_assets.judges.requests import ModelBinding, ProviderFailure, Reply
from lunguage_assets.judges.slots import Price

T = TypeVar("T")

_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed"})


def ended(
    attempt: Attempt,
    result: Reply | ProviderFailure,
    binding: ModelBinding,
    price: Price | None,
    parse: Callable[[str], object],
) -> Attempt:
    """The attempt with its end; a failure that may have been billed has no known cost.

    A reply's failure is None when it is of the requested model, or of an alias, and can be read.
    """
    if isinstance(result, ProviderFailure):
        cost_usd = None if result.kind in _MAY_BE_BILLED else 0.0
        return replace(attempt, failure=result.kind, cost_usd=cost_usd)
    text = storable(result.text)
    failure: Flaw | None = None
    nameless = result.refused and not result.returned_model
    if not nameless and not is_requested(binding, result.returned_model):
        failure = "wrong_model"
    elif result.refused or parse(text) is None:
        failure = "refused" if result.refused else "unreadable"
    return replace(
        attempt,
        answer=text,
        failure=failure,
        returned_model=told_name(binding, result.returned_model),
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        reasoning_tokens=result.reasoning_tokens,
        cost_usd=cost(result, price),
    )


class WriteQueue:
    """The writes of whoever holds a model's lock; made and used in one event loop, and closed at its end."""

    def __init__(self, ledger: Ledger, lock: str, daily_usd: float | None) -> None:
        self._ledger, self._lock, self._daily_usd = ledger, lock, daily_usd
        self._waiting: list[tuple[Call | Attempt, asyncio.Future[Any]]] = []
        self._wake, self._closing = asyncio.Event(), False
        self._on_their_way: set[str] = set()
        self._working = asyncio.create_task(self._work())

    async def begin(self, call: Call) -> Permit:
        """Whether this call may go out now; then it is in flight until its attempt is recorded."""
        permit: Permit = await self._submit(call)
        if permit.kind == "go":
            self._on_their_way.add(call.receipt)
        return permit

    async def record(self, attempt: Attempt) -> Settlement | None:
        """What settles the question now. Cancelling the waiting does not undo the recording."""
        entry: Settlement | None = await self._submit(attempt)
        self._on_their_way.discard(attempt.receipt)
        return entry

    async def give_back(self, receipt: str) -> None:
        """A call was not sent, and will not be."""
        self._on_their_way.discard(receipt)
        await self._in_transaction(lambda connection: in_flight.forget(connection, [receipt]))

    async def close(self) -> None:
        """Everything submitted is recorded, or has failed, when this returns; what was sent and never
        answered is counted as lost.
        """
        self._closing = True
        self._wake.set()
        await asyncio.shield(self._working)
        with contextlib.suppress(LedgerError):  # said where it was submitted; the next holder counts them
            await asyncio.shield(self._in_transaction(self._leave))

    async def _submit(self, item: Call | Attempt) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        self._wake.set()
        return await asyncio.shield(future)

    async def _work(self) -> None:
        """What is submitted while one lot is being committed is the next lot."""
        while self._waiting or not self._closing:
            await self._wake.wait()
            self._wake.clear()
            lot, self._waiting = self._waiting, []
            if lot:
                await self._commit(lot)

    async def _commit(self, lot: Sequence[tuple[Call | Attempt, asyncio.Future[Any]]]) -> None:
        calls = [item for item, _ in lot if isinstance(item, Call)]
        attempts = [item for item, _ in lot if isinstance(item, Attempt)]

        def work(connection: Connection) -> tuple[list[Permit], list[Settlement | None]]:
            entries = self._ledger.add_all(connection, attempts)
            return in_flight.begin(connection, self._lock, calls, self._daily_usd), entries

        try:
            permits, entries = await self._in_transaction(work)
        except Exception as error:
            for _, future in lot:
                future.set_exception(error)
                future.exception()  # seen, even where nobody waits any more
            return
        results: Mapping[type, Iterator[Any]] = {Call: iter(permits), Attempt: iter(entries)}
        for item, future in lot:
            future.set_result(next(results[type(item)]))

    async def _in_transaction(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.to_thread(self._ledger.transaction, work)

    def _leave(self, connection: Connection) -> None:
        open_ = in_flight.of_lock(connection, self._lock)
        self._ledger.lose(connection, [call for call in open_ if call["receipt"] in self._on_their_way])
        in_flight.forget(connection, [call["receipt"] for call in open_])
