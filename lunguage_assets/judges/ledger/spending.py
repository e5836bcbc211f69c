"""Money in a ledger: what everybody who shares it has spent by the minute, and what batches that are out may
cost. Dollars are whole billionths, so that sums are the same in any order.

Functions on a connection, each part of a transaction that is alone among all writers. What calls in flight
may cost is in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Double,
    String,
    Table,
    delete,
    func,
    insert,
    literal_column,
    select,
    text,
    update,
)

from lunguage_assets.judges.ledger.reading import ATTEMPTS, BILLIONTHS, METADATA

_MINUTE = len("2026-03-01T12:00")
_DAY_S = 24 * 3600.0

SPENDING = Table(
    "judge_spending",
    METADATA,
    Column("minute", String(_MINUTE), primary_key=True),
    Column("spent", BigInteger, nullable=False),
)
"""Billionths of dollars by minute; what nobody knows at its worst."""

RESERVED = Table(
    "judge_reserved",
    METADATA,
    Column("batch", String(32), primary_key=True),
    Column("worst", BigInteger, nullable=False),
)
"""Money of batches that are out with a provider."""

CLOCKS: Mapping[str, ColumnElement[float]] = {
    "sqlite": literal_column("(julianday('now') - 2440587.5) * 86400.0", Double()),
    "postgresql": literal_column("extract(epoch FROM clock_timestamp())", Double()),
}
_MINUTES = {
    "sqlite": text("SELECT strftime('%Y-%m-%dT%H:%M', :at, 'unixepoch')"),
    "postgresql": text("SELECT to_char(to_timestamp(:at) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI')"),
}


def clock(connection: Connection) -> float:
    """Seconds since 1970 by the database's clock, which all processes share."""
    return float(connection.scalar(select(CLOCKS[connection.dialect.name])) or 0.0)


def billionths(usd: float) -> int:
    """Dollars as they are added up here: the same sum in any order."""
    return round(usd * BILLIONTHS)


def spent(connection: Connection, now: float) -> int:
    """Billionths of dollars of the last 24 hours, by anybody, batches that are out at their worst. What lies
    less than a day ahead counts: the clock was set back.
    """
    since, until = (
        connection.scalar(_MINUTES[connection.dialect.name], {"at": now + days * _DAY_S}) for days in (-1, 1)
    )
    of_day = select(func.sum(SPENDING.c.spent)).where(SPENDING.c.minute.between(since, until))
    return int(connection.scalar(of_day) or 0) + int(
        connection.scalar(select(func.sum(RESERVED.c.worst))) or 0
    )


def spend(connection: Connection, by_time: Iterable[tuple[str, int]]) -> None:
    """Add billionths of dollars to the minutes of these times (see `attempts.moment`)."""
    minutes: dict[str, int] = {}
    for time, amount in by_time:
        minutes[time[:_MINUTE]] = minutes.get(time[:_MINUTE], 0) + amount
    for minute, amount in minutes.items():
        more = update(SPENDING).where(SPENDING.c.minute == minute).values(spent=SPENDING.c.spent + amount)
        if amount and connection.execute(more).rowcount == 0:
            connection.execute(insert(SPENDING).values(minute=minute, spent=amount))


def seed(connection: Connection) -> None:
    """A ledger from before has spent what its attempts say."""
    now = clock(connection)
    since = connection.scalar(_MINUTES[connection.dialect.name], {"at": now - _DAY_S})
    rows = connection.execute(
        select(ATTEMPTS.c.time, ATTEMPTS.c.cost_usd).where(
            ATTEMPTS.c.time >= since, ATTEMPTS.c.cost_usd.is_not(None)
        )
    )
    spend(connection, [(row[0], billionths(row[1])) for row in rows])


def forget_days_before(connection: Connection, now: float) -> None:
    """Drop minutes that no day holds any more."""
    since = connection.scalar(_MINUTES[connection.dialect.name], {"at": now - 2 * _DAY_S})
    connection.execute(delete(SPENDING).where(SPENDING.c.minute < since))
