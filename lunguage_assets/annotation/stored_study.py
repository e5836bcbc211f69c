"""What a run has stored of one study, shown as `read` shows a report.

The stored tables are the frames that are shown. To the reasons of a row is added what
only a run knows: its number in the result, its sentence, its place in the ranking, its
pathway, what it refers to. Of a row that is not in the result it is said why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from upath import UPath

from lunguage_assets.annotation.frames import (
    cues_frame,
    findings_frame,
    left_out_frame,
)
from lunguage_assets.annotation.page import print_report
from lunguage_assets.annotation.shown import Record, ShownReport, shown_reports
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.implicit.rows import BARE
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.labels.study_labels import study_labels
from lunguage_assets.release.code_words import (
    CONFLICT_WORDS,
    FIT_END_WORDS,
    NO_PATHWAY_WORDS,
    P_SOURCE_WORDS,
    RULE_WORDS,
)
from lunguage_assets.release.row_words import (
    finding_and_location,
    printable,
    status_of,
)
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import A_ROW
from lunguage_assets.workspace.parquet_rows import read_rows
from lunguage_assets.workspace.store import is_stored, partition_path

TABLES_OF_A_STUDY = {name: table for name, table in TABLES.items() if table.explained}
"""What is read of a study."""


@dataclass(frozen=True)
class Explanation:
    """Why the rows of a study are, or are not, in the result.

    Attributes:
        reports: the report, as `read` shows one; none where none was delivered.
        left_out: a line for each row that is not in the result, by finding id.
        rejected: a line for each delivered row that could not be used.
    """

    reports: Sequence[ShownReport]
    left_out: dict[str, str]
    rejected: Sequence[str]

    def of_finding(self, finding: str) -> Explanation:
        """Explain one row only.

        Args:
            finding: its number in the result (`idx`), or its finding id.

        Raises:
            ConfigurationError: there is no such row; says which there are.
        """
        # "7" is the row with this number in the result, "s50000001:0012" any row by its
        # id.
        names = (f"idx {finding} ", f"({finding})")
        reports = []
        n_rows = 0
        for report in self.reports:
            n_rows += len(report.rows)
            rows = tuple(
                row for row in report.rows if any(name in row.where for name in names)
            )
            if rows:
                reports.append(
                    replace(report, pieces=(), rows=rows, contradictions=(), labels=())
                )
        left_out = {key: line for key, line in self.left_out.items() if key == finding}
        if not reports and not left_out:
            raise ConfigurationError(
                f"the study has no finding {finding!r}: expected a row numbered 1 to "
                f"{n_rows}, or a finding id; leave --finding out to see all."
            )
        return Explanation(reports, left_out, ())


def study_and_finding(name: str) -> tuple[str, str | None]:
    """Take the study from the id of one of its rows; None is the row of a study's id.

    No study as delivered looks like the id of a row (`s50000001:0012`).
    """
    if re.fullmatch(A_ROW, name, re.ASCII):
        return name.partition(":")[0], name
    return name, None


def explain_study(
    root: UPath | Path, ranker: str, batches: Sequence[str], study_id: str
) -> Explanation:
    """Explain the rows of a study, of its newest delivery.

    Args:
        root: folder of the stored tables.
        ranker: whose results are read.
        batches: keys of the registered ones, oldest first.
        study_id: here or as delivered, with or without an `s`.

    Raises:
        ConfigurationError: the ranker has no results, or no batch delivered the study.
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
        waiting = f"; without a result yet: {unprocessed}" if unprocessed else ""
        raise ConfigurationError(
            f"no batch delivered study {study_id!r}. Batches of ranker {ranker!r}: "
            f"{', '.join(paths)}{waiting}."
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
    return explanation_of(tables, remarks)


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
    tables: dict[str, pd.DataFrame], remarks: Sequence[str] = ()
) -> Explanation:
    """Explain the rows of a study.

    Args:
        tables: `TABLES_OF_A_STUDY` by name, with the rows of the study.
        remarks: on its delivery.
    """
    stored = {
        **tables,
        "findings": tables["deduplicated_findings"],
        "hedge_phrases": tables["fitted_probabilities"],
        "report_texts": tables["reports"],
    }
    reports = tables["reports"]
    left_out = left_out_frame(stored)
    frames = {
        "reports": reports.assign(notes=[""] * len(reports)),
        "findings": findings_frame(stored),
        "left_out": left_out,
        "conflicts": tables["conflicts"],
        "cues": cues_frame(stored, stored),
        "set_aside": tables["set_aside"],
        "labels": study_labels(
            tables["lunguage_plus_plus"],
            tables["pathway_matches"],
            reports,
            load_label_list(),
            tables["resolution_log"],
        ),
    }
    reasons = _RunReasons(tables)
    explained = []
    for report in shown_reports(frames):
        rows = [
            replace(
                row,
                where=", ".join(
                    filter(None, [reasons.number(row.finding_id), row.where])
                ),
                lines=(*row.lines, *reasons.of(row.finding_id)),
            )
            for row in report.rows
        ]
        all_remarks = (*report.remarks, *remarks)
        explained.append(replace(report, rows=tuple(rows), remarks=all_remarks))
    rejected = [
        f"{row['file']}, row {row['line']}: {row['reason']}; column {row['column']!r}: "
        f"found {row['found']!r}, expected {row['expected']}. {row['remedy']}"
        for row in tables["rejected"].to_dict("records")
    ]
    lines = {
        row["finding_id"]: reasons.of_left_out(row)
        for row in left_out.to_dict("records")
    }
    return Explanation(explained, lines, rejected)


class _RunReasons:
    """What a run noted of the rows of a study, in words."""

    def __init__(self, tables: dict[str, pd.DataFrame]) -> None:
        self._fits = _by_finding_id(tables["fitted_probabilities"])
        self._matches = _by_finding_id(tables["pathway_matches"])
        self._notes = tables["intake_notes"].to_dict("records")
        self._log = tables["resolution_log"].to_dict("records")
        self._result = _by_finding_id(tables["lunguage_plus_plus"])
        # Resolution changes rows, so the result's form of a row comes last.
        self._rows = {
            **_by_finding_id(tables["expansions"]),
            **_by_finding_id(tables["deduplicated_findings"]),
            **self._result,
        }

    def number(self, finding_id: str) -> str:
        """Say which row of the result a row is."""
        return f"idx {self._result[finding_id]['idx']} ({finding_id})"

    def of(self, finding_id: str) -> Iterator[str]:
        """Say what is known of a row of the result beyond what `read` says of one."""
        row = self._result[finding_id]
        if row["sent"]:
            yield f'"{row["sent"]}"'
        if finding_id in self._fits:
            yield P_SOURCE_WORDS[row["p_source"]]
            yield _place_in_ranking(self._fits[finding_id])
        match = self._matches.get(finding_id)
        if match is not None and match["reason"] != "not a diagnosis":
            yield _pathway(match)
        yield from self._references(row)
        for note in self._notes:
            if note["finding_id"] == finding_id:
                yield f"{note['reason']}: {note['done']}"

    def _references(self, row: Record) -> Iterator[str]:
        """Say which rows a row refers to, and to which it did."""
        for column in ("evidence", "associate"):
            # What a row implies, or is implied by, is shown by its place.
            targets = [
                self._mention(target)
                for target in row[column]
                if "/" not in row["finding_id"] + target
            ]
            if targets:
                yield f"{column}: {', '.join(targets)}"
        for event in self._log:
            if (
                event["event"] == "reference lost"
                and event["finding_id"] == row["finding_id"]
            ):
                rule = RULE_WORDS[event["rule"]]
                yield f"refers no more to {self._mention(event['reference'])}: {rule}"

    def of_left_out(self, event: Record) -> str:
        """Say by which rule a row is gone, and what stands for it."""
        finding_id = event["finding_id"]
        row = self._rows[finding_id]
        origin = f'"{row.get("sent", "")}"'
        if "parent_pathway_id" in row:
            parent = self._mention(row["parent_id"])
            origin = f"implied by {parent}, pathway {row['parent_pathway_id']}"
        because = RULE_WORDS[event["rule"]]
        if event["conflict_type"] != "none":
            because = f"{CONFLICT_WORDS[event['conflict_type']]}; {because}"
        if pd.notna(row.get("merge_similarity")):
            because = f"{because}, cosine {row['merge_similarity']:.3f}"
        if isinstance(event["survivor_id"], str):
            because = f"{because}; see {self._mention(event['survivor_id'])}"
        title = f"{finding_and_location(row)}: {status_of(row)} ({finding_id})"
        return f"{event['event']}: {title}, {origin}: {because}"

    def _mention(self, finding_id: str) -> str:
        """Mention another row, by number where it has one; or a bare word.

        `idx 2 (nodule, right)`; `haze` of what is no row of the study.
        """
        row = self._rows.get(finding_id)
        if row is None:
            return finding_id.removeprefix(BARE)
        is_there = finding_id in self._result
        number = f"idx {row['idx']}" if is_there else finding_id
        return f"{number} ({finding_and_location(row)})"


def _place_in_ranking(fit: Record) -> str:
    end = FIT_END_WORDS.get(fit["stop"], fit["stop"])
    if pd.isna(fit["mu"]):
        return f"not placed in the ranking: {end}"
    return (
        f"place in the ranking: mu {fit['mu']:.2f}, sigma {fit['sigma']:.2f}, below "
        f"{fit['rank']} phrases; {fit['steps']} steps, {fit['answers']} valid answers; "
        f"ended because {end}"
    )


def _pathway(match: Record) -> str:
    """Say which pathway a row matches, or why it expands into nothing."""
    diagnosis = ", ".join(filter(None, [match["diagnosis"], *match["refinements"]]))
    if match["reason"] == "matched":
        return f"{diagnosis} matches {match['pathway_id']}: {match['pathway']}"
    reason = NO_PATHWAY_WORDS[match["reason"]]
    return f"{diagnosis} expands into nothing: {reason}".lstrip()


def _by_finding_id(frame: pd.DataFrame) -> dict[str, Any]:
    return {row["finding_id"]: row for row in frame.to_dict("records")}


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print the report, the rows that are not in the result, and rejected ones.

    Text of reports is never taken for rich's markup, and commands no terminal.
    """
    for report in explanation.reports:
        print_report(report, console)
    lists = {
        "not in the result": explanation.left_out.values(),
        "rejected": explanation.rejected,
    }
    for heading, lines in lists.items():
        if lines:
            console.print(Padding(Text(heading, style="bold cyan"), (1, 0, 0, 0)))
        for line in lines:
            console.print(Padding(Text(printable(line)), (0, 2)))
