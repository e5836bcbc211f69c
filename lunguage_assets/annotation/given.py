"""Reports as a caller gives them, checked before anything is read: texts, ids, views; files for
`lunguage read`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.texts.raw import LARGEST, decoded
from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.tables import VIEWS

FRAME = "frame"
STDIN = "-"
_A_REPORT = "the text of one report"


@dataclass(frozen=True, slots=True)
class Given:
    """One report.

    Args:
        name: what the caller calls it.
        text: its text, decoded as delivered texts are (encoding, markup, ends of lines, blanks around it).
        notes: codes of what was done to it.
        views: in the written form; empty: those that the text names.
    """

    name: str
    text: str = field(repr=False)
    notes: tuple[str, ...] = ()
    views: str = ""


@dataclass(frozen=True, slots=True)
class InputPlace:
    """Where a value stands, for messages: a file, or a frame's row and column."""

    file: str
    row: int | None = None
    column: str | None = None

    def error(self, found: str, expected: str, remedy: str) -> InputError:
        return InputError(self.file, found, expected, remedy, row=self.row, column=self.column)


def given_text(name: str, content: Any, views: str, place: InputPlace) -> Given:
    """A report from its text or bytes; a missing cell of a frame is an empty report.

    Args:
        name: what the caller calls it.
        content: `str` or `bytes`.
        views: in the written form.
        place: for messages.

    Raises:
        InputError: neither text nor bytes, more than one report can be, or bytes that are no text.
    """
    if place.row is not None and is_missing(content):
        return Given(name, "", (), views)
    if not isinstance(content, str | bytes):
        raise place.error(f"a {type(content).__name__}", "the text of a report", "Give the text as str.")
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if len(data) > LARGEST:
        raise place.error("more than a million bytes", _A_REPORT, "Give each report by itself.")
    text = decoded(data)
    if not text.is_text:
        raise place.error("bytes that are no text", _A_REPORT, "Give the report as plain text.")
    return Given(name, text.text, text.notes, views)


def given_views(cell: Any, place: InputPlace) -> str:
    """Views in the written form, of words such as "PA and lateral"; empty for none.

    Raises:
        InputError: words that name no view.
    """
    words = "" if is_missing(cell) else str(cell).strip()
    found = _views(words)
    if words and not found:
        expected = f"views out of {', '.join(VIEWS)}"
        raise place.error("words that name no view", expected, "Correct them, or leave them out.")
    return found


def given_ids(cells: Sequence[Any], column: str) -> list[str]:
    """The reports' ids as text.

    Raises:
        InputError: an id is missing or repeated.
    """
    rows: dict[str, int] = {}
    for row, cell in enumerate(cells):
        own = "" if is_missing(cell) else str(cell).strip()
        if not own or own in rows:
            found = f"the id of row {rows[own]}" if own else "nothing"
            remedy = "Give each report an id of its own."
            raise InputPlace(FRAME, row, column).error(found, "every id once", remedy)
        rows[own] = row
    return list(rows)


def is_missing(cell: Any) -> bool:
    """Whether a frame holds nothing there: None, NaN, NA."""
    return bool(cell is None or cell is pd.NA or cell != cell)


@lru_cache(maxsize=1024)
def _views(words: str) -> str:
    return written(study_views(words))


def given_files(paths: Sequence[str], views: str = "") -> list[Given]:
    """The reports of files, each once, in the given order; `-` is standard input.

    Raises:
        InputError: no such file, a folder, nothing in it, no text, more than a report can be; or `views` name
            no view.
    """
    said = given_views(views, InputPlace("--views"))
    return [_report(path, said) for path in dict.fromkeys(paths)]


def _report(path: str, views: str) -> Given:
    place = InputPlace("standard input" if path == STDIN else path)
    given = given_text(path, _content(path, place), views, place)
    if not given.text:
        raise place.error("nothing", _A_REPORT, "Give a file with a report in it, or - for standard input.")
    return given


def _content(path: str, place: InputPlace) -> bytes:
    """The bytes, and one more than there may be of a file that is too long."""
    if path == STDIN:
        return sys.stdin.buffer.read(LARGEST + 1)
    file = Path(path)
    if file.is_dir():
        remedy = "Name its files; `lunguage run --data` takes a whole folder."
        raise place.error("a folder", _A_REPORT, remedy)
    try:
        with file.open("rb") as stream:
            return stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise place.error("no such file", _A_REPORT, "Correct the path.") from None
