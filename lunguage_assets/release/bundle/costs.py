"""What the answers of language models cost, from the ledger: calls, tokens and US dollars by judge, stage and
model.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

import pandas as pd

from lunguage_assets.tables.schema import Column, Table

ANSWER_COSTS = Table(
    "answer_costs",
    "The answers in use and what they cost. Calls that failed, could not be read, or were "
    "asked twice come on top: `lunguage ledger stats`.",
    (
        Column("judge", "string", "Judge that asked"),
        Column("stage", "string", "Asked: extract (phrases), compare (sentences), structure (reports)"),
        Column("model", "string", "Model requested"),
        Column("answers", "int", "Questions with a valid answer", minimum=0),
        Column("input_tokens", "int", "Tokens of their prompts as billed", minimum=0),
        Column("output_tokens", "int", "Tokens of these answers as billed, reasoning included", minimum=0),
        Column("cost_usd", "float", "Their known cost in US dollars", minimum=0.0),
        Column("unpriced", "int", "Answers of unknown cost", minimum=0),
    ),
    ("judge", "stage", "model"),
)


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
    from lunguage_assets.judges.ledger.reading import LedgerReader

    reader = LedgerReader.at(ledger)
    if reader is None:
        return None
    with closing(reader):
        return ANSWER_COSTS.frame(reader.answer_costs(judges))
