"""Reads a delimited file record by record, so that one broken record costs itself and nothing after it.

Python's csv module parses, strictly. An unclosed quote may swallow the records behind it, even without a
parse error. So no further line of a record may begin like a record of its own (an id in every id column):
reading resumes there.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
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
"""Bytes that are unpacked of one file or package, or of all `.gz` files of a delivery that lands.

All reports of MIMIC-CXR are a fifth of it.
"""
_CELL_LIMIT = 16 << 20
_LINE_LIMIT = (
    2 * _CELL_LIMIT
)  # characters of a physical line; a longer one is cut there
_MOST_LINES = 50_000  # are looked through for the end of a record; a long report has a few hundred
_MOST_REREAD = 512 << 20
"""Characters that are read again behind records that never end, before the file is given up; a line counts
as a hundred more.
"""
_MOST_COLUMNS = 10_000
_SHOWN_OF_LARGE = 20_000
_ROWS_AT_ONCE = (
    1_000  # of a Parquet file: a long text that repeats takes next to no room there
)
_DAMAGE = re.compile(
    "[\udc80-\udcff\ufffd\0]"
)  # no UTF-8, a NUL, or a replacement character
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
_UNREADABLE = "\udcff"
"""In the place of a value that Arrow cannot give: its record is broken, as by a byte that is no text."""
_CELL = r'(?:"(?:[^"\n]|"")*"|[^,"\n]*)'
_ID = r' {0,3}"? {0,3}(?:[ps]\d{1,18}|\d{8,18})(?:\.0+)? {0,3}"? {0,3}'
_IDS = ("subject_id", "study_id")

UNCLOSED, TOO_LARGE = "unclosed-quote", "cell-too-large"
WIDTH, ENCODING = "wrong-number-of-values", "broken-encoding"


def require_size(file: str, unpacked: int) -> None:
    """Stop when more than `MOST_UNPACKED` bytes came out of a file."""
    if unpacked > MOST_UNPACKED:
        expected = f"at most {MOST_UNPACKED >> 20:,} MiB"
        remedy = "Deliver it unpacked, or in several deliveries."
        raise InputError(
            file,
            f"more than {MOST_UNPACKED >> 20:,} MiB when unpacked",
            expected,
            remedy,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One data record: 1-based number and values in header order. A `broken` one has a reason code, what was
    `found`, the `raw` text, and as many values as could be read.
    """

    number: int
    values: list[str]
    broken: str = ""
    found: str = ""
    raw: str = ""


def read_records(
    path: Path, *, may_be_empty: bool = False, keep_bytes: bool = False
) -> tuple[list[str], Iterator[Record]]:
    """Header and records of a Parquet or CSV file (UTF-8 with or without BOM, any newline; by name also
    `.gz`, or a `.zip` with one CSV file in it).

    A file with a header only is refused unless it `may_be_empty`. With `keep_bytes` a record is not broken by
    bytes that are not UTF-8: they stay, as `surrogateescape` has them. Raises `InputError`: the file is
    empty, is not text, repeats a column, or breaks off in its last record; the message shows no cell.
    """
    if path.name.lower().endswith(".parquet"):
        header, records = _parquet_records(path)
        if not keep_bytes:
            records = map(_broken_by_bytes, records)
    else:
        lines = _Lines(path)
        header = _csv_header(lines)
        records = _csv_records(lines, len(header), keep_bytes=keep_bytes)
    times = Counter(header)
    repeated = [
        str(place) for place, name in enumerate(header, 1) if name and times[name] > 1
    ]
    if repeated:
        raise _bad_header(
            path.name, f"repeated columns (numbers {', '.join(repeated[:40])})"
        )
    head = next(records, None)
    if head is not None:
        return header, chain([head], records)
    if may_be_empty:
        return header, iter(())
    remedy = "Deliver the complete file."
    raise InputError(
        path.name, "a header line and no data row", "at least one data row", remedy
    )


def read_cells(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    may_be_empty: bool = False,
    keep_bytes: bool = False,
) -> tuple[set[str], Iterator[tuple[Record, dict[str, str]]]]:
    """The optional columns that are there, and every record with its cleaned cells by column, empty where it
    has none. Raises `InputError`: as `read_records`, or a required column is missing.
    """
    header, records = read_records(
        path, may_be_empty=may_be_empty, keep_bytes=keep_bytes
    )
    places = columns.index_by_name(header)
    columns.require_columns(path.name, header, places, required, optional)
    at = [(name, places.get(name, len(header))) for name in (*required, *optional)]

    def cells(values: Sequence[str]) -> dict[str, str]:
        return {
            name: columns.clean(values[place]) if place < len(values) else ""
            for name, place in at
        }

    return places.keys() & set(optional), (
        (record, cells(record.values)) for record in records
    )


def read_header(path: Path) -> list[str]:
    """The column names of a CSV or Parquet file."""
    if path.name.lower().endswith(".parquet"):
        return _parquet_records(path)[0]
    return _csv_header(_Lines(path))


def _bad_header(file: str, found: str) -> InputError:
    expected = "a header line in UTF-8 with each column once, separated by commas, and data rows"
    remedy = "Add the header line if it is missing, else deliver the complete file as CSV in UTF-8."
    return InputError(file, found, expected, remedy, row=0)


class _Lines:
    """Physical lines of a CSV file: those of the current record are `taken`, and can be given back."""

    def __init__(self, path: Path) -> None:
        csv.field_size_limit(_CELL_LIMIT)
        self.file = path.name
        self._is_packed = path.name.lower().endswith((".gz", ".zip"))
        stream = open_unpacked(path, TABLE_FORM)
        self._text = io.TextIOWrapper(
            stream, encoding="utf-8-sig", errors="surrogateescape", newline=""
        )
        self._unpacked = 0
        self.ahead, self.taken = deque[str](), list[str]()
        self.last = "\n"
        self._reread = 0
        self.start: re.Pattern[str] | None = None
        """Pattern of the first line of a record; no further line of a record may match it."""

    def of_record(self) -> Iterator[str]:
        """Lines up to the beginning of another record."""
        while len(self.taken) < _MOST_LINES:
            line = self.ahead.popleft() if self.ahead else self._read()
            if not line:
                return
            if self.taken and self.begins(line):
                self.ahead.appendleft(line)
                return
            self.taken.append(line)
            yield line

    def _read(self) -> str:
        try:
            line = self._text.readline(_LINE_LIMIT)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise damaged(
                self.file, "a file that cannot be unpacked", error, "a whole file"
            ) from None
        if self._is_packed:
            self._unpacked += len(line)
            require_size(self.file, self._unpacked)
        self.last = line or self.last
        return line

    def begins(self, line: str) -> bool:
        return self.start is not None and self.start.match(line) is not None

    def are_damaged(self) -> bool:
        odd = (line for line in self.taken if not line.isascii() or "\0" in line)
        return any(map(_DAMAGE.search, odd))

    def give_up(self, broken: str) -> str:
        """Give back lines that a broken record does not cost; the reason, which may change with that. Where
        no beginning can be recognised it costs its first line, and every further one gets its chance.
        """
        if self.begins(self.taken[0]):
            for _ in self.of_record() if broken == TOO_LARGE else ():
                self.taken.pop()
            return broken
        given_back = self.taken[1:]
        self._reread += sum(map(len, given_back)) + 100 * len(given_back)
        if self._reread > _MOST_REREAD:
            found, remedy = (
                "too many quotes that are not closed",
                "Fix the quotes, or deliver it as Parquet.",
            )
            raise InputError(self.file, found, "a CSV whose quotes are closed", remedy)
        self.ahead.extendleft(reversed(given_back))
        self.taken = self.taken[:1]
        return UNCLOSED if given_back else broken


def _csv_header(lines: _Lines) -> list[str]:
    """The column names; `lines` knows from then on how a record begins."""
    found, values = "an empty file", None
    try:
        values = next(
            (row for row in csv.reader(lines.of_record(), strict=True) if row), None
        )
    except csv.Error:
        found, values = "a header line that cannot be read", []
    header = [value.strip() for value in values or ()]
    if values is not None and lines.are_damaged():
        found, header = "a header line that is not UTF-8 text", []
    if len(header) == 1 and header[0]:
        found, header = "a single column", []
    if len(header) > _MOST_COLUMNS:
        found, header = f"more than {_MOST_COLUMNS:,} columns", []
    if not any(header):
        raise _bad_header(lines.file, found)
    places = [
        place for place, name in enumerate(header) if columns.folded_name(name) in _IDS
    ]
    if places:
        cells = [_ID if place in places else _CELL for place in range(max(places) + 1)]
        lines.start = re.compile(",".join(cells) + r"\s*(?:,|$)", re.IGNORECASE)
    return header


def _csv_records(lines: _Lines, width: int, *, keep_bytes: bool) -> Iterator[Record]:
    number = missing = 0
    while True:
        lines.taken, broken, found = [], "", ""
        try:
            values = next(csv.reader(lines.of_record(), strict=True), None)
        except csv.Error as error:
            broken, values = TOO_LARGE if "field larger" in str(error) else UNCLOSED, []
        if values is None:
            break
        if not (broken or values):
            continue  # an empty line
        number += 1
        if broken:
            broken = lines.give_up(broken)
            found = "a quote that is not closed, or text behind a closing quote"
            if broken == TOO_LARGE:
                found = f"a cell of more than {_CELL_LIMIT >> 20} MB"
            with suppress(
                csv.Error
            ):  # the cells of the first line show at least the study
                values = next(csv.reader([lines.taken[0][:_SHOWN_OF_LARGE]]), [])
        elif len(values) != width:
            broken, found = WIDTH, f"{len(values)} values"
        elif not keep_bytes and lines.are_damaged():
            broken, found = ENCODING, "bytes that are not UTF-8 text"
        if broken == UNCLOSED or len(values) < width:
            missing = number
        if not broken:
            yield Record(number, values)
            continue
        raw = "".join(lines.taken)[: _SHOWN_OF_LARGE if broken == TOO_LARGE else None]
        yield Record(
            number, [shown(value) for value in values], broken, found, shown(raw)
        )
    if missing == number > 0 and not lines.last.endswith(("\n", "\r")):
        found = "a last record that breaks off, without a line end behind it"
        remedy = "Deliver the whole file again; if it is whole, fix its last record."
        raise InputError(lines.file, found, "a whole file", remedy, row=number)


def shown(text: str) -> str:
    r"""Text that can be stored, with undecodable bytes as `\xNN` and halves of characters as `\uNNNN`."""
    try:
        stored = text.encode("utf-8", "surrogateescape").decode(
            "utf-8", "backslashreplace"
        )
    except UnicodeEncodeError:  # a half of JSON, which is no byte
        stored = text.encode("utf-8", "backslashreplace").decode()
    return stored.rstrip("\r\n").replace("\0", "\\x00")


def _parquet_records(path: Path) -> tuple[list[str], Iterator[Record]]:
    try:
        file = pq.ParquetFile(path)
        header = [str(name) for name in file.schema_arrow.names]
    except Exception:  # Arrow raises whatever the bytes of a stranger make of it
        found, remedy = "a file that is not Parquet", "Deliver it again, or as CSV."
        raise InputError(path.name, found, "a Parquet file", remedy) from None
    return header, _rows_of_parquet(file, path.name)


def _rows_of_parquet(file: pq.ParquetFile, name: str) -> Iterator[Record]:
    number = unpacked = 0
    try:
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            unpacked += batch.nbytes
            require_size(name, unpacked)
            for values in zip(*map(_cells, batch.columns), strict=True):
                number += 1
                yield Record(number, list(values))
    except InputError:
        raise
    except Exception as error:  # as above
        raise damaged(name, "damaged data", error, "a whole Parquet file") from None


def _broken_by_bytes(record: Record) -> Record:
    """The record, broken where a value is not UTF-8, as those of a CSV are."""
    if not any(map(_NO_UTF_8.search, record.values)):
        return record
    values = [shown(value) for value in record.values]
    return Record(record.number, values, ENCODING, "bytes that are not UTF-8 text")


def _cells(column: pa.Array) -> list[str]:
    """The values of a column as text, each by itself where one cannot be read."""
    try:
        return [_cell(value) for value in column.to_pylist()]
    except Exception:  # as above
        return [_cell_of(value) for value in column]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def _cell_of(value: pa.Scalar) -> str:
    try:
        return _cell(value.as_py())
    except UnicodeDecodeError:
        return _cell(value.as_buffer().to_pybytes())
    except Exception:  # a date of no calendar, say
        return _UNREADABLE
