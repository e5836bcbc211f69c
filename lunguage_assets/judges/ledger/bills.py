"""For what judges were asked: the calls on each account, run by run, charged in the transactions that record
them. A run that was killed leaves its bill here; who does the work instead takes it over, so that what is
shown as the cost of a table is what the ledger has for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lunguage_assets.judges.ledger.ledger_tables import BILLS


@dataclass(frozen=True, slots=True)
class Bill:
    """Whose calls they are: the `account`, such as a table's partition, and the `run` that works on it."""

    account: str
    run: str


@dataclass(frozen=True, slots=True)
class Charges:
    """What a judge has done on a bill.

    Args:
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
        names = [field.name for field in fields(self)]
        return Charges(
            **{name: getattr(self, name) + getattr(more, name) for name in names}
        )


ByJudge = dict[str, Charges]

_NAMES = [field.name for field in fields(Charges)]
_ADD = {
    name: inserted.on_conflict_do_update(
        index_elements=["account", "run", "judge"],
        set_={
            counted: BILLS.c[counted] + inserted.excluded[counted] for counted in _NAMES
        },
    )
    for name, inserted in (
        ("sqlite", sqlite.insert(BILLS)),
        ("postgresql", postgresql.insert(BILLS)),
    )
}


def charge(
    connection: sa.Connection, bill: Bill | None, judge: str, charges: Charges
) -> None:
    """Add to a bill; without one, nothing."""
    if bill is not None and charges != Charges():
        row = {
            "account": bill.account,
            "run": bill.run,
            "judge": judge,
            **asdict(charges),
        }
        connection.execute(_ADD[connection.dialect.name], row)


def on_account(connection: sa.Connection, account: str) -> dict[str, ByJudge]:
    """The bills of an account, by run."""
    found: dict[str, ByJudge] = defaultdict(dict)
    for row in connection.execute(
        sa.select(BILLS).where(BILLS.c.account == account)
    ).mappings():
        found[row["run"]][row["judge"]] = Charges(
            **{name: row[name] for name in _NAMES}
        )
    return dict(found)


def take_over(
    connection: sa.Connection,
    bill: Bill,
    unfinished: Collection[str],
    told: Collection[str],
) -> None:
    """Put onto a bill what `unfinished` runs have left on its account, and strike those that were `told`."""
    left = on_account(connection, bill.account)
    for run in unfinished:
        for judge, charges in left.get(run, {}).items():
            charge(connection, bill, judge, charges)
    done = BILLS.c.run.in_([*unfinished, *told])
    connection.execute(sa.delete(BILLS).where(BILLS.c.account == bill.account, done))
