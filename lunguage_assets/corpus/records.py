"""Reads a delimited file record by record, so that one broken record costs itself and nothing after it.

The standard csv module parses, strictly; what is added is the recovery. An unclosed quote swallows the
records behind it, in the worst case without any parse error: it may end at a later stray quote with just the
right number of values. So no further line of a record may begin like a record of its own (an id in every id
column): reading resumes there and only the broken record is lost. What the columns mean is in `columns.py`.

The easy version, `pandas.read_csv`, either raises on the first bad record, or skips it, or swallows the
records behind it.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.unpacking import Unpacked, require_size
from lunguage_assets.errors import InputError, damaged

_CELL_LIMIT = 16 * 1024 * 1024
_LINE_LIMIT = 2 * _CELL_LIMIT
"""Characters of a physical line; a longer one is cut there, and its record is broken."""
_LINES_PER_RECORD = (20_000, 1_000_000)
"""Least and most physical lines that are looked through for the end of a record: fewer with each that has
none, else a file of many would be read as many times. The longest report is a few hundred lines.
"""
_SHOWN_OF_LARGE = 20_000
_ROWS_AT_ONCE = 1_000
"""Rows of a Parquet file that are unpacked together: a long text that repeats takes next to no room there."""
_DAMAGE = re.compile("[\udc80-\udcff\ufffd\0]")
_CELL = r'(?:"(?:[^"\n]|"")*"|[^,"\n]*)'
_ID = r' {0,3}"? {0,3}(?:[ps]\d{1,18}|\d{8,18})(?:\.0+)? {0,3}"? {0,3}'

UNCLOSED = "unclosed-quote"
TOO_LARGE = "cell-too-large"
WIDTH = "wrong-number-of-values"
ENCODING = "broken-encoding"


@dataclass(frozen=True, slots=True)
class Record:
    """One data record: 1-based number and values in header order.

    A `broken` record has a reason code instead, what was `found`, the `raw` text, and as many values as could
    be read.
    """

    number: int
    values: list[str]
    broken: str = ""
    found: str = ""
    raw: str = ""


def read_records(
    path: Path, id_columns: Sequence[str] = (), *, may_be_empty: bool = False, keep_bytes: bool = False
) -> tuple[list[str], Iterator[Record]]:
    """Header and records of a CSV or Parquet file.

    CSV: UTF-8 with or without BOM, any newline, quoted newlines, `.gz` by name.

    `id_columns` are header names, as `folded_name` gives them, whose values tell where a record begins. A
    file with a header only is refused unless it `may_be_empty`. With `keep_bytes` a record is not broken by
    bytes that are not UTF-8: they stay in its values, as `surrogateescape` has them.

    Raises:
        InputError: the file is empty, has a header only, is not text, repeats a column, or breaks off in its
            last record. The message shows no cell: a file without a header line has report text in its first
            line.
    """
    if _is_parquet(path):
        header, records = _parquet_records(path)
    else:
        lines = _Lines(path)
        header = _header(lines, path.name)
        lines.start = _start_of_record(header, id_columns)
        records = _parsed(lines, len(header), path.name, keep_bytes=keep_bytes)
    _refuse_repeated(header, path.name)
    head = next(records, None)
    if head is None:
        if may_be_empty:
            return header, iter(())
        raise InputError(
            path.name, "a header line and no data row", "at least one data row", "Deliver the complete file."
        )
    return header, chain([head], records)


def read_cells(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    remedy: str = columns.ADD_THE_COLUMN,
    may_be_empty: bool = False,
    keep_bytes: bool = False,
) -> tuple[set[str], Iterator[tuple[Record, dict[str, str]]]]:
    """The optional columns that are there, whatever their letter case and blanks; and every record with its
    cleaned cells by column, empty where it has none.

    Raises:
        InputError: as `read_records`, or a required column is missing.
    """
    header, records = read_records(
        path, ("subject_id", "study_id"), may_be_empty=may_be_empty, keep_bytes=keep_bytes
    )
    places = columns.column_places(header)
    columns.require_columns(path.name, header, places, required, optional, remedy)
    at = [(name, places.get(name, len(header))) for name in (*required, *optional)]

    def cells(values: Sequence[str]) -> dict[str, str]:
        return {name: columns.clean(values[place]) if place < len(values) else "" for name, place in at}

    return places.keys() & set(optional), ((record, cells(record.values)) for record in records)


def read_header(path: Path) -> list[str]:
    """The column names of a CSV or Parquet file.

    Raises:
        InputError: as `read_records`, as far as the header is concerned.
    """
    return _parquet_records(path)[0] if _is_parquet(path) else _header(_Lines(path), path.name)


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(".parquet")


def _header(lines: _Lines, file: str) -> list[str]:
    try:
        values = next((row for row in csv.reader(lines, strict=True) if row), None)
    except (csv.Error, _Swallowed):
        if not lines.damaged:
            found, expected = "a header line that cannot be read", "column names separated by commas"
            raise InputError(file, found, expected, "Correct the header.", row=0) from None
        values = []
    if lines.damaged and values is not None:
        remedy = "Save the file as UTF-8 (not UTF-16, not a spreadsheet)."
        raise InputError(file, "a header line that is not UTF-8 text", "UTF-8", remedy, row=0)
    header = [value.strip() for value in values or ()]
    if not any(header):
        raise InputError(file, "an empty file", "a header line and data rows", "Deliver the complete file.")
    if len(header) == 1:
        remedy = "Save the file as comma-separated values."
        raise InputError(file, "a single column", "values separated by commas", remedy, row=0)
    return header


def _refuse_repeated(header: Sequence[str], file: str) -> None:
    places = [str(place) for place, name in enumerate(header, 1) if name and header.count(name) > 1]
    if places:
        found = f"repeated columns (numbers {', '.join(places[:40])})"
        remedy = "Add the header line if it is missing, or rename the repeated columns."
        raise InputError(file, found, "a header line with each column once", remedy, row=0)


def _start_of_record(header: Sequence[str], id_columns: Sequence[str]) -> re.Pattern[str] | None:
    """Pattern of the first line of a record, from the header's id columns; None without one."""
    places = [place for place, name in enumerate(header) if folded_name(name) in id_columns]
    if not places:
        return None
    cells = [_ID if place in places else _CELL for place in range(max(places) + 1)]
    return re.compile(",".join(cells) + r"\s*(?:,|$)", re.IGNORECASE)


class _Swallowed(Exception):
    """The record ran into the next one, or is longer than any report."""


class _Lines:
    """Physical lines of a file; those of the current record are kept and can be given back."""

    def __init__(self, path: Path) -> None:
        csv.field_size_limit(_CELL_LIMIT)
        self._text = io.TextIOWrapper(_open(path), encoding="utf-8-sig", errors="surrogateescape", newline="")
        self._returned: deque[str] = deque()
        self._file = path.name
        self.taken: list[str] = []
        self.last = "\n"
        self.limit = _LINES_PER_RECORD[1]
        self.start: re.Pattern[str] | None = None
        """Pattern of the first line of a record; no further line of a record may match it."""
        self.damaged = False
        """Whether the current record has bytes that are not UTF-8, a NUL, or a replacement character."""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if len(self.taken) > self.limit:
            raise _Swallowed
        try:
            line = self._returned.popleft() if self._returned else self._text.readline(_LINE_LIMIT)
        except (OSError, EOFError, zlib.error) as error:
            raise damaged(self._file, "a file that cannot be unpacked", error, "a whole file") from None
        if not line:
            raise StopIteration
        if self.taken and self.start is not None and self.start.match(line):
            self._returned.appendleft(line)
            raise _Swallowed
        self.taken.append(line)
        self.last = line
        if (not line.isascii() or "\0" in line) and _DAMAGE.search(line):
            self.damaged = True
        return line

    def next_record(self) -> None:
        self.taken = []
        self.damaged = False

    def give_up(self, *, whole: bool) -> list[str]:
        """The lines that a broken record costs: the first, where no beginning of a record can be recognised
        and every further line gets its chance; a `whole` one also those up to the next beginning.
        """
        self.limit = max(_LINES_PER_RECORD[0], self.limit // 2)
        if self.start is None or not self.start.match(self.taken[0]):
            self._returned.extendleft(reversed(self.taken[1:]))
            return self.taken[:1]
        with suppress(_Swallowed, StopIteration):
            while whole:
                next(self)
                self.taken.pop()
        return self.taken


def _open(path: Path) -> BinaryIO:
    stream = path.open("rb")
    return cast(BinaryIO, Unpacked(stream, path.name)) if path.name.lower().endswith(".gz") else stream


def _parsed(lines: _Lines, width: int, file: str, *, keep_bytes: bool) -> Iterator[Record]:
    number = missing = 0
    reader = csv.reader(lines, strict=True)
    while True:
        lines.next_record()
        values: list[str] = []
        broken = found = ""
        try:
            values = next(reader)
        except StopIteration:
            if missing == number > 0 and not lines.last.endswith(("\n", "\r")):
                found = "a last record that breaks off, without a line end behind it"
                remedy = "Deliver the whole file again; if it is whole, fix its last record."
                raise InputError(file, found, "a whole file", remedy, row=number) from None
            return
        except (csv.Error, _Swallowed) as error:
            broken = TOO_LARGE if "field larger" in str(error) else UNCLOSED
            reader = csv.reader(lines, strict=True)
        if not broken and not values:
            continue  # an empty line
        number += 1
        taken = lines.taken
        if broken:
            taken = lines.give_up(whole=broken == TOO_LARGE)
            broken = broken if len(taken) == len(lines.taken) else UNCLOSED
            found = f"a cell of more than {_CELL_LIMIT >> 20} MB"
            if broken == UNCLOSED:
                found = "a quote that is not closed, or text behind a closing quote"
            values = _salvaged(taken[0][:_SHOWN_OF_LARGE])
        elif len(values) != width:
            broken, found = WIDTH, f"{len(values)} values"
        elif lines.damaged and not keep_bytes:
            broken, found = ENCODING, "bytes that are not UTF-8 text"
        if broken == UNCLOSED or len(values) < width:
            missing = number
        if broken:
            values = [shown(value) for value in values]
            limit = _SHOWN_OF_LARGE if broken == TOO_LARGE else None
            yield Record(number, values, broken, found, shown("".join(taken)[:limit]))
        else:
            yield Record(number, values)


def _salvaged(line: str) -> list[str]:
    """The readable cells of a broken record's first line, which show at least its study."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def shown(text: str) -> str:
    r"""Text that can be stored, with undecodable bytes as `\xNN`.

    Nothing is lost and nothing is guessed.
    """
    return (
        text.encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
        .rstrip("\r\n")
        .replace("\0", "\\x00")
    )


def _parquet_records(path: Path) -> tuple[list[str], Iterator[Record]]:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        raise InputError(
            path.name, "a file that is not Parquet", "a Parquet file", "Deliver it again, or as CSV."
        ) from None
    header = [str(name) for name in file.schema_arrow.names]

    def records() -> Iterator[Record]:
        number = unpacked = 0
        try:
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                unpacked += batch.nbytes
                require_size(path.name, unpacked)
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield Record(number, ["" if value is None else str(value) for value in values])
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(path.name, "damaged data", error, "a whole Parquet file") from None

    return header, records()


def require_whole(path: Path) -> None:
    """Refuse a CSV file that was cut: its last record breaks off, and no line end follows.

    A cut between two records, or inside the last cell of one, cannot be told from the end.

    Raises:
        InputError: as `read_records`.
    """
    with path.open("rb") as stream:
        stream.seek(-min(1, path.stat().st_size), io.SEEK_END)
        is_packed = path.name.lower().endswith(".gz")
        if not is_packed and stream.read() in (b"\n", b"\r"):
            return
    deque(read_records(path, ("subject_id", "study_id"), may_be_empty=True, keep_bytes=True)[1], maxlen=0)
