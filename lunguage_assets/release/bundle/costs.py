"""What the answers of language models cost, from the ledger: calls, tokens and US dollars by judge, stage and
model.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from lunguage_assets.tables.schema import Column, Table

ANSWER_COSTS = Table(
    "answer_costs",
    "The answers in use and what they cost. Calls that failed, could not be read, or were "
    "asked twice come on top: `lunguage ledger stats`.",
    (
        Column("judge", "string", "Judge that asked"),
        Column("stage", "string", "What was asked: extract (hedging phrases) or compare (two sentences)"),
        Column("model", "string", "Model requested"),
        Column("answers", "int", "Questions with a valid answer", minimum=0),
        Column("input_tokens", "int", "Tokens of their prompts as billed", minimum=0),
        Column("output_tokens", "int", "Tokens of these answers as billed, reasoning included", minimum=0),
        Column("cost_usd", "float", "Their known cost in US dollars", minimum=0.0),
        Column("unpriced", "int", "Answers of unknown cost", minimum=0),
    ),
    ("judge", "stage", "model"),
)
_MICRO = 1_000_000_000  # dollars are added up as whole billionths: the same sum in any order


def answer_costs(ledger: str, judges: Collection[str]) -> pd.DataFrame | None:
    """ANSWER_COSTS of these judges over all that a ledger holds; None when there is no ledger yet.

    Only the first valid answer of each question counts: it is the one in use, however often a run was
    interrupted or a call failed.

    Args:
        ledger: a path, or a PostgreSQL URL.
        judges: keys of language models; without any, no ledger is opened.

    Raises:
        LedgerError: the ledger is there and cannot be read.
    """
    if not judges:
        return ANSWER_COSTS.frame()
    from sqlalchemy import BigInteger, and_, case, cast, create_engine, func, select
    from sqlalchemy.exc import SQLAlchemyError

    from lunguage_assets.judges.ledger.ledger import ATTEMPTS, LedgerError, ledger_url, shown_place

    url = ledger_url(ledger)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        return None
    c = ATTEMPTS.c
    first = select(c.key, func.min(c.attempt).label("attempt")).where(c.valid).group_by(c.key).subquery()
    groups = (c.judge, c.stage, c.model)
    query = (
        select(
            *groups,
            func.count().label("answers"),
            func.sum(c.input_tokens).label("input_tokens"),
            func.sum(c.output_tokens).label("output_tokens"),
            func.coalesce(func.sum(cast(func.round(c.cost_usd * _MICRO), BigInteger)), 0).label("cost"),
            func.sum(case((c.cost_usd.is_(None), 1), else_=0)).label("unpriced"),
        )
        .join(first, and_(c.key == first.c.key, c.attempt == first.c.attempt))
        .where(c.judge.in_(sorted(judges)))
        .group_by(*groups)
    )
    engine = create_engine(url, hide_parameters=True)
    try:
        with engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
    except SQLAlchemyError as error:
        raise LedgerError(
            f"ledger {shown_place(url)}: cannot be read ({type(error).__name__}), and the release "
            "says what its answers cost. "
            "Make it reachable, or unset $LUNGUAGE_LEDGER."
        ) from None
    finally:
        engine.dispose()
    typed = [
        {
            name: int(row[name]) if name not in ("judge", "stage", "model") else row[name]
            for name in row
            if name != "cost"
        }
        | {"cost_usd": int(row["cost"]) / _MICRO}
        for row in rows
    ]
    return ANSWER_COSTS.frame(sorted(typed, key=lambda row: (row["judge"], row["stage"], row["model"])))
