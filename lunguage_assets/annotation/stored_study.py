"""What a run has stored of one study, shown as `read` shows a report.

The stored tables are the frames that are shown. To the reasons of a row is added what
only a run knows: its number in the result, its sentence, its place in the ranking, its
pathway, what it refers to. Rows that are not in the result are told with their rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console
from upath import UPath

from lunguage_assets.annotation.frames import (
    cues_frame,
    findings_frame,
    left_out_frame,
)
from lunguage_assets.annotation.page import print_list, print_report
from lunguage_assets.annotation.shown import Record, ShownReport, shown_reports
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.implicit.rows import BARE
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.labels.study_labels import label_evidence, label_frame
from lunguage_assets.release.code_words import (
    FIT_END_WORDS,
    NO_PATHWAY_WORDS,
    RULE_WORDS,
)
from lunguage_assets.release.row_words import finding_and_location
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
    labels = label_frame(evidence, reports, listed)
    frames = {
        "reports": reports.assign(notes=[""] * len(reports)),
        "sentences": no_rows,
        "findings": findings_frame(stored),
        "left_out": left_out_frame(stored),
        "conflicts": tables["conflicts"],
        "labels": labels,
        "spans": no_rows,
        "cues": cues_frame(stored, stored),
        "set_aside": tables["set_aside"],
        "notes": _notes(tables),
    }
    explained = shown_reports(frames)
    for report in explained:
        report.remarks += remarks
    rejected = [
        f"{row['file']}, row {row['line']}: {row['reason']}; column {row['column']!r}: "
        f"found {row['found']!r}, expected {row['expected']}. {row['remedy']}"
        for row in tables["rejected"].to_dict("records")
    ]
    if finding is None:
        return Explanation(explained, rejected)
    # "7" is the row with this number in the result, "s50000001:0012" any row by its id.
    ids = dict(zip(result["idx"].astype("str"), result["finding_id"], strict=True))
    finding_id = ids.get(finding, finding)
    explained = [report for report in explained if report.keep_row(finding_id)]
    if not explained:
        raise ConfigurationError(
            f"the study has no finding {finding!r}: expected a row numbered 1 to "
            f"{len(ids)}, or a finding id; leave --finding out to see all."
        )
    return Explanation(explained, ())


def _notes(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Note what a run knows of the rows of a study beyond what `read` says of one."""
    result = _by_finding_id(tables["lunguage_plus_plus"])
    # Resolution changes rows, so the result's form of a row comes last.
    rows = {
        **_by_finding_id(tables["expansions"]),
        **_by_finding_id(tables["deduplicated_findings"]),
        **result,
    }
    fits = _by_finding_id(tables["fitted_probabilities"])
    matches = _by_finding_id(tables["pathway_matches"])
    notes: list[tuple[str, str]] = []
    for finding_id, row in rows.items():
        words = [f"({finding_id})"]
        if row.get("sent"):
            words.append(f'"{row["sent"]}"')
        if pd.notna(row.get("merge_similarity")):
            words.append(f"cosine {row['merge_similarity']:.3f}")
        if finding_id in result:
            words[0] = f"idx {row['idx']} ({finding_id})"
            words += _place_in_ranking(fits.get(finding_id))
            words += _pathway(matches.get(finding_id))
            words += _references(row, rows)
        notes += [(finding_id, line) for line in words]
    for event in tables["resolution_log"].to_dict("records"):
        if event["event"] == "reference lost":
            mention = _mention(rows, event["reference"])
            lost = f"refers no more to {mention}: {RULE_WORDS[event['rule']]}"
            notes.append((event["finding_id"], lost))
    for note in tables["intake_notes"].to_dict("records"):
        notes.append((note["finding_id"], f"{note['reason']}: {note['done']}"))
    frame = pd.DataFrame(notes, columns=["finding_id", "words"])
    return frame.assign(study_id=frame["finding_id"].str.partition(":")[0])


def _references(row: Record, rows: Mapping[str, Record]) -> Iterator[str]:
    """Say which of some rows a row refers to."""
    for column in ("evidence", "associate"):
        # What a row implies, or is implied by, is shown by its place.
        targets = [
            _mention(rows, target)
            for target in row[column]
            if "/" not in row["finding_id"] + target
        ]
        if targets:
            yield f"{column}: {', '.join(targets)}"


def _mention(rows: Mapping[str, Record], finding_id: str) -> str:
    """Mention another row, with its id; or a bare word that is no row of the study."""
    if finding_id not in rows:
        return finding_id.removeprefix(BARE)
    return f"{finding_and_location(rows[finding_id])} ({finding_id})"


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


def _by_finding_id(frame: pd.DataFrame) -> dict[str, Any]:
    return {row["finding_id"]: row for row in frame.to_dict("records")}


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print the report, the rows that are not in the result, and rejected ones.

    Text of reports is never taken for rich's markup, and commands no terminal.
    """
    for report in explanation.reports:
        print_report(report, console)
    print_list("rejected", explanation.rejected, console)
