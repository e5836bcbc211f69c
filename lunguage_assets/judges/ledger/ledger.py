"""The ledger: every attempt to get an answer, stored before the answer is used.

It also holds every call before it is sent, with the money that it may cost
(`calls.py`). SQLite or PostgreSQL, durable, and safe for several processes. Answers may
quote reports, so no error carries one.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from lunguage_assets.judges.ledger import bills, calls
from lunguage_assets.judges.ledger.attempt_store import settled_questions
from lunguage_assets.judges.ledger.attempts import REPLIED, Attempt, SettledQuestion
from lunguage_assets.judges.ledger.bills import Bill, ByJudge
from lunguage_assets.judges.ledger.ledger_location import (
    LedgerError,
    ledger_engine,
    ledger_url,
    reading_engine,
    shown_location,
)
from lunguage_assets.judges.ledger.ledger_tables import (
    ATTEMPTS,
    CALLS,
    METADATA,
    missing_part,
)
from lunguage_assets.judges.ledger.model_locks import Release, file_lock, session_lock

T = TypeVar("T")

_WRITE_TRIES = 5
_WRITE_RETRY_S = 0.2
_ADVISORY_LOCK = 0x6C756E67
""" "lung" in ASCII: PostgreSQL's lock by which one writes at a time, as in SQLite."""


class Ledger:
    """Recorded attempts, without their prompts.

    Open one by `Ledger.open` or `Ledger.open_read_only`. Threads may share it, and so
    may processes that fork. Every method may raise `LedgerError`: nothing was stored
    then.

    Args:
        engine: connections to the database.
        location: where it is, without user or password: fit for messages.
    """

    def __init__(self, engine: sa.Engine, location: str) -> None:
        self.location = location
        self._engine = engine
        self._process_id = os.getpid()
        weakref.finalize(self, _close_connections, engine, self._process_id)

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Open a ledger; make it when it is not there.

        Args:
            where: path of an SQLite file, or `postgresql://...`.

        Raises:
            LedgerError: no driver, no permission, not a ledger, one of another layout,
                or a file system without SQLite's write-ahead log.
        """
        url = ledger_url(where)
        ledger = cls(ledger_engine(url), shown_location(url))
        ledger._require_layout(ledger.transaction(_made_tables))
        return ledger

    @classmethod
    def open_read_only(cls, where: str | Path) -> Self | None:
        """Open a ledger for reading only, without a trace; None when there is none.

        Args:
            where: as for `open`.

        Raises:
            LedgerError: something is there that cannot be read as a ledger, or one of
                another layout.
        """
        url = ledger_url(where)
        is_file = url.get_backend_name() == "sqlite"
        if is_file and not Path(str(url.database)).exists():
            return None
        ledger = cls(reading_engine(url), shown_location(url))
        with ledger.reading() as connection:
            if not sa.inspect(connection).has_table(ATTEMPTS.name):
                return None
            ledger._require_layout(missing_part(connection))
        return ledger

    def _require_layout(self, missing: str) -> None:
        """Refuse a ledger that lacks a table or a column (`missing_part`)."""
        if missing:
            raise LedgerError(
                f"ledger {self.location}: found no {missing}; expected the layout of "
                "this version. Name another place ($LUNGUAGE_LEDGER): this one stays "
                "as it is, for the version that made it."
            )

    def close(self) -> None:
        """Give back the connections; the ledger can be used again."""
        self._engine.dispose()

    # --- answers

    def answers(self, keys: Sequence[str]) -> dict[str, str | None]:
        """Look up the answers of settled questions; None: invalid for good."""
        settled = self.settled(keys)
        return {key: question.answer for key, question in settled.items()}

    def settled(self, keys: Sequence[str]) -> dict[str, SettledQuestion]:
        """Look up those of some questions that are settled (see `attempts.settle`)."""
        with self.reading() as connection:
            return settled_questions(connection, list(dict.fromkeys(keys)))

    def record(self, attempt: Attempt) -> dict[str, str | None]:
        """Store one attempt; see `calls.record`."""
        return self.transaction(lambda connection: calls.record(connection, attempt))

    def statistics(self, since: str = "") -> pd.DataFrame:
        """Count attempts by judge, stage and requested model, sorted by them.

        Args:
            since: count attempts at this time or later, as `attempts.moment` writes it.

        Returns:
            Distinct `questions`; `attempts`, of these `valid`, `invalid` (replies that
            are not used) and `failures` (no reply; `lost`: of a killed process);
            `metered` replies (of known tokens) with tokens and `seconds`; known
            `cost_usd`, and the attempts of unknown cost (`unpriced`); the times of the
            `first` and the `last`.
        """
        groups = (ATTEMPTS.c.judge, ATTEMPTS.c.stage, ATTEMPTS.c.model)
        measures = _statistics_columns()
        labelled = [column.label(name) for name, column in measures.items()]
        query = (
            sa.select(*groups, *labelled)
            .where(ATTEMPTS.c.time >= since)
            .group_by(*groups)
        )
        with self.reading() as connection:
            rows = sorted(tuple(row) for row in connection.execute(query))
        return pd.DataFrame(rows, columns=["judge", "stage", "model", *measures])

    # --- bills

    def bills(self, account: str) -> dict[str, ByJudge]:
        """Read what was done on an account, by run and judge."""
        with self.reading() as connection:
            return bills.charges_by_run(connection, account)

    def take_over(
        self, bill: Bill, unfinished: Collection[str], reported: Collection[str]
    ) -> None:
        """Put onto a bill what others have left on its account; see `bills.take_over`.

        Args:
            bill: that gets the charges.
            unfinished: runs that ended without reporting theirs.
            reported: runs whose charges stand where people look; they are struck.
        """
        self.transaction(
            lambda connection: bills.take_over(connection, bill, unfinished, reported)
        )

    # --- who may ask

    def try_lock(self, name: str) -> Release | None:
        """Take the lock of a model (`model_locks.model_lock_name`).

        What its last holder had in flight is counted as lost.

        Returns:
            What releases it; None: another holds it, in this process or elsewhere.
        """
        with self._without_values():
            if self._engine.dialect.name == "postgresql":
                release = session_lock(self._connect(), name)
            else:
                release = file_lock(Path(self.location), name)
        if release is None:
            return None
        try:
            if name in self._locks_in_flight():
                self.transaction(lambda connection: calls.lose(connection, name))
        except BaseException:
            release()
            raise
        return release

    def in_flight(self) -> int:
        """Count the calls that are sent and not answered yet.

        Those of dead processes are counted as lost first.
        """
        for name in set(self._locks_in_flight()):
            release = self.try_lock(name)
            if release is not None:
                release()
        return len(self._locks_in_flight())

    def _locks_in_flight(self) -> list[str]:
        """List the lock of every call in flight, whose holder lives or died."""
        query = sa.select(CALLS.c.lock).where(CALLS.c.in_flight)
        with self.reading() as connection:
            return list(connection.scalars(query))

    # --- transactions

    def transaction(self, work: Callable[[sa.Connection], T]) -> T:
        """Do some work in one transaction, alone among all writers.

        It is tried again when the connection fails. That is harmless, because an
        attempt is stored once by its receipt.

        Returns:
            What the work returns, once it is on disk.
        """
        for tries_left in reversed(range(_WRITE_TRIES)):
            with self._without_values():
                try:
                    return self._write(work)
                except (OperationalError, InterfaceError):
                    if not tries_left:
                        raise
            time.sleep(_WRITE_RETRY_S)
        raise AssertionError("the last try returns or raises")

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        writing = self._connect().execution_options(ledger_writes=True)
        with writing as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                lock = sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)
                connection.execute(sa.select(lock))
            return work(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection to read from."""
        with self._without_values(), self._connect() as connection:
            yield connection

    def _connect(self) -> sa.Connection:
        # A forked process must not speak on its parent's connections.
        if os.getpid() != self._process_id:
            self._engine.dispose(close=False)
            self._process_id = os.getpid()
        return self._engine.connect()

    @contextmanager
    def _without_values(self) -> Iterator[None]:
        """Turn database errors into ours.

        They hold parameters, and these hold answers: only their type is told.
        """
        try:
            yield
        except SQLAlchemyError as error:
            cause = type(getattr(error, "orig", None) or error).__name__
            raise LedgerError(
                f"ledger {self.location}: cannot be used ({cause}); expected a ledger "
                "that can be reached, has room and may be read and written. Fix that, "
                "or name another place ($LUNGUAGE_LEDGER); what was recorded is kept, "
                "and a new run asks only for the rest."
            ) from None


def _made_tables(connection: sa.Connection) -> str:
    """Make the tables where no ledger is; return what one that is there lacks."""
    if not sa.inspect(connection).has_table(ATTEMPTS.name):
        METADATA.create_all(connection)
    return missing_part(connection)


def _statistics_columns() -> dict[str, sa.ColumnElement[Any]]:
    """Name the measures of `Ledger.statistics`, each over one group of attempts."""
    attempt = ATTEMPTS.c
    count = sa.func.count
    total = sa.func.sum
    has_replied = attempt.valid | attempt.failure.in_(REPLIED)
    # No prompt has no tokens: 0 means that the service did not say.
    is_metered = has_replied & (attempt.input_tokens > 0)
    seconds = total(attempt.latency_s).filter(is_metered)
    return {
        "questions": count(attempt.key.distinct()),
        "attempts": count(),
        "valid": count().filter(attempt.valid),
        "invalid": count().filter(has_replied & ~attempt.valid),
        "failures": count().filter(~has_replied),
        "lost": count().filter(attempt.failure == "lost"),
        "metered": count().filter(is_metered),
        "input_tokens": sa.cast(total(attempt.input_tokens), sa.BigInteger),
        "output_tokens": sa.cast(total(attempt.output_tokens), sa.BigInteger),
        "reasoning_tokens": sa.cast(total(attempt.reasoning_tokens), sa.BigInteger),
        "seconds": sa.func.coalesce(seconds, 0.0),
        "cost_usd": sa.func.coalesce(total(attempt.cost_usd), 0.0),
        "unpriced": count().filter(attempt.cost_usd.is_(None)),
        "first": sa.func.min(attempt.time),
        "last": sa.func.max(attempt.time),
    }


def _close_connections(engine: sa.Engine, process_id: int) -> None:
    """Close the connections when the ledger goes or the process ends.

    SQLite then writes its log into the file, which may be copied. A forked process
    leaves them to the process that made them.
    """
    if os.getpid() == process_id:
        engine.dispose()
