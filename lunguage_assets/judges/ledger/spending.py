"""Money in a ledger: what everybody who shares it has spent by the minute. Dollars are whole billionths, so
that sums are the same in any order.

Functions on a connection, each part of a transaction that is alone among all writers. What calls in flight
may cost is in `in_flight.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

import sqlalchemy as sa

from lunguage_assets.judges.ledger.attempts import moment
from lunguage_assets.judges.ledger.reading import ATTEMPTS, BILLIONTHS, METADATA

_MINUTE = len("2026-03-01T12:00")
_DAY_S = 24 * 3600.0

SPENDING = sa.Table(
    "judge_spending",
    METADATA,
    sa.Column("minute", sa.String(_MINUTE), primary_key=True),
    sa.Column("spent", sa.BigInteger, nullable=False),
)
"""Billionths of dollars by minute; what nobody knows at its worst."""

CLOCKS: dict[str, sa.ColumnElement[float]] = {
    "sqlite": sa.literal_column("(julianday('now') - 2440587.5) * 86400.0", sa.Double()),
    "postgresql": sa.literal_column("extract(epoch FROM clock_timestamp())", sa.Double()),
}


def _minute(at: float) -> str:
    return moment(datetime.fromtimestamp(at, UTC))[:_MINUTE]


def clock(connection: sa.Connection) -> float:
    """Seconds since 1970 by the database's clock, which all processes share."""
    return float(connection.scalar(sa.select(CLOCKS[connection.dialect.name])) or 0.0)


def billionths(usd: float) -> int:
    """Dollars as they are added up here: the same sum in any order."""
    return round(usd * BILLIONTHS)


def spent(connection: sa.Connection, now: float) -> int:
    """Billionths of dollars of the last 24 hours, by anybody. What lies less than a day ahead counts: the
    clock was set back.
    """
    since_until = _minute(now - _DAY_S), _minute(now + _DAY_S)
    of_day = sa.select(sa.func.sum(SPENDING.c.spent)).where(SPENDING.c.minute.between(*since_until))
    return int(connection.scalar(of_day) or 0)


def spend(connection: sa.Connection, by_time: Iterable[tuple[str, int]]) -> None:
    """Add billionths of dollars to the minutes of these times (see `attempts.moment`)."""
    minutes = Counter[str]()
    for time, amount in by_time:
        minutes[time[:_MINUTE]] += amount
    for minute, amount in minutes.items():
        more = sa.update(SPENDING).where(SPENDING.c.minute == minute).values(spent=SPENDING.c.spent + amount)
        if amount and connection.execute(more).rowcount == 0:
            connection.execute(sa.insert(SPENDING).values(minute=minute, spent=amount))


def seed(connection: sa.Connection) -> None:
    """A ledger from before has spent what its attempts say."""
    c, since = ATTEMPTS.c, _minute(clock(connection) - _DAY_S)
    priced = sa.select(c.time, c.cost_usd).where(c.time >= since, c.cost_usd.is_not(None))
    spend(connection, [(time, billionths(cost)) for time, cost in connection.execute(priced)])


def forget_days_before(connection: sa.Connection, now: float) -> None:
    """Drop minutes that no day holds any more."""
    connection.execute(sa.delete(SPENDING).where(SPENDING.c.minute < _minute(now - 2 * _DAY_S)))
