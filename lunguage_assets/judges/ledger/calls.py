"""Calls in flight, and the money that they reserve until they are recorded.

A call is written down before it is sent, with the most that it may cost, by the holder
of its model's lock. Whoever takes the lock of a process that died counts its calls as
lost, each at its worst cost. Every function here is one step of a transaction
(`Ledger.transaction`) and may be repeated: where the connection failed after a commit,
the whole transaction is tried again.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import sqlalchemy as sa

from lunguage_assets.judges.ledger import spending
from lunguage_assets.judges.ledger.attempt_store import (
    add_attempts,
    row_of,
    settled_questions,
)
from lunguage_assets.judges.ledger.attempts import REPLIED, Attempt
from lunguage_assets.judges.ledger.bills import Bill, Charges, charge
from lunguage_assets.judges.ledger.ledger_tables import CALL_COLUMNS, CALLS

Permit = Literal["go", "wait", "spent"]
"""`go`: written down, send it; `wait`: calls in flight must be settled first; `spent`:
the day's money is gone, and no call in flight can change that.
"""


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
        connection: of a transaction.
        attempt: what will be recorded.
        lock: name of the model's lock, which the caller holds.
        worst_usd: what the call costs at most.
        daily_usd: what all who share the ledger may spend in 24 hours; None: any.
        bill: on which the call is charged; None: on nobody's.

    Returns:
        Only after `go` the call is written down.
    """
    # It is there already when this transaction is repeated.
    forget(connection, attempt, bill)
    if daily_usd is not None:
        permit = _permit(connection, worst_usd, daily_usd)
        if permit != "go":
            return permit
    row = {name: getattr(attempt, name) for name in CALL_COLUMNS}
    reserved = {"lock": lock, "worst_usd": worst_usd, "in_flight": True}
    connection.execute(sa.insert(CALLS), row | reserved)
    charge(connection, bill, attempt.judge, Charges(calls=1))
    return "go"


def record(
    connection: sa.Connection, attempt: Attempt, bill: Bill | None = None
) -> dict[str, str | None]:
    """Record how a call ended.

    Args:
        connection: of a transaction.
        attempt: with its reply or failure.
        bill: on which it is charged; None: on nobody's.

    Returns:
        The answer of its question where that is settled now, as in `Ledger.answers`.
    """
    is_new = add_attempts(connection, [row_of(attempt)]) > 0
    if attempt.cost_usd is None:
        # Nobody knows what it has cost: its worst case counts from now on.
        _end(connection, CALLS.c.receipt == attempt.receipt)
    else:
        _remove(connection, attempt.receipt)
    settled = settled_questions(connection, [attempt.key])
    if is_new:
        charges = Charges(
            unanswered=int(attempt.answer is None),
            invalid=int(attempt.failure in REPLIED),
            settled=len(settled),
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            cost_usd=attempt.cost_usd or 0.0,
        )
        charge(connection, bill, attempt.judge, charges)
    return {key: question.answer for key, question in settled.items()}


def forget(
    connection: sa.Connection, attempt: Attempt, bill: Bill | None = None
) -> None:
    """Take back a call that was not sent: it is in flight no more, and on no bill.

    Args:
        connection: of a transaction.
        attempt: that `begin` wrote down.
        bill: on which it was charged; None: on nobody's.
    """
    if _remove(connection, attempt.receipt):
        charge(connection, bill, attempt.judge, Charges(calls=-1))


def lose(connection: sa.Connection, lock: str) -> None:
    """Count the calls in flight of a lock's last holder as lost.

    Args:
        connection: of a transaction.
        lock: that the caller has taken.
    """
    is_of_lock = (CALLS.c.lock == lock) & CALLS.c.in_flight
    calls = connection.execute(sa.select(CALLS).where(is_of_lock))
    for call in calls.mappings().all():
        # A receipt of its own, as the answer may be recorded after all (its process
        # slept, and lives).
        lost_receipt = hashlib.sha256(f"lost {call['receipt']}".encode("ascii"))
        names = {name: call[name] for name in CALL_COLUMNS}
        names["receipt"] = lost_receipt.hexdigest()[:32]
        add_attempts(connection, [row_of(Attempt(**names, failure="lost"))])
    _end(connection, is_of_lock)


def _permit(connection: sa.Connection, worst_usd: float, daily_usd: float) -> Permit:
    """Say whether a call may be sent within the daily budget."""
    spent_usd = spending.of_last_day(connection)
    if spent_usd + worst_usd > daily_usd:
        return "spent"
    sum_at_worst = sa.func.sum(CALLS.c.worst_usd)
    reserved = sa.select(sum_at_worst).where(CALLS.c.in_flight)
    reserved_usd = connection.scalar(reserved) or 0.0
    # Most calls cost less than they reserve: who waits may go after all.
    return "wait" if spent_usd + reserved_usd + worst_usd > daily_usd else "go"


def _remove(connection: sa.Connection, receipt: str) -> bool:
    """Remove a call, and its worst cost where that counts; whether it was there."""
    is_call = CALLS.c.receipt == receipt
    # Its process slept, and was taken for dead: its worst cost is counted already.
    ended = sa.select(CALLS).where(is_call, ~CALLS.c.in_flight)
    for call in connection.execute(ended).all():
        spending.add(connection, call.time, -call.worst_usd)
    return connection.execute(sa.delete(CALLS).where(is_call)).rowcount > 0


def _end(connection: sa.Connection, is_meant: sa.ColumnElement[bool]) -> None:
    """End those of some calls that are in flight, each at its worst cost."""
    is_ending = is_meant & CALLS.c.in_flight
    for call in connection.execute(sa.select(CALLS).where(is_ending)).all():
        spending.add(connection, call.time, call.worst_usd)
    connection.execute(sa.update(CALLS).where(is_ending).values(in_flight=False))
