"""Reads a delivered table, CSV or Parquet, as one frame of texts.

A quoted cell of a CSV is read as it stands. A record that cannot be parsed is kept
apart, and the reader goes on behind it.

Not here: which columns a file has and what a cell says (`columns.py`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.columns import clean, folded_name, mapped, shown_names
from lunguage_assets.corpus.texts.archives import content_of
from lunguage_assets.corpus.texts.raw import text_of
from lunguage_assets.errors import InputError, damaged

TABLE_FORM = re.compile(r"\.(?:csv(?:\.gz|\.zip)?|parquet)$", re.IGNORECASE)
_CELL_LIMIT = 16_000_000
_HEADER_BYTES = 64_000
_CHARACTERS_KEPT = 20_000
"""Characters that are kept of a broken record."""
_ROW = r'("?)(?=[\w./-]{0,200}\d)[\w./-]{1,200}+\1,(?! )(?:[^,]*,){%d}'
"""How a row reads: an id or a number, no blank behind its comma, as words have, and as
many commas more as the header has.
"""

UNREADABLE = "unreadable-row"
"""The reason of a record of a CSV that is not well formed."""
_REMEDY = (
    "Add the header line if it is missing, else the column, or name the column that "
    "has it: --text-column, --id-column, or as the help of the command says."
)


class Broken(NamedTuple):
    """A record that cannot be used: a code of `resources/reasons.yaml`, and why."""

    reason: str
    found: str
    content: str


class Records(NamedTuple):
    """The records of a file, by their number from 1.

    Args:
        values: a text for each column of those that can be used, by the names of the
            header as they are written.
        broken: the others, with the columns of `Broken`.
        note: the code of a note that Windows-1252 was guessed, or nothing.
    """

    values: pd.DataFrame
    broken: pd.DataFrame
    note: str = ""


def numbered(
    records: Iterable[Sequence[str]], columns: Sequence[str], note: str = ""
) -> Records:
    """Number records from 1, and keep the broken ones apart.

    Args:
        records: values for the columns, or a `Broken`.
        columns: as the header names them.
        note: as in `Records`.
    """
    values: dict[int, Sequence[str]] = {}
    broken: dict[int, Sequence[str]] = {}
    for number, record in enumerate(records, 1):
        of_its_kind = broken if isinstance(record, Broken) else values
        of_its_kind[number] = record
    frame = partial(pd.DataFrame.from_dict, orient="index", dtype=object)
    return Records(
        frame(values, columns=columns), frame(broken, columns=Broken._fields), note
    )


def cleaned(values: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Clean the cells of some columns; one that is not there is empty.

    Args:
        values: of `Records`.
        names: folded names of the columns, or "unnamed column N", in the order of the
            frame.
    """
    folded = values.set_axis(_column_names(values.columns), axis="columns")
    present = folded.reindex(columns=list(names), fill_value="")
    return present.apply(mapped, function=clean)


def read_records(
    path: Path,
    column_names: Collection[str] | None = None,
    *,
    required: Sequence[str] = (),
    may_be_empty: bool = False,
) -> Records:
    """Read a Parquet or CSV file.

    A CSV is UTF-8 with or without BOM, or else Windows-1252, with any newline; by name
    it may be a `.csv.gz`, or a `.csv.zip` with one table in it.

    Args:
        path: the file.
        column_names: folded names of the columns that are read of a Parquet file;
            values of the others are empty. None: all are read.
        required: those that must be there.
        may_be_empty: a file with a header only is not refused.

    Raises:
        InputError: the file is empty, repeats or lacks a column, or is too large; the
            message shows no cell.
    """
    records = _read(path, column_names)
    header = records.values.columns.tolist()
    names = _column_names(header)
    repeated = [n for n, name in enumerate(names, 1) if names.count(name) > 1]
    # Numbers, not names: without a header line the names are cells of a report.
    if repeated:
        raise _unusable(path.name, f"repeated columns (numbers {repeated})")
    missing = [name for name in required if folded_name(name) not in names]
    if missing:
        raise InputError(
            path.name,
            f"no column {missing} among columns {shown_names(header)}",
            f"columns {list(required)}, each name once",
            _REMEDY,
            column=missing[0],
        )
    if records.values.empty and records.broken.empty and not may_be_empty:
        raise _unusable(path.name, "a header line and no data row")
    return records


def read_header(path: Path) -> list[str]:
    """Read the column names of a CSV or Parquet file."""
    return _read(path, (), _HEADER_BYTES).values.columns.tolist()


def _column_names(header: Iterable[str]) -> list[str]:
    return [
        folded_name(name) or f"unnamed column {number}"
        for number, name in enumerate(header, 1)
    ]


def _unusable(file: str, problem: str) -> InputError:
    return InputError(
        file,
        problem,
        "a header line with each column once, separated by commas, and data rows",
        "Add the header line if it is missing, else deliver the complete file as CSV "
        "in UTF-8.",
        row=0,
    )


def _read(path: Path, column_names: Collection[str] | None, most: int = -1) -> Records:
    """Read the good and the broken records.

    Args:
        path: a Parquet or CSV file.
        column_names: as in `read_records`.
        most: bytes that are read of a CSV file; -1: all.
    """
    if path.name.lower().endswith(".parquet"):
        return _read_parquet(path, column_names)
    csv.field_size_limit(_CELL_LIMIT)
    text, note = text_of(content_of(path, most))
    # Some systems fill a text up with NUL, which says nothing. Lines keep their ends.
    lines = list(io.StringIO(text.replace("\0", ""), newline=""))
    reader = csv.reader(lines, strict=True)
    header: list[str] = []
    with suppress(csv.Error):
        # The names are in the first line with a value.
        header = [name.strip() for name in next(filter(None, reader), [])]
    if len(header) < 2:
        raise _unusable(path.name, "an empty file, a single column or an open quote")
    records = _cut_records(lines[reader.line_num :], len(header))
    return numbered(records, header, note)


def _cut_records(lines: Sequence[str], width: int) -> Iterator[Sequence[str]]:
    """Give the values of each record, or that it cannot be parsed.

    A quote that a stray one closes some rows later swallows these rows. A text may hold
    one line that reads as a row; of several, and of one that closes the quote, each is
    one, and the record ends before the first of them.

    Args:
        lines: behind the header.
        width: how many columns there are.
    """
    is_row = re.compile(_ROW % (width - 2)).match
    start = 0
    while start < len(lines):
        numbers = range(start, len(lines))
        reader = csv.reader(map(lines.__getitem__, numbers), strict=True)
        values: list[str] = []
        with suppress(csv.Error):
            values = next(reader)
        end = start + reader.line_num
        rows = [number for number in range(start + 1, end) if is_row(lines[number])]
        if rows and (not values or len(rows) > 1 or rows[0] == end - 1):
            end = rows[0]
            values = []
        content = "".join(lines[start:end])[:_CHARACTERS_KEPT].rstrip()
        if len(values) == width:
            yield values
        # An empty line is no record.
        elif content:
            yield Broken(UNREADABLE, f"{len(values)} readable values", content)
        start = end


def _read_parquet(path: Path, column_names: Collection[str] | None) -> Records:
    """Read the needed columns as text; the others are empty.

    Raises:
        InputError: it is damaged, or a needed column is nested.
    """
    # Arrow raises anything, depending on what a stranger's bytes make it believe.
    try:
        parquet = pq.ParquetFile(path)
        header: list[str] = parquet.schema_arrow.names
        numbers = range(1, parquet.metadata.num_rows + 1)
        values = pd.DataFrame("", numbers, header, dtype=object)
        for column, name in zip(header, _column_names(header), strict=True):
            if column_names is None or name in column_names:
                cells = parquet.read([column], use_threads=False).column(0)
                values[column] = cells.cast(pa.string()).fill_null("").to_pylist()
    except Exception as error:
        raise damaged(
            path.name,
            "damaged data, or lists in a column",
            error,
            "a Parquet file with one text or number a row in each column",
        ) from None
    return Records(values, pd.DataFrame(columns=Broken._fields, dtype=object))
