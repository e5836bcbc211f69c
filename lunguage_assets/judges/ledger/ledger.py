"""The ledger: every attempt to get an answer from a model, stored before the answer is used, and every call
before it is sent, with the money that it may cost.

Who may send at all is decided by the lock of its model. SQLite or PostgreSQL, durable and safe for several
processes. Answers may quote reports, so no error carries one.
"""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import pandas as pd
import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from lunguage_assets.errors import InputError
from lunguage_assets.judges.ledger import bills, ledger_location, spending
from lunguage_assets.judges.ledger.attempts import (
    COUNTED,
    MOST_AHEAD,
    REPLIED,
    Attempt,
    moment,
    settle,
    storable,
    tries_of,
)
from lunguage_assets.judges.ledger.bills import Bill, ByJudge, Charges, charge
from lunguage_assets.judges.ledger.ledger_location import LedgerError, Release
from lunguage_assets.judges.ledger.ledger_tables import (
    ATTEMPTS,
    BILLS,
    CALLS,
    CALLS_IN_FLIGHT,
    METADATA,
    NAMED,
    RECORDED_BY_TIME,
)

T = TypeVar("T")

Permit = Literal["go", "wait", "spent"]
"""`go`: written down, send it; `wait`: calls in flight must be settled first; `spent`: the day's money is
gone, and no call in flight can change that.
"""

_WRITE_TRIES = 5
_ADVISORY_LOCK = 0x6C756E67  # "lung": one writer at a time, as in SQLite
_AT_A_TIME = 500
_READER = TypeAdapter(Attempt)

Parsers = Mapping[str, Callable[[str], object]]
"""Stage -> the parser of its answers; None: the answer is none."""


class Settled(NamedTuple):
    """How a question is settled: its answer, None: invalid for good; and how many replies to it, all paid,
    could not be used.
    """

    answer: str | None
    invalid: int


class Ledger:
    """Recorded attempts at a place, without their prompts; see `Ledger.open` and `Ledger.open_read_only`. Threads may
    share one, and so may processes that fork. Every method may raise `LedgerError`: nothing was stored then.
    """

    def __init__(self, engine: sa.Engine, location: str) -> None:
        """`location`: where it is, without user or password: fit for messages."""
        self.location = location
        self._engine, self._process = engine, os.getpid()
        weakref.finalize(self, _closed, engine, self._process)

    @classmethod
    def open(cls, where: str | Path) -> Ledger:
        """The ledger in an SQLite file (a path) or in PostgreSQL (`postgresql://...`), made when it is not
        there.

        Raises:
            LedgerError: no driver, no permission, not a ledger, or a file system without SQLite's write-ahead
                log.
        """
        url = ledger_location.ledger_url(where)
        ledger = cls(
            ledger_location.ledger_engine(url), ledger_location.shown_location(url)
        )
        ledger.transaction(ledger._create)
        return ledger

    @classmethod
    def open_read_only(cls, where: str | Path) -> Ledger | None:
        """The ledger at a path or URL, for reading only and without a trace; None when there is none.

        Raises:
            LedgerError: something is there that cannot be read as a ledger.
        """
        url = ledger_location.ledger_url(where)
        if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
            return None
        found = cls(
            ledger_location.reading_engine(url), ledger_location.shown_location(url)
        )
        with found._reading() as connection:
            return found if sa.inspect(connection).has_table(ATTEMPTS.name) else None

    def _create(self, connection: sa.Connection) -> None:
        METADATA.create_all(connection, [ATTEMPTS, BILLS, CALLS])
        for index in (RECORDED_BY_TIME, CALLS_IN_FLIGHT):
            index.create(connection, checkfirst=True)  # ledgers from before have none
        spending.create(connection)

    def answers(self, keys: Sequence[str]) -> dict[str, str | None]:
        """Answers by which questions among `keys` are settled (see `attempts.settle`); None: invalid for
        good.
        """
        return {key: one.answer for key, one in self.settled(keys).items()}

    def settled(self, keys: Sequence[str]) -> dict[str, Settled]:
        """The questions among `keys` that are settled."""
        with self._reading() as connection:
            return _settled(connection, list(dict.fromkeys(keys)))

    def statistics(self, since: str = "") -> pd.DataFrame:
        """Per judge, stage and requested model, sorted by them, of the attempts at this time (see
        `attempts.moment`) or later: distinct questions, attempts, of these `valid`, `invalid` (replies that
        are not used) and `failures` (no reply; `lost`: of a killed process), `metered` replies (of known
        tokens) with tokens and seconds, known US dollars, attempts of unknown cost (`unpriced`), and the
        times of the first and the last.
        """
        c, count, total = ATTEMPTS.c, sa.func.count, sa.func.sum
        groups, replied = (c.judge, c.stage, c.model), c.valid | c.failure.in_(REPLIED)
        metered = replied & (c.input_tokens > 0)
        measures = {
            "questions": count(c.key.distinct()),
            "attempts": count(),
            "valid": count().filter(c.valid),
            "invalid": count().filter(replied & ~c.valid),
            "failures": count().filter(~replied),
            "lost": count().filter(c.failure == "lost"),
            "metered": count().filter(metered),
            "input_tokens": sa.cast(total(c.input_tokens), sa.BigInteger),
            "output_tokens": sa.cast(total(c.output_tokens), sa.BigInteger),
            "reasoning_tokens": sa.cast(total(c.reasoning_tokens), sa.BigInteger),
            "seconds": sa.func.coalesce(total(c.latency_s).filter(metered), 0.0),
            "cost_usd": sa.func.coalesce(total(c.cost_usd), 0.0),
            "unpriced": count().filter(c.cost_usd.is_(None)),
            "first": sa.func.min(c.time),
            "last": sa.func.max(c.time),
        }
        query = sa.select(
            *groups, *(one.label(name) for name, one in measures.items())
        ).group_by(*groups)
        query = query.where(c.time >= since)
        with self._reading() as connection:
            rows = sorted(tuple(row) for row in connection.execute(query))
        return pd.DataFrame(rows, columns=["judge", "stage", "model", *measures])

    def write(self, *writes: tuple[Any, ...]) -> list[Any]:
        """What each of `(begin | record | forget, argument, ...)` returns, done in one transaction, on disk
        when this returns: a disk does few commits a second.
        """
        return self.transaction(
            lambda connection: [do(connection, *given) for do, *given in writes]
        )

    def record(self, attempt: Attempt) -> dict[str, str | None]:
        """Store one attempt; see `record`."""
        found: dict[str, str | None] = self.write((record, attempt))[0]
        return found

    def bills(self, account: str) -> dict[str, ByJudge]:
        """What was done on an account, by run and judge."""
        with self._reading() as connection:
            return bills.on_account(connection, account)

    def take_over(
        self, bill: Bill, unfinished: Collection[str], told: Collection[str]
    ) -> None:
        """Put onto a bill what `unfinished` runs have left on its account, and strike those of runs that have
        been `told` of where people look.
        """
        self.transaction(
            lambda connection: bills.take_over(connection, bill, unfinished, told)
        )

    def try_lock(self, name: str) -> Release | None:
        """Take the lock of a model (`ledger_location.model_lock_name`) and return what releases it; None while another
        holds it, in this process or elsewhere. What its last holder had in flight is counted as lost.
        """
        with self._translated():
            if self._engine.dialect.name == "postgresql":
                release = ledger_location.session_lock(self._connection(), name)
            else:
                release = ledger_location.file_lock(Path(self.location), name)
        if release is not None:
            try:
                if name in self._locks():
                    self.transaction(lambda connection: _lose(connection, name))
            except BaseException:
                release()
                raise
        return release

    def in_flight(self) -> int:
        """Calls that are sent and not answered yet, after those of dead processes were counted as lost."""
        for name in set(self._locks()):
            if (release := self.try_lock(name)) is not None:
                release()
        return len(self._locks())

    def _locks(self) -> list[str]:
        """For each call in flight the lock of its holder, who lives or died."""
        with self._reading() as connection:
            return list(
                connection.scalars(sa.select(CALLS.c.lock).where(CALLS.c.in_flight))
            )

    def _all(self) -> list[dict[str, Any]]:
        query = sa.select(ATTEMPTS).order_by(ATTEMPTS.c.key, ATTEMPTS.c.attempt)
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def export(self, path: Path) -> int:
        """Add all attempts to the ledger in a file, which is made when it is not there; how many."""
        rows, other = self._all(), Ledger.open(path)
        other.transaction(lambda connection: _add(connection, rows))
        other.close()
        return len(rows)

    def import_(
        self, path: Path, parsers: Parsers
    ) -> tuple[int, int, list[InputError]]:
        """Add the attempts of another ledger's file that are not here yet, after those that are: how many
        were added, how many were here already, and an error for each row (in the order of key and attempt)
        that is left out, because it does not fit or its answer is not what its stage's parser would say.

        A question that is settled here stays as it is: results that were computed do not change.

        Raises:
            LedgerError: not a ledger; nothing was added.
        """
        other = Ledger.open_read_only(path)
        if other is None:
            raise LedgerError(
                f"{path}: no ledger; expected a file that `lunguage ledger export` wrote."
            )
        fit, errors = list[dict[str, Any]](), list[InputError]()
        latest = moment(datetime.now(UTC) + MOST_AHEAD)
        for number, row in enumerate(other._all(), start=1):
            try:
                fit.append(_row(_checked(row, parsers, latest)))
            except ValueError as error:
                rule = str(error)
                if isinstance(error, ValidationError):  # its own text quotes the value
                    rule = ", ".join(
                        f"{one['loc'][0]}: {one['msg']}" for one in error.errors()
                    )
                remedy = "It is left out; the others are imported."
                errors.append(
                    InputError(
                        str(path), "a value that does not fit", rule, remedy, row=number
                    )
                )
        added = self.transaction(lambda connection: _add(connection, fit))
        return added, len(fit) - added, errors

    def transaction(self, work: Callable[[sa.Connection], T]) -> T:
        """What `work` returns, done in one transaction, alone among all writers. Tried again when the
        connection fails: receipts make that harmless.
        """
        for remaining in reversed(range(_WRITE_TRIES)):
            with self._translated():
                try:
                    writing = self._connection().execution_options(ledger_writes=True)
                    with writing as connection, connection.begin():
                        if connection.dialect.name == "postgresql":
                            connection.execute(
                                sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK))
                            )
                        return work(connection)
                except (OperationalError, InterfaceError):
                    if not remaining:
                        raise
            time.sleep(0.2)
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Give back the connections; opening anew is possible."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._translated(), self._connection() as connection:
            yield connection

    def _connection(self) -> sa.Connection:
        if (
            os.getpid() != self._process
        ):  # a forked process must not speak on its parent's connections
            self._engine.dispose(close=False)
            self._process = os.getpid()
        return self._engine.connect()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Database errors hold parameters, which hold answers: only their type goes on."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = type(getattr(error, "orig", None) or error).__name__
            raise LedgerError(
                f"ledger {self.location}: cannot be used ({cause}); expected a ledger that can be reached, has "
                "room and may be read and written. Fix that, or name another place ($LUNGUAGE_LEDGER); what "
                "was recorded is kept, and a new run asks only for the rest."
            ) from None


def begin(
    connection: sa.Connection,
    attempt: Attempt,
    lock: str,
    worst_usd: float,
    daily_usd: float | None = None,
    bill: Bill | None = None,
) -> Permit:
    """Write down a call that is about to be sent, if it may be.

    Args:
        connection: of `Ledger.write`.
        attempt: what will be recorded.
        lock: name of the model's lock, which the caller holds.
        worst_usd: what the call costs at most.
        daily_usd: what all who share the ledger may spend in 24 hours; None: any.
        bill: on which the call is charged; None: on nobody's.
    """
    forget(connection, attempt, bill)  # where a commit's word was lost
    permit = (
        _permit(connection, worst_usd, daily_usd) if daily_usd is not None else "go"
    )
    if permit == "go":
        row = {name: getattr(attempt, name) for name in NAMED}
        more = {"lock": lock, "worst_usd": worst_usd, "in_flight": True}
        connection.execute(sa.insert(CALLS), row | more)
        charge(connection, bill, attempt.judge, Charges(calls=1))
    return permit


def record(
    connection: sa.Connection, attempt: Attempt, bill: Bill | None = None
) -> dict[str, str | None]:
    """Store one attempt, and charge what it brought; what settles its question now, as in
    `Ledger.answers`.
    """
    is_new = _add(connection, [_row(attempt)]) > 0
    if attempt.cost_usd is None:  # its worst case counts from now on
        _end(connection, CALLS.c.receipt == attempt.receipt)
    else:
        _strike(connection, attempt.receipt)
    settled = _settled(connection, [attempt.key])
    if is_new:
        brought = Charges(
            unanswered=int(attempt.answer is None),
            invalid=int(attempt.failure in REPLIED),
            settled=len(settled),
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            cost_usd=attempt.cost_usd or 0.0,
        )
        charge(connection, bill, attempt.judge, brought)
    return {key: one.answer for key, one in settled.items()}


def forget(
    connection: sa.Connection, attempt: Attempt, bill: Bill | None = None
) -> None:
    """Take back a call that was not sent: it is in flight no more, and on nobody's bill."""
    if _strike(connection, attempt.receipt):
        charge(connection, bill, attempt.judge, Charges(calls=-1))


def _strike(connection: sa.Connection, receipt: str) -> bool:
    """Take a call away, with what it has cost at its worst; whether it was there."""
    of_call = CALLS.c.receipt == receipt
    for call in connection.execute(
        sa.select(CALLS).where(of_call, ~CALLS.c.in_flight)
    ).all():
        spending.add(connection, call.time, -call.worst_usd)
    return connection.execute(sa.delete(CALLS).where(of_call)).rowcount > 0


def _end(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    """End those of some calls that are in flight: nobody knows their cost, so the worst counts."""
    ending = which & CALLS.c.in_flight
    for call in connection.execute(sa.select(CALLS).where(ending)).all():
        spending.add(connection, call.time, call.worst_usd)
    connection.execute(sa.update(CALLS).where(ending).values(in_flight=False))


def _settled(connection: sa.Connection, keys: Sequence[str]) -> dict[str, Settled]:
    """The settled ones among distinct `keys`."""
    c, replies = (
        ATTEMPTS.c,
        defaultdict[tuple[str, str], list[tuple[str | None, str | None]]](list),
    )
    relevant = c.valid | c.failure.in_(sorted(COUNTED))
    query = (
        sa.select(c.key, c.stage, c.answer, c.failure)
        .where(relevant)
        .order_by(c.key, c.attempt)
    )
    for start in range(0, len(keys), _AT_A_TIME):  # a statement cannot name any number
        some = keys[start : start + _AT_A_TIME]
        for key, stage, answer, failure in connection.execute(
            query.where(c.key.in_(some))
        ):
            replies[key, stage].append((answer, failure))
    return {
        key: Settled(answer, sum(failure is not None for _, failure in those))
        for (key, stage), those in replies.items()
        for answer in settle(those, tries_of(stage))
    }


def _checked(row: Mapping[str, Any], parsers: Parsers, latest: str) -> Attempt:
    """A row of another ledger, of this time at the latest; ValueError: it would poison results."""
    attempt = _READER.validate_python(row)
    if attempt.time > latest:
        raise ValueError("a time at most a day ahead of this machine's clock")
    if (attempt.answer is not None) != (attempt.valid or attempt.failure in REPLIED):
        raise ValueError("an answer exactly where a reply came")
    is_told = attempt.answer is not None and attempt.failure in (None, "unreadable")
    if (
        is_told
        and (parsers[attempt.stage](attempt.answer or "") is not None) != attempt.valid
    ):
        raise ValueError("a valid answer exactly where it can be read")
    return attempt


def _row(attempt: Attempt) -> dict[str, Any]:
    answer = None if attempt.answer is None else storable(attempt.answer)
    told = {
        "answer": answer,
        "valid": attempt.valid,
        "refused": attempt.failure == "refused",
    }
    return {**asdict(attempt), **told}


_OTHER = ATTEMPTS.alias().c
_LAST = sa.select(sa.func.coalesce(sa.func.max(_OTHER.attempt), 0)).where(
    _OTHER.key == sa.bindparam("of")
)
_INSERT = {
    name: insert(ATTEMPTS)
    .values(attempt=_LAST.scalar_subquery() + 1)
    .on_conflict_do_nothing(index_elements=["receipt"])
    for name, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}


def _add(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert those rows whose receipt is not there, numbered after the attempts of their key; how many."""
    new, added = _INSERT[connection.dialect.name], 0
    for row in rows:
        if connection.execute(new, {**row, "of": row["key"], "prompt": None}).rowcount:
            added += 1
            if row["cost_usd"]:
                spending.add(connection, row["time"], row["cost_usd"])
    return added


def _permit(connection: sa.Connection, worst_usd: float, daily_usd: float) -> Permit:
    """Whether a call may be sent within the daily budget."""
    paid = spending.of_last_day(connection)
    if paid + worst_usd > daily_usd:
        return "spent"
    reserved = sa.select(sa.func.sum(CALLS.c.worst_usd)).where(CALLS.c.in_flight)
    return (
        "wait"
        if paid + (connection.scalar(reserved) or 0.0) + worst_usd > daily_usd
        else "go"
    )


def _lose(connection: sa.Connection, lock: str) -> None:
    """Count the calls in flight of a lock's last holder as lost: each has cost its worst. The record has a
    receipt of its own, as the answer may come after all.
    """
    of_lock = (CALLS.c.lock == lock) & CALLS.c.in_flight
    for call in connection.execute(sa.select(CALLS).where(of_lock)).mappings().all():
        receipt = hashlib.sha256(f"lost {call['receipt']}".encode("ascii")).hexdigest()[
            :32
        ]
        named = {name: call[name] for name in NAMED} | {"receipt": receipt}
        _add(connection, [_row(Attempt(**named, failure="lost"))])
    _end(connection, of_lock)


def _closed(engine: sa.Engine, process: int) -> None:
    """Close the connections when the ledger goes or the process ends: SQLite then writes its log into the
    file, which may be copied. A forked process leaves them to the one that made them.
    """
    if os.getpid() == process:
        engine.dispose()
