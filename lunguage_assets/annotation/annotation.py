"""The public functions `read` and `annotate`, and what they return (docs/read.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import pandas as pd

from lunguage_assets.annotation.frames import (
    Names,
    conflicts_frame,
    findings_frame,
    labels_frame,
    left_out_frame,
    sentences_frame,
    spans_frame,
)
from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.annotation.reading import Read, read_texts
from lunguage_assets.corpus.views import image_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.tables import VIEWS
from lunguage_assets.tables.annotation import READ_REPORTS

REPORTS_AT_ONCE = 1000
"""Reports that go through the method together; memory follows from it, results do not."""

ONE = "report"
"""How `read` names its report."""


@dataclass(frozen=True, repr=False)
class Annotation:
    """What reports say and imply. Frames; `study_id` is the caller's, `finding_id` joins them.

    Their columns are those of the tables in `lunguage_assets/tables/annotation.py`.

    Args:
        reports: one row per report, in the given order: views, notes on the text, the text.
        sentences: every sentence with its account.
        findings: Lunguage++ rows: phrase, p, p_low, p_high, status, place; implied rows with pathway and
            parent.
        labels: study-level labels, one row per report and label.
        conflicts: rows about the same finding and place that disagree or repeat each other, before they were
            resolved.
        left_out: rows that are not among the findings, with the rule and the row that stands for them.
        spans: characters of every value that was read.
    """

    reports: pd.DataFrame
    sentences: pd.DataFrame
    findings: pd.DataFrame
    labels: pd.DataFrame
    conflicts: pd.DataFrame
    left_out: pd.DataFrame
    spans: pd.DataFrame

    def __repr__(self) -> str:
        """Counts only: the frames hold report text."""
        counts = ", ".join(f"{part.name}: {len(getattr(self, part.name))}" for part in fields(self))
        return f"Annotation({counts})"


def read(text: str, *, views: str = "") -> Annotation:
    """What one report says and implies.

    Args:
        text: the report, with or without headings.
        views: projections and postures, such as "PA and lateral"; empty: those that the text names.

    Raises:
        InputError: `text` is no text, or `views` names no view.
    """
    return _annotated([_Given(ONE, _checked_text(text, None, "text"), _checked_views(views, None, "views"))])


def annotate(
    frame: pd.DataFrame, text: str = "report", study_id: str = "study_id", views: str = ""
) -> Annotation:
    """What many reports say and imply; each is read alone, whatever the others say.

    Args:
        frame: one report per row; a missing text is an empty report.
        text: the column of the texts.
        study_id: the column of the reports' ids, each once; any values that differ as text.
        views: the column of the views, as for `read`; empty: those that the texts name.

    Raises:
        InputError: a column is missing, an id is missing or repeated, a cell is no text or names no view.
            The message names row (from 0) and column.
    """
    for column in filter(None, (text, study_id, views)):
        if column not in frame.columns:
            raise InputError(
                "frame",
                f"{len(frame.columns)} columns without it",
                "one report per row",
                "Name the column that holds it.",
                column=column,
            )
    ids = _checked_ids(frame[study_id].tolist(), study_id)
    said = frame[views].tolist() if views else [""] * len(frame)
    return _annotated(
        [
            _Given(own, _checked_text(cell, row, text), _checked_views(view, row, views))
            for row, (own, cell, view) in enumerate(zip(ids, frame[text].tolist(), said, strict=True))
        ]
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """A report as the caller gave it; `views` in the written form."""

    name: str
    text: str = field(repr=False)
    views: str


def _annotated(given: Sequence[_Given]) -> Annotation:
    starts = range(0, max(len(given), 1), REPORTS_AT_ONCE)
    parts = [_part(given[start : start + REPORTS_AT_ONCE], start) for start in starts]
    return (
        parts[0]
        if len(parts) == 1
        else Annotation(
            *(
                pd.concat([getattr(part, frame.name) for part in parts], ignore_index=True)
                for frame in fields(Annotation)
            )
        )
    )


def _part(given: Sequence[_Given], start: int) -> Annotation:
    """Some of the reports; the method numbers them by their position among all."""
    studies = [f"s{number:08d}" for number in range(start, start + len(given))]
    found = read_texts(
        {study: one.text for study, one in zip(studies, given, strict=True)},
        {study: one.views for study, one in zip(studies, given, strict=True)},
    )
    method = bundled_method()
    intake = found.intake
    names = Names.of(
        {study: one.name for study, one in zip(studies, given, strict=True)},
        intake.findings["finding_id"].tolist(),
    )
    outcome = method.of(intake.findings, intake.reports, intake.rejected)
    return Annotation(
        reports=_reports_frame(found, names),
        sentences=sentences_frame(found.sentences, found.accounts, names),
        findings=findings_frame(outcome, names),
        labels=labels_frame(outcome, names),
        conflicts=conflicts_frame(outcome, names),
        left_out=left_out_frame(intake.findings, outcome, names),
        spans=spans_frame(found, outcome, names),
    )


def _reports_frame(found: Read, names: Names) -> pd.DataFrame:
    texts = found.texts
    given = texts["view_source"].eq("metadata").tolist()
    sources = texts["view_source"].tolist()
    return names.frame(
        READ_REPORTS,
        {
            "study_id": texts["study_id"].tolist(),
            "view_information": texts["view_information"].tolist(),
            "view_source": [
                "given" if own else source for own, source in zip(given, sources, strict=True)
            ],
            "notes": [list(found.notes[study]) for study in texts["study_id"].tolist()],
            "report": texts["report"].tolist(),
        },
    )


def _checked_text(cell: Any, row: int | None, column: str) -> str:
    if isinstance(cell, str):
        return cell
    if row is not None and (cell is None or cell is pd.NA or cell != cell):
        return ""
    raise InputError(
        "frame" if row is not None else "read",
        f"a {type(cell).__name__}",
        "the text of a report",
        "Give the text as str.",
        row=row,
        column=column,
    )


def _checked_ids(cells: Sequence[Any], column: str) -> list[str]:
    rows: dict[str, int] = {}
    for row, cell in enumerate(cells):
        missing = cell is None or cell is pd.NA or cell != cell or not str(cell).strip()
        own = "" if missing else str(cell)
        if missing or own in rows:
            raise InputError(
                "frame",
                "nothing" if missing else f"the id of row {rows[own]}",
                "every id once",
                "Give each report an id of its own.",
                row=row,
                column=column,
            )
        rows[own] = row
    return list(rows)


def _checked_views(cell: Any, row: int | None, column: str) -> str:
    words = cell if isinstance(cell, str) else ""
    found = _views(words)
    if words.strip() and not found:
        raise InputError(
            "frame" if row is not None else "read",
            "words that name no view",
            f"views out of {', '.join(VIEWS)}",
            "Correct the views, or leave them empty.",
            row=row,
            column=column,
        )
    return found


@lru_cache(maxsize=1024)
def _views(words: str) -> str:
    return written(image_views("", "", words).from_procedure)
