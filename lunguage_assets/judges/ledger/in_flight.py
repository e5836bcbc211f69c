"""Calls in flight: written down, with the money that they may cost, before they are sent, so that a kill
loses none without trace and a daily budget holds for everybody who shares a ledger; and what all have spent.

Functions on a connection, each part of a transaction that is alone among all writers (`Ledger.transaction`).
Who may send at all is decided by the lock of its model (`ledger_place.ModelLock`). Dollars are whole
billionths, so that sums are the same in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa

from lunguage_assets.judges.ledger.attempts import moment
from lunguage_assets.judges.ledger.reading import ATTEMPTS, METADATA, rows_among

BILLIONTHS = 1_000_000_000
_MINUTE = len("2026-03-01T12:00")

IN_FLIGHT = sa.Table(
    "judge_in_flight",
    METADATA,
    sa.Column("receipt", sa.String(32), primary_key=True),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("lock", sa.String(32), nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("worst", sa.BigInteger, nullable=False),
    sa.Column("time", sa.String(27), nullable=False),
)
"""Calls that are sent or about to be; `worst` is the reserved cost in billionths of a dollar, `lock` that of
the model, whose holder sent them.
"""

SPENDING = sa.Table(
    "judge_spending",
    METADATA,
    sa.Column("minute", sa.String(_MINUTE), primary_key=True),
    sa.Column("spent", sa.BigInteger, nullable=False),
)
"""Billionths of dollars by minute; what nobody knows at its worst."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that would go out now: `receipt` names it, `worst_usd` is its cost at most (0: unknown, and no
    budget asks).
    """

    receipt: str
    key: str
    judge: str
    stage: str
    model: str
    time: str
    worst_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Permit:
    """`go`: written down, send it; `wait`: calls in flight must be settled first; `spent`: `spent_usd` of the
    day are gone, and no call in flight can change that.
    """

    kind: Literal["go", "wait", "spent"]
    spent_usd: float = 0.0


def begin(
    connection: sa.Connection, lock: str, calls: Sequence[Call], daily_usd: float | None = None
) -> list[Permit]:
    """One permit per call, in their order; those that may go are written down and their money is reserved.

    `daily_usd`: what all who share the ledger may spend in 24 hours; None: any.
    """
    c = IN_FLIGHT.c
    query = sa.select(c.receipt)
    # where a commit succeeded and its word was lost, the call is there already
    there = {row[0] for row in rows_among(connection, query, c.receipt, [call.receipt for call in calls])}
    paid = reserved = 0
    if daily_usd is not None:
        paid = spent(connection)
        reserved = int(connection.scalar(sa.select(sa.func.sum(c.worst))) or 0)
    permits, new = list[Permit](), list[dict[str, Any]]()
    for call in calls:
        values = asdict(call)
        worst = billionths(values.pop("worst_usd"))
        if call.receipt in there or daily_usd is None or paid + reserved + worst <= billionths(daily_usd):
            permits.append(Permit("go"))
            if call.receipt not in there:
                reserved += worst
                new.append({**values, "lock": lock, "worst": worst})
        elif paid + worst > billionths(daily_usd):
            permits.append(Permit("spent", paid / BILLIONTHS))
        else:
            permits.append(Permit("wait"))
    if new:
        connection.execute(sa.insert(IN_FLIGHT), new)
    return permits


def of_lock(connection: sa.Connection, lock: str) -> list[dict[str, Any]]:
    """The calls in flight of whoever holds, or held, a lock."""
    query = sa.select(IN_FLIGHT).where(IN_FLIGHT.c.lock == lock)
    return [dict(row) for row in connection.execute(query).mappings()]


def locks(connection: sa.Connection) -> list[str]:
    """The locks whose holders have calls in flight, or had when they died."""
    return list(connection.scalars(sa.select(IN_FLIGHT.c.lock).distinct()))


def forget(connection: sa.Connection, receipts: Collection[str]) -> dict[str, int]:
    """Take calls out of flight; what each had reserved, by receipt, of those that were in flight."""
    c = IN_FLIGHT.c
    those = sa.delete(IN_FLIGHT).returning(c.receipt, c.worst)
    return dict(rows_among(connection, those, c.receipt, [*receipts]))


def end(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Attempts have been recorded: they are in flight no more, and what they cost is spent, at its worst
    where nobody knows.
    """
    worst = forget(connection, [row["receipt"] for row in rows])
    costs = ((row["time"], row["cost_usd"], worst.get(row["receipt"], 0)) for row in rows)
    spend(connection, ((time, most if cost is None else billionths(cost)) for time, cost, most in costs))


def billionths(usd: float) -> int:
    """Dollars as they are added up here."""
    return round(usd * BILLIONTHS)


def spent(connection: sa.Connection) -> int:
    """Billionths of dollars of the last 24 hours, by anybody."""
    of_day = sa.select(sa.func.sum(SPENDING.c.spent)).where(SPENDING.c.minute >= _a_day_ago())
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
    """Spend what the attempts of a ledger from before say."""
    c = ATTEMPTS.c
    priced = sa.select(c.time, c.cost_usd).where(c.time >= _a_day_ago(), c.cost_usd.is_not(None))
    spend(connection, [(time, billionths(cost)) for time, cost in connection.execute(priced)])


def _a_day_ago() -> str:
    return moment(datetime.now(UTC) - timedelta(days=1))[:_MINUTE]
