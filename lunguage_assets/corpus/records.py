"""Reads a delivered table, CSV or Parquet, record by record.

One broken record costs itself and nothing after it. Python's csv module parses,
strictly. An unclosed quote may swallow the records behind it, even without a parse
error. So no further line of a record may begin like a record of its own (an id in every
id column): reading resumes there.

Not here: which columns a file has and what a cell says (`columns.py`).
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.packages import TABLE_FORM, open_unpacked
from lunguage_assets.errors import InputError, damaged

MOST_UNPACKED = 1 << 30
"""Bytes that are unpacked of one file or package, or of all `.gz` files that land.

All reports of MIMIC-CXR are a fifth of it.
"""
_CELL_LIMIT = 16 << 20
_LINE_LIMIT = 2 * _CELL_LIMIT
"""Characters of a physical line; a longer one is cut there."""
_MOST_LINES = 50_000
"""Lines in which the end of a record is looked for; a long report has a few hundred."""
_MOST_REREAD = 512 << 20
"""Characters that are read again behind records that never end.

Then the file is given up. A line counts as `_COST_OF_A_LINE` characters more.
"""
_COST_OF_A_LINE = 100
_MOST_COLUMNS = 10_000
_CHARACTERS_OF_LARGE = 20_000
"""Characters that are kept of a record with a cell over the limit."""
_NUMBERS_NAMED = 40
"""Columns that a message about repeated ones names."""
_ROWS_AT_ONCE = 1_000
"""Rows of a Parquet file: a long text that repeats takes next to no room there."""
_DAMAGE = re.compile("[\udc80-\udcff\ufffd\0]")
"""Bytes that are not UTF-8, a replacement character, or a NUL."""
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
_UNREADABLE = "\udcff"
"""Stands for a value that Arrow cannot give.

It breaks its record, as a byte does that is no text.
"""
_CELL = r'(?:"(?:[^"\n]|"")*"|[^,"\n]*)'
"""A cell on one line."""
_ID = r' {0,3}"? {0,3}(?:[ps]\d{1,18}|\d{8,18})(?:\.0+)? {0,3}"? {0,3}'
_ID_COLUMNS = ("subject_id", "study_id")

UNCLOSED = "unclosed-quote"
TOO_LARGE = "cell-too-large"
WIDTH = "wrong-number-of-values"
ENCODING = "broken-encoding"
_NOT_UTF_8 = "bytes that are not UTF-8 text"

Cells = Mapping[str, str]
"""Cleaned cells of a record by column; empty where the file has no such column."""


def require_size(file: str, unpacked: int) -> None:
    """Stop when more than `MOST_UNPACKED` bytes came out of a file."""
    if unpacked <= MOST_UNPACKED:
        return
    largest = f"{MOST_UNPACKED >> 20:,} MiB"
    raise InputError(
        file,
        f"more than {largest} when unpacked",
        f"at most {largest}",
        "Deliver it unpacked, or in several deliveries.",
    )


@dataclass(frozen=True, slots=True)
class Record:
    """One data record: 1-based number and values in header order.

    A `broken` one has a reason code (`resources/reasons.yaml`), the `problem` in words,
    its `raw` text, and as many values as could be read.
    """

    number: int
    values: list[str]
    broken: str = ""
    problem: str = ""
    raw: str = ""


def read_records(
    path: Path, *, may_be_empty: bool = False, keep_bytes: bool = False
) -> tuple[list[str], Iterator[Record]]:
    """Read a Parquet or CSV file.

    A CSV is UTF-8 with or without BOM, with any newline; by name it may be a `.gz`, or
    a `.zip` with one CSV file in it.

    Args:
        path: the file.
        may_be_empty: a file with a header only is not refused.
        keep_bytes: a record is not broken by bytes that are not UTF-8: they stay, as
            `surrogateescape` has them.

    Returns:
        The header, and the records one after the other.

    Raises:
        InputError: the file is empty, is not text, repeats a column, or breaks off in
            its last record; the message shows no cell.
    """
    if path.name.lower().endswith(".parquet"):
        header, records = _parquet_records(path)
        if not keep_bytes:
            records = map(_broken_by_bytes, records)
    else:
        lines = _Lines(path)
        header = _csv_header(lines)
        # From here on `lines` knows how a record begins.
        records = _csv_records(lines, len(header), keep_bytes=keep_bytes)
    _require_different_names(header, path.name)
    first = next(records, None)
    if first is not None:
        return header, chain([first], records)
    if may_be_empty:
        return header, iter(())
    raise InputError(
        path.name,
        "a header line and no data row",
        "at least one data row",
        "Deliver the complete file.",
    )


def _require_different_names(header: Sequence[str], file: str) -> None:
    times = Counter(header)
    repeated = [
        str(number) for number, name in enumerate(header, 1) if name and times[name] > 1
    ]
    # Numbers, not names: without a header line the names are cells of a report.
    if repeated:
        numbers = ", ".join(repeated[:_NUMBERS_NAMED])
        raise _bad_header(file, f"repeated columns (numbers {numbers})")


def read_cells(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    may_be_empty: bool = False,
    keep_bytes: bool = False,
) -> tuple[set[str], Iterator[tuple[Record, Cells]]]:
    """Read cells by column.

    Args:
        path: a file that `read_records` reads.
        required: columns that must be there.
        optional: columns that may be there.
        may_be_empty: as in `read_records`.
        keep_bytes: as in `read_records`.

    Returns:
        The optional columns that are there, and every record with its cleaned cells by
        column, empty where it has none.

    Raises:
        InputError: as `read_records`, or a required column is missing.
    """
    header, records = read_records(
        path, may_be_empty=may_be_empty, keep_bytes=keep_bytes
    )
    index_by_name = columns.index_by_name(header)
    columns.require_columns(path.name, header, index_by_name, required, optional)
    names = (*required, *optional)
    index_by_column = {
        name: index for name, index in index_by_name.items() if name in names
    }
    present = index_by_name.keys() & set(optional)
    cells_of_records = (
        (record, cells_of(record, names, index_by_column)) for record in records
    )
    return present, cells_of_records


def cells_of(
    record: Record, names: Iterable[str], index_by_column: Mapping[str, int]
) -> dict[str, str]:
    """Clean the cells of a record.

    Args:
        record: a broken one may have fewer values than the file has columns.
        names: of all columns that are read.
        index_by_column: where those are that the file has.

    Returns:
        The cells by column, in the order of the names; empty where there is none.
    """
    cells = dict.fromkeys(names, "")
    for name, index in index_by_column.items():
        if index < len(record.values):
            cells[name] = columns.clean(record.values[index])
    return cells


def read_header(path: Path) -> list[str]:
    """Read the column names of a CSV or Parquet file."""
    if path.name.lower().endswith(".parquet"):
        return _parquet_records(path)[0]
    return _csv_header(_Lines(path))


def _bad_header(file: str, problem: str) -> InputError:
    expected = (
        "a header line in UTF-8 with each column once, separated by commas, and data "
        "rows"
    )
    remedy = (
        "Add the header line if it is missing, else deliver the complete file as CSV "
        "in UTF-8."
    )
    return InputError(file, problem, expected, remedy, row=0)


class _Lines:
    """Physical lines of a CSV file.

    `record_lines` are those of the current record, and can be given back.
    `record_start` is the pattern of a record's first line; no further line of a record
    may match it.
    """

    def __init__(self, path: Path) -> None:
        csv.field_size_limit(_CELL_LIMIT)
        self.file = path.name
        self.record_lines: list[str] = []
        self.last_line = "\n"
        self.record_start: re.Pattern[str] | None = None
        self._is_packed = path.name.lower().endswith((".gz", ".zip"))
        self._text = io.TextIOWrapper(
            open_unpacked(path, TABLE_FORM),
            encoding="utf-8-sig",
            errors="surrogateescape",
            newline="",
        )
        self._ahead: deque[str] = deque()
        self._unpacked = 0
        self._reread = 0

    def of_record(self) -> Iterator[str]:
        """Take lines up to the beginning of another record."""
        while len(self.record_lines) < _MOST_LINES:
            # First what a broken record has given back.
            line = self._ahead.popleft() if self._ahead else self._read()
            if not line:
                return
            if self.record_lines and self._begins_record(line):
                self._ahead.appendleft(line)
                return
            self.record_lines.append(line)
            yield line

    def _read(self) -> str:
        try:
            line = self._text.readline(_LINE_LIMIT)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            problem = "a file that cannot be unpacked"
            raise damaged(self.file, problem, error, "a whole file") from None
        # A package of a few megabytes may unpack to gigabytes.
        if self._is_packed:
            self._unpacked += len(line)
            require_size(self.file, self._unpacked)
        if line:
            self.last_line = line
        return line

    def _begins_record(self, line: str) -> bool:
        if self.record_start is None:
            return False
        return self.record_start.match(line) is not None

    def are_damaged(self) -> bool:
        """Tell whether a line of the record is not UTF-8 text."""
        # Nearly all lines are plain ASCII, which is looked at much faster.
        return any(
            _DAMAGE.search(line)
            for line in self.record_lines
            if not line.isascii() or "\0" in line
        )

    def give_up(self, reason: str) -> str:
        """Give back the lines that a broken record does not cost.

        Where no beginning can be recognised it costs its first line, and every further
        one gets its chance.

        Args:
            reason: why the record is broken.

        Returns:
            The reason, which may change with what is given back.
        """
        if self._begins_record(self.record_lines[0]):
            if reason == TOO_LARGE:
                # Read on to the next record, without keeping what is read.
                for _ in self.of_record():
                    self.record_lines.pop()
            return reason
        given_back = self.record_lines[1:]
        self._reread += sum(map(len, given_back))
        self._reread += _COST_OF_A_LINE * len(given_back)
        if self._reread > _MOST_REREAD:
            raise InputError(
                self.file,
                "too many quotes that are not closed",
                "a CSV whose quotes are closed",
                "Fix the quotes, or deliver it as Parquet.",
            )
        self._ahead.extendleft(reversed(given_back))
        del self.record_lines[1:]
        return UNCLOSED if given_back else reason


def _csv_header(lines: _Lines) -> list[str]:
    """Read the column names, and learn from them how a record begins."""
    header = _header_line(lines)
    if not any(header):
        raise _bad_header(lines.file, "an empty file")
    id_columns = [
        index
        for index, name in enumerate(header)
        if columns.folded_name(name) in _ID_COLUMNS
    ]
    # Without a column of ids nobody can tell a record's first line from another.
    if id_columns:
        cells = [_CELL] * (max(id_columns) + 1)
        for index in id_columns:
            cells[index] = _ID
        pattern = ",".join(cells) + r"\s*(?:,|$)"
        lines.record_start = re.compile(pattern, re.IGNORECASE)
    return header


def _header_line(lines: _Lines) -> list[str]:
    """Read the first line with a value; empty in an empty file."""
    reader = csv.reader(lines.of_record(), strict=True)
    values: list[str] | None
    # Empty where the file is, None where its first line cannot be parsed.
    try:
        values = next((row for row in reader if row), [])
    except csv.Error:
        values = None
    if values == []:
        return []
    # Bytes that are no text are the likelier reason, so they are looked at first.
    if lines.are_damaged():
        raise _bad_header(lines.file, "a header line that is not UTF-8 text")
    if values is None:
        raise _bad_header(lines.file, "a header line that cannot be read")
    header = [value.strip() for value in values]
    if len(header) == 1 and header[0]:
        raise _bad_header(lines.file, "a single column")
    if len(header) > _MOST_COLUMNS:
        raise _bad_header(lines.file, f"more than {_MOST_COLUMNS:,} columns")
    return header


def _csv_records(lines: _Lines, width: int, *, keep_bytes: bool) -> Iterator[Record]:
    """Read records until the file ends.

    Args:
        lines: behind the header.
        width: how many values a record must have.
        keep_bytes: as in `read_records`.

    Raises:
        InputError: the last record breaks off.
    """
    number = 0
    last_incomplete = 0
    while True:
        lines.record_lines = []
        reason = ""
        values: list[str] | None = []
        try:
            values = next(csv.reader(lines.of_record(), strict=True), None)
        except csv.Error as error:
            reason = TOO_LARGE if "field larger" in str(error) else UNCLOSED
        if values is None:
            break
        # An empty line is no record.
        if not values and not reason:
            continue
        number += 1
        if reason:
            record = _given_up(lines, number, reason)
        else:
            record = _checked(lines, number, values, width, keep_bytes=keep_bytes)
        if record.broken == UNCLOSED or len(record.values) < width:
            last_incomplete = number
        yield record
    # A file that was cut on its way ends inside a record, and without a line end.
    if last_incomplete == number > 0 and not lines.last_line.endswith(("\n", "\r")):
        raise InputError(
            lines.file,
            "a last record that breaks off, without a line end behind it",
            "a whole file",
            "Deliver the whole file again; if it is whole, fix its last record.",
            row=number,
        )


def _checked(
    lines: _Lines, number: int, values: list[str], width: int, *, keep_bytes: bool
) -> Record:
    """Make a record of values that could be parsed; broken where they do not fit."""
    if len(values) != width:
        return _broken(lines, number, values, WIDTH, f"{len(values)} values")
    if not keep_bytes and lines.are_damaged():
        return _broken(lines, number, values, ENCODING, _NOT_UTF_8)
    return Record(number, values)


def _given_up(lines: _Lines, number: int, reason: str) -> Record:
    """Make a broken record of lines that could not be parsed."""
    reason = lines.give_up(reason)
    problem = "a quote that is not closed, or text behind a closing quote"
    if reason == TOO_LARGE:
        problem = f"a cell of more than {_CELL_LIMIT >> 20} MB"
    values: list[str] = []
    # The cells of the first line show at least the study.
    with suppress(csv.Error):
        values = next(csv.reader([lines.record_lines[0][:_CHARACTERS_OF_LARGE]]), [])
    return _broken(lines, number, values, reason, problem)


def _broken(
    lines: _Lines, number: int, values: Sequence[str], reason: str, problem: str
) -> Record:
    raw = "".join(lines.record_lines)
    if reason == TOO_LARGE:
        raw = raw[:_CHARACTERS_OF_LARGE]
    storable_values = [storable(value) for value in values]
    return Record(number, storable_values, reason, problem, storable(raw))


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


def _parquet_records(path: Path) -> tuple[list[str], Iterator[Record]]:
    try:
        file = pq.ParquetFile(path)
        header = [str(name) for name in file.schema_arrow.names]
    # Arrow raises anything, depending on what a stranger's bytes make it believe.
    except Exception:
        raise InputError(
            path.name,
            "a file that is not Parquet",
            "a Parquet file",
            "Deliver it again, or as CSV.",
        ) from None
    return header, _rows_of_parquet(file, path.name)


def _rows_of_parquet(file: pq.ParquetFile, name: str) -> Iterator[Record]:
    number = 0
    unpacked = 0
    try:
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            unpacked += batch.nbytes
            require_size(name, unpacked)
            for values in zip(*map(_column_texts, batch.columns), strict=True):
                number += 1
                yield Record(number, list(values))
    except InputError:
        raise
    # Anything, as in `_parquet_records`.
    except Exception as error:
        raise damaged(name, "damaged data", error, "a whole Parquet file") from None


def _broken_by_bytes(record: Record) -> Record:
    """Break a record with a value that is not UTF-8, as those of a CSV are."""
    if not any(map(_NO_UTF_8.search, record.values)):
        return record
    values = [storable(value) for value in record.values]
    return Record(record.number, values, ENCODING, _NOT_UTF_8)


def _column_texts(column: pa.Array) -> list[str]:
    """Read a column as text, value by value where one of them cannot be read."""
    try:
        return [_text(value) for value in column.to_pylist()]
    # Anything, as in `_parquet_records`.
    except Exception:
        return [_text_of_scalar(value) for value in column]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def _text_of_scalar(value: pa.Scalar) -> str:
    try:
        return _text(value.as_py())
    except UnicodeDecodeError:
        return _text(value.as_buffer().to_pybytes())
    # A date that no calendar has, say.
    except Exception:
        return _UNREADABLE
