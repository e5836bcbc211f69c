"""The ledger: every attempt to get an answer from a model, stored before the answer is used, and found again
by its key.

Storage only: SQLite or PostgreSQL, durable and safe for several processes. What is asked of a ledger is in
`reading.py`, where it is and how it is connected to in `ledger_place.py`, what a key is and how attempts
settle a question in `attempts.py`, files to exchange in `exchange.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, delete, func, insert, inspect, select
from sqlalchemy.exc import InterfaceError, OperationalError

from lunguage_assets.judges.ledger import claims, exchange, spending
from lunguage_assets.judges.ledger.attempts import Attempt, Settlement, lost, lost_receipt, storable
from lunguage_assets.judges.ledger.ledger_place import LedgerError as LedgerError
from lunguage_assets.judges.ledger.ledger_place import (
    is_lasting,
    ledger_engine,
    ledger_url,
    make_private,
    shown_place,
)
from lunguage_assets.judges.ledger.reading import ATTEMPTS, CHUNK, METADATA, LedgerReader, settled

T = TypeVar("T")

_WRITE_TRIES = 5
_ADVISORY_LOCK = 0x6C756E67  # "lung": one writer at a time, as in SQLite


class Ledger(LedgerReader):
    """Recorded attempts at a place, to be read and added to; made by `Ledger.open`."""

    def __init__(
        self, engine: Engine, place: str, *, store_prompts: bool = False, lease_s: float = claims.LEASE_S
    ) -> None:
        super().__init__(engine, place)
        self._store_prompts, self._lease_s = store_prompts, lease_s

    @classmethod
    def open(
        cls, where: str | Path, *, store_prompts: bool = False, lease_s: float = claims.LEASE_S
    ) -> Ledger:
        """The ledger in an SQLite file (a path or `sqlite:///path`) or in PostgreSQL (`postgresql://...`),
        made when it is not there.

        `store_prompts` also stores system and user text with each attempt: report text, in plain. `lease_s`:
        so long after its last sign of life a process counts as dead, and others ask what it had claimed.

        Raises:
            LedgerError: no driver, no permission, not a ledger, or a file system without SQLite's write-ahead
                log.
        """
        url = ledger_url(where)
        place = shown_place(url)
        if url.get_backend_name() == "sqlite":
            make_private(Path(str(url.database)))
        ledger = cls(ledger_engine(url), place, store_prompts=store_prompts, lease_s=lease_s)
        ledger._create()
        return ledger

    @property
    def lease_s(self) -> float:
        """Seconds from a sign of life of this process to its claims' end."""
        return self._lease_s

    @property
    def stores_prompts(self) -> bool:
        """Whether prompt text is stored with each attempt."""
        return self._store_prompts

    def record(self, attempt: Attempt) -> Settlement | None:
        """Store one attempt; on disk when this returns. What settles its question now: perhaps an earlier
        answer of another process.
        """
        return self.record_all([attempt])[0]

    def record_all(self, attempts: Sequence[Attempt]) -> list[Settlement | None]:
        """Store attempts in one transaction, on disk when this returns; for each, what settles its question
        now, if anything does.

        Raises:
            LedgerError: nothing was stored.
        """

        return self._write(lambda connection: self.add_all(connection, attempts))

    def add_all(self, connection: Connection, attempts: Sequence[Attempt]) -> list[Settlement | None]:
        """As `record_all`, as part of a `transaction`."""
        if not attempts:
            return []
        self.add(connection, attempts)
        entries = settled(connection, sorted({attempt.key for attempt in attempts}))
        return [entries.get(attempt.key) for attempt in attempts]

    def add(self, connection: Connection, attempts: Sequence[Attempt]) -> int:
        """Store attempts as part of a `transaction`, and end their claims; how many of them were not
        there.
        """
        return self._add(connection, [self._row(attempt) for attempt in attempts])

    def end_dead(self, connection: Connection, owners: Sequence[str] | None = None) -> None:
        """End the claims of owners without a sign of life, as part of a `transaction`: their calls are lost.

        `owners`: who they are, where that is known.
        """
        if owners is None:
            now, askers = claims.askers(connection)
            owners = [asker.owner for asker in askers if asker.is_dead(now)]
        if owners:
            self.lose(connection, claims.forget(connection, owners))

    def lose(self, connection: Connection, calls: Sequence[Mapping[str, Any]]) -> None:
        """Count claimed calls as sent without an answer, as part of a `transaction`; each has cost its
        worst.
        """
        self.add(connection, [lost(call) for call in calls])
        spending.spend(connection, [(call["time"], call["worst"]) for call in calls])

    def in_flight(self) -> int:
        """How many calls are claimed and not answered yet, after those of dead processes were counted as
        lost.
        """

        def count(connection: Connection) -> int:
            self.end_dead(connection)
            return int(connection.scalar(select(func.count()).select_from(claims.CLAIMS)) or 0)

        return self._write(count)

    def transaction(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, done in one transaction, alone among all writers; for tables that stand beside
        the attempts.
        """
        return self._write(work)

    def export(self, path: Path, *, prompts: bool = False) -> int:
        """All attempts as one Parquet file (mode 0600), sorted by key and attempt; the number of rows.

        Prompts are left out unless asked for, even where they are stored.
        """
        with self._reading() as connection:
            rows = (
                connection.execute(select(ATTEMPTS).order_by(ATTEMPTS.c.key, ATTEMPTS.c.attempt))
                .mappings()
                .all()
            )
        exchange.write(path, ({**row, "prompt": row["prompt"] if prompts else None} for row in rows))
        return len(rows)

    def import_(self, path: Path) -> tuple[int, int]:
        """Add the attempts of an exported file that are not here yet, after those that are; (added, already
        here).

        A question that is settled here stays as it is: results that were computed do not change.

        Raises:
            InputError: not an exported ledger; nothing was added.
        """
        rows = exchange.read(path)
        for row in rows:
            row["prompt"] = row["prompt"] if self._store_prompts else None
        added = self._write(lambda connection: self._add(connection, rows)) if rows else 0
        return added, len(rows) - added

    def _row(self, attempt: Attempt) -> dict[str, Any]:
        return {
            **{name: getattr(attempt, name) for name in exchange.PLAIN},
            "answer": None if attempt.answer is None else storable(attempt.answer),
            "valid": attempt.valid,
            "refused": attempt.failure == "refused",
            "prompt": storable(attempt.prompt)
            if self._store_prompts and attempt.prompt is not None
            else None,
        }

    def _add(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert those rows whose receipt is not there, numbered after the attempts of their key; how
        many.
        """
        known: set[str] = set()
        last: dict[str, int] = {}
        receipts, keys = [row["receipt"] for row in rows], sorted({row["key"] for row in rows})
        for start in range(0, len(receipts), CHUNK):
            known.update(
                connection.scalars(
                    select(ATTEMPTS.c.receipt).where(ATTEMPTS.c.receipt.in_(receipts[start : start + CHUNK]))
                )
            )
        for start in range(0, len(keys), CHUNK):
            numbers = select(ATTEMPTS.c.key, func.max(ATTEMPTS.c.attempt)).where(
                ATTEMPTS.c.key.in_(keys[start : start + CHUNK])
            )
            last.update((row[0], row[1]) for row in connection.execute(numbers.group_by(ATTEMPTS.c.key)))
        new = []
        for row in rows:
            if row["receipt"] not in known:
                known.add(row["receipt"])
                last[row["key"]] = last.get(row["key"], 0) + 1
                new.append({**row, "attempt": last[row["key"]]})
        if new:
            connection.execute(insert(ATTEMPTS), new)
            after_all = [lost_receipt(receipt) for receipt in claims.end(connection, new)]
            for start in range(0, len(after_all), CHUNK):
                those = ATTEMPTS.c.receipt.in_(after_all[start : start + CHUNK])
                connection.execute(delete(ATTEMPTS).where(those))
        return len(new)

    def _create(self) -> None:
        def create(connection: Connection) -> None:
            before = inspect(connection).has_table(spending.SPENDING.name)
            METADATA.create_all(connection)
            found = {column["name"] for column in inspect(connection).get_columns(ATTEMPTS.name)}
            if missing := {column.name for column in ATTEMPTS.columns} - found:
                raise LedgerError(
                    f"ledger {self._place}: table {ATTEMPTS.name} lacks columns "
                    f"{sorted(missing)}; expected a ledger of this version."
                    " Name another place, or import an export of it."
                )
            if not before:
                spending.seed(connection)

        self._write(create)

    def _write(self, work: Callable[[Connection], T]) -> T:
        """`work` in one transaction, alone among all writers. Tried again when the connection fails: receipts
        make that harmless.
        """
        for remaining in reversed(range(_WRITE_TRIES)):
            with self._translated():
                try:
                    with (
                        self._connection().execution_options(ledger_writes=True) as connection,
                        connection.begin(),
                    ):
                        if connection.dialect.name == "postgresql":
                            connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
                        return work(connection)
                except (OperationalError, InterfaceError) as error:
                    if not remaining or is_lasting(error):
                        raise
            time.sleep(0.2)
        raise AssertionError("the last try returns or raises")
