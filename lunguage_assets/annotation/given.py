"""Reports as a caller gives them, checked before anything is read: texts, ids, views; files for
`lunguage read`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.texts.raw import LARGEST, decoded
from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.tables import VIEWS

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
    notes: tuple[str, ...]
    views: str


def given_report(
    name: str, content: Any, views: Any, file: str, row: int | None = None, of: tuple[str, str] = ("", "")
) -> Given:
    """A report from its text (`str` or `bytes`) and words for its views, such as "PA and lateral".

    `file`, `row` and the columns `of` text and views say in messages where they stand.

    Raises:
        InputError: neither text nor bytes, more than one report can be, bytes that are no text, or words that
            name no view.
    """

    def wrong(column: str, found: str, expected: str, remedy: str) -> InputError:
        return InputError(file, found, expected, remedy, row=row, column=column or None)

    words = "" if is_missing(views) else str(views).strip()
    known = written(study_views(words)) if words else ""
    if words and not known:
        expected = f"views out of {', '.join(VIEWS)}"
        raise wrong(of[1], "words that name no view", expected, "Correct them, or leave them out.")
    if not isinstance(content, str | bytes):
        raise wrong(of[0], f"a {type(content).__name__}", _A_REPORT, "Give the text as str.")
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if len(data) > LARGEST:
        raise wrong(of[0], "more than a million bytes", _A_REPORT, "Give each report by itself.")
    text = decoded(data)
    if not text.is_text:
        raise wrong(of[0], "bytes that are no text", _A_REPORT, "Give the report as plain text.")
    return Given(name, text.text, text.notes, known)


def given_frame(frame: pd.DataFrame, text: str, study_id: str, views: str) -> list[Given]:
    """The reports of a frame; arguments and errors as of `annotate`."""
    for column in filter(None, (text, study_id, views)):
        if column not in frame.columns:
            found, remedy = f"{len(frame.columns)} columns without it", "Name the column that holds it."
            raise InputError("frame", found, "one report per row", remedy, column=column)
    rows: dict[str, int] = {}
    given = []
    told = frame[views].tolist() if views else [""] * len(frame)
    cells = zip(frame[study_id].tolist(), frame[text].tolist(), told, strict=True)
    for row, (own, content, view) in enumerate(cells):
        name = "" if is_missing(own) else str(own).strip()
        if not name or name in rows:
            found = f"the id of row {rows[name]}" if name else "nothing"
            remedy = "Give each report an id of its own."
            raise InputError("frame", found, "every id once", remedy, row=row, column=study_id)
        rows[name] = row
        content = "" if is_missing(content) else content
        given.append(given_report(name, content, view, "frame", row, (text, views)))
    return given


def given_files(paths: Sequence[str], views: str = "") -> list[Given]:
    """The reports of files, each once, in the given order; `-` is standard input.

    Raises:
        InputError: no such file, a folder, nothing in it, or as of `given_report`.
    """
    given = []
    for path in dict.fromkeys(paths):
        file = "standard input" if path == STDIN else path
        report = given_report(path, _content(path), views, file, of=("", "--views"))
        if not report.text:
            remedy = "Give a file with a report in it, or - for standard input."
            raise InputError(file, "nothing", _A_REPORT, remedy)
        given.append(report)
    return given


def is_missing(cell: Any) -> bool:
    """Whether a frame holds nothing there: None, NaN, NA."""
    return bool(cell is None or cell is pd.NA or cell != cell)


def _content(path: str) -> bytes:
    """The bytes, and one more than there may be of a file that is too long."""
    if path == STDIN:
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(LARGEST + 1)
    except IsADirectoryError:
        remedy = "Name its files; `lunguage run --data` takes a whole folder."
        raise InputError(path, "a folder", _A_REPORT, remedy) from None
    except FileNotFoundError:
        raise InputError(path, "no such file", _A_REPORT, "Correct the path.") from None
