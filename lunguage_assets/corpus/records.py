"""Reading a delimited file record by record, so that one broken record costs itself and nothing after it.

The standard csv module parses; what is added is the recovery. A record that does not parse (an unclosed quote swallows all that
follows) costs its first physical line only: reading goes on from the second, so good records behind it survive.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from lunguage_assets.errors import InputError

LINES_PER_RECORD = 2000
"""A record of more physical lines than this has an unclosed quote: the longest report is a few hundred lines."""
_CELL_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Record:
    """One data record: 1-based number, values in header order, or the raw text and why it could not be read."""

    number: int
    values: Sequence[str]
    broken: str = ""
    raw: str = ""


def read_records(path: Path) -> tuple[list[str], Iterator[Record]]:
    """Header and records of a CSV file (UTF-8 with or without BOM, any newline, quoted newlines, `.gz` by name).

    Raises:
        InputError: the file is empty, has a header only, is not text, or its header repeats a name.
    """
    lines = _Lines(path)
    first = next(_parsed(lines), None)
    if first is None or not any(value.strip() for value in first.values):
        raise InputError(path.name, "an empty file", "a header line and data rows", "Deliver the complete file.")
    if first.broken:
        raise InputError(path.name, "a header line that cannot be read", "column names in UTF-8, separated by commas", "Mend the header.", row=0)
    header = [value.strip() for value in first.values]
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise InputError(path.name, f"repeated columns {repeated}", "each column once", "Rename or remove the repeated columns.", row=0)
    if len(header) == 1:
        raise InputError(path.name, "a single column", "values separated by commas", "Save the file as comma-separated values.", row=0)
    records = _numbered(_parsed(lines, len(header)))
    head = next(records, None)
    if head is None:
        raise InputError(path.name, "a header line and no data row", "at least one data row", "Deliver the complete file.")
    return header, _chained(head, records)


def _chained(head: Record, rest: Iterator[Record]) -> Iterator[Record]:
    yield head
    yield from rest


def _numbered(records: Iterator[Record]) -> Iterator[Record]:
    for number, record in enumerate(records, 1):
        yield Record(number, record.values, record.broken, record.raw)


class _Lines:
    """Physical lines with a memory of those of the current record, and the possibility to give lines back."""

    def __init__(self, path: Path) -> None:
        csv.field_size_limit(_CELL_LIMIT)
        self._text = io.TextIOWrapper(_open(path), encoding="utf-8-sig", errors="surrogateescape", newline="")
        self._returned: deque[str] = deque()
        self._path = path
        self.taken: list[str] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if len(self.taken) > LINES_PER_RECORD:
            raise _TooLong
        try:
            line = self._returned.popleft() if self._returned else self._text.readline()
        except (OSError, EOFError) as error:
            raise InputError(self._path.name, f"a file that cannot be unpacked ({type(error).__name__})", "a whole file", "Deliver it again.") from None
        if not line:
            raise StopIteration
        self.taken.append(line.replace("\0", "\ufffd"))
        return self.taken[-1]

    def give_back(self, lines: Sequence[str]) -> None:
        self._returned.extendleft(reversed(lines))


class _TooLong(Exception):
    """More lines in one record than any report has."""


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def _parsed(lines: _Lines, width: int | None = None) -> Iterator[Record]:
    reader = csv.reader(lines, strict=True)
    while True:
        lines.taken = []
        problem = ""
        values: list[str] = []
        try:
            values = next(reader)
        except StopIteration:
            return
        except (csv.Error, _TooLong):
            problem = "a quote that is not closed, or text behind a closing quote"
        if not problem and not values:
            continue  # an empty line
        if not problem and width is not None and len(values) != width:
            problem = f"{len(values)} values for {width} columns"
        if problem:
            lines.give_back(lines.taken[1:])
            reader = csv.reader(lines, strict=True)
            yield Record(0, (), problem, _shown(lines.taken[0]) if lines.taken else "")
        elif any(_is_broken(value) for value in values):
            yield Record(0, [_shown(value) for value in values], "bytes that are not UTF-8", _shown("".join(lines.taken)))
        else:
            yield Record(0, values)


def _is_broken(value: str) -> bool:
    return not value.isascii() and any("\udc80" <= character <= "\udcff" or character == "\ufffd" for character in value)


def _shown(text: str) -> str:
    """Undecodable bytes as the replacement character, so that the text can be stored."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").rstrip("\r\n")
