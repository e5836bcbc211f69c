"""What all who share a ledger have spent by the minute, for the daily budget.

It is kept as attempts are recorded. Permitting a call then reads the minutes of one day
and no attempt, however many there are.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from lunguage_assets.judges.ledger.attempts import MAX_CLOCK_DIFFERENCE, moment
from lunguage_assets.judges.ledger.ledger_tables import SPENDING, insert_into

_MINUTE_LENGTH = len("2026-11-24T12:34")
"""Characters of a time, as the ledger stores it, that name its minute."""

_DAY = timedelta(days=1)


def add(connection: sa.Connection, time: str, usd: float) -> None:
    """Add to what was spent in a minute.

    Args:
        connection: of a transaction.
        time: in that minute, as the ledger stores it.
        usd: US dollars; below zero takes away.
    """
    insert = insert_into(connection, SPENDING)
    upsert = insert.on_conflict_do_update(
        index_elements=["minute"], set_={"usd": SPENDING.c.usd + insert.excluded.usd}
    )
    connection.execute(upsert, {"minute": _minute_of(time), "usd": usd})


def of_last_day(connection: sa.Connection) -> float:
    """Sum up US dollars of the last 24 hours, with the minute in which they began.

    What is dated further ahead than clocks differ counts for nothing: such a row of a
    broken clock would hold up everybody until its day comes.
    """
    now = datetime.now(UTC)
    total = sa.select(sa.func.sum(SPENDING.c.usd)).where(
        SPENDING.c.minute >= _minute_of(moment(now - _DAY)),
        SPENDING.c.minute <= _minute_of(moment(now + MAX_CLOCK_DIFFERENCE)),
    )
    return connection.scalar(total) or 0.0


def _minute_of(time: str) -> str:
    return time[:_MINUTE_LENGTH]
