"""The ledger outside the database: its exchange file (Parquet) and its statistics, as tables with a
schema.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.errors import InputError
from lunguage_assets.files import replace_file
from lunguage_assets.judges.ledger.attempts import FAILURES, REPLIED
from lunguage_assets.judges.requests import MOST_TOKENS
from lunguage_assets.parquet import read_columns
from lunguage_assets.tables.schema import Column, Table

_DOLLARS, _SECONDS = 1e6, 1e9
"""More than any answer costs or takes."""

_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"


def _text(name: str, description: str, **options: Any) -> Column:
    return Column(name, "string", description, **options)


def _count(name: str, description: str, maximum: int | None = None) -> Column:
    return Column(name, "int", description, minimum=0, maximum=maximum)


def _measure(name: str, description: str, maximum: float, *, nullable: bool = False) -> Column:
    return Column(name, "float", description, minimum=0.0, maximum=maximum, nullable=nullable)


EXCHANGE = Table(
    "ledger",
    "Every attempt to get an answer from a model.",
    (
        _text("key", "SHA-256 of everything that decides the answer", pattern="^[0-9a-f]{64}$"),
        Column("attempt", "int", "Number of the attempt within its key", minimum=1),
        _text(
            "receipt",
            "Name of this attempt, the same in every ledger",
            pattern="^[0-9a-f]{32}$",
        ),
        _text("judge", "Slot that asked"),
        _text("stage", "What was asked", choices=("extract", "compare", "structure")),
        _text("model", "Model requested"),
        _text("answer", "Text of the reply; null when none came", nullable=True, restricted=True),
        Column("valid", "bool", "The answer could be read and is used"),
        _text("failure", "Why there is no valid answer; null when there is", nullable=True, choices=FAILURES),
        Column("refused", "bool", "The model or its filter declined to answer"),
        _text("returned_model", "Model that says it answered; null when no reply came", nullable=True),
        _count("input_tokens", "Tokens of the prompt as billed", MOST_TOKENS),
        _count("output_tokens", "Tokens of the answer as billed, reasoning included", MOST_TOKENS),
        _count("reasoning_tokens", "Tokens of reasoning among them", MOST_TOKENS),
        _measure("cost_usd", "Cost in US dollars; null when unknown", _DOLLARS, nullable=True),
        _measure("latency_s", "Seconds from sending to reply or failure", _SECONDS),
        _text("time", "When it was sent, UTC", pattern=_TIME),
        _text("prompt", "Null: prompts are not stored", nullable=True, restricted=True),
    ),
    ("receipt",),
)

STATISTICS = Table(
    "ledger_statistics",
    "What was asked, answered and paid, per judge, stage and requested model.",
    (
        _text("judge", "Slot that asked"),
        _text("stage", "What was asked"),
        _text("model", "Model requested"),
        _count("attempts", "Attempts recorded"),
        _count("valid", "Attempts with a valid answer"),
        _count("invalid", "Replies that are not used: unreadable, refused, or of a wrong model"),
        _count("failures", "Attempts without a reply"),
        _count("lost", "Of these, sent and not answered before the process was killed"),
        _count("input_tokens", "Tokens of prompts"),
        _count("output_tokens", "Tokens of answers, reasoning included"),
        _count("reasoning_tokens", "Tokens of reasoning"),
        Column("cost_usd", "float", "Known cost in US dollars", minimum=0.0),
        _count(
            "unpriced", "Attempts of unknown cost: no price, no token count, or a failure that may be billed"
        ),
        _text("first", "Time of the first attempt, UTC"),
        _text("last", "Time of the last attempt, UTC"),
    ),
    ("judge", "stage", "model"),
)

_ORDER = [("key", "ascending"), ("attempt", "ascending")]


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows as one Parquet file for its owner alone, replaced as a whole. Answers may quote
    reports.
    """
    table = pa.Table.from_pylist(list(rows), schema=EXCHANGE.arrow).sort_by(_ORDER)

    def fill(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        pq.write_table(table, stream, compression="zstd")

    replace_file(path, fill)


Parsers = Mapping[str, Callable[[str], object]]
"""Stage -> the parser of its answers; None: the answer is none."""


def read(path: Path, parsers: Parsers) -> tuple[list[dict[str, Any]], list[InputError]]:
    """The attempts of an exchange file in the order of key and attempt, and an error for each row that does
    not fit: such a row would poison results.

    Raises:
        InputError: the file cannot be read, or is no exported ledger.
    """
    try:
        table = read_columns(path).select(EXCHANGE.names).cast(EXCHANGE.arrow)
        table.validate(full=True)
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        raise InputError(
            str(path),
            f"a file that cannot be read as a ledger ({type(error).__name__})",
            f"Parquet with the columns {', '.join(EXCHANGE.names)}",
            "Name a file that `lunguage ledger export` wrote.",
        ) from None
    frame, wrong = EXCHANGE.from_arrow(table), dict[int, str]()
    for rule, rows in (*EXCHANGE.broken(frame), *_contradictions(frame, table, parsers)):
        for place in np.flatnonzero(rows).tolist():
            wrong.setdefault(place, rule)
    fit = np.array([place not in wrong for place in range(len(table))], dtype=bool)
    remedy = "It is left out; the others are imported."
    errors = [
        InputError(str(path), "a value that does not fit", rule, remedy, row=place + 1)
        for place, rule in sorted(wrong.items())
    ]
    return cast("list[dict[str, Any]]", table.filter(fit).sort_by(_ORDER).to_pylist()), errors


def _contradictions(
    frame: pd.DataFrame, table: pa.Table, parsers: Parsers
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Rules that hold between columns, each with a mask of the rows that break it."""
    failure, valid = frame["failure"], frame["valid"]
    contradicted = (valid != failure.isna()) | (frame["refused"] != (failure == "refused"))
    yield "valid and refused as failure says", contradicted.to_numpy()
    replied = valid | failure.isin(REPLIED)
    yield "an answer exactly where a reply came", (frame["answer"].notna() != replied).to_numpy()
    yield "a cost that is a number", pc.fill_null(pc.is_nan(table["cost_usd"]), False).to_numpy()
    told = valid | (failure == "unreadable")
    unread = [
        one and isinstance(answer, str) and stage in parsers and (parsers[stage](answer) is None) == is_valid
        for one, answer, stage, is_valid in zip(told, frame["answer"], frame["stage"], valid, strict=True)
    ]
    yield "a valid answer exactly where it can be read", np.array(unread, dtype=bool)
