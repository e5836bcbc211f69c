"""What a run has stored of one study, shown as `read` shows a report.

The stored tables are the frames that are shown. To the reasons of a row is added what
only a run knows: its number in the result, its sentence, its place in the ranking, its
pathway. Rows that are not in the result are told with their rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from upath import UPath

from lunguage_assets.annotation.frames import cues_frame, findings_frame, left_out_frame
from lunguage_assets.annotation.page import print_list, print_report
from lunguage_assets.annotation.shown import Record, ShownReport, shown_reports
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.labels.study_labels import label_evidence, label_frame
from lunguage_assets.release.code_words import FIT_END_WORDS, NO_PATHWAY_WORDS
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import A_ROW
from lunguage_assets.workspace.parquet_rows import read_rows
from lunguage_assets.workspace.store import is_stored, partition_path

TABLES_OF_A_STUDY = {name: table for name, table in TABLES.items() if table.explained}
"""What is read of a study."""


class Explanation(NamedTuple):
    """Why the rows of a study are, or are not, in the result.

    Attributes:
        reports: the report, as `read` shows one; none where none was delivered.
        rejected: a line for each delivered row that could not be used.
    """

    reports: Sequence[ShownReport]
    rejected: Sequence[str]


def study_and_finding(name: str) -> tuple[str, str | None]:
    """Take the study from the id of one of its rows; None is the row of a study's id.

    No study as delivered looks like the id of a row (`s50000001:0012`).
    """
    if re.fullmatch(A_ROW, name, re.ASCII):
        return name.partition(":")[0], name
    return name, None


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
        study_id: here or as delivered, with or without an `s`.
        finding: number in the result (`idx`), or id, of the one row to explain.

    Raises:
        ConfigurationError: the ranker has no results, no batch delivered the study, or
            it has no such row.
        InvalidTable: a partition has another schema.
    """
    paths = _paths_by_batch(root, ranker, batches)
    if not paths:
        raise ConfigurationError(
            f"ranker {ranker!r} has no result in {root}. Run `lunguage run` with this "
            "ranker first, or name another with --ranker."
        )
    study = study_of(study_id)
    unprocessed = ", ".join(batch for batch in batches if batch not in paths)
    # A study may come again in a later batch, amended: the last delivery counts.
    delivering = [
        batch
        for batch, of_batch in paths.items()
        if len(_rows_of_study("accounting", of_batch["accounting"], study))
    ]
    if not delivering:
        raise ConfigurationError(
            f"no batch delivered study {study_id!r}. Batches of ranker {ranker!r}: "
            f"{', '.join(paths)}. Without a result yet: {unprocessed or 'none'}."
        )
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
        name: _rows_of_study(name, path, study) for name, path in paths[newest].items()
    }
    return explanation_of(tables, remarks, finding)


def _paths_by_batch(
    root: UPath | Path, ranker: str, batches: Sequence[str]
) -> dict[str, dict[str, UPath]]:
    """Find the tables of every batch of which a ranker has them all."""
    paths = {}
    for batch in batches:
        keys = {"ranker": ranker, "report_batch": batch}
        of_batch = {
            name: partition_path(
                root, name, *map(keys.__getitem__, table.partitioned_by)
            )
            for name, table in TABLES_OF_A_STUDY.items()
        }
        if all(path.exists() for path in of_batch.values()):
            paths[batch] = of_batch
    return paths


def _rows_of_study(name: str, path: UPath, study: str) -> pd.DataFrame:
    table = TABLES_OF_A_STUDY[name]
    if not is_stored(table, path):
        raise InvalidTable(
            f"table {name}, file {path}: of another schema. Materialise it again."
        )
    with path.open("rb") as stream:
        return table.from_arrow(read_rows(stream, "study_id", {study}))


def explanation_of(
    tables: dict[str, pd.DataFrame],
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
    stored = {
        **tables,
        "findings": tables["deduplicated_findings"],
        "hedge_phrases": tables["fitted_probabilities"],
        "report_texts": tables["reports"],
    }
    reports = tables["reports"]
    result = tables["lunguage_plus_plus"]
    no_rows = reports[["study_id"]].head(0)
    listed = load_label_list()
    evidence = label_evidence(
        result, tables["pathway_matches"], listed, tables["resolution_log"]
    )
    frames = {
        "reports": reports.assign(notes=[""] * len(reports)),
        "sentences": no_rows,
        "findings": findings_frame(stored),
        "left_out": left_out_frame(stored),
        "conflicts": tables["conflicts"],
        "labels": label_frame(evidence, reports, listed),
        "spans": no_rows,
        "cues": cues_frame(stored),
        "set_aside": tables["set_aside"],
        "notes": _notes(tables),
    }
    explained = [
        report._replace(remarks=[*report.remarks, *remarks])
        for report in shown_reports(frames)
    ]
    if finding is None:
        rejected = [
            f"{row['file']}, row {row['line']}: {row['reason']}; column "
            f"{row['column']!r}: found {row['found']!r}, expected {row['expected']}. "
            f"{row['remedy']}"
            for row in tables["rejected"].to_dict("records")
        ]
        return Explanation(explained, rejected)
    # "7" is the row with this number in the result, "s50000001:0012" any row by its id.
    ids = dict(zip(result["idx"].astype("str"), result["finding_id"], strict=True))
    finding_id = ids.get(finding, finding)
    reports_of_row = [_of_one_row(report, finding_id) for report in explained]
    if not any(report.rows or report.left_out for report in reports_of_row):
        raise ConfigurationError(
            f"the study has no finding {finding!r}: expected a row numbered 1 to "
            f"{len(ids)}, or a finding id; leave --finding out to see all."
        )
    return Explanation(reports_of_row, ())


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


def _notes(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Note what a run knows of the rows of a study beyond what `read` says of one."""
    # Resolution changes rows, so the result's form of a row comes last.
    rows = {
        row["finding_id"]: row
        for name in ("expansions", "deduplicated_findings", "lunguage_plus_plus")
        for row in tables[name].to_dict("records")
    }
    fits, matches = (
        {row["finding_id"]: row for row in tables[name].to_dict("records")}
        for name in ("fitted_probabilities", "pathway_matches")
    )
    notes: list[tuple[str, str]] = []
    for finding_id, row in rows.items():
        words = [f"({finding_id})"]
        if row.get("sent"):
            words.append(f'"{row["sent"]}"')
        # Rows of the result alone are numbered.
        if "idx" in row:
            words[0] = f"idx {row['idx']} ({finding_id})"
            words += _place_in_ranking(fits.get(finding_id))
            words += _pathway(matches.get(finding_id))
        notes += [(finding_id, line) for line in words]
    intake_notes = tables["intake_notes"]
    # Other notes are on the report or its patient.
    of_rows = intake_notes[intake_notes["finding_id"] != ""]
    for note in of_rows.to_dict("records"):
        notes.append((note["finding_id"], f"{note['reason']}: {note['done']}"))
    rows_of_notes = [(note[0].partition(":")[0], *note) for note in notes]
    return pd.DataFrame(rows_of_notes, columns=["study_id", "finding_id", "words"])


def _place_in_ranking(fit: Record | None) -> Iterator[str]:
    if fit is None:
        return
    end = FIT_END_WORDS.get(fit["stop"], fit["stop"])
    if pd.isna(fit["mu"]):
        yield f"not placed in the ranking: {end}"
        return
    yield (
        f"place in the ranking: mu {fit['mu']:.2f}, sigma {fit['sigma']:.2f}, below "
        f"{fit['rank']} phrases; {fit['steps']} steps, {fit['answers']} valid answers; "
        f"ended because {end}"
    )


def _pathway(match: Record | None) -> Iterator[str]:
    """Say which pathway a diagnosis matches, or why it expands into nothing."""
    if match is None or match["reason"] == "not a diagnosis":
        return
    diagnosis = ", ".join(filter(None, [match["diagnosis"], *match["refinements"]]))
    if match["reason"] == "matched":
        yield f"{diagnosis} matches {match['pathway_id']}: {match['pathway']}"
    else:
        reason = NO_PATHWAY_WORDS[match["reason"]]
        yield f"{diagnosis} expands into nothing: {reason}".lstrip()


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print the report, the rows that are not in the result, and rejected ones.

    Text of reports is never taken for rich's markup, and commands no terminal.
    """
    for report in explanation.reports:
        print_report(report, console)
    print_list("rejected", explanation.rejected, console)
