"""Reads a delivered table, CSV or Parquet, record by record.

A quoted cell of a CSV is read as it stands. Where a record cannot be parsed, its lines
are searched for the records behind it: one broken record costs itself and nothing after
it. Of a Parquet file the wanted columns are decoded, and no more at once than memory
has room for.

Not here: which columns a file has and what a cell says (`columns.py`).
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.packages import DAMAGES, TABLE_FORM, open_unpacked
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
"""Characters that are read a third time behind records that never end.

Then the file is given up. A line counts as `_COST_OF_A_LINE` characters more.
"""
_COST_OF_A_LINE = 100
_MOST_COLUMNS = 10_000
_CHARACTERS_OF_LARGE = 20_000
"""Characters that are kept of a record with a cell over the limit."""
_NUMBERS_NAMED = 40
"""Columns that a message about repeated ones names."""
_ROWS_AT_ONCE = 1_000
_MOST_AT_ONCE = 64 << 20
"""Bytes of the Parquet rows that are decoded at once, which may be fewer, then."""
_BYTES_OF_A_VALUE = 8
"""What a value takes at least in memory, also one that takes nothing in its file."""
_IN_FULL = frozenset(
    ("PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "BYTE_STREAM_SPLIT")
)
"""Parquet's ways to write every text as long as it is; RLE are numbers of levels."""
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
NOT_PARSED = (UNCLOSED, TOO_LARGE, WIDTH)
"""Reasons of the records of a CSV that is not well formed."""
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
    path: Path,
    wanted: Collection[str] | None = None,
    *,
    may_be_empty: bool = False,
    keep_bytes: bool = False,
) -> tuple[list[str], Iterator[Record]]:
    """Read a Parquet or CSV file.

    A CSV is UTF-8 with or without BOM, with any newline; by name it may be a `.gz`, or
    a `.zip` with one CSV file in it.

    Args:
        path: the file.
        wanted: folded names of the columns that are read of a Parquet file; values of
            the others are empty. None: all are read.
        may_be_empty: a file with a header only is not refused.
        keep_bytes: a record is not broken by bytes that are not UTF-8: they stay, as
            `surrogateescape` has them.

    Returns:
        The header, and the records one after the other.

    Raises:
        InputError: the file is empty, is not text, repeats a column, is too large, or
            breaks off in its last record; the message shows no cell.
    """
    if _is_parquet(path):
        file = _opened_parquet(path)
        header = _names_of_columns(file)
        records = _rows_of_parquet(path, file, wanted)
        if not keep_bytes:
            records = map(_broken_by_bytes, records)
    else:
        lines = _Lines(path)
        header = _csv_header(lines)
        records = _csv_records(lines, header, keep_bytes=keep_bytes)
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


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(".parquet")


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
    names = (*required, *optional)
    header, records = read_records(
        path, names, may_be_empty=may_be_empty, keep_bytes=keep_bytes
    )
    index_by_name = columns.index_by_name(header)
    columns.require_columns(path.name, header, index_by_name, required, optional)
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
    if _is_parquet(path):
        return _names_of_columns(_opened_parquet(path))
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

    `of_record` are those of the current record, which can be given back. Lines end
    before a line that matches `end`, if there is such a pattern.
    """

    def __init__(self, path: Path) -> None:
        csv.field_size_limit(_CELL_LIMIT)
        self.file = path.name
        self.of_record: list[str] = []
        self.end: re.Pattern[str] | None = None
        self.last_line = "\n"
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

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if len(self.of_record) >= _MOST_LINES:
            raise StopIteration
        # First what a broken record has given back.
        line = self._ahead.popleft() if self._ahead else self._read()
        if not line:
            raise StopIteration
        if self.of_record and self.end is not None and self.end.match(line):
            self._ahead.appendleft(line)
            raise StopIteration
        self.of_record.append(line)
        return line

    def _read(self) -> str:
        try:
            line = self._text.readline(_LINE_LIMIT)
        except DAMAGES as error:
            problem = "a file that cannot be unpacked"
            raise damaged(self.file, problem, error, "a whole file") from None
        self._unpacked += len(line)
        # A package of a few megabytes may unpack to gigabytes.
        if self._is_packed:
            require_size(self.file, self._unpacked)
        if line:
            self.last_line = line
        return line

    def give_back(self, kept: int) -> None:
        """Give back the lines of the record but the first ones, to be read again.

        Raises:
            InputError: so much was read again that no end is in sight.
        """
        given_back = self.of_record[kept:]
        self._reread += sum(map(len, given_back)) + _COST_OF_A_LINE * len(given_back)
        # Every line may be read twice: as a part of a record, and by itself.
        if self._reread > _MOST_REREAD + self._unpacked:
            raise InputError(
                self.file,
                "too many quotes that are not closed",
                "a CSV whose quotes are closed",
                "Fix the quotes, or deliver it as Parquet.",
            )
        self._ahead.extendleft(reversed(given_back))
        del self.of_record[kept:]

    def drop_rest(self) -> None:
        """Read on to the next record, without keeping what is read."""
        for _ in self:
            self.of_record.pop()

    def are_damaged(self) -> bool:
        """Tell whether a line of the record is not UTF-8 text."""
        # Nearly all lines are plain ASCII, which is looked at much faster.
        return any(
            _DAMAGE.search(line)
            for line in self.of_record
            if not line.isascii() or "\0" in line
        )


def _csv_header(lines: _Lines) -> list[str]:
    """Read the column names in the first line with a value."""
    lines.of_record = []
    reader = csv.reader(lines, strict=True)
    header: list[str] | None
    # Empty where the file is, None where its first line cannot be parsed.
    try:
        header = next((row for row in reader if row), [])
    except csv.Error:
        header = None
    # Bytes that are no text are the likelier reason, so they are looked at first.
    if header != [] and lines.are_damaged():
        raise _bad_header(lines.file, "a header line that is not UTF-8 text")
    if header is None:
        raise _bad_header(lines.file, "a header line that cannot be read")
    header = [name.strip() for name in header]
    if not any(header):
        raise _bad_header(lines.file, "an empty file")
    if len(header) == 1:
        raise _bad_header(lines.file, "a single column")
    if len(header) > _MOST_COLUMNS:
        raise _bad_header(lines.file, f"more than {_MOST_COLUMNS:,} columns")
    return header


def _record_start(header: Sequence[str]) -> re.Pattern[str] | None:
    """Make the pattern of a record's first line: an id in every column of ids."""
    id_columns = [
        index
        for index, name in enumerate(header)
        if columns.folded_name(name) in _ID_COLUMNS
    ]
    # Without a column of ids nobody can tell a record's first line from another.
    if not id_columns:
        return None
    cells = [_CELL] * (max(id_columns) + 1)
    for index in id_columns:
        cells[index] = _ID
    # A date or an accession number alone on its line is a part of a report.
    end = "," if len(cells) < len(header) else r"\s*$"
    return re.compile(",".join(cells) + end, re.IGNORECASE)


def _csv_records(
    lines: _Lines, header: Sequence[str], *, keep_bytes: bool
) -> Iterator[Record]:
    """Read records until the file ends.

    Args:
        lines: behind the header.
        header: the column names, as many as a record has values.
        keep_bytes: as in `read_records`.

    Raises:
        InputError: the last record breaks off.
    """
    width = len(header)
    start = _record_start(header)
    has_both_ids = {*_ID_COLUMNS} <= set(map(columns.folded_name, header))
    number = 0
    last_incomplete = 0
    while True:
        # No line of a report has the ids of a patient and a study in their columns, so
        # that such a line begins a record, also within quotes.
        lines.end = start if has_both_ids else None
        values, reason = _parsed(lines)
        if values is None:
            break
        # An empty line is no record.
        if not values and not reason:
            continue
        is_wrong = reason != "" or len(values) != width
        # A quote that is not closed may have swallowed the records behind it.
        if is_wrong and lines.end is not start:
            lines.give_back(0)
            lines.end = start
            values, reason = _parsed(lines)
        number += 1
        record = _record(lines, number, values or [], reason, width, keep_bytes)
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


def _parsed(lines: _Lines) -> tuple[list[str] | None, str]:
    """Parse the next record.

    Returns:
        Its values and no reason, or no values and the reason why there are none; None
        behind the last record.
    """
    lines.of_record = []
    try:
        return next(csv.reader(lines, strict=True), None), ""
    except csv.Error as error:
        return [], TOO_LARGE if "field larger" in str(error) else UNCLOSED


def _record(
    lines: _Lines,
    number: int,
    values: list[str],
    reason: str,
    width: int,
    keep_bytes: bool,
) -> Record:
    """Make a record of what was parsed; broken where it has a reason, or does not fit.

    Args:
        lines: those of the record.
        number: of the record.
        values: that were read.
        reason: why there are none; empty: they were read.
        width: how many values a record must have.
        keep_bytes: as in `read_records`.
    """
    if reason:
        return _unparsed(lines, number, reason)
    if len(values) != width:
        return _broken(lines, number, values, WIDTH, f"{len(values)} values")
    if not keep_bytes and lines.are_damaged():
        return _broken(lines, number, values, ENCODING, _NOT_UTF_8)
    return Record(number, values)


def _unparsed(lines: _Lines, number: int, reason: str) -> Record:
    """Make a broken record of lines that could not be parsed.

    Where no beginning is recognised it costs its first line, and every further one gets
    its chance.
    """
    if lines.end is None or not lines.end.match(lines.of_record[0]):
        reason = reason if len(lines.of_record) == 1 else UNCLOSED
        lines.give_back(1)
    elif reason == TOO_LARGE:
        lines.drop_rest()
    problem = "a quote that is not closed, or text behind a closing quote"
    if reason == TOO_LARGE:
        problem = f"a cell of more than {_CELL_LIMIT >> 20} MB"
    values: list[str] = []
    # The cells of the first line show at least the study.
    with suppress(csv.Error):
        values = next(csv.reader([lines.of_record[0][:_CHARACTERS_OF_LARGE]]), [])
    return _broken(lines, number, values, reason, problem)


def _broken(
    lines: _Lines, number: int, values: Sequence[str], reason: str, problem: str
) -> Record:
    raw = "".join(lines.of_record)
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


def _opened_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    # Arrow raises anything, depending on what a stranger's bytes make it believe.
    try:
        return pq.ParquetFile(path, **options)
    except Exception:
        raise InputError(
            path.name,
            "a file that is not Parquet",
            "a Parquet file",
            "Deliver it again, or as CSV.",
        ) from None


def _names_of_columns(file: pq.ParquetFile) -> list[str]:
    return [str(name) for name in file.schema_arrow.names]


def _rows_of_parquet(
    path: Path, file: pq.ParquetFile, wanted: Collection[str] | None
) -> Iterator[Record]:
    """Read the rows of a Parquet file, one row group after the other.

    Raises:
        InputError: it is damaged or too large, or a wanted column is nested.
    """
    names = [
        name
        for name in _names_of_columns(file)
        if wanted is None or columns.folded_name(name) in wanted
    ]
    number = 0
    try:
        _require_flat(path.name, file, names)
        _require_footer_size(path.name, file, names)
        rows_at_once = _rows_at_once(path, file, names)
        # All is counted before a text is handed out. Nothing is kept of it, so that
        # this takes a tenth of the time of reading.
        unpacked = 0
        for batch in file.iter_batches(rows_at_once, columns=names):
            unpacked += sum(map(_bytes_of, batch.columns))
            require_size(path.name, unpacked)
        for batch in file.iter_batches(rows_at_once, columns=names):
            for values in _rows_of_batch(file, batch):
                number += 1
                yield Record(number, list(values))
    except InputError:
        raise
    # Anything, as in `_opened_parquet`.
    except Exception as error:
        raise damaged(
            path.name, "damaged data", error, "a whole Parquet file"
        ) from None


def _require_flat(name: str, file: pq.ParquetFile, names: Sequence[str]) -> None:
    """Refuse lists and structures, a single one of which may hold gigabytes."""
    for field in file.schema_arrow:
        if field.name in names and pa.types.is_nested(field.type):
            raise InputError(
                name,
                "lists or structures",
                "one text or number a row",
                "Write the column as text.",
                column=columns.folded_name(field.name),
            )


def _chunks(
    file: pq.ParquetFile, names: Sequence[str]
) -> Iterator[tuple[int, pq.ColumnChunkMetaData]]:
    """Read what the footer says of some columns, by number of the row group."""
    for group in range(file.num_row_groups):
        row_group = file.metadata.row_group(group)
        for index in range(row_group.num_columns):
            chunk = row_group.column(index)
            if chunk.path_in_schema in names:
                yield group, chunk


def _require_footer_size(name: str, file: pq.ParquetFile, names: Sequence[str]) -> None:
    """Refuse a file that is too large by its footer, before anything is decoded."""
    unpacked = 0
    for _, chunk in _chunks(file, names):
        unpacked += chunk.total_uncompressed_size
        unpacked += _BYTES_OF_A_VALUE * chunk.num_values
    require_size(name, unpacked)


def _rows_at_once(path: Path, file: pq.ParquetFile, names: Sequence[str]) -> int:
    """Choose how many rows are decoded at once.

    A text that stands once in a file may be the value of every row. So the longest text
    of each dictionary is looked up, without decoding a row.
    """
    dictionaries = _opened_parquet(path, read_dictionary=names)
    largest_by_group: Counter[int] = Counter()
    for group, chunk in _chunks(file, names):
        is_text = chunk.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
        if not is_text or {*chunk.encodings} <= _IN_FULL:
            continue
        # Arrow reads no dictionary beside differences of texts, or of fixed lengths.
        has_differences = any(name.startswith("DELTA") for name in chunk.encodings)
        if has_differences or chunk.physical_type != "BYTE_ARRAY":
            largest_by_group[group] += chunk.total_uncompressed_size
            continue
        rows = dictionaries.iter_batches(1, [group], [chunk.path_in_schema])
        lengths = pc.binary_length(next(rows).column(0).dictionary)
        largest_by_group[group] += pc.max(lengths).as_py() or 0
    largest_row = max(largest_by_group.values(), default=0)
    rows_at_once = _MOST_AT_ONCE // max(largest_row, 1)
    return min(max(rows_at_once, 1), _ROWS_AT_ONCE)


def _bytes_of(column: pa.Array) -> int:
    return int(_without_dictionary(column).nbytes)


def _without_dictionary(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.DictionaryArray):
        return column.dictionary_decode()
    return column


def _rows_of_batch(
    file: pq.ParquetFile, batch: pa.RecordBatch
) -> Iterator[tuple[str, ...]]:
    """Read the values of some rows as text, empty in columns that are not wanted."""
    texts_by_name = {
        name: _column_texts(_without_dictionary(column))
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    nothing = [""] * batch.num_rows
    values = [texts_by_name.get(name, nothing) for name in file.schema_arrow.names]
    return zip(*values, strict=True)


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
    # Anything, as in `_opened_parquet`.
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
