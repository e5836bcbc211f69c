"""Frames of an annotation, made of the tables of the method.

The columns are those of the stored tables (docs/data_dictionary.md). Ids become the
caller's own, and what was made up to run the method (patients, numbers) goes. Spans
and cues are looked up in the text; nothing is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from lunguage_assets.annotation.given_reports import GivenReport
from lunguage_assets.annotation.method import Frames, packaged_labels
from lunguage_assets.explicit.hedges import words_of
from lunguage_assets.labels.study_labels import label_evidence, label_frame
from lunguage_assets.release.deciding_cues import DecidingCue, deciding_cues
from lunguage_assets.release.row_words import status_of
from lunguage_assets.structuring.contract import Span
from lunguage_assets.structuring.rows import read_spans
from lunguage_assets.tables.values import values_of

_REPORT_COLUMNS = ["study_id", "view_information", "view_source", "report"]
_SENTENCE_KEY = ["study_id", "section", "sent_idx"]
_ID_COLUMNS = [
    "study_id", "finding_id", "parent_id", "root_id", "survivor_id",
    "evidence", "associate", "merged_ids", "finding_ids",
]  # fmt: skip
_MADE_UP = ["subject_id", "source_id", "number"]
_ROW_KEY = [*_SENTENCE_KEY, "ent_idx"]
_WORDS_OF_A_ROW = ["finding_id", "section", "sent_idx", "ent", "location"]
_DECIDED = ["study_id", "finding_id", "name", "ent", "status", "cues"]
_CUE_COLUMNS = ["study_id", "finding_id", *DecidingCue._fields]
_SPAN_COLUMNS = [
    "study_id", "finding_id", "section", "status", "column", "begin", "end", "words",
]  # fmt: skip


def frames_of(tables: Frames, names: Sequence[str]) -> Frames:
    """Make frames of the tables of the method, in memory or as a run stored them.

    Args:
        tables: as of `Method.conclude`.
        names: of the frames: some of the fields of `Annotation`.
    """
    # The others are tables as they are.
    return {
        name: _MAKERS[name](tables) if name in _MAKERS else tables[name]
        for name in names
    }


def _reports(tables: Frames) -> pd.DataFrame:
    """List the texts with the codes of all notes on them, each once."""
    notes = tables["reading_notes"].drop_duplicates(["study_id", "reason"])
    codes = notes.groupby("study_id")["reason"].agg(list).to_dict()
    texts = tables["report_texts"][_REPORT_COLUMNS]
    return texts.assign(notes=texts["study_id"].map(defaultdict(list, codes)))


def _sentences(tables: Frames) -> pd.DataFrame:
    """List the sentences, each with its account."""
    accounts = tables["sentence_accounts"][[*_SENTENCE_KEY, "account", "reason"]]
    sentences = tables["report_sentences"].merge(accounts, how="left")
    return sentences.fillna({"account": "nothing stated", "reason": ""})


def _findings(tables: Frames) -> pd.DataFrame:
    """List the resolved rows with their phrases and the pathway that implied them."""
    rows = tables["lunguage_plus_plus"]
    pathways = values_of(tables["expansions"], "finding_id", "parent_pathway_id")
    ids = rows["finding_id"]
    return rows.assign(
        phrases=ids.map(_phrases_by_id(tables)),
        parent_pathway_id=ids.map(defaultdict(str, pathways)).astype("str"),
    )


def _left_out(tables: Frames) -> pd.DataFrame:
    """List the rows that are not among the findings, with their words."""
    log = tables["resolution_log"]
    gone = log[log["event"] != "reference lost"]
    rows = pd.concat([tables["deduplicated_findings"], tables["expansions"]])
    words = rows[_WORDS_OF_A_ROW].drop_duplicates("finding_id", keep="last")
    return gone.merge(words, on="finding_id", how="left", validate="m:1")


def _labels(tables: Frames) -> pd.DataFrame:
    """Label the studies; of one that is set aside nothing is concluded."""
    labels = packaged_labels()
    evidence = label_evidence(
        tables["lunguage_plus_plus"],
        tables["pathway_matches"],
        labels,
        tables["resolution_log"],
    )
    reports = tables["reports"]
    is_set_aside = reports["study_id"].isin(tables["set_aside"]["study_id"])
    return label_frame(evidence, reports[~is_set_aside], labels)


def _spans(tables: Frames) -> pd.DataFrame:
    """Find the characters of every value of the stated rows, and of their phrases."""
    findings = tables["findings"][[*_ROW_KEY, "finding_id", "status"]]
    structured = tables["structured_findings"][[*_ROW_KEY, "spans"]]
    sentences = tables["report_sentences"][[*_SENTENCE_KEY, "begin", "end"]]
    findings = findings.merge(structured).merge(sentences)
    texts = dict(values_of(tables["reports"], "study_id", "report"))
    phrases = _phrases_by_id(tables)
    rows: list[tuple[Any, ...]] = []
    row: Any
    for row in findings.astype(object).itertuples():
        text = texts[row.study_id]
        spans_by_column = read_spans(row.spans)
        # The structurer says where it read the cells; where a judge's phrase stands,
        # nobody says: it is looked for in the sentence, nearest to the finding.
        # "Possible pneumonia or possible edema" has one of each.
        ent = spans_by_column["ent"][0].begin
        nearest: list[Span] = []
        for phrase in phrases[row.finding_id]:
            matches = words_of(phrase).finditer(text, row.begin, row.end)
            spans = [Span(*match.span()) for match in matches]
            nearest += sorted(spans, key=lambda span: abs(span.begin - ent))[:1]
        spans_by_column["phrase"] = tuple(nearest)
        cells = (row.study_id, row.finding_id, row.section, row.status)
        rows += [
            (*cells, column, *span, span.of(text))
            for column, spans in spans_by_column.items()
            for span in spans
        ]
    return _frame_of_characters(rows, _SPAN_COLUMNS)


def _cues(tables: Frames) -> pd.DataFrame:
    """Find the cues that decided the stated rows, with their words."""
    texts = dict(values_of(tables["reports"], "study_id", "report"))
    # What restricts a denial is no cue: the status is told without it.
    decided = values_of(tables["deduplicated_findings"], *_DECIDED)
    records = [dict(zip(_DECIDED, row, strict=True)) for row in decided]
    rows = [
        (row["study_id"], row["finding_id"], *cue)
        for row in records
        for cue in deciding_cues(row["cues"], texts[row["study_id"]], status_of(row))
    ]
    return _frame_of_characters(rows, _CUE_COLUMNS)


def _phrases_by_id(tables: Frames) -> defaultdict[str, list[str]]:
    """Map findings to the phrases that hedge them; none of others."""
    phrases = tables["fitted_probabilities"].set_index("finding_id")["phrases"]
    return defaultdict(list, phrases.map(list))


def _frame_of_characters(
    rows: Sequence[tuple[Any, ...]], columns: list[str]
) -> pd.DataFrame:
    """Make a frame whose columns are texts, but for `begin` and `end`."""
    types = dict.fromkeys(columns, "str") | {"begin": "int64", "end": "int64"}
    return pd.DataFrame(rows, columns=columns).astype(types)


_MAKERS: Mapping[str, Callable[[Frames], pd.DataFrame]] = {
    "reports": _reports,
    "sentences": _sentences,
    "findings": _findings,
    "left_out": _left_out,
    "labels": _labels,
    "spans": _spans,
    "cues": _cues,
}
"""Of the frames that are more than a table."""


def with_callers_ids(frames: Frames, reports: Mapping[str, GivenReport]) -> Frames:
    """Rename all ids of frames, and drop what was made up for them.

    Args:
        frames: as of `frames_of`.
        reports: by the study id that the method knows them by.
    """

    @cache
    def callers_id(name: str) -> str:
        """Turn `s00000000:0003/lung` into `a:3/lung`; a bare name stays."""
        study, colon, row = name.partition(":")
        if study not in reports:
            return name
        return reports[study].name + colon + row.lstrip("0")

    def renamed(cell: Any) -> Any:
        if isinstance(cell, str):
            return callers_id(cell)
        return list(map(callers_id, cell))

    frames_of_caller = {}
    for name, frame in frames.items():
        kept = frame.drop(columns=_MADE_UP, errors="ignore").reset_index(drop=True)
        for column in kept.columns.intersection(_ID_COLUMNS):
            ids = kept[column]
            # Without a row, `map` would change the type.
            kept[column] = ids.map(renamed, na_action="ignore").astype(ids.dtype)
        frames_of_caller[name] = kept
    return frames_of_caller
