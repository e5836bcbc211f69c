"""What a run has stored of one study, shown as `read` shows a report.

The frames that are shown are made of the stored tables. To the reasons of a row is
added what only a run knows: its number in the result, its sentence, its place in the
ranking, its pathway. Rows that are not in the result are told with their rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from upath import UPath

from lunguage_assets.annotation.frames import frames_of
from lunguage_assets.annotation.method import Frames
from lunguage_assets.annotation.shown import (
    Record,
    ShownReport,
    ShownRow,
    shown_reports,
)
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.release.code_words import (
    FIT_END_WORDS,
    FIT_WORDS,
    PATHWAY_WORDS,
)
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import A_ROW
from lunguage_assets.tables.values import values_of
from lunguage_assets.workspace.parquet_rows import read_study
from lunguage_assets.workspace.store import paths_of_batch, require_stored

TABLES_OF_A_STUDY = {name: table for name, table in TABLES.items() if table.explained}
"""What is read of a study."""
_FRAMES = ("findings", "left_out", "conflicts", "labels", "cues", "set_aside")
"""Frames that an annotation has, too."""


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
    root: UPath | Path,
    ranker: str,
    batches: Sequence[str],
    study_id: str,
    finding: str | None = None,
) -> Explanation:
    """Explain the rows of a study, of its newest delivery.

    Args:
        root: folder of the stored tables.
        ranker: whose results are read.
        batches: keys of the registered ones, oldest first.
        study_id: here or as delivered, with or without an `s`; or the id of one of its
            rows (`s50000001:0012`), which alone is explained then.
        finding: number in the result (`idx`), or id, of the one row to explain.

    Raises:
        ConfigurationError: the ranker has no results, no batch delivered the study, or
            it has no such row.
        InvalidTable: a partition has another schema.
    """
    # No study as delivered looks like the id of a row.
    if finding is None and re.fullmatch(A_ROW, study_id, re.ASCII):
        finding = study_id
        study_id = study_id.partition(":")[0]
    study = study_of(study_id)
    paths_by_batch = _processed(root, ranker, batches)
    delivering = [
        batch
        for batch, paths in paths_by_batch.items()
        if len(_rows_of_study("accounting", paths["accounting"], study))
    ]
    unprocessed = ", ".join(batch for batch in batches if batch not in paths_by_batch)
    if not delivering:
        raise ConfigurationError(
            f"no batch delivered study {study_id!r}. Batches of ranker {ranker!r}: "
            f"{', '.join(paths_by_batch)}. Without a result yet: "
            f"{unprocessed or 'none'}."
        )
    # A study may come again in a later batch, amended: the last delivery counts.
    *older, newest = delivering
    remarks = [f"batch {newest}, ranker {ranker}"]
    if older:
        remarks.append(
            f"amended: also delivered in {', '.join(older)}; the newest version counts"
        )
    if unprocessed:
        remarks.append(
            f"batches without a result for this ranker: {unprocessed}; they may hold a "
            "newer version"
        )
    tables = {
        name: _rows_of_study(name, path, study)
        for name, path in paths_by_batch[newest].items()
    }
    return explanation_of(tables, remarks, finding)


def _processed(
    root: UPath | Path, ranker: str, batches: Sequence[str]
) -> dict[str, dict[str, UPath]]:
    """Name the files of the batches that have a result, by batch and table."""
    paths_by_batch = {}
    for batch in batches:
        paths = paths_of_batch(root, TABLES_OF_A_STUDY.values(), ranker, batch)
        if paths["lunguage_plus_plus"].exists():
            paths_by_batch[batch] = paths
    if not paths_by_batch:
        raise ConfigurationError(
            f"ranker {ranker!r} has no result in {root}. Run `lunguage run` with this "
            "ranker first, or name another with --ranker."
        )
    return paths_by_batch


def _rows_of_study(name: str, path: UPath, study: str) -> pd.DataFrame:
    require_stored(TABLES[name], path)
    with path.open("rb") as stream:
        return TABLES[name].from_arrow(read_study(stream, study))


def explanation_of(
    tables: Frames,
    remarks: Sequence[str] = (),
    finding: str | None = None,
) -> Explanation:
    """Explain the rows of a study.

    Args:
        tables: `TABLES_OF_A_STUDY` by name, with the rows of the study.
        remarks: on its delivery.
        finding: as in `explain_study`.

    Raises:
        ConfigurationError: there is no such row; says which there are.
    """
    frames = frames_of(tables, _FRAMES)
    frames["reports"] = tables["reports"].assign(notes="")
    reports = []
    for report in shown_reports(frames):
        _tell_more((*report.rows, *report.left_out), tables)
        remarks_of_report = [*report.remarks, *remarks]
        reports.append(report._replace(remarks=remarks_of_report))
    if finding is None:
        rows = tables["rejected"].to_dict("records")
        return Explanation(reports, [_REJECTED.format_map(row) for row in rows])
    # "7" is the row with this number in the result, "s50000001:0012" any row by its id.
    result = tables["lunguage_plus_plus"]
    ids = dict(zip(result["idx"].astype("str"), result["finding_id"], strict=True))
    finding_id = ids.get(finding, finding)
    reports = [_of_one_row(report, finding_id) for report in reports]
    if not any(report.rows or report.left_out for report in reports):
        raise ConfigurationError(
            f"the study has no finding {finding!r}: expected a row numbered 1 to "
            f"{len(ids)}, or a finding id; leave --finding out to see all."
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


def _tell_more(rows: Sequence[ShownRow], tables: Frames) -> None:
    """Add what a run knows of the rows of a study beyond what `read` says of one."""
    stated = tables["deduplicated_findings"]
    sentences = dict(values_of(stated, "finding_id", "sent"))
    fits = _by_id(tables["fitted_probabilities"])
    matches = _by_id(tables["pathway_matches"])
    notes = tables["intake_notes"]
    for row in rows:
        finding_id = row.finding_id
        # Rows of the result alone are numbered.
        is_in_result = "idx" in row.record
        number = f"idx {row.record['idx']} " if is_in_result else ""
        row.lines.append(f"{number}({finding_id})")
        if sentences.get(finding_id):
            row.lines.append(f'"{sentences[finding_id]}"')
        if is_in_result:
            row.lines.extend(_place_in_ranking(fits.get(finding_id)))
            row.lines.extend(_pathway(matches.get(finding_id)))
        # Other notes are on the report or its patient, or on what was set aside.
        for note in notes[notes["finding_id"] == finding_id].to_dict("records"):
            row.lines.append(f"{note['reason']}: {note['done']}")


def _by_id(table: pd.DataFrame) -> dict[Any, Any]:
    return {**table.set_index("finding_id").to_dict("index")}


def _place_in_ranking(fit: Record | None) -> Iterator[str]:
    if fit is None:
        return
    words = FIT_WORDS["not placed" if pd.isna(fit["mu"]) else "placed"]
    yield words.format(end=FIT_END_WORDS[fit["stop"]], **fit)


def _pathway(match: Record | None) -> Iterator[str]:
    """Say which pathway a diagnosis matches, or why it expands into nothing."""
    if match is None or match["reason"] == "not a diagnosis":
        return
    diagnosis = ", ".join(filter(None, [match["diagnosis"], *match["refinements"]]))
    words = PATHWAY_WORDS[match["reason"]]
    yield words.format_map({**match, "diagnosis": diagnosis}).lstrip()
