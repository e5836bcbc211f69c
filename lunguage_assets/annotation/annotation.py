"""The public functions `read` and `annotate`, and what they return (docs/read.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import pandas as pd

from lunguage_assets.annotation.frames import annotation_frames
from lunguage_assets.annotation.given import Given, given_frame, given_report
from lunguage_assets.annotation.method import bundled_method

REPORTS_AT_ONCE = 1000
"""Reports that go through the method together; memory follows from it, results do not."""


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
    return annotated([given_report("report", text, views, "read", of=("text", "views"))])


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
    return annotated(given_frame(frame, text, study_id, views))


def annotated(given: Sequence[Given]) -> Annotation:
    """The same of reports that are checked already; their names differ."""
    parts = []
    for start in range(0, max(len(given), 1), REPORTS_AT_ONCE):
        studies = {f"s{start + at:08d}": one for at, one in enumerate(given[start : start + REPORTS_AT_ONCE])}
        read = bundled_method().read(studies)
        parts.append(annotation_frames(studies, read, bundled_method().conclude(read)))
    return Annotation(
        **{name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]}
    )
