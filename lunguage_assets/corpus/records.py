"""Reads a delivered table, CSV or Parquet, as one frame of texts.

A quoted cell of a CSV is read as it stands. A record that cannot be parsed is kept
apart, and the reader goes on behind it. Of a Parquet file the column_names columns are
decoded, once it is known that they fit into memory.

Not here: which columns a file has and what a cell says (`columns.py`).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.columns import clean, folded_name, mapped, require_columns
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.archives import content_of, only_member, require_size
from lunguage_assets.errors import InputError, damaged

TABLE_FORM = re.compile(r"\.(?:csv(?:\.gz)?|parquet)$", re.IGNORECASE)
_CELL_LIMIT = 16 << 20
_HEADER_BYTES = 4 << 20
_CHARACTERS_KEPT = 20_000
"""Characters that are kept of a broken record."""
_BYTES_OF_A_VALUE = 8
"""What a value takes at least in memory, also one that takes nothing in its file."""
_OPENING = re.compile(r'(?:^|,)"')
_ROW = r'("?)(?=[\w./-]{0,200}\d)[\w./-]{1,200}+\1,(?! )(?:[^,]*,){%d}'
"""How a row reads: an id or a number, no blank behind its comma, as words have, and as
many commas more as the header has.
"""

UNCLOSED = "unclosed-quote"
WIDTH = "wrong-number-of-values"
NOT_PARSED = (UNCLOSED, WIDTH)
"""Reasons of the records of a CSV that is not well formed."""


class Records(NamedTuple):
    """The records of a table, by their number from 1.

    Args:
        file: the name of the table.
        header: the column names as written.
        values: a text for each column of those that can be used, in the order of the
            header, by folded name or as "unnamed column N".
        broken: the others: `reason` (a code of `resources/reasons.yaml`), what was
            `found`, and the raw `content`.
        guessed: numbers of the records that are not UTF-8, and are read as
            Windows-1252.
    """

    file: str
    header: list[str]
    values: pd.DataFrame
    broken: pd.DataFrame
    guessed: list[int]

    def note_damages(self, log: IntakeLog) -> None:
        """Reject what cannot be parsed, whose study nobody knows; note guesses."""
        # In a broken record the cells of other columns may stand where the id was.
        log.reject(
            self.broken.assign(
                file=self.file, line=self.broken.index, study_id="", column=""
            )
        )
        for line in self.guessed:
            log.note("encoding-guessed", self.file, line=line)


def cleaned(values: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Clean the cells of some columns; one that is not there is empty.

    Args:
        values: of `Records`.
        names: folded names of the columns, in the order of the frame.
    """
    present = values.reindex(columns=list(names), fill_value="")
    return pd.DataFrame({name: mapped(present[name], clean) for name in names})


def read_records(
    path: Path,
    column_names: Collection[str] | None = None,
    *,
    required: Sequence[str] = (),
    may_be_empty: bool = False,
) -> Records:
    """Read a Parquet or CSV file.

    A CSV is UTF-8 with or without BOM, UTF-16 with one, or Windows-1252, with any
    newline; by name it may be a `.gz`, or an archive with one table in it.

    Args:
        path: the file.
        column_names: folded names of the columns that are read of a Parquet file;
            values of the others are empty. None: all are read.
        required: those that must be there.
        may_be_empty: a file with a header only is not refused.

    Raises:
        InputError: the file is empty, repeats or lacks a column, is too large, or
            breaks off in its last record; the message shows no cell.
    """
    content = content_of(path, TABLE_FORM)
    if _is_parquet(path):
        header, rows = _read_parquet(path.name, content, column_names)
        broken: dict[int, tuple[str, str, str]] = {}
        guessed: list[int] = []
    else:
        header, rows, broken, guessed = _read_csv(path.name, content)
    names = [
        folded_name(name) or f"unnamed column {number}"
        for number, name in enumerate(header, 1)
    ]
    repeated = [n for n, name in enumerate(names, 1) if names.count(name) > 1]
    # Numbers, not names: without a header line the names are cells of a report.
    if repeated:
        raise _unusable(path.name, f"repeated columns (numbers {repeated})")
    require_columns(path.name, header, required, tuple(column_names or ()))
    if not (rows or broken or may_be_empty):
        raise _unusable(path.name, "a header line and no data row")
    values = pd.DataFrame(list(rows.values()), list(rows), names, dtype=object)
    in_words = ["reason", "found", "content"]
    unusable = pd.DataFrame.from_dict(broken, "index", object, in_words)
    return Records(path.name, header, values, unusable, guessed)


def read_header(path: Path) -> list[str]:
    """Read the column names of a CSV or Parquet file."""
    if _is_parquet(path):
        content = content_of(path, TABLE_FORM)
        return [*_opened_parquet(path.name, content).schema_arrow.names]
    lines = _lines(content_of(path, TABLE_FORM, _HEADER_BYTES))
    return _csv_header(path.name, lines)[0]


def storable(text: str) -> str:
    r"""Make text that can be stored: `\udcNN` for what is no whole character."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _readable(text: str) -> str:
    """Read bytes that are not UTF-8 as Windows-1252."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
    return text


def _is_parquet(path: Path) -> bool:
    return only_member(path, TABLE_FORM).lower().endswith(".parquet")


def _unusable(file: str, problem: str) -> InputError:
    return InputError(
        file,
        problem,
        "a header line with each column once, separated by commas, and data rows",
        "Add the header line if it is missing, else deliver the complete file as CSV "
        "in UTF-8.",
        row=0,
    )


# CSV


def _lines(content: bytes) -> list[str]:
    """Cut a file into physical lines with their ends, which may be of any system."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", "replace")
    else:
        text = content.decode("utf-8-sig", "surrogateescape")
    # Some systems fill a text up with NUL, which says nothing.
    return list(io.StringIO(text.replace("\0", ""), newline=""))


def _csv_header(file: str, lines: Sequence[str]) -> tuple[list[str], int]:
    """Read the column names in the first line with a value, and count its lines."""
    reader = csv.reader(lines, strict=True)
    try:
        header = [_readable(name.strip()) for name in next(filter(None, reader), [])]
    except csv.Error:
        raise _unusable(file, "a header line that cannot be read") from None
    if len(header) < 2:
        raise _unusable(file, "a single column" if any(header) else "an empty file")
    return header, reader.line_num


def _read_csv(
    file: str, content: bytes
) -> tuple[list[str], dict[int, list[str]], dict[int, tuple[str, str, str]], list[int]]:
    """Read the header, the good and the broken records, and which are not UTF-8.

    Raises:
        InputError: the file was cut on its way: its last record breaks off, without a
            line end.
    """
    csv.field_size_limit(_CELL_LIMIT)
    lines = _lines(content)
    header, start = _csv_header(file, lines)
    rows: dict[int, list[str]] = {}
    broken: dict[int, tuple[str, str, str]] = {}
    guessed = []
    for number, record in enumerate(_cut_records(lines[start:], len(header)), 1):
        text = _readable(record)
        if text != record:
            guessed.append(number)
        values: list[str] = []
        reason = UNCLOSED
        problem = "a quote that is not closed, or text behind a closing quote"
        with suppress(csv.Error):
            values = next(csv.reader([text], strict=True))
            reason = WIDTH
            problem = f"{len(values)} values"
        if len(values) == len(header):
            rows[number] = values
            continue
        broken[number] = (reason, problem, text[:_CHARACTERS_KEPT].rstrip())
        is_last = record.endswith(lines[-1])
        if len(values) < len(header) and is_last and lines[-1][-1:] not in "\r\n":
            raise InputError(
                file,
                "a last record that breaks off, without a line end behind it",
                "a whole file",
                "Deliver the whole file again, or fix its last record.",
                row=number,
            )
    return header, rows, broken, guessed


def _cut_records(lines: Sequence[str], width: int) -> Iterator[str]:
    """Join the lines of each record: an open quote goes on in the next line.

    A quote that a stray one closes some rows later swallows these rows. A text may hold
    one line that reads as a row; of several, and of one that closes the quote, each is
    one, and the record ends before the first of them.

    Args:
        lines: behind the header.
        width: how many columns there are.
    """
    row = re.compile(_ROW % (width - 2))
    start = 0
    while start < len(lines):
        is_open = False
        rows_inside: list[int] = []
        for end in range(start, len(lines)):
            line = lines[end]
            if is_open and row.match(line):
                rows_inside.append(end)
            is_open ^= _opens_or_closes(line, is_open=is_open)
            if not is_open or len(rows_inside) > 1:
                break
        behind = end + 1
        if is_open or rows_inside[-1:] == [end]:
            behind = next(iter(rows_inside), behind)
        record = "".join(lines[start:behind])
        # An empty line is no record.
        if record.strip("\r\n"):
            yield record
        start = behind


def _opens_or_closes(line: str, *, is_open: bool) -> bool:
    """Tell whether a line opens a quote that goes on, or closes the open one."""
    if '"' not in line:
        return False
    has_odd_quotes = line.count('"') % 2 == 1
    # A quote inside a cell without quotes, as in `5" tube`, opens nothing.
    return has_odd_quotes and (is_open or _OPENING.search(line) is not None)


# Parquet


def _opened_parquet(
    file: str, content: bytes, names: Sequence[str] = ()
) -> pq.ParquetFile:
    """Open a file, whose texts in these columns are read as numbers in a dictionary."""
    # Arrow raises anything, depending on what a stranger's bytes make it believe.
    try:
        return pq.ParquetFile(pa.BufferReader(content), read_dictionary=list(names))
    except Exception as error:
        raise _damaged_parquet(file, error) from None


def _damaged_parquet(file: str, error: Exception) -> InputError:
    expected = "a Parquet file with one text or number a row in each column"
    return damaged(file, "damaged data, or lists in a column", error, expected)


def _read_parquet(
    file: str, content: bytes, column_names: Collection[str] | None
) -> tuple[list[str], dict[int, list[str]]]:
    """Read the header, and the column_names columns as text.

    Raises:
        InputError: it is damaged or too large, or a column_names column is nested.
    """
    header: list[str] = _opened_parquet(file, content).schema_arrow.names
    names = [
        name
        for name in header
        if column_names is None or folded_name(name) in column_names
    ]
    opened = _opened_parquet(file, content, names)
    metadata = opened.metadata
    size = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema.split(".")[0] in names:
                size += chunk.total_uncompressed_size
                size += _BYTES_OF_A_VALUE * chunk.num_values
    require_size(file, size)
    nothing = [""] * metadata.num_rows
    columns = []
    characters = 0
    for name in header:
        texts = nothing
        if name in names:
            texts = _texts_of(file, opened, name)
        # A text that stands once in a file may be the value of every row.
        characters += sum(map(len, texts))
        require_size(file, characters)
        columns.append(texts)
    return header, dict(enumerate(map(list, zip(*columns, strict=True)), 1))


def _texts_of(file: str, opened: pq.ParquetFile, name: str) -> list[str]:
    """Read a column; each text is made once, however often it stands in it."""
    column: list[str] = []
    # Anything, as in `_opened_parquet`.
    try:
        for chunk in opened.read([name], use_threads=False).column(0).chunks:
            if not isinstance(chunk, pa.DictionaryArray):
                chunk = chunk.dictionary_encode()
            # Of dates, one that no calendar has says so in words.
            texts = chunk.dictionary.cast(pa.string()).to_pylist()
            numbers = chunk.indices.to_pylist()
            column += ["" if number is None else texts[number] for number in numbers]
    except Exception as error:
        raise _damaged_parquet(file, error) from None
    return column
