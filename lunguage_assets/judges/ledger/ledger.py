"""The ledger: every attempt to get an answer from a model, stored before the answer is used, and found again
by its key.

Storage only: SQLite or PostgreSQL, durable and safe for several processes. Where it is and how it is
connected to is in `ledger_place.py`, what a key is and how attempts settle a question in `attempts.py`;
exchange files and statistics are in `exchange.py`. Answers may quote reports, so no error carries one.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    or_,
    select,
)
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from lunguage_assets.judges.asking import exchange
from lunguage_assets.judges.asking.attempts import COUNTED, TRIES, Attempt, Entry, settle, storable
from lunguage_assets.judges.ledger.ledger_place import LedgerError as LedgerError
from lunguage_assets.judges.ledger.ledger_place import is_lasting, ledger_engine, make_private
from lunguage_assets.judges.ledger.ledger_place import ledger_url as ledger_url
from lunguage_assets.judges.ledger.ledger_place import shown_place as shown_place

T = TypeVar("T")

_CHUNK = 500
_WRITE_TRIES = 5
_ADVISORY_LOCK = 0x6C756E67  # "lung": one writer at a time, as in SQLite

METADATA = MetaData()
ATTEMPTS = Table(
    "judge_attempts",
    METADATA,
    Column("key", String(64), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("receipt", String(32), nullable=False, unique=True),
    Column("judge", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("answer", Text),
    Column("valid", Boolean, nullable=False),
    Column("failure", Text),
    Column("refused", Boolean, nullable=False),
    Column("returned_model", Text),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("reasoning_tokens", BigInteger, nullable=False),
    Column("cost_usd", Double),
    Column("latency_s", Double, nullable=False),
    Column("time", String(27), nullable=False),
    Column("prompt", Text),
    PrimaryKeyConstraint("key", "attempt"),
)
"""One row per attempt; `attempt` numbers those of a key from 1 in the order of recording, which decides who
was first.
"""


class Ledger:
    """Recorded attempts at a place; made by `Ledger.open`. Threads may share one, and so may processes that
    fork.
    """

    def __init__(self, engine: Engine, place: str, *, store_prompts: bool = False) -> None:
        self._engine, self._place, self._store_prompts, self._process = (
            engine,
            place,
            store_prompts,
            os.getpid(),
        )

    @classmethod
    def open(cls, where: str | Path, *, store_prompts: bool = False) -> Ledger:
        """The ledger in an SQLite file (a path or `sqlite:///path`) or in PostgreSQL (`postgresql://...`),
        made when it is not there.

        `store_prompts` also stores system and user text with each attempt: report text, in plain.

        Raises:
            LedgerError: no driver, no permission, not a ledger, or a file system without SQLite's write-ahead
                log.
        """
        url = ledger_url(where)
        place = shown_place(url)
        if url.get_backend_name() == "sqlite":
            make_private(Path(str(url.database)))
        ledger = cls(ledger_engine(url), place, store_prompts=store_prompts)
        ledger._create()
        return ledger

    @property
    def place(self) -> str:
        """Where it is, without user or password: fit for messages."""
        return self._place

    @property
    def stores_prompts(self) -> bool:
        """Whether prompt text is stored with each attempt."""
        return self._store_prompts

    def answers(self, keys: Sequence[str]) -> dict[str, Entry]:
        """The settled ones among `keys`: the first valid answer, or invalid once `TRIES` replies were (see
        `attempts.settle`).
        """
        with self._reading() as connection:
            return settled(connection, list(dict.fromkeys(keys)))

    def answers_of(self, models: Sequence[str], keys: Sequence[str]) -> list[Attempt]:
        """Recorded replies to `keys` that were not used because one of these models gave them, in the order
        of key and recording.
        """
        c, found = ATTEMPTS.c, list[Attempt]()
        with self._reading() as connection:
            for start in range(0, len(keys) if models else 0, _CHUNK):
                those = (
                    c.key.in_(keys[start : start + _CHUNK])
                    & (c.failure == "wrong_model")
                    & c.returned_model.in_(models)
                )
                rows = connection.execute(
                    select(*(c[name] for name in exchange.PLAIN)).where(those).order_by(c.key, c.attempt)
                )
                found += [Attempt(**row) for row in rows.mappings()]
        return found

    def record(self, attempt: Attempt) -> Entry | None:
        """Store one attempt; on disk when this returns. What settles its question now: perhaps an earlier
        answer of another process.
        """
        return self.record_all([attempt])[0]

    def record_all(self, attempts: Sequence[Attempt]) -> list[Entry | None]:
        """Store attempts in one transaction, on disk when this returns; for each, what settles its question
        now, if anything does.

        Raises:
            LedgerError: nothing was stored.
        """

        def write(connection: Connection) -> list[Entry | None]:
            self.add(connection, attempts)
            entries = settled(connection, sorted({attempt.key for attempt in attempts}))
            return [entries.get(attempt.key) for attempt in attempts]

        return self._write(write) if attempts else []

    def add(self, connection: Connection, attempts: Sequence[Attempt]) -> int:
        """Store attempts as part of a `transaction`; how many of them were not there."""
        return self._add(connection, [self._row(attempt) for attempt in attempts])

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

    def statistics(self) -> pd.DataFrame:
        """Per judge, stage and requested model: see `exchange.STATISTICS`."""
        c = ATTEMPTS.c
        groups = (c.judge, c.stage, c.model)
        replied = c.valid | c.failure.in_(exchange.REPLIED)
        measures = (
            func.count().label("attempts"),
            func.count().filter(c.valid).label("valid"),
            func.count().filter(replied & ~c.valid).label("invalid"),
            func.count().filter(~replied).label("failures"),
            *(
                func.sum(c[name]).label(name)
                for name in ("input_tokens", "output_tokens", "reasoning_tokens")
            ),
            func.coalesce(func.sum(c.cost_usd), 0.0).label("cost_usd"),
            func.count().filter(c.cost_usd.is_(None)).label("unpriced"),
            func.min(c.time).label("first"),
            func.max(c.time).label("last"),
        )
        with self._reading() as connection:
            rows = connection.execute(select(*groups, *measures).group_by(*groups)).mappings().all()
        return exchange.statistics([dict(row) for row in rows])

    def spent_since(self, moment: str) -> float:
        """US dollars of all attempts, by anybody, at this time (see `attempts.moment`) or later; what is not
        known counts as nothing.
        """
        with self._reading() as connection:
            found = connection.scalar(
                select(func.coalesce(func.sum(ATTEMPTS.c.cost_usd), 0.0)).where(ATTEMPTS.c.time >= moment)
            )
        return float(found or 0.0)

    def close(self) -> None:
        """Give back the connections; opening anew is possible."""
        self._engine.dispose()

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
        for start in range(0, len(receipts), _CHUNK):
            known.update(
                connection.scalars(
                    select(ATTEMPTS.c.receipt).where(ATTEMPTS.c.receipt.in_(receipts[start : start + _CHUNK]))
                )
            )
        for start in range(0, len(keys), _CHUNK):
            numbers = select(ATTEMPTS.c.key, func.max(ATTEMPTS.c.attempt)).where(
                ATTEMPTS.c.key.in_(keys[start : start + _CHUNK])
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
        return len(new)

    def _create(self) -> None:
        def create(connection: Connection) -> None:
            METADATA.create_all(connection)
            found = {column["name"] for column in inspect(connection).get_columns(ATTEMPTS.name)}
            if missing := {column.name for column in ATTEMPTS.columns} - found:
                raise LedgerError(
                    f"ledger {self._place}: table {ATTEMPTS.name} lacks columns "
                    f"{sorted(missing)}; expected a ledger of this version."
                    " Name another place, or import an export of it."
                )

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

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._translated(), self._connection() as connection:
            yield connection

    def _connection(self) -> Connection:
        if os.getpid() != self._process:  # a forked process must not speak on its parent's connections
            self._engine.dispose(close=False)
            self._process = os.getpid()
        return self._engine.connect()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Database errors hold parameters, which hold answers: only their type goes on."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = (
                type(error.orig).__name__
                if isinstance(error, DBAPIError) and error.orig is not None
                else type(error).__name__
            )
            raise LedgerError(
                f"ledger {self._place}: cannot be used ({cause}). Check that the database can be "
                "reached, has room and may be written;"
                " what was recorded is kept, and a new run asks only for the rest."
            ) from None


def settled(connection: Connection, keys: Sequence[str]) -> dict[str, Entry]:
    """The settled ones among distinct `keys`."""
    c = ATTEMPTS.c
    replies: dict[str, list[tuple[str | None, str | None]]] = defaultdict(list)
    for start in range(0, len(keys), _CHUNK):
        relevant = c.key.in_(keys[start : start + _CHUNK]) & or_(c.valid, c.failure.in_(sorted(COUNTED)))
        for key, answer, failure in connection.execute(
            select(c.key, c.answer, c.failure).where(relevant).order_by(c.key, c.attempt)
        ):
            replies[key].append((answer, failure))
    entries = {key: settle(key, those, TRIES) for key, those in replies.items()}
    return {key: entry for key, entry in entries.items() if entry is not None}
