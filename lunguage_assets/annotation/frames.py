"""The frames of an `Annotation`: the stored tables of a run under the caller's own ids, and the characters in
which every value was read. Nothing of the method is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.annotation.method import Read, Results
from lunguage_assets.annotation.showing.marks import PHRASE, nearest
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.structuring.rows import read_spans

_SENTENCE = ["study_id", "section", "sent_idx"]
_ROW_IDS = ("finding_id", "parent_id", "root_id", "survivor_id")
_LISTS_OF_IDS = ("evidence", "associate", "merged_ids", "finding_ids")
_WORDS = ["section", "sent_idx", "ent", "location"]
_SPANS = ["study_id", "finding_id", "section", "status", "column", "begin", "end", "words"]


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

    def frame(self, stored: pd.DataFrame) -> pd.DataFrame:
        """A table with all its ids renamed, without patients and numbers that were made up for it."""
        renamed: dict[str, list[Any]] = {}
        for name in stored.columns:
            values = column_values(stored, name)
            if name == "study_id":
                renamed[name] = [self.of_study[study] for study in values]
            elif name in _ROW_IDS:
                renamed[name] = [self.row(value) for value in values]
            elif name in _LISTS_OF_IDS:
                renamed[name] = [[self.row(value) for value in ids] for ids in values]
        columns = {
            name: pd.Series(values, index=stored.index, dtype=stored[name].dtype)
            for name, values in renamed.items()
        }
        known = stored.drop(columns=["subject_id", "number"], errors="ignore")
        return known.assign(**columns).reset_index(drop=True)


def reports_table(found: Read) -> pd.DataFrame:
    """Texts and views, with what was odd about a text."""
    texts = found.read.report_texts[["study_id", "view_information", "view_source", "report"]]
    notes = pd.Series([list(found.notes[study]) for study in texts["study_id"]], texts.index, dtype=object)
    return texts.assign(notes=notes)


def sentences_table(found: Read) -> pd.DataFrame:
    """REPORT_SENTENCES with their accounts; of a section that states nothing nobody gives any."""
    told = found.structured.sentence_accounts[[*_SENTENCE, "account", "reason"]]
    joined = found.read.report_sentences.merge(told, on=_SENTENCE, how="left")
    return joined.fillna({"account": "nothing stated", "reason": ""})


def findings_table(results: Results) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS with the hedging phrases of every row, and the pathway that implied it."""
    rows = results.resolution.rows
    ids = rows["finding_id"].tolist()
    phrases = _by(results.hedges, ["finding_id"], "phrases")
    pathways = _by(results.expansion.expansions, ["finding_id"], "parent_pathway_id")
    return rows.assign(
        phrases=pd.Series([list(phrases.get((own,), ())) for own in ids], rows.index, dtype=object),
        parent_pathway_id=[pathways.get((own,), "") for own in ids],
    )


def left_out_table(found: Read, results: Results) -> pd.DataFrame:
    """Rows of RESOLUTION_LOG that are not among the findings, with their words."""
    log = results.resolution.log
    gone = log[~log["event"].isin(["reference lost", "cell kept apart"])]
    rows = pd.concat([found.intake.findings, results.expansion.expansions], ignore_index=True)
    words = rows[["finding_id", *_WORDS]].drop_duplicates("finding_id", keep="last")
    return gone.merge(words, on="finding_id", how="left", validate="m:1")


def spans_table(found: Read, results: Results) -> pd.DataFrame:
    """The characters of every value of the structured rows, and of the hedging phrases of their sentences."""
    texts = _by(found.read.report_texts, ["study_id"], "report")
    spans = _by(found.structured.structured_findings, ["study_id", "section", "ent_idx"], "spans")
    begins, ends = (_by(found.read.report_sentences, _SENTENCE, name) for name in ("begin", "end"))
    phrases = _by(results.hedges, ["finding_id"], "phrases")
    rows: list[tuple[Any, ...]] = []
    columns = ("finding_id", "study_id", "section", "status", "sent_idx", "ent_idx")
    for own, study, section, status, sent_idx, ent_idx in zip(
        *(found.intake.findings[name].tolist() for name in columns), strict=True
    ):
        text, where = texts[study,], (study, section, sent_idx)
        read = read_spans(spans[study, section, ent_idx])
        values = [(column, span.begin, span.end) for column, parts in read.items() for span in parts]
        for phrase in phrases.get((own,), ()):
            near = nearest(phrase, text, begins[where], ends[where], read["ent"][0].begin)
            values += [(PHRASE, *span) for span in near]
        rows += [(study, own, section, status, *value, text[value[1] : value[2]]) for value in values]
    return pd.DataFrame(rows, columns=_SPANS).astype(
        {name: "int64" if name in ("begin", "end") else "str" for name in _SPANS}
    )


def _by(frame: pd.DataFrame, key: Sequence[str], value: str) -> dict[tuple[Any, ...], Any]:
    keys = zip(*(frame[name].tolist() for name in key), strict=True)
    return dict(zip(keys, column_values(frame, value), strict=True))
