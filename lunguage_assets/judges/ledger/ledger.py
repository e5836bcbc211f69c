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

from sqlalchemy import Connection, func, insert, inspect, select
from sqlalchemy.exc import InterfaceError, OperationalError

from lunguage_assets.errors import InputError
from lunguage_assets.judges.ledger import exchange, in_flight
from lunguage_assets.judges.ledger.attempts import Attempt, Settlement, lost, storable
from lunguage_assets.judges.ledger.ledger_place import (
    LedgerError,
    ModelLock,
    is_lasting,
    ledger_engine,
    ledger_url,
    shown_place,
)
from lunguage_assets.judges.ledger.reading import ATTEMPTS, METADATA, PLAIN, LedgerReader, rows_among, settled

T = TypeVar("T")

_WRITE_TRIES = 5
_ADVISORY_LOCK = 0x6C756E67  # "lung": one writer at a time, as in SQLite


class Ledger(LedgerReader):
    """Recorded attempts at a place, without their prompts, to be read and added to; see `Ledger.open`."""

    @classmethod
    def open(cls, where: str | Path) -> Ledger:
        """The ledger in an SQLite file (a path or `sqlite:///path`) or in PostgreSQL (`postgresql://...`),
        made when it is not there.

        Raises:
            LedgerError: no driver, no permission, not a ledger, or a file system without SQLite's write-ahead
                log.
        """
        url = ledger_url(where)
        ledger = cls(ledger_engine(url), shown_place(url))
        ledger.transaction(ledger._create)
        return ledger

    def record(self, attempt: Attempt) -> Settlement | None:
        """Store one attempt; see `record_all`."""
        return self.record_all([attempt])[0]

    def record_all(self, attempts: Sequence[Attempt]) -> list[Settlement | None]:
        """Store attempts in one transaction, on disk when this returns; for each, what settles its question
        now, if anything does: perhaps an earlier answer of another process.

        Raises:
            LedgerError: nothing was stored.
        """
        return self.transaction(lambda connection: self.add_all(connection, attempts))

    def add_all(self, connection: Connection, attempts: Sequence[Attempt]) -> list[Settlement | None]:
        """As `record_all`, as part of a `transaction`."""
        self._add(connection, [self._row(attempt) for attempt in attempts])
        entries = settled(connection, sorted({attempt.key for attempt in attempts}))
        return [entries.get(attempt.key) for attempt in attempts]

    def try_lock(self, name: str) -> ModelLock | None:
        """The lock of a model (`lock.lock_name`); None while another holds it, in this process or elsewhere.
        What its last holder had in flight when it died is counted as lost.

        Raises:
            LedgerError: as everywhere.
        """
        lock = self._try_lock(name)
        if lock is not None:
            try:
                with self._reading() as connection:
                    left = in_flight.of_lock(connection, name)
                if left:
                    self.transaction(lambda connection: self._lose_of(connection, name))
            except BaseException:
                lock.release()
                raise
        return lock

    def count_lost(self) -> None:
        """Count the calls that processes had in flight when they died as lost."""
        with self._reading() as connection:
            names = in_flight.locks(connection)
        for name in names:
            if (lock := self.try_lock(name)) is not None:
                lock.release()

    def _try_lock(self, name: str) -> ModelLock | None:
        with self._translated():
            if self._engine.dialect.name == "postgresql":
                return ModelLock.in_session(self._connection(), name)
            return ModelLock.in_file(Path(self.place), name)

    def _lose_of(self, connection: Connection, name: str) -> None:
        calls = in_flight.of_lock(connection, name)
        self.lose(connection, calls)
        in_flight.forget(connection, [call["receipt"] for call in calls])

    def lose(self, connection: Connection, calls: Sequence[Mapping[str, Any]]) -> None:
        """Count calls in flight as sent without an answer, as part of a `transaction`; each has cost its
        worst.
        """
        self._add(connection, [self._row(lost(call)) for call in calls])
        in_flight.spend(connection, [(call["time"], call["worst"]) for call in calls])

    def in_flight(self) -> int:
        """Calls that are sent and not answered yet, after those of dead processes were counted as lost."""
        self.count_lost()
        with self._reading() as connection:
            return int(connection.scalar(select(func.count()).select_from(in_flight.IN_FLIGHT)) or 0)

    def export(self, path: Path) -> int:
        """All attempts as one Parquet file (mode 0600), sorted by key and attempt; the number of rows."""
        with self._reading() as connection:
            rows = connection.execute(select(ATTEMPTS)).mappings().all()
        exchange.write(path, ({**row, "prompt": None} for row in rows))
        return len(rows)

    def import_(self, path: Path, parsers: exchange.Parsers) -> tuple[int, int, list[InputError]]:
        """Add the attempts of an exported file that are not here yet, after those that are: how many were
        added, how many were here already, and an error for each row that is left out, because it does not fit
        or its answer is not what its stage's parser would say.

        A question that is settled here stays as it is: results that were computed do not change.

        Raises:
            InputError: not an exported ledger; nothing was added.
        """
        rows, refused = exchange.read(path, parsers)
        added = self.transaction(lambda connection: self._add(connection, rows))
        return added, len(rows) - added, refused

    def transaction(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, done in one transaction, alone among all writers; also for tables that stand
        beside the attempts. Tried again when the connection fails: receipts make that harmless.
        """
        for remaining in reversed(range(_WRITE_TRIES)):
            with self._translated():
                try:
                    writing = self._connection().execution_options(ledger_writes=True)
                    with writing as connection, connection.begin():
                        if connection.dialect.name == "postgresql":
                            connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
                        return work(connection)
                except (OperationalError, InterfaceError) as error:
                    if not remaining or is_lasting(error):
                        raise
            time.sleep(0.2)
        raise AssertionError("the last try returns or raises")

    def _row(self, attempt: Attempt) -> dict[str, Any]:
        return {
            **{name: getattr(attempt, name) for name in PLAIN},
            "answer": None if attempt.answer is None else storable(attempt.answer),
            "valid": attempt.valid,
            "refused": attempt.failure == "refused",
        }

    def _add(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert those rows whose receipt is not there, numbered after the attempts of their key; how
        many.
        """
        c = ATTEMPTS.c
        receipts, keys = [row["receipt"] for row in rows], sorted({row["key"] for row in rows})
        known = {row[0] for row in rows_among(connection, select(c.receipt), c.receipt, receipts)}
        numbers = select(c.key, func.max(c.attempt)).group_by(c.key)
        last = dict(rows_among(connection, numbers, c.key, keys))
        new = []
        for row in rows:
            if row["receipt"] not in known:
                known.add(row["receipt"])
                last[row["key"]] = last.get(row["key"], 0) + 1
                new.append({**row, "attempt": last[row["key"]], "prompt": None})
        if new:
            connection.execute(insert(ATTEMPTS), new)
            in_flight.end(connection, new)
        return len(new)

    def _create(self, connection: Connection) -> None:
        before = inspect(connection).has_table(in_flight.SPENDING.name)
        METADATA.create_all(connection)
        found = {column["name"] for column in inspect(connection).get_columns(ATTEMPTS.name)}
        if missing := set(ATTEMPTS.columns.keys()) - found:
            raise LedgerError(
                f"ledger {self.place}: table {ATTEMPTS.name} lacks columns {sorted(missing)}; expected a "
                "ledger of this version. Name another place, or import an export of it."
            )
        if not before:
            in_flight.seed(connection)
