"""Reports as a caller gives them, checked before anything is read.

They come from a frame, a table, files, or a form (docs/read.md), each with the caller's
own id. A report that cannot be read is refused with where it stands and what to do.
How bytes become text is in `corpus/texts/raw.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas.api.types import is_list_like

from lunguage_assets.corpus.columns import folded_name, shown_names
from lunguage_assets.corpus.discovery import fields_of, find_delivery, layout_of_file
from lunguage_assets.corpus.texts.layouts import NO_STUDY, layout_with, storable
from lunguage_assets.corpus.texts.raw import NOT_TEXT, decoded
from lunguage_assets.corpus.texts.receiving import views_of
from lunguage_assets.corpus.texts.sources import TextSource, raw_reports
from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.tables import VIEWS

_ONE_REPORT = "the text of one report"
_MANY_REPORTS = "a frame, or a list of texts"
_AS_TEXT = "Give the text as str; for a frame or a list of texts use `annotate`."
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
_REFUSALS = {
    NOT_TEXT: "bytes that are no text",
    "report-too-large: report": "more than a million bytes",
}
"""What is refused of the decoding; an empty report is one that says nothing."""


@dataclass(frozen=True, slots=True)
class GivenReport:
    """One report, decoded as delivered texts are.

    `name` is what the caller calls it, `note` is the code of what was done to its text,
    `views` are in the written form (empty: those that the text names).
    """

    name: str
    text: str = field(repr=False)
    note: str
    views: str


class Origin(NamedTuple):
    """Where a report stands, for messages; columns are empty outside tables."""

    file: str
    text_column: str = ""
    views_column: str = ""
    row: int | None = None

    def error(self, column: str, found: str, expected: str, remedy: str) -> InputError:
        """Make the error of one of its columns.

        Args:
            column: the column that is wrong; empty: none is.
            found: what is there.
            expected: what should be there.
            remedy: what to do.
        """
        return InputError(
            self.file, found, expected, remedy, row=self.row, column=column or None
        )


def given_report(name: str, content: Any, views: Any, origin: Origin) -> GivenReport:
    """Check and decode one report.

    Args:
        name: what the caller calls it.
        content: its text as `str` or `bytes`.
        views: words for its views; empty: those that the text names.
        origin: where it stands.

    Raises:
        InputError: the content is no text or too long, or the words name no view.
    """
    words = str(views).strip()
    written_views = written(study_views(words))
    if words and not written_views:
        raise origin.error(
            origin.views_column,
            "words that name no view",
            f"views out of {', '.join(VIEWS)}",
            "Correct them, or leave them out.",
        )
    column = origin.text_column
    if isinstance(content, str):
        content = content.encode("utf-8", "replace")
    if not isinstance(content, bytes):
        type_name = f"the type {type(content).__name__}"
        remedy = _AS_TEXT if origin.row is None else "Give each text as str."
        raise origin.error(column, type_name, _ONE_REPORT, remedy)
    text = decoded(content)
    if text.refusal in _REFUSALS:
        raise origin.error(
            column,
            _REFUSALS[text.refusal],
            _ONE_REPORT,
            "Give each report by itself, as plain text.",
        )
    return GivenReport(name, text.report, text.note, written_views)


def reports_of_frame(
    frame: pd.DataFrame | Iterable[str] | Mapping[Any, str],
    text: str,
    study_id: str,
    views: str,
) -> list[GivenReport]:
    """Read the reports of a frame, or of texts alone.

    Args:
        frame: one report per row; or texts, of a mapping by their ids.
        text: the column of the texts; a missing text is an empty report.
        study_id: the column of the ids. Without a column `study_id` the index has them.
        views: the column of the views, or empty.

    Raises:
        InputError: a column, an id or a text is wrong; rows count from 0.
    """
    # Of one text alone every letter would be a report.
    if not is_list_like(frame, allow_sets=False):
        raise InputError(
            "frame",
            f"the type {type(frame).__name__}",
            _MANY_REPORTS,
            "Give one report per row, or texts alone; use `read` for one report.",
        )
    if not isinstance(frame, pd.DataFrame):
        frame = pd.Series(frame, dtype=object).to_frame(text)
    header = list(frame)
    if study_id == "study_id" and study_id not in header:
        frame = frame.assign(study_id=frame.index)
    required = [study_id, text, *filter(None, [views])]
    for column in required:
        count = list(frame).count(column)
        if count == 1:
            continue
        # No other name is told: a header may be a row with a patient in it.
        names = shown_names(list(map(str, header)))
        raise InputError(
            "frame",
            f"{count or 'no'} column of that name among {names}",
            "one",
            "Name the column that holds it: "
            "annotate(frame, text=..., study_id=..., views=...).",
            column=column,
        )
    columns = frame[required].reset_index(drop=True).astype(object)
    # None, NA and NaN are an empty text.
    rows = columns.where(columns.notna(), "").itertuples(name=None)
    return _reports_of_rows(rows, study_id, Origin("frame", text, views))


def reports_of_delivery(
    path: Path, text: str, study_id: str, views: str
) -> tuple[list[GivenReport], list[str]]:
    """Read the reports of whatever can be registered as raw reports.

    Args:
        path: a file or folder.
        text: the column of the texts; empty: as in the corpus that the file is of, or
            `report`.
        study_id: the column of the ids; empty: a column of that name has them, else the
            row's number is the id.
        views: the column of the views; empty: as in the corpus that the file is of.

    Returns:
        The reports; and where those stand that cannot be read: the row, from 1, or the
        name of a file of one report.

    Raises:
        InputError: a column is missing, or as of `reports_of_frame` and
            `find_delivery`.
    """
    raw = raw_reports(_source(path, text, study_id, views))
    # Where nothing names a report, its number does.
    if (raw["study"] == "").all():
        is_unnamed = raw["reason"].str.startswith(NO_STUDY)
        raw = raw.assign(study=raw["line"], reason=raw["reason"].mask(is_unnamed, ""))
    rows: list[tuple[Any, ...]] = []
    broken: list[str] = []
    row: Any
    for row in raw.itertuples():
        if row.reason:
            broken.append(str(row.line) if row.file == path.name else row.file)
            continue
        codes = row.views if views else views_of(row.views, row.procedure).codes
        rows.append((row.line, row.study, row.content, codes))
    origin = Origin(path.name, text or "report", views)
    return _reports_of_rows(rows, study_id or "study_id", origin), broken


def _source(path: Path, text: str, study_id: str, views: str) -> TextSource:
    """Find the reports of `reports_of_delivery`."""
    fields = set(map(folded_name, fields_of(path)))
    is_own_table = "report" in fields and layout_of_file(path, fields) is None
    if text or study_id or views or is_own_table:
        text_column = text or "report"
        layout = layout_with(
            text_column,
            study_id or "study_id",
            views or "no view",
            known_by=tuple(filter(None, [text_column, study_id, views])),
        )
        return TextSource(layout, (path,))
    delivery = find_delivery(path)
    if delivery.kind == "findings":
        raise InputError(
            path.name,
            "findings",
            "raw reports",
            "Label findings with `lunguage run`, or give the reports themselves.",
        )
    return delivery.source


def _reports_of_rows(
    rows: Iterable[tuple[Any, ...]], id_column: str, origin: Origin
) -> list[GivenReport]:
    """Check every row, which must have an id of its own.

    Args:
        rows: number, name, text, and views or none, as they are given.
        id_column: that the names are from.
        origin: where the rows stand.
    """
    row_by_name: dict[str, int] = {}
    reports = []
    for row, given_name, text, *views in rows:
        origin = origin._replace(row=row)
        name = str(given_name).strip()
        problem = ""
        if not name:
            problem = "nothing"
        if name in row_by_name:
            problem = f"the id of row {row_by_name[name]}"
        if storable(name) != name:
            problem = "half a character, or a NUL"
        if problem:
            raise origin.error(
                id_column,
                problem,
                "every id once",
                "Give each report an id of its own, of whole characters.",
            )
        row_by_name[name] = row
        reports.append(given_report(name, text, str(*views), origin))
    return reports


def reports_of_files(paths: Sequence[str], views: str) -> list[GivenReport]:
    """Read files of one report each, in the given order; `-` is standard input.

    Args:
        paths: the files, each read once.
        views: words for the views of all reports, or empty.

    Raises:
        InputError: a file cannot be read, is a table, or has nothing in it.
    """
    reports = []
    for path in dict.fromkeys(paths):
        origin = Origin(path, views_column="--views")
        if path.lower().removesuffix(".gz").endswith(_TABLES):
            raise origin.error(
                "",
                "a table",
                _ONE_REPORT,
                f"Label each of its reports: lunguage annotate {path} > labels.csv",
            )
        remedy = "Name a file with a report in it."
        try:
            content = (
                sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
            )
        except OSError as error:
            problem = str(error.strerror).lower()
            raise origin.error("", problem, _ONE_REPORT, remedy) from None
        report = given_report(storable(path), content, views, origin)
        if not report.text:
            raise origin.error("", "nothing", _ONE_REPORT, remedy)
        reports.append(report)
    return reports
