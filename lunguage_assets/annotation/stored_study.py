"""What a run has stored of one study, shown as `read` shows a report.

The frames that are shown are made of the stored tables. Beside them stands what only a
run knows of a row: its number in the result, its sentence, its place in the ranking,
its pathway. Rows that are not in the result are told with their rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from upath import UPath

from lunguage_assets.annotation.frames import frames_of
from lunguage_assets.annotation.method import Frames
from lunguage_assets.annotation.shown import ShownReport, shown_reports
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import A_ROW
from lunguage_assets.workspace.parquet_rows import read_study
from lunguage_assets.workspace.store import paths_of_batch, require_stored

TABLES_OF_A_STUDY = {name: table for name, table in TABLES.items() if table.explained}
"""What is read of a study."""
_FRAMES = (
    "findings",
    "left_out",
    "conflicts",
    "labels",
    "cues",
    "set_aside",
    "deduplicated_findings",
    "fitted_probabilities",
    "pathway_matches",
    "intake_notes",
)
"""What is shown: frames of an annotation, and what only a run knows of a row."""
_REJECTED = (
    "{file}, row {line}: {reason}; column {column!r}: found {found!r}, expected "
    "{expected}. {remedy}"
)


class Explanation(NamedTuple):
    """Why the rows of a study are, or are not, in the result.

    Attributes:
        reports: the report, as `read` shows one; none where none was delivered.
        rejected: a line for each delivered row that could not be used.
    """

    reports: Sequence[ShownReport]
    rejected: Sequence[str]


def explain_study(
    root: UPath | Path, ranker: str, batches: Sequence[str], study_id: str
) -> Explanation:
    """Explain the rows of a study, of its newest delivery.

    Args:
        root: folder of the stored tables.
        ranker: whose results are read.
        batches: keys of the registered ones, oldest first.
        study_id: here or as delivered, with or without an `s`; or the id of one of its
            rows (`s50000001:0012`), which alone is explained then.

    Raises:
        ConfigurationError: the ranker has no results, no batch delivered the study, or
            it has no such row.
        InvalidTable: a partition has another schema.
    """
    finding_id = ""
    # No study as delivered looks like the id of a row.
    if re.fullmatch(A_ROW, study_id, re.ASCII):
        finding_id = study_id
        study_id = study_id.partition(":")[0]
    study = study_of(study_id)
    unprocessed = []
    paths_by_batch = {}
    for batch in batches:
        paths = paths_of_batch(root, TABLES_OF_A_STUDY.values(), ranker, batch)
        if not paths["lunguage_plus_plus"].exists():
            unprocessed.append(batch)
        elif len(_rows_of_study("accounting", paths["accounting"], study)):
            paths_by_batch[batch] = paths
    without_result = ", ".join(unprocessed)
    if not paths_by_batch:
        raise ConfigurationError(
            f"no result of ranker {ranker!r} has study {study_id!r}. Batches: "
            f"{', '.join(batches)}; without a result: {without_result or 'none'}. Run "
            "`lunguage run` with this ranker first, or name another with --ranker."
        )
    # A study may come again in a later batch, amended: the last delivery counts.
    *older, newest = paths_by_batch
    remarks = [f"batch {newest}, ranker {ranker}"]
    if older:
        remarks.append(
            f"amended: also delivered in {', '.join(older)}; the newest version counts"
        )
    if without_result:
        remarks.append(
            f"batches without a result for this ranker: {without_result}; they may "
            "hold a newer version"
        )
    tables = {
        name: _rows_of_study(name, path, study)
        for name, path in paths_by_batch[newest].items()
    }
    return explanation_of(tables, remarks, finding_id)


def _rows_of_study(name: str, path: UPath, study: str) -> pd.DataFrame:
    require_stored(TABLES[name], path)
    with path.open("rb") as stream:
        return TABLES[name].from_arrow(read_study(stream, study))


def explanation_of(
    tables: Frames, remarks: Sequence[str] = (), finding_id: str = ""
) -> Explanation:
    """Explain the rows of a study.

    Args:
        tables: `TABLES_OF_A_STUDY` by name, with the rows of the study.
        remarks: on its delivery.
        finding_id: of the one row to explain; empty: all are.

    Raises:
        ConfigurationError: there is no such row.
    """
    frames = frames_of(tables, _FRAMES)
    frames["reports"] = tables["reports"].assign(notes="")
    reports = [
        report._replace(remarks=[*report.remarks, *remarks])
        for report in shown_reports(frames)
    ]
    if not finding_id:
        rows = tables["rejected"].to_dict("records")
        return Explanation(reports, [_REJECTED.format_map(row) for row in rows])
    reports = [_of_one_row(report, finding_id) for report in reports]
    if not any(report.rows or report.left_out for report in reports):
        raise ConfigurationError(
            f"the study has no finding {finding_id!r}. Name the study alone to see all "
            "its findings with their ids."
        )
    return Explanation(reports, ())


def _of_one_row(report: ShownReport, finding_id: str) -> ShownReport:
    """Leave everything out but a row."""
    return report._replace(
        rows=[row for row in report.rows if row.finding_id == finding_id],
        left_out=[row for row in report.left_out if row.finding_id == finding_id],
        pieces=(),
        contradictions=(),
        labels=(),
        # Nothing is said of the other rows.
        is_read=False,
    )
