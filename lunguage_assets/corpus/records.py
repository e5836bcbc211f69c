"""Reads a delivered table, CSV or Parquet, as one frame of texts.

A quoted cell of a CSV is read as it stands. A record that cannot be parsed is kept
apart, and the reader goes on behind it: one broken record costs itself and nothing
after it. Of a Parquet file the wanted columns are decoded, once it is known that they
fit into memory.

Not here: which columns a file has and what a cell says (`columns.py`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import clean, folded_name, mapped
from lunguage_assets.corpus.texts.archives import (
    content_of,
    is_archive,
    only_member,
    require_size,
)
from lunguage_assets.errors import InputError, damaged

TABLE_FORM = re.compile(r"\.(?:csv(?:\.gz)?|parquet)$", re.IGNORECASE)
_CELL_LIMIT = 16 << 20
_MOST_PARSED = 20
"""How often a file may be parsed behind quotes that are never closed."""
_HEADER_BYTES = 4 << 20
_MOST_COLUMNS = 10_000
_CHARACTERS_KEPT = 20_000
"""Characters that are kept of a broken record."""
_BYTES_OF_A_VALUE = 8
"""What a value takes at least in memory, also one that takes nothing in its file."""
_DAMAGE = re.compile("[\udc80-\udcff\ufffd\0]")
"""Bytes that are not UTF-8, a replacement character, or a NUL."""
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
_BEGINNING = re.compile(r'"? *[\w.-]*\d[\w.-]* *"?,')
"""The first cell of a record, a number or an id: words of a report are none."""

UNCLOSED = "unclosed-quote"
TOO_LARGE = "cell-too-large"
WIDTH = "wrong-number-of-values"
ENCODING = "broken-encoding"
NOT_PARSED = (UNCLOSED, TOO_LARGE, WIDTH)
"""Reasons of the records of a CSV that is not well formed."""
_PROBLEMS = {
    UNCLOSED: "a quote that is not closed, or text behind a closing quote",
    TOO_LARGE: f"a cell of more than {_CELL_LIMIT >> 20} MB",
    ENCODING: "bytes that are not UTF-8 text",
}


class Records(NamedTuple):
    """The records of a table, by their number from 1.

    Args:
        header: the column names as written.
        values: a text for each column, by the column's index; of a broken record as far
            as they could be read.
        broken: the records that cannot be used: `reason` (a code of
            `resources/reasons.yaml`), `problem` in words, `raw` text.
    """

    header: list[str]
    values: pd.DataFrame
    broken: pd.DataFrame


class Cells(NamedTuple):
    """Cleaned cells of a table.

    Args:
        present: the optional columns that are there.
        cells: by folded name, every column that was asked for.
        broken: as of `Records`.
    """

    present: set[str]
    cells: pd.DataFrame
    broken: pd.DataFrame


def read_records(
    path: Path,
    wanted: Collection[str] | None = None,
    *,
    may_be_empty: bool = False,
    keep_bytes: bool = False,
) -> Records:
    """Read a Parquet or CSV file.

    A CSV is UTF-8 with or without BOM, with any newline; by name it may be a `.gz`, or
    an archive with one table in it.

    Args:
        path: the file.
        wanted: folded names of the columns that are read of a Parquet file; values of
            the others are empty. None: all are read.
        may_be_empty: a file with a header only is not refused.
        keep_bytes: a record is not broken by bytes that are not UTF-8: they stay, as
            `surrogateescape` has them.

    Raises:
        InputError: the file is empty, is not text, repeats a column, is too large, or
            breaks off in its last record; the message shows no cell.
    """
    content = content_of(path, TABLE_FORM)
    if _is_parquet(path):
        header, values = _read_parquet(path.name, content, wanted)
        broken: list[_Broken] = []
        # A replacement character may stand in Parquet as it was stored.
        damage = _NO_UTF_8
    else:
        header, values, broken = _read_csv(path.name, content)
        damage = _DAMAGE
    _require_different_names(path.name, header)
    if values.empty and not may_be_empty:
        raise _bad_header(path.name, "a header line and no data row")
    if not keep_bytes:
        known = {record.number for record in broken}
        for number, *cells in values.itertuples(name=None):
            if number not in known and any(map(damage.search, cells)):
                raw = ",".join(cells)
                broken.append(_Broken(number, ENCODING, _PROBLEMS[ENCODING], raw))
    frame = pd.DataFrame(broken, columns=_Broken._fields, dtype=object)
    frame = frame.set_index("number").sort_index()
    values.loc[frame.index] = values.loc[frame.index].map(storable)
    return Records(header, values, frame.assign(raw=frame["raw"].map(storable)))


def read_cells(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    may_be_empty: bool = False,
    keep_bytes: bool = False,
) -> Cells:
    """Read cells by column.

    Args:
        path: a file that `read_records` reads.
        required: columns that must be there.
        optional: columns that may be there; empty where they are not.
        may_be_empty: as in `read_records`.
        keep_bytes: as in `read_records`.

    Raises:
        InputError: as `read_records`, or a required column is missing.
    """
    names = (*required, *optional)
    header, values, broken = read_records(
        path, names, may_be_empty=may_be_empty, keep_bytes=keep_bytes
    )
    index_by_name = columns.index_by_name(header)
    columns.require_columns(path.name, header, index_by_name, required, optional)
    cells = cells_by_name(values, index_by_name, names)
    return Cells(index_by_name.keys() & set(optional), cells, broken)


def cells_by_name(
    values: pd.DataFrame, index_by_name: dict[str, int], names: Sequence[str]
) -> pd.DataFrame:
    """Clean the cells of some columns; one that is not there is empty.

    Args:
        values: of `Records`.
        index_by_name: where each column is.
        names: of the columns, in the order of the frame.
    """
    cells: dict[str, pd.Series | str] = {}
    for name in names:
        cells[name] = ""
        if name in index_by_name:
            cells[name] = mapped(values[index_by_name[name]], clean)
    return pd.DataFrame(cells, index=values.index, columns=list(names), dtype=object)


def read_header(path: Path) -> list[str]:
    """Read the column names of a CSV or Parquet file."""
    if _is_parquet(path):
        file = _opened_parquet(path.name, content_of(path, TABLE_FORM))
        return [str(name) for name in file.schema_arrow.names]
    return _csv_header(path.name, _lines(content_of(path, TABLE_FORM, _HEADER_BYTES)))[
        0
    ]


def storable(text: str) -> str:
    r"""Make text that can be stored.

    Undecodable bytes become `\xNN` and halves of characters `\uNNNN`.
    """
    try:
        content = text.encode("utf-8", "surrogateescape")
        escaped = content.decode("utf-8", "backslashreplace")
    # JSON may have half a character, which stands for no byte.
    except UnicodeEncodeError:
        escaped = text.encode("utf-8", "backslashreplace").decode()
    return escaped.rstrip("\r\n").replace("\0", "\\x00")


class _Broken(NamedTuple):
    number: int
    reason: str
    problem: str
    raw: str


def _require_different_names(file: str, header: Sequence[str]) -> None:
    # Numbers, not names: without a header line the names are cells of a report.
    repeated = [
        str(number)
        for number, name in enumerate(header, 1)
        if name and header.count(name) > 1
    ]
    if repeated:
        raise _bad_header(file, f"repeated columns (numbers {', '.join(repeated)})")


def _is_parquet(path: Path) -> bool:
    name = only_member(path, TABLE_FORM) if is_archive(path) else path.name
    return name.lower().endswith(".parquet")


def _bad_header(file: str, problem: str) -> InputError:
    return InputError(
        file,
        problem,
        "a header line in UTF-8 with each column once, separated by commas, and data "
        "rows",
        "Add the header line if it is missing, else deliver the complete file as CSV "
        "in UTF-8.",
        row=0,
    )


# CSV


def _lines(content: bytes) -> list[str]:
    """Cut a file into physical lines with their ends, which may be of any system."""
    csv.field_size_limit(_CELL_LIMIT)
    return list(io.StringIO(content.decode("utf-8-sig", "surrogateescape"), newline=""))


def _csv_header(file: str, lines: Sequence[str]) -> tuple[list[str], int]:
    """Read the column names in the first line with a value, and count its lines."""
    reader = csv.reader(lines, strict=True)
    header: list[str] = []
    problem = "an empty file"
    try:
        header = next((row for row in reader if row), [])
    except csv.Error:
        problem = "a header line that cannot be read"
    header = [name.strip() for name in header]
    if len(header) == 1:
        problem = "a single column"
    # Bytes that are no text are the likelier reason.
    if any(map(_DAMAGE.search, lines[: reader.line_num])):
        problem = "a header line that is not UTF-8 text"
    elif any(header) and 1 < len(header) <= _MOST_COLUMNS:
        return header, reader.line_num
    elif len(header) > _MOST_COLUMNS:
        problem = f"more than {_MOST_COLUMNS:,} columns"
    raise _bad_header(file, problem)


def _read_csv(
    file: str, content: bytes
) -> tuple[list[str], pd.DataFrame, list[_Broken]]:
    """Read the header, and the records until the file ends.

    Raises:
        InputError: the last record breaks off, or quotes are never closed.
    """
    lines = _lines(content)
    header, start = _csv_header(file, lines)
    rows: list[list[str]] = []
    broken: list[_Broken] = []
    lines_parsed = 0
    # One reader reads on until a record is broken; the next begins behind it.
    while start < len(lines):
        first = start
        rest = map(lines.__getitem__, range(first, len(lines)))
        reader = csv.reader(rest, strict=True)
        for values, reason in _parsed(reader, len(header)):
            if reason:
                break
            rows.append(values)
            start = first + reader.line_num
        else:
            break
        # A quote that is never closed is read to the end of the file each time.
        lines_parsed += reader.line_num
        if lines_parsed > _MOST_PARSED * len(lines):
            raise InputError(
                file,
                "too many quotes that are not closed",
                "a CSV whose quotes are closed",
                "Fix the quotes, or deliver it as Parquet.",
            )
        end = first + reader.line_num
        if reason != WIDTH:
            end = _next_beginning(lines, start)
            # The cells of the first line show at least the study.
            values = next(csv.reader([lines[start][:_CHARACTERS_KEPT]]), [])
        is_short = reason == UNCLOSED or len(values) < len(header)
        # A file that was cut on its way ends inside a record, without a line end.
        if is_short and end == len(lines) and lines[-1][-1:] not in "\r\n":
            raise InputError(
                file,
                "a last record that breaks off, without a line end behind it",
                "a whole file",
                "Deliver the whole file again; if it is whole, fix its last record.",
                row=len(rows) + 1,
            )
        problem = _PROBLEMS.get(reason, f"{len(values)} values")
        raw = "".join(lines[start:end])[:_CHARACTERS_KEPT]
        broken.append(_Broken(len(rows) + 1, reason, problem, raw))
        rows.append([*values, *[""] * len(header)][: len(header)])
        start = end
    numbers = range(1, len(rows) + 1)
    frame = pd.DataFrame(rows, numbers, range(len(header)), dtype=object)
    return header, frame, broken


def _next_beginning(lines: Sequence[str], start: int) -> int:
    """Find the record behind one that does not parse.

    A quote that is not closed swallows the records behind it. They are looked for;
    where records begin otherwise, every line gets its chance.
    """
    if not _BEGINNING.match(lines[start]):
        return start + 1
    behind = range(start + 1, len(lines))
    return next((n for n in behind if _BEGINNING.match(lines[n])), len(lines))


def _parsed(reader: Any, width: int) -> Iterator[tuple[list[str], str]]:
    """Parse records, each with the reason why it is broken; the last may be."""
    try:
        # An empty line is no record.
        for values in filter(None, reader):
            yield values, "" if len(values) == width else WIDTH
    except csv.Error as error:
        yield [], TOO_LARGE if "field larger" in str(error) else UNCLOSED


# Parquet


def _opened_parquet(
    file: str, content: bytes, texts: Sequence[str] = ()
) -> pq.ParquetFile:
    # Arrow raises anything, depending on what a stranger's bytes make it believe.
    try:
        return pq.ParquetFile(pa.BufferReader(content), read_dictionary=list(texts))
    except Exception:
        raise InputError(
            file,
            "a file that is not Parquet",
            "a Parquet file",
            "Deliver it again, or as CSV.",
        ) from None


def _read_parquet(
    file: str, content: bytes, wanted: Collection[str] | None
) -> tuple[list[str], pd.DataFrame]:
    """Read the header, and the wanted columns as text.

    A text that stands once in a file may be the value of every row. So texts are read
    as numbers in a dictionary, and counted before any is made.

    Raises:
        InputError: it is damaged or too large, or a wanted column is nested.
    """
    schema = _opened_parquet(file, content).schema_arrow
    header = [str(name) for name in schema.names]
    fields = {}
    for index, name in enumerate(header):
        if wanted is None or folded_name(name) in wanted:
            fields[index] = schema.field(index)
            _require_flat(file, fields[index])
    names = [field.name for field in fields.values()]
    opened = _opened_parquet(file, content, names)
    rows = opened.metadata.num_rows
    require_size(file, _footer_bytes(opened, names))
    cells: dict[int, object] = dict.fromkeys(range(len(header)), "")
    try:
        unpacked = 0
        for index, field in fields.items():
            column = opened.read([field.name], use_threads=False).column(0)
            unpacked += sum(map(_bytes_of, column.chunks))
            require_size(file, unpacked)
            cells[index] = [
                text for chunk in column.chunks for text in _texts_of(chunk)
            ]
    except InputError:
        raise
    # Anything, as in `_opened_parquet`.
    except Exception as error:
        raise damaged(file, "damaged data", error, "a whole Parquet file") from None
    numbers = range(1, rows + 1)
    return header, pd.DataFrame(cells, numbers, range(len(header)), dtype=object)


def _require_flat(file: str, field: pa.Field) -> None:
    # A single list may hold gigabytes.
    if pa.types.is_nested(field.type):
        raise InputError(
            file,
            "lists or structures",
            "one text or number a row",
            "Write the column as text.",
            column=folded_name(field.name),
        )


def _footer_bytes(file: pq.ParquetFile, names: Sequence[str]) -> int:
    """Add up what some columns take by the footer, before anything is decoded."""
    size = 0
    for group in range(file.num_row_groups):
        row_group = file.metadata.row_group(group)
        for index in range(row_group.num_columns):
            chunk = row_group.column(index)
            if chunk.path_in_schema in names:
                size += chunk.total_uncompressed_size
                size += _BYTES_OF_A_VALUE * chunk.num_values
    return size


def _bytes_of(chunk: pa.Array) -> int:
    """Count what a column takes as texts."""
    if not isinstance(chunk, pa.DictionaryArray):
        return int(chunk.nbytes)
    lengths = pc.binary_length(_as_binary(chunk.dictionary))
    return int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)


def _as_binary(values: pa.Array) -> pa.Array:
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if is_text or pa.types.is_binary(values.type):
        return values.cast(pa.large_binary())
    # Numbers, dates and the like: one that no calendar has says so in words.
    return values.cast(pa.string()).cast(pa.large_binary())


def _texts_of(chunk: pa.Array) -> list[str]:
    """Make the texts of a column; bytes that are not UTF-8 stay, as in a CSV."""
    is_dictionary = isinstance(chunk, pa.DictionaryArray)
    values = chunk.dictionary if is_dictionary else chunk
    texts = [
        (value or b"").decode("utf-8", "surrogateescape")
        for value in _as_binary(values).to_pylist()
    ]
    if not is_dictionary:
        return texts
    # Each text is made once, however often it stands in the column.
    return [
        "" if index is None else texts[index] for index in chunk.indices.to_pylist()
    ]
