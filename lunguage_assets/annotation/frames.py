"""Tables of a run as the frames of an `Annotation`: the caller's own ids, plain column names, one place for
every value, and the characters in which it was read. Nothing of the method is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.annotation.method import Results
from lunguage_assets.annotation.reading import GIVEN, Read
from lunguage_assets.annotation.showing.marks import PHRASE, nearest
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.structuring.rows import read_spans
from lunguage_assets.tables.annotation import (
    LEFT_OUT,
    READ_CONFLICTS,
    READ_FINDINGS,
    READ_REPORTS,
    READ_SENTENCES,
    READ_SPANS,
)
from lunguage_assets.tables.schema import Table

_RENAMED = {"p": "prob", "place": "location", "p_is_bound": "prob_is_bound"}
_SOURCES = {"original": "stated", "expansion": "implied"}
_SENTENCE = ("study_id", "section", "sent_idx")
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

    def row(self, finding_id: str | None) -> str | None:
        """A row's id with the caller's name of the report; bare names of references stay."""
        if finding_id is None or finding_id.startswith(BARE):
            return finding_id
        study, _, number = finding_id.partition(":")
        number, slash, edges = number.partition("/")
        return f"{self.of_study[study]}:{int(number) - self.first_row[study] + 1}{slash}{edges}"

    def frame(self, table: Table, stored: pd.DataFrame, **made: Sequence[Any]) -> pd.DataFrame:
        """The table from the columns of a stored one and those that are made, with all its ids renamed."""
        columns: dict[str, Sequence[Any]] = {}
        for name in table.names:
            source = name if name in stored.columns else _RENAMED.get(name, name)
            values = made[name] if name in made else column_values(stored, source)
            if name == "study_id":
                columns[name] = [self.of_study[study] for study in values]
            elif name in _ROW_IDS:
                columns[name] = [self.row(value) for value in values]
            elif name in _LISTS_OF_IDS:
                columns[name] = [[self.row(value) for value in listed] for listed in values]
            else:
                columns[name] = values
        return table.frame(columns)


def findings_frame(results: Results, names: Names) -> pd.DataFrame:
    """READ_FINDINGS, in the order of LUNGUAGE_PLUS_PLUS."""
    rows = results.resolution.rows
    phrases = phrases_by_row(results)
    implied_by = _values_by_row(results.expansion.expansions, "parent_pathway_id")
    ids = rows["finding_id"].tolist()
    return names.frame(
        READ_FINDINGS,
        rows,
        source=_sources(rows),
        phrase=["; ".join(phrases.get(own, ())) for own in ids],
        implied_by=[implied_by.get(own, "") for own in ids],
    )


def left_out_frame(found: Read, results: Results, names: Names) -> pd.DataFrame:
    """LEFT_OUT: the resolution log without lost references, with the words of the rows."""
    log = results.resolution.log
    log = log[(log["event"] != "reference lost").to_numpy(dtype=bool)]
    words: dict[str, Sequence[Any]] = {}
    for name in ("section", "sent_idx", "ent", "place"):
        stored = _RENAMED.get(name, name)
        known = _values_by_row(found.intake.findings, stored)
        known |= _values_by_row(results.expansion.expansions, stored)
        words[name] = [known[own] for own in log["finding_id"].tolist()]
    return names.frame(LEFT_OUT, log, source=_sources(log), **words)


def conflicts_frame(results: Results, names: Names) -> pd.DataFrame:
    """READ_CONFLICTS, with the rows of each that are left."""
    conflicts = results.resolution.conflicts
    living = set(results.resolution.rows["finding_id"].tolist())
    kept = [[own for own in listed if own in living] for listed in conflicts["finding_ids"].tolist()]
    return names.frame(READ_CONFLICTS, conflicts, kept_ids=kept)


def reports_frame(found: Read, names: Names) -> pd.DataFrame:
    """READ_REPORTS."""
    texts = found.read.report_texts
    sources = ["given" if source == GIVEN else source for source in texts["view_source"].tolist()]
    notes = [found.notes[study] for study in texts["study_id"].tolist()]
    return names.frame(READ_REPORTS, texts, view_source=sources, notes=notes)


def sentences_frame(found: Read, names: Names) -> pd.DataFrame:
    """READ_SENTENCES; a sentence without an account is of a section that states nothing."""
    told = found.structured.sentence_accounts[[*_SENTENCE, "account", "reason"]]
    sentences = found.read.report_sentences.merge(told, on=list(_SENTENCE), how="left")
    account = sentences["account"].fillna("nothing stated").tolist()
    return names.frame(
        READ_SENTENCES, sentences, account=account, reason=sentences["reason"].fillna("").tolist()
    )


def phrases_by_row(results: Results) -> dict[str, tuple[str, ...]]:
    """Hedging phrases of every tentative row."""
    return {own: tuple(phrases) for own, phrases in _values_by_row(results.hedges, "phrases").items()}


def _sources(rows: pd.DataFrame) -> list[str]:
    return [_SOURCES[source] for source in rows["source"].tolist()]


def _values_by_row(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    return dict(zip(frame["finding_id"].tolist(), column_values(frame, name), strict=True))


_READ = ("finding_id", "study_id", "section", "status", "sent_idx", "ent_idx")


def spans_frame(found: Read, results: Results, names: Names) -> pd.DataFrame:
    """READ_SPANS: the spans of the structured rows, and those of the hedging phrases of their sentences."""
    texts = _by(found.read.report_texts, ("study_id",), "report")
    spans = _by(found.structured.structured_findings, ("study_id", "section", "ent_idx"), "spans")
    place = ("study_id", "section", "sent_idx")
    begins, ends = (_by(found.read.report_sentences, place, name) for name in ("begin", "end"))
    phrases = phrases_by_row(results)
    rows: list[tuple[Any, ...]] = []
    findings = found.intake.findings
    for own, study, section, status, sent_idx, ent_idx in zip(
        *(findings[name].tolist() for name in _READ), strict=True
    ):
        read = read_spans(spans[study, section, ent_idx])
        values = [(column, span.begin, span.end) for column, parts in read.items() for span in parts]
        where = study, section, sent_idx
        for phrase in phrases.get(own, ()):
            values += [
                (PHRASE, *span)
                for span in nearest(phrase, texts[study,], begins[where], ends[where], read["ent"][0].begin)
            ]
        rows += [
            (study, own, section, status, column, begin, end, texts[study,][begin:end])
            for column, begin, end in values
        ]
    return names.frame(READ_SPANS, pd.DataFrame(rows, columns=READ_SPANS.names))


def _by(frame: pd.DataFrame, key: Sequence[str], value: str) -> dict[tuple[Any, ...], Any]:
    keys = zip(*(frame[name].tolist() for name in key), strict=True)
    return dict(zip(keys, frame[value].tolist(), strict=True))
