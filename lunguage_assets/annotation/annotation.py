"""The public functions `read` and `annotate`, and what they return (docs/read.md): the stored tables of a run
under the caller's own ids, and the characters in which every value was read. Nothing of the method is decided
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from lunguage_assets.annotation.given import Given, given_frame, given_report
from lunguage_assets.annotation.method import Frames, bundled_method
from lunguage_assets.explicit.hedges.hedging import words_of
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.structuring.rows import read_spans

REPORTS_AT_ONCE = 1000
"""Reports that go through the method together; memory follows from it, results do not."""

_SENTENCE = ["study_id", "section", "sent_idx"]
_ROW_IDS = ("finding_id", "parent_id", "root_id", "survivor_id")
_LISTS_OF_IDS = ("evidence", "associate", "merged_ids", "finding_ids")
_WORDS = ["finding_id", "section", "sent_idx", "ent", "location"]
_SPANS = ["study_id", "finding_id", "section", "status", "column", "begin", "end", "words"]


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
        parts.append(_frames(studies, read, bundled_method().conclude(read)))
    return Annotation(
        **{name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]}
    )


def _frames(given: Mapping[str, Given], read: Frames, made: Frames) -> Frames:
    """The frames by name, from the tables of `Method.read` and `Method.conclude`."""
    notes = {study: list(one.notes) for study, one in given.items()}
    for study, reason in zip(*(read["reading_notes"][name] for name in ("study_id", "reason")), strict=True):
        notes[study].append(reason)
    texts = read["report_texts"][["study_id", "view_information", "view_source", "report"]]
    listed = [list(dict.fromkeys(notes[study])) for study in texts["study_id"]]
    accounts = read["sentence_accounts"][[*_SENTENCE, "account", "reason"]]
    sentences = read["report_sentences"].merge(accounts, on=_SENTENCE, how="left")
    tables = {
        "reports": texts.assign(notes=pd.Series(listed, texts.index, dtype=object)),
        "sentences": sentences.fillna({"account": "nothing stated", "reason": ""}),
        "findings": _findings(made),
        "labels": made["labels"],
        "conflicts": made["conflicts"],
        "left_out": _left_out(made),
        "spans": _spans(read, made),
        "set_aside": made["set_aside"],
    }
    row = _names(given, read["findings"])
    return {name: _named(table, given, row) for name, table in tables.items()}


def _names(given: Mapping[str, Given], findings: pd.DataFrame) -> Callable[[str], str]:
    """From a row's id to the caller's: rows of a report are numbered from 1, so that they do not depend on
    the reports beside it; bare names of references stay.
    """
    number = findings["finding_id"].str.split(":").str[1].astype("int64")
    first = number.groupby(findings["study_id"]).min().to_dict()

    def named(own: str) -> str:
        if own.startswith(BARE):
            return own
        study, _, row = own.partition(":")
        row, slash, edges = row.partition("/")
        return f"{given[study].name}:{int(row) - first[study] + 1}{slash}{edges}"

    return named


def _named(table: pd.DataFrame, given: Mapping[str, Given], row: Callable[[str], str]) -> pd.DataFrame:
    """A table with all its ids renamed, without patients and numbers that were made up for it."""
    renamed: dict[str, pd.Series] = {}
    for name in table.columns:
        if name == "study_id":
            renamed[name] = table[name].map(lambda study: given[study].name)
        elif name in _ROW_IDS:
            renamed[name] = table[name].map(row, na_action="ignore")
        elif name in _LISTS_OF_IDS:
            renamed[name] = table[name].map(lambda ids: list(map(row, ids)))
    typed = {name: values.astype(table[name].dtype) for name, values in renamed.items()}
    known = table.drop(columns=["subject_id", "number"], errors="ignore")
    return known.assign(**typed).reset_index(drop=True)


def _findings(made: Frames) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS with the hedging phrases of every row, and the pathway that implied it."""
    rows = made["lunguage_plus_plus"]
    phrases = _by(made["hedge_phrases"], ["finding_id"], "phrases")
    pathways = _by(made["expansions"], ["finding_id"], "parent_pathway_id")
    ids = rows["finding_id"].tolist()
    listed = [list(phrases.get((own,), ())) for own in ids]
    return rows.assign(
        phrases=pd.Series(listed, rows.index, dtype=object),
        parent_pathway_id=[pathways.get((own,), "") for own in ids],
    )


def _left_out(made: Frames) -> pd.DataFrame:
    """Rows of RESOLUTION_LOG that are not among the findings, with their words."""
    log = made["resolution_log"]
    gone = log[~log["event"].isin(["reference lost", "cell kept apart"])]
    rows = pd.concat([made["findings"], made["expansions"]], ignore_index=True)
    words = rows[_WORDS].drop_duplicates("finding_id", keep="last")
    return gone.merge(words, on="finding_id", how="left", validate="m:1")


def _spans(read: Frames, made: Frames) -> pd.DataFrame:
    """The characters of every value of the structured rows, and of the hedging phrases of their sentences."""
    texts = _by(read["report_texts"], ["study_id"], "report")
    spans = _by(read["structured_findings"], ["study_id", "section", "ent_idx"], "spans")
    begins, ends = (_by(read["report_sentences"], _SENTENCE, name) for name in ("begin", "end"))
    phrases = _by(made["hedge_phrases"], ["finding_id"], "phrases")
    rows: list[tuple[Any, ...]] = []
    columns = ("finding_id", "study_id", "section", "status", "sent_idx", "ent_idx")
    for own, study, section, status, sent_idx, ent_idx in zip(
        *(made["findings"][name].tolist() for name in columns), strict=True
    ):
        text, where = texts[study,], (study, section, sent_idx)
        known = read_spans(spans[study, section, ent_idx])
        values = [(column, span.begin, span.end) for column, parts in known.items() for span in parts]
        for phrase in phrases.get((own,), ()):
            found = [match.span() for match in words_of(phrase).finditer(text, begins[where], ends[where])]
            at = known["ent"][0].begin
            values += [("phrase", *span) for span in sorted(found, key=lambda span: abs(span[0] - at))[:1]]
        rows += [(study, own, section, status, *value, text[value[1] : value[2]]) for value in values]
    return pd.DataFrame(rows, columns=_SPANS).astype(
        {name: "int64" if name in ("begin", "end") else "str" for name in _SPANS}
    )


def _by(frame: pd.DataFrame, key: list[str], value: str) -> dict[tuple[Any, ...], Any]:
    keys = zip(*(frame[name].tolist() for name in key), strict=True)
    return dict(zip(keys, column_values(frame, value), strict=True))
