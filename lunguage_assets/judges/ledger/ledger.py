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

from lunguage_assets.errors import InputError
from lunguage_assets.judges.ledger import claims, exchange, spending
from lunguage_assets.judges.ledger.attempts import Attempt, Settlement, lost, receipt_of, storable
from lunguage_assets.judges.ledger.ledger_place import (
    LedgerError,
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
    """Recorded attempts at a place, to be read and added to; made by `Ledger.open`.

    `stores_prompts`: whether prompt text is stored with each attempt. `lease_s`: seconds from a sign of life
    of a process to its claims' end.
    """

    def __init__(self, engine: Engine, place: str, *, store_prompts: bool, lease_s: float) -> None:
        super().__init__(engine, place)
        self.stores_prompts, self.lease_s = store_prompts, lease_s

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
        ledger = cls(ledger_engine(url), shown_place(url), store_prompts=store_prompts, lease_s=lease_s)
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
        self.add(connection, attempts)
        entries = settled(connection, sorted({attempt.key for attempt in attempts}))
        return [entries.get(attempt.key) for attempt in attempts]

    def add(self, connection: Connection, attempts: Sequence[Attempt]) -> None:
        """Store attempts as part of a `transaction`, and end their claims."""
        self._add(connection, [self._row(attempt) for attempt in attempts])

    def claim(
        self, connection: Connection, owner: str, terms: claims.Terms, wishes: Sequence[claims.Wish]
    ) -> list[claims.Verdict]:
        """Which of these calls may go out now, as part of a `transaction`; see `claims.claim`."""
        now, owners = self.end_dead(connection)
        if owner not in owners:
            claims.sign(connection, owner, terms, now + self.lease_s)
        return claims.claim(connection, owner, terms, wishes, now)

    def end_dead(self, connection: Connection) -> tuple[float, set[str]]:
        """End the claims of owners without a sign of life, as part of a `transaction`: their calls are lost.
        The database's time, and the owners that are left.
        """
        now, alive, dead = claims.askers(connection)
        if dead:
            self.lose(connection, claims.forget(connection, dead))
        return now, alive

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

        return self.transaction(count)

    def export(self, path: Path, *, prompts: bool = False) -> int:
        """All attempts as one Parquet file (mode 0600), sorted by key and attempt; the number of rows.

        Prompts are left out unless asked for, even where they are stored.
        """
        with self._reading() as connection:
            rows = connection.execute(select(ATTEMPTS)).mappings().all()
        exchange.write(path, ({**row, "prompt": row["prompt"] if prompts else None} for row in rows))
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
        for row in rows:
            row["prompt"] = row["prompt"] if self.stores_prompts else None
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
        prompt = attempt.prompt if self.stores_prompts else None
        return {
            **{name: getattr(attempt, name) for name in PLAIN},
            "answer": None if attempt.answer is None else storable(attempt.answer),
            "valid": attempt.valid,
            "refused": attempt.failure == "refused",
            "prompt": None if prompt is None else storable(prompt),
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
                new.append({**row, "attempt": last[row["key"]]})
        if new:
            connection.execute(insert(ATTEMPTS), new)
            losses = [receipt_of("lost", receipt) for receipt in claims.end(connection, new)]
            list(rows_among(connection, delete(ATTEMPTS).returning(c.receipt), c.receipt, losses))
        return len(new)

    def _create(self, connection: Connection) -> None:
        before = inspect(connection).has_table(spending.SPENDING.name)
        METADATA.create_all(connection)
        found = {column["name"] for column in inspect(connection).get_columns(ATTEMPTS.name)}
        if missing := set(ATTEMPTS.columns.keys()) - found:
            raise LedgerError(
                f"ledger {self.place}: table {ATTEMPTS.name} lacks columns {sorted(missing)}; expected a "
                "ledger of this version. Name another place, or import an export of it."
            )
        if not before:
            spending.seed(connection)
