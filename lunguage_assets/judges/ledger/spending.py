"""What all who share a ledger have spent in each minute: the sum behind the daily budget. It is kept as
attempts are recorded, so that permitting a call reads the minutes of one day and no attempt, however many
there are.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lunguage_assets.judges.ledger.attempts import MOST_AHEAD, moment
from lunguage_assets.judges.ledger.ledger_tables import ATTEMPTS, CALLS, SPENDING

_MINUTE = len("2026-11-24T12:34")
"""Characters of a time, as the ledger stores it, that name its minute."""

_DAY = timedelta(days=1)

_ADD = {
    name: inserted.on_conflict_do_update(
        index_elements=["minute"], set_={"usd": SPENDING.c.usd + inserted.excluded.usd}
    )
    for name, inserted in (
        ("sqlite", sqlite.insert(SPENDING)),
        ("postgresql", postgresql.insert(SPENDING)),
    )
}


def add(connection: sa.Connection, time: str, usd: float) -> None:
    """Add to what was spent in the minute of a time; below zero takes away."""
    connection.execute(
        _ADD[connection.dialect.name], {"minute": time[:_MINUTE], "usd": usd}
    )


def of_last_day(connection: sa.Connection) -> float:
    """US dollars spent in the last 24 hours, and in the minute in which they began.

    What is dated further ahead than clocks differ counts for nothing: it would never pass.
    """
    now, minute = datetime.now(UTC), SPENDING.c.minute
    first, last = (moment(time)[:_MINUTE] for time in (now - _DAY, now + MOST_AHEAD))
    query = sa.select(sa.func.sum(SPENDING.c.usd)).where(
        minute >= first, minute <= last
    )
    return connection.scalar(query) or 0.0


def create(connection: sa.Connection) -> None:
    """Make the table in a ledger that has none, with what the attempts of its last day have cost."""
    if sa.inspect(connection).has_table(SPENDING.name):
        return
    SPENDING.create(connection)
    now = datetime.now(UTC)
    first, last = moment(now - 2 * _DAY), moment(now + MOST_AHEAD)
    known = sa.select(
        ATTEMPTS.c.time.label("time"), ATTEMPTS.c.cost_usd.label("usd")
    ).where(ATTEMPTS.c.cost_usd.is_not(None))
    unknown = sa.select(CALLS.c.time, CALLS.c.worst_usd).where(~CALLS.c.in_flight)
    spent = sa.union_all(known, unknown).subquery()
    minute = sa.func.substr(spent.c.time, 1, _MINUTE)
    by_minute = (
        sa.select(minute, sa.func.sum(spent.c.usd))
        .where(spent.c.time >= first, spent.c.time <= last)
        .group_by(minute)
    )
    connection.execute(sa.insert(SPENDING).from_select(["minute", "usd"], by_minute))
