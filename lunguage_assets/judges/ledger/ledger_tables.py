"""The tables of a ledger, in SQLite or PostgreSQL.

Ledgers live longer than versions of this package: a name here is in people's files, and
a ledger without it is refused (`missing_part`).
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

CALL_COLUMNS = ("receipt", "key", "judge", "stage", "model", "time")
"""What is known of a call before it is sent; of an attempt, the same."""

METADATA = sa.MetaData()
ATTEMPTS = sa.Table(
    "judge_attempts",
    METADATA,
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("receipt", sa.Text, nullable=False, unique=True),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("valid", sa.Boolean, nullable=False),
    sa.Column("failure", sa.Text),
    sa.Column("refused", sa.Boolean, nullable=False),
    sa.Column("returned_model", sa.Text),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("reasoning_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost_usd", sa.Double),
    sa.Column("latency_s", sa.Double, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("key", "attempt"),
)
"""One row per attempt. `attempt` numbers those of a key from 1 in the order of
recording, which decides who was first.
"""
ATTEMPTS_BY_TIME = sa.Index(
    "judge_attempts_spent", ATTEMPTS.c.time, ATTEMPTS.c.cost_usd
)

CALLS = sa.Table(
    "judge_calls",
    METADATA,
    *(
        sa.Column(name, sa.Text, primary_key=name == "receipt", nullable=False)
        for name in CALL_COLUMNS
    ),
    sa.Column("lock", sa.Text, nullable=False),
    sa.Column("worst_usd", sa.Double, nullable=False),
    sa.Column("in_flight", sa.Boolean, nullable=False),
)
"""Calls that are sent or about to be, by the holder of a model's lock, with what each
costs at most; and those that have ended at a cost that nobody knows, which counts at
its worst.
"""
CALLS_IN_FLIGHT = sa.Index(
    "judge_calls_in_flight",
    CALLS.c.lock,
    CALLS.c.worst_usd,
    # SQLite uses a partial index where a query repeats its condition word for word.
    sqlite_where=sa.text("in_flight = 1"),
    postgresql_where=CALLS.c.in_flight,
)
"""Few at any time, however many calls have ended."""

SPENDING = sa.Table(
    "judge_spending",
    METADATA,
    sa.Column("minute", sa.Text, primary_key=True),
    sa.Column("usd", sa.Double, nullable=False),
)
"""What the attempts of each minute have cost, so far as is known; those of which nobody
knows, at their worst.
"""

COUNTED = ("calls", "unanswered", "invalid", "settled", "input_tokens", "output_tokens")
BILLS = sa.Table(
    "judge_bills",
    METADATA,
    *(sa.Column(name, sa.Text, nullable=False) for name in ("account", "run", "judge")),
    *(
        sa.Column(name, sa.BigInteger, nullable=False, server_default="0")
        for name in COUNTED
    ),
    sa.Column("cost_usd", sa.Double, nullable=False, server_default="0"),
    sa.PrimaryKeyConstraint("account", "run", "judge"),
)
"""What one run has had done on one account by one judge: see `bills.Charges`."""


def missing_part(connection: sa.Connection) -> str:
    """Name a table or column that a ledger lacks, as one of another version may.

    What it has besides is not looked at.

    Returns:
        Such as `judge_calls` or `judge_calls.lock`; empty: it can be used.
    """
    inspector = sa.inspect(connection)
    for table in METADATA.sorted_tables:
        if not inspector.has_table(table.name):
            return table.name
        present = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                return str(column)
    return ""


def insert_into(
    connection: sa.Connection, table: sa.Table
) -> sqlite.Insert | postgresql.Insert:
    """Begin to insert a row that may be there already.

    Both databases know `ON CONFLICT`; SQLAlchemy has it in their dialects only.
    """
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
