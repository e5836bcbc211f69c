"""The ledger outside the database: its exchange file (Parquet) and its statistics, as tables with a
schema.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.errors import InputError, InvalidTable
from lunguage_assets.files import replace_file
from lunguage_assets.judges.ledger.attempts import FAILURES
from lunguage_assets.parquet import read_columns
from lunguage_assets.tables.schema import Column, Table

REPLIED: tuple[str, ...] = ("refused", "unreadable", "wrong_model")
"""Failures that are replies: they came and were paid, and are not used."""

EXCHANGE = Table(
    "ledger",
    "Every attempt to get an answer from a model.",
    (
        Column("key", "string", "SHA-256 of everything that decides the answer", restricted=False),
        Column("attempt", "int", "Number of the attempt within its key", minimum=1),
        Column("receipt", "string", "Name of this attempt, the same in every ledger that holds it"),
        Column("judge", "string", "Slot that asked"),
        Column("stage", "string", "What was asked", choices=("extract", "compare", "structure")),
        Column("model", "string", "Model requested"),
        Column("answer", "string", "Text of the reply; null when none came", nullable=True, restricted=True),
        Column("valid", "bool", "The answer could be read and is used"),
        Column(
            "failure",
            "string",
            "Why there is no valid answer; null when there is",
            nullable=True,
            choices=FAILURES,
        ),
        Column("refused", "bool", "The model or its filter declined to answer"),
        Column(
            "returned_model", "string", "Model that says it answered; null when no reply came", nullable=True
        ),
        Column("input_tokens", "int", "Tokens of the prompt as billed", minimum=0),
        Column("output_tokens", "int", "Tokens of the answer as billed, reasoning included", minimum=0),
        Column("reasoning_tokens", "int", "Tokens of reasoning among them", minimum=0),
        Column("cost_usd", "float", "Cost in US dollars; null when unknown", nullable=True, minimum=0.0),
        Column("latency_s", "float", "Seconds from sending to reply or failure", minimum=0.0),
        Column("time", "string", "When it was sent, UTC"),
        Column(
            "prompt",
            "string",
            "System and user text as JSON; null unless stored and asked for",
            nullable=True,
            restricted=True,
        ),
    ),
    ("receipt",),
)

PLAIN: tuple[str, ...] = (
    "key", "receipt", "judge", "stage", "model", "answer", "failure", "returned_model", "input_tokens",
    "output_tokens", "reasoning_tokens",
    "cost_usd", "latency_s", "time",
)  # fmt: skip
"""Columns that are fields of an `Attempt`, as they are."""

STATISTICS = Table(
    "ledger_statistics",
    "What was asked, answered and paid, per judge, stage and requested model.",
    (
        Column("judge", "string", "Slot that asked"),
        Column("stage", "string", "What was asked"),
        Column("model", "string", "Model requested"),
        Column("attempts", "int", "Attempts recorded", minimum=0),
        Column("valid", "int", "Attempts with a valid answer", minimum=0),
        Column(
            "invalid", "int", "Replies that are not used: unreadable, refused, or of a wrong model", minimum=0
        ),
        Column("failures", "int", "Attempts without a reply", minimum=0),
        Column("input_tokens", "int", "Tokens of prompts", minimum=0),
        Column("output_tokens", "int", "Tokens of answers, reasoning included", minimum=0),
        Column("reasoning_tokens", "int", "Tokens of reasoning", minimum=0),
        Column("cost_usd", "float", "Known cost in US dollars", minimum=0.0),
        Column(
            "unpriced",
            "int",
            "Attempts of unknown cost: no price, no token count, or a failure that may be billed",
            minimum=0,
        ),
        Column("first", "string", "Time of the first attempt, UTC"),
        Column("last", "string", "Time of the last attempt, UTC"),
    ),
    ("judge", "stage", "model"),
)

_HEX = re.compile(r"[0-9a-f]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def statistics(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The grouped rows as a typed frame, sorted by judge, stage and model whatever the database's
    collation.
    """
    typed = [
        {**row, "cost_usd": float(row["cost_usd"]), **{name: int(row[name]) for name in _SUMS}}
        for row in rows
    ]
    return STATISTICS.frame(sorted(typed, key=lambda row: (row["judge"], row["stage"], row["model"])))


_SUMS = ("input_tokens", "output_tokens", "reasoning_tokens")


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """The rows as one Parquet file for its owner alone, replaced as a whole. Answers may quote reports."""
    listed = sorted((dict(row) for row in rows), key=lambda row: (row["key"], row["attempt"]))
    columns = {
        column.name: pa.array([row[column.name] for row in listed], type=column.arrow.type)
        for column in EXCHANGE.columns
    }
    table = pa.table(columns, schema=EXCHANGE.arrow)

    def fill(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        pq.write_table(table, stream, compression="zstd")

    replace_file(path, fill)


def read(path: Path) -> list[dict[str, Any]]:
    """The attempts of an exchange file, checked, in the order of key and attempt.

    Raises:
        InputError: the file cannot be read, or is no exported ledger.
    """
    remedy = "Name a file that `lunguage ledger export` wrote."
    try:
        table = read_columns(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            str(path), f"a file that cannot be read ({type(error).__name__})", "Parquet", remedy
        ) from None
    if set(table.column_names) != set(EXCHANGE.names):
        raise InputError(
            str(path), f"columns {sorted(table.column_names)}", f"columns {EXCHANGE.names}", remedy
        )
    try:
        typed = table.select(EXCHANGE.names).cast(EXCHANGE.arrow)
        EXCHANGE.to_arrow(EXCHANGE.from_arrow(typed))
    except (pa.ArrowException, InvalidTable, ValueError, TypeError) as error:
        raise InputError(
            str(path),
            f"values of a wrong type or range ({type(error).__name__})",
            "an exported ledger",
            remedy,
        ) from None
    rows: list[dict[str, Any]] = typed.to_pylist()
    for number, row in enumerate(rows, start=1):
        if problem := _problem(row):
            raise InputError(str(path), "a value that does not fit", problem, remedy, row=number)
    return sorted(rows, key=lambda row: (row["key"], row["attempt"]))


def _problem(row: Mapping[str, Any]) -> str | None:
    """What a row of an exchange file breaks; importing it would poison results, so it is refused."""
    if len(row["key"]) != 64 or not _HEX.fullmatch(row["key"]):
        return "a key of 64 hexadecimal digits"
    if len(row["receipt"]) != 32 or not _HEX.fullmatch(row["receipt"]):
        return "a receipt of 32 hexadecimal digits"
    if not _TIME.fullmatch(row["time"]):
        return "a UTC time like 2026-01-31T12:00:00.000000Z"
    if row["valid"] != (row["failure"] is None) or row["refused"] != (row["failure"] == "refused"):
        return "valid and refused as failure says"
    if (row["answer"] is not None) != (row["valid"] or row["failure"] in REPLIED):
        return "an answer exactly where a reply came"
    return None
