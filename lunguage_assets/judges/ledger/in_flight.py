"""Calls in flight: written down, with the money that they may cost, before they are sent, so that a kill
loses none without trace and a daily budget holds for everybody who shares a ledger.

Functions on a connection, each part of a transaction that is alone among all writers (`Ledger.transaction`).
Who may send at all is decided by the lock of its model (`lock.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from lunguage_assets.judges.ledger.reading import BILLIONTHS, METADATA, rows_among
from lunguage_assets.judges.ledger.spending import billionths, clock, spend, spent

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


_OF_CALL = ("receipt", "key", "judge", "stage", "model", "time")


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
        paid = spent(connection, clock(connection))
        reserved = int(connection.scalar(sa.select(sa.func.sum(c.worst))) or 0)
    permits, new = list[Permit](), list[dict[str, Any]]()
    for call in calls:
        worst = billionths(call.worst_usd)
        if call.receipt in there or daily_usd is None or paid + reserved + worst <= billionths(daily_usd):
            permits.append(Permit("go"))
            if call.receipt not in there:
                reserved += worst
                new.append({name: getattr(call, name) for name in _OF_CALL} | {"lock": lock, "worst": worst})
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


def forget(connection: sa.Connection, receipts: Collection[str]) -> None:
    """Calls that were never sent, or are counted otherwise."""
    list(
        rows_among(
            connection, sa.delete(IN_FLIGHT).returning(IN_FLIGHT.c.key), IN_FLIGHT.c.receipt, [*receipts]
        )
    )


def end(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Attempts have been recorded: they are in flight no more, and what they cost is spent, at its worst
    where nobody knows; the receipts of those that were not in flight.
    """
    c, receipts = IN_FLIGHT.c, [row["receipt"] for row in rows]
    those = sa.delete(IN_FLIGHT).returning(c.receipt, c.worst)
    worst = dict(rows_among(connection, those, c.receipt, receipts))
    costs = ((row["time"], row["cost_usd"], worst.get(row["receipt"], 0)) for row in rows)
    spend(connection, ((time, most if cost is None else billionths(cost)) for time, cost, most in costs))
    return [receipt for receipt in receipts if receipt not in worst]
