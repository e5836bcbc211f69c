"""The public functions `read` and `annotate`, and what they return (docs/read.md).

The whole method runs in memory, for one report or a frame of them, under the caller's
own ids, with the characters in which every value was read. No home, no Dagster, nothing
stored or sent. What reports may be is in `given_reports.py`, what the frames hold in
`frames.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.annotation.frames import frames_of, with_callers_ids
from lunguage_assets.annotation.given_reports import (
    GivenReport,
    Origin,
    given_report,
    reports_of_frame,
)
from lunguage_assets.annotation.method import Frames, Method, bundled_method, in_parts
from lunguage_assets.caches import fewer_collections
from lunguage_assets.parallel import joined_tables

REPORTS_IN_A_NOTEBOOK = 5
"""Reports that an `Annotation` shows of itself; the others are in its frames."""


class Annotation(NamedTuple):
    """What reports say and imply.

    The frames have the columns of the stored tables (docs/data_dictionary.md);
    `study_id` is the caller's, `finding_id` joins them.

    Attributes:
        reports: one row per report, in the given order: views, notes on the text, the
            text.
        sentences: REPORT_SENTENCES, every sentence with its account.
        findings: LUNGUAGE_PLUS_PLUS with `phrases`, the hedging phrases, and
            `parent_pathway_id`, the pathway that implied a row.
        labels: LABELS, one row per report and label.
        conflicts: CONFLICTS: rows about the same finding and location that disagree or
            repeat each other, before they were resolved.
        left_out: RESOLUTION_LOG of the rows that are not among the findings, with their
            words.
        spans: characters of every value that was read.
        cues: the words that decided status and time of a row: id of the cue, what it
            says, its characters.
        set_aside: reports of which a row broke a rule of the method, with the rule:
            nothing is concluded from them, and only `reports` and `sentences` have
            them, too.
    """

    reports: pd.DataFrame
    sentences: pd.DataFrame
    findings: pd.DataFrame
    labels: pd.DataFrame
    conflicts: pd.DataFrame
    left_out: pd.DataFrame
    spans: pd.DataFrame
    cues: pd.DataFrame
    set_aside: pd.DataFrame

    def __repr__(self) -> str:
        """Count only: the frames hold report text."""
        counts = [f"{name}: {len(frame)}" for name, frame in self.frames.items()]
        return f"Annotation({', '.join(counts)})"

    def _repr_html_(self) -> str:
        """Show the first reports in a notebook, as the page of `lunguage read` does."""
        # Jinja is slow to import.
        from lunguage_assets.annotation.page import notebook_frame

        studies = self.reports["study_id"].head(REPORTS_IN_A_NOTEBOOK)
        first_rows = {
            name: frame[frame["study_id"].isin(studies)]
            for name, frame in self.frames.items()
        }
        return notebook_frame(first_rows, repr(self))

    @property
    def frames(self) -> Frames:
        """The frames by name."""
        return self._asdict()


def read(text: str, *, views: str = "", cues: Path | str | None = None) -> Annotation:
    """Read what one report says and implies; its `study_id` is "report".

    Args:
        text: the report, with or without headings.
        views: projections and postures, such as "PA and lateral"; empty: those that the
            text names.
        cues: a file of words of negation and doubt, which are added to the packaged
            ones (docs/adding.md).

    Raises:
        InputError: `text` is no text or too long, or `views` names no view.
        ConfigurationError: the file of cues cannot be used.
    """
    origin = Origin("read", text_column="text", views_column="views")
    return annotation_of([given_report("report", text, views, origin)], cues)


def annotate(
    frame: pd.DataFrame | Iterable[str] | Mapping[Any, str],
    text: str = "report",
    study_id: str = "study_id",
    views: str = "",
    *,
    cues: Path | str | None = None,
) -> Annotation:
    """Read what many reports say and imply; each alone, whatever the others say.

    Args:
        frame: one report per row; or texts alone, in a list, a series, or by their ids
            in a dict. A missing text is an empty report.
        text: the column of the texts.
        study_id: the column of the reports' ids, each once; they are compared as text.
            Without a column `study_id` the index has them.
        views: the column of the views, as for `read`; empty: those that the texts name.
        cues: as for `read`.

    Raises:
        InputError: a column is missing, an id is missing or repeated, a cell is no
            text, too long, or names no view. The message names row (from 0) and column.
    """
    return annotation_of(reports_of_frame(frame, text, study_id, views), cues)


def frames_by_part(
    reports: Sequence[GivenReport], cues: Path | str | None, names: Sequence[str]
) -> Iterator[Frames]:
    """Run the method over parts of the reports; without one over an empty part.

    Args:
        reports: as they were given.
        cues: as for `read`.
        names: of the frames that are made.
    """
    method = bundled_method() if cues is None else Method(Path(cues))
    for by_study in in_parts(reports):
        tables = method.conclude(method.read(by_study))
        yield with_callers_ids(frames_of(tables, names), by_study)


def annotation_of(
    reports: Sequence[GivenReport], cues: Path | str | None
) -> Annotation:
    """Annotate reports that were checked; raises as `read`."""
    with fewer_collections():
        parts = frames_by_part(reports, cues, Annotation._fields)
        return joined_tables([Annotation(**frames) for frames in parts])
