"""Tables of a run as the frames of an `Annotation`: the caller's own ids, plain column names, one place for
every value. Nothing of the method is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.annotation.method import Outcome
from lunguage_assets.annotation.reading import GIVEN, Read
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.annotation import (
    LEFT_OUT,
    READ_CONFLICTS,
    READ_FINDINGS,
    READ_LABELS,
    READ_REPORTS,
    READ_SENTENCES,
)
from lunguage_assets.tables.schema import Table

_RENAMED = {"p": "prob", "place": "location", "p_is_bound": "prob_is_bound"}
_SOURCES = {"original": "stated", "expansion": "implied"}
_ROW_IDS = frozenset({"finding_id", "parent_id", "root_id", "survivor_id"})
_LISTS_OF_IDS = frozenset({"evidence", "associate", "merged_ids", "finding_ids", "kept_ids"})


@dataclass(frozen=True)
class Names:
    """What the caller calls the reports and their rows, which the method numbers through all reports.

    Args:
        of_study: the caller's name, by the study id that the method gave the report.
        first_row: the number of the study's first row; rows of a report are numbered from 1 for the caller,
            so that they do not depend on the reports beside it.
    """

    of_study: Mapping[str, str]
    first_row: Mapping[str, int]

    @classmethod
    def of(cls, names: Mapping[str, str], findings: pd.DataFrame) -> Names:
        """From the reports' names and FINDINGS."""
        first: dict[str, int] = {}
        for own in findings["finding_id"].tolist():
            study, _, number = own.partition(":")
            first[study] = min(first.get(study, int(number)), int(number))
        return cls(names, first)

    def studies(self, ids: Iterable[str]) -> list[str]:
        return [self.of_study[study] for study in ids]

    def row(self, finding_id: str | None) -> str | None:
        """A row's id with the caller's name of the report; bare names of references stay."""
        if finding_id is None or finding_id.startswith(BARE):
            return finding_id
        study, _, number = finding_id.partition(":")
        number, slash, edges = number.partition("/")
        return f"{self.of_study[study]}:{int(number) - self.first_row[study] + 1}{slash}{edges}"

    def frame(self, table: Table, columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The table with all its ids renamed."""
        named: dict[str, Sequence[Any]] = {}
        for name, values in columns.items():
            if name == "study_id":
                named[name] = self.studies(values)
            elif name in _ROW_IDS:
                named[name] = [self.row(value) for value in values]
            elif name in _LISTS_OF_IDS:
                named[name] = [[self.row(value) for value in listed] for listed in values]
            else:
                named[name] = values
        return table.frame(named)


def findings_frame(outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_FINDINGS, in the order of LUNGUAGE_PLUS_PLUS."""
    rows = outcome.resolution.rows
    stored = set(LUNGUAGE_PLUS_PLUS.names)
    columns: dict[str, Sequence[Any]] = {
        name: column_values(rows, _RENAMED.get(name, name))
        for name in READ_FINDINGS.names
        if _RENAMED.get(name, name) in stored
    }
    phrases = phrases_by_row(outcome)
    implied_by = _values_by_row(outcome.expansion.expansions, "parent_pathway_id")
    ids = columns["finding_id"]
    columns["source"] = [_SOURCES[source] for source in columns["source"]]
    columns["phrase"] = ["; ".join(phrases.get(own, ())) for own in ids]
    columns["implied_by"] = [implied_by.get(own, "") for own in ids]
    return names.frame(READ_FINDINGS, columns)


def left_out_frame(found: Read, outcome: Outcome, names: Names) -> pd.DataFrame:
    """LEFT_OUT: the resolution log without lost references, with the words of the rows."""
    findings = found.intake.findings
    log = outcome.resolution.log
    log = log[(log["event"] != "reference lost").to_numpy(dtype=bool)]
    wanted = {"section": "section", "sent_idx": "sent_idx", "ent": "ent", "place": "location"}
    columns: dict[str, Sequence[Any]] = {
        name: column_values(log, name) for name in LEFT_OUT.names if name not in wanted
    }
    columns["source"] = [_SOURCES[source] for source in columns["source"]]
    for name, stored in wanted.items():
        known = _values_by_row(findings, stored) | _values_by_row(outcome.expansion.expansions, stored)
        columns[name] = [known[own] for own in columns["finding_id"]]
    return names.frame(LEFT_OUT, columns)


def conflicts_frame(outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_CONFLICTS, with the rows of each that are left."""
    conflicts = outcome.resolution.conflicts
    living = set(outcome.resolution.rows["finding_id"].tolist())
    columns: dict[str, Sequence[Any]] = {
        name: column_values(conflicts, name) for name in READ_CONFLICTS.names if name != "kept_ids"
    }
    columns["kept_ids"] = [[own for own in listed if own in living] for listed in columns["finding_ids"]]
    return names.frame(READ_CONFLICTS, columns)


def labels_frame(outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_LABELS."""
    return names.frame(READ_LABELS, {name: column_values(outcome.labels, name) for name in READ_LABELS.names})


def reports_frame(found: Read, names: Names) -> pd.DataFrame:
    """READ_REPORTS."""
    texts = found.read.report_texts
    studies = texts["study_id"].tolist()
    return names.frame(
        READ_REPORTS,
        {
            "study_id": studies,
            "view_information": texts["view_information"].tolist(),
            "view_source": [
                "given" if source == GIVEN else source for source in texts["view_source"].tolist()
            ],
            "notes": [found.notes[study] for study in studies],
            "report": texts["report"].tolist(),
        },
    )


def sentences_frame(found: Read, names: Names) -> pd.DataFrame:
    """READ_SENTENCES; a sentence without an account is of a section that states nothing."""
    sentences, accounts = found.read.report_sentences, found.structured.sentence_accounts
    key = ("study_id", "section", "sent_idx")
    told = dict(
        zip(
            zip(*(accounts[name].tolist() for name in key), strict=True),
            zip(accounts["account"].tolist(), accounts["reason"].tolist(), strict=True),
            strict=True,
        )
    )
    columns: dict[str, Sequence[Any]] = {
        name: sentences[name].tolist() for name in READ_SENTENCES.names if name not in ("account", "reason")
    }
    known = [
        told.get(place, ("nothing stated", ""))
        for place in zip(*(columns[name] for name in key), strict=True)
    ]
    columns["account"], columns["reason"] = [account for account, _ in known], [reason for _, reason in known]
    return names.frame(READ_SENTENCES, columns)


def phrases_by_row(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    """Hedging phrases of every tentative row."""
    return {own: tuple(phrases) for own, phrases in _values_by_row(outcome.hedges, "phrases").items()}


def _values_by_row(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    return dict(zip(frame["finding_id"].tolist(), column_values(frame, name), strict=True))
