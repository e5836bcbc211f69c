"""Attempts in their table: adding them, and what they settle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from lunguage_assets.judges.ledger import spending
from lunguage_assets.judges.ledger.attempts import (
    COUNTED,
    Attempt,
    RecordedReply,
    SettledQuestion,
    settle,
    storable,
    tries_of,
)
from lunguage_assets.judges.ledger.ledger_tables import ATTEMPTS, insert_into

_KEYS_PER_STATEMENT = 500
"""Databases bound how many values a statement may name."""

_NUMBERED = ATTEMPTS.alias()
_LAST_NUMBER = sa.func.max(_NUMBERED.c.attempt)
_NEXT_NUMBER = (
    # The first attempt of a key has none before it.
    sa.select(sa.func.coalesce(_LAST_NUMBER, 0) + 1)
    .where(_NUMBERED.c.key == sa.bindparam("numbered_key"))
    .scalar_subquery()
)


def row_of(attempt: Attempt) -> dict[str, Any]:
    """Give an attempt as a row of the table, without its number."""
    answer = None if attempt.answer is None else storable(attempt.answer)
    return asdict(attempt) | {
        "answer": answer,
        "valid": attempt.valid,
        "refused": attempt.failure == "refused",
    }


def add_attempts(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> int:
    """Add rows whose receipt is not there yet, and what they have cost.

    Returns:
        How many were added.
    """
    # Numbered after the others of its key.
    numbered = insert_into(connection, ATTEMPTS).values(attempt=_NEXT_NUMBER)
    insert_once = numbered.on_conflict_do_nothing(index_elements=["receipt"])
    added = 0
    for row in rows:
        values = {**row, "numbered_key": row["key"]}
        # It is there already when a transaction or an import is repeated.
        if not connection.execute(insert_once, values).rowcount:
            continue
        added += 1
        if row["cost_usd"]:
            spending.add(connection, row["time"], row["cost_usd"])
    return added


def settled_questions(
    connection: sa.Connection, keys: Sequence[str]
) -> dict[str, SettledQuestion]:
    """Find those of some questions, by their distinct keys, that are settled."""
    replies: dict[tuple[str, str], list[RecordedReply]] = defaultdict(list)
    # Failures without a reply and replies of other models settle nothing.
    query = (
        sa.select(
            ATTEMPTS.c.key, ATTEMPTS.c.stage, ATTEMPTS.c.answer, ATTEMPTS.c.failure
        )
        .where(ATTEMPTS.c.valid | ATTEMPTS.c.failure.in_(sorted(COUNTED)))
        .order_by(ATTEMPTS.c.key, ATTEMPTS.c.attempt)
    )
    for start in range(0, len(keys), _KEYS_PER_STATEMENT):
        chunk = keys[start : start + _KEYS_PER_STATEMENT]
        for row in connection.execute(query.where(ATTEMPTS.c.key.in_(chunk))):
            reply = RecordedReply(row.answer, row.failure)
            replies[row.key, row.stage].append(reply)
    settled: dict[str, SettledQuestion] = {}
    for (key, stage), replies_to_key in replies.items():
        question = settle(replies_to_key, tries_of(stage))
        if question is not None:
            settled[key] = question
    return settled
