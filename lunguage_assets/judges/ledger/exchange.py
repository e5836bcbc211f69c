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

EXCHANGE = Table(
    "ledger",
    "Every attempt to get an answer from a model.",
    (
        Column("key", "string", "SHA-256 of everything that decides the answer", pattern="^[0-9a-f]{64}$"),
        Column("attempt", "int", "Number of the attempt within its key", minimum=1),
        Column(
            "receipt",
            "string",
            "Name of this attempt, the same in every ledger that holds it",
            pattern="^[0-9a-f]{32}$",
        ),
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
        Column("input_tokens", "int", "Tokens of the prompt as billed", minimum=0, maximum=MOST_TOKENS),
        Column(
            "output_tokens",
            "int",
            "Tokens of the answer as billed, reasoning included",
            minimum=0,
            maximum=MOST_TOKENS,
        ),
        Column("reasoning_tokens", "int", "Tokens of reasoning among them", minimum=0, maximum=MOST_TOKENS),
        Column(
            "cost_usd",
            "float",
            "Cost in US dollars; null when unknown",
            nullable=True,
            minimum=0.0,
            maximum=_DOLLARS,
        ),
        Column(
            "latency_s", "float", "Seconds from sending to reply or failure", minimum=0.0, maximum=_SECONDS
        ),
        Column(
            "time",
            "string",
            "When it was sent, UTC",
            pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
        ),
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
        Column("lost", "int", "Of these, sent and not answered before the process was killed", minimum=0),
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

_REMEDY = "Name a file that `lunguage ledger export` wrote."
_ORDER = [("key", "ascending"), ("attempt", "ascending")]


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """The rows as one Parquet file for its owner alone, replaced as a whole. Answers may quote reports."""
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

    def refused(found: str, expected: str, row: int | None = None) -> InputError:
        remedy = "It is left out; the others are imported." if row else _REMEDY
        return InputError(str(path), found, expected, remedy, row=row)

    try:
        table = read_columns(path)
    except (OSError, pa.ArrowException) as error:
        raise refused(f"a file that cannot be read ({type(error).__name__})", "Parquet") from None
    if set(table.column_names) != set(EXCHANGE.names):
        raise refused(f"columns {sorted(table.column_names)}", f"columns {EXCHANGE.names}")
    try:
        table = table.select(EXCHANGE.names).cast(EXCHANGE.arrow)
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise refused(f"values of a wrong type ({type(error).__name__})", "an exported ledger") from None
    frame, wrong = EXCHANGE.from_arrow(table), dict[int, str]()
    for rule, rows in (*EXCHANGE.broken(frame), *_contradictions(frame, table, parsers)):
        for place in np.flatnonzero(rows).tolist():
            wrong.setdefault(place, rule)
    fit = np.array([place not in wrong for place in range(len(table))], dtype=bool)
    errors = [refused("a value that does not fit", rule, place + 1) for place, rule in sorted(wrong.items())]
    return cast("list[dict[str, Any]]", table.filter(fit).sort_by(_ORDER).to_pylist()), errors


def _contradictions(
    frame: pd.DataFrame, table: pa.Table, parsers: Parsers
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Rules that hold between columns or for all, each with a mask of the rows that break it."""
    failure, valid = frame["failure"], frame["valid"]
    yield "valid exactly where there is no failure", (valid != failure.isna()).to_numpy()
    yield "refused exactly where failure says so", (frame["refused"] != (failure == "refused")).to_numpy()
    replied = valid | failure.isin(REPLIED)
    yield "an answer exactly where a reply came", (frame["answer"].notna() != replied).to_numpy()
    yield "a cost that is a number", pc.fill_null(pc.is_nan(table["cost_usd"]), False).to_numpy()
    texts = [column.name for column in EXCHANGE.columns if column.type == "string"]
    with_nul = [frame[name].str.contains("\0", regex=False, na=False) for name in texts]
    yield "text without NUL", np.logical_or.reduce(with_nul)
    told = valid | (failure == "unreadable")
    unread = [
        one and isinstance(answer, str) and stage in parsers and (parsers[stage](answer) is None) == is_valid
        for one, answer, stage, is_valid in zip(told, frame["answer"], frame["stage"], valid, strict=True)
    ]
    yield "a valid answer exactly where it can be read", np.array(unread, dtype=bool)
