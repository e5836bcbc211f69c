"""For what judges were asked: the calls on each account, run by run.

Calls are charged in the transactions that record them. A run that was killed leaves its
bill here; whoever does the work instead takes it over, so that what is shown as the
cost of a table is what the ledger has for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa

from lunguage_assets.judges.ledger.ledger_tables import BILLS, insert_into


@dataclass(frozen=True, slots=True)
class Bill:
    """Whose calls they are.

    Attributes:
        account: what they are made for, such as a table's partition.
        run: that works on it.
    """

    account: str
    run: str


@dataclass(frozen=True, slots=True)
class Charges:
    """What a judge has done on a bill.

    Attributes:
        calls: that were sent, also those whose reply a killed process could not record.
        unanswered: calls that brought no reply.
        invalid: replies that came, and were paid, but cannot be used.
        settled: questions that these calls have settled.
        input_tokens: billed.
        output_tokens: billed.
        cost_usd: so far as is known.
    """

    calls: int = 0
    unanswered: int = 0
    invalid: int = 0
    settled: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, more: Charges) -> Charges:
        sums = {
            name: getattr(self, name) + getattr(more, name) for name in _CHARGE_COLUMNS
        }
        return Charges(**sums)


_CHARGE_COLUMNS = [field.name for field in fields(Charges)]

ByJudge = dict[str, Charges]


def charge(
    connection: sa.Connection, bill: Bill | None, judge: str, charges: Charges
) -> None:
    """Add to a bill.

    Args:
        connection: of a transaction.
        bill: None: nobody's, and nothing is added.
        judge: whose work it is.
        charges: what was done.
    """
    if bill is None or charges == Charges():
        return
    insert = insert_into(connection, BILLS)
    # The database adds, so that nobody writes a sum over another's.
    sums = {}
    for name in _CHARGE_COLUMNS:
        sums[name] = BILLS.c[name] + insert.excluded[name]
    upsert = insert.on_conflict_do_update(
        index_elements=["account", "run", "judge"], set_=sums
    )
    row = {"account": bill.account, "run": bill.run, "judge": judge}
    connection.execute(upsert, row | asdict(charges))


def charges_by_run(connection: sa.Connection, account: str) -> dict[str, ByJudge]:
    """Read the bills of an account: run -> judge -> charges."""
    bills: dict[str, ByJudge] = defaultdict(dict)
    query = sa.select(BILLS).where(BILLS.c.account == account)
    for row in connection.execute(query).mappings():
        charges = Charges(**{name: row[name] for name in _CHARGE_COLUMNS})
        bills[row["run"]][row["judge"]] = charges
    return dict(bills)


def take_over(
    connection: sa.Connection,
    bill: Bill,
    unfinished: Collection[str],
    reported: Collection[str],
) -> None:
    """Put onto a bill what others have left on its account.

    Args:
        connection: of a transaction.
        bill: that gets the charges.
        unfinished: runs that ended without reporting theirs.
        reported: runs whose charges stand where people look; they are struck.
    """
    bills = charges_by_run(connection, bill.account)
    for run in unfinished:
        for judge, charges in bills.get(run, {}).items():
            charge(connection, bill, judge, charges)
    # Struck in the same transaction: nobody else takes them over too.
    is_of_account = BILLS.c.account == bill.account
    is_done = BILLS.c.run.in_([*unfinished, *reported])
    connection.execute(sa.delete(BILLS).where(is_of_account, is_done))
