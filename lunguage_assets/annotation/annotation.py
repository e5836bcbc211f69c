"""The public functions `read` and `annotate`, and what they return (docs/read.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import pandas as pd

from lunguage_assets.annotation.frames import (
    Names,
    findings_table,
    left_out_table,
    reports_table,
    sentences_table,
    spans_table,
)
from lunguage_assets.annotation.given import FRAME, Given, InputPlace, given_ids, given_text, given_views
from lunguage_assets.annotation.method import bundled_method, read_texts
from lunguage_assets.quality.set_aside import Aside, studies_of, without_studies

REPORTS_AT_ONCE = 1000
"""Reports that go through the method together; memory follows from it, results do not."""

ONE = "report"
"""How `read` names its report."""


@dataclass(frozen=True, repr=False)
class Annotation:
    """What reports say and imply. Frames with the columns of the stored tables (docs/data_dictionary.md);
    `study_id` is the caller's, `finding_id` joins them.

    Args:
        reports: one row per report, in the given order: views, notes on the text, the text.
        sentences: REPORT_SENTENCES, every sentence with its account.
        findings: LUNGUAGE_PLUS_PLUS with `phrases`, the hedging phrases, and `parent_pathway_id`, the pathway
            that implied a row.
        labels: LABELS, one row per report and label.
        conflicts: CONFLICTS: rows about the same finding and place that disagree or repeat each other, before
            they were resolved.
        left_out: RESOLUTION_LOG of the rows that are not among the findings, with their words.
        spans: characters of every value that was read.
        set_aside: reports of which a row broke a rule of the method, with the rule: nothing is concluded from
            them, and only `reports` and `sentences` have them, too.
    """

    reports: pd.DataFrame
    sentences: pd.DataFrame
    findings: pd.DataFrame
    labels: pd.DataFrame
    conflicts: pd.DataFrame
    left_out: pd.DataFrame
    spans: pd.DataFrame
    set_aside: pd.DataFrame

    def __repr__(self) -> str:
        """Counts only: the frames hold report text."""
        counts = ", ".join(f"{part.name}: {len(getattr(self, part.name))}" for part in fields(self))
        return f"Annotation({counts})"


def read(text: str, *, views: str = "") -> Annotation:
    """What one report says and implies; its `study_id` is "report".

    Args:
        text: the report, with or without headings.
        views: projections and postures, such as "PA and lateral"; empty: those that the text names.

    Raises:
        InputError: `text` is no text or too long, or `views` names no view.
    """
    said = given_views(views, InputPlace("read", column="views"))
    return annotated([given_text(ONE, text, said, InputPlace("read", column="text"))])


def annotate(
    frame: pd.DataFrame, text: str = "report", study_id: str = "study_id", views: str = ""
) -> Annotation:
    """What many reports say and imply; each is read alone, whatever the others say.

    Args:
        frame: one report per row; a missing text is an empty report.
        text: the column of the texts.
        study_id: the column of the reports' ids, each once; they are compared as text.
        views: the column of the views, as for `read`; empty: those that the texts name.

    Raises:
        InputError: a column is missing, an id is missing or repeated, a cell is no text, too long, or names
            no view. The message names row (from 0) and column.
    """
    for column in filter(None, (text, study_id, views)):
        if column not in frame.columns:
            found, remedy = f"{len(frame.columns)} columns without it", "Name the column that holds it."
            raise InputPlace(FRAME, column=column).error(found, "one report per row", remedy)
    names = given_ids(frame[study_id].tolist(), study_id)
    said = frame[views].tolist() if views else [""] * len(frame)
    cells = zip(names, frame[text].tolist(), said, strict=True)
    given = []
    for row, (name, cell, view) in enumerate(cells):
        written = given_views(view, InputPlace(FRAME, row, views))
        given.append(given_text(name, cell, written, InputPlace(FRAME, row, text)))
    return annotated(given)


def annotated(given: Sequence[Given]) -> Annotation:
    """The same of reports that are checked already; their names differ."""
    starts = range(0, max(len(given), 1), REPORTS_AT_ONCE)
    parts = [_part(given[start : start + REPORTS_AT_ONCE], start) for start in starts]
    frames = ([getattr(part, frame.name) for part in parts] for frame in fields(Annotation))
    return Annotation(*(pd.concat(frame, ignore_index=True) for frame in frames))


def _part(given: Sequence[Given], start: int) -> Annotation:
    """Some of the reports; the method numbers them by their position among all."""
    studies = {f"s{number:08d}": one for number, one in enumerate(given, start)}
    found = read_texts(studies)
    intake = found.intake
    results = bundled_method().of(intake.findings, intake.reports, intake.rejected)
    kept = without_studies({"findings": intake.findings}, studies_of(results.set_aside))
    found = replace(found, intake=replace(intake, findings=kept["findings"]))
    names = Names.of({study: one.name for study, one in studies.items()}, intake.findings)
    tables = {
        "reports": reports_table(found),
        "sentences": sentences_table(found),
        "findings": findings_table(results),
        "labels": results.labels,
        "conflicts": results.resolution.conflicts,
        "left_out": left_out_table(found, results),
        "spans": spans_table(found, results),
        "set_aside": pd.DataFrame(results.set_aside, columns=Aside._fields),
    }
    return Annotation(**{name: names.frame(table) for name, table in tables.items()})
