"""The frames of an `Annotation`: the stored tables of a run under the caller's own ids, and the characters in
which every value was read. Nothing of the method is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from lunguage_assets.annotation.given import Given
from lunguage_assets.annotation.method import Frames
from lunguage_assets.explicit.hedges.hedging import words_of
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.structuring.rows import read_spans

_SENTENCE = ["study_id", "section", "sent_idx"]
_ROW_IDS = ("finding_id", "parent_id", "root_id", "survivor_id")
_LISTS_OF_IDS = ("evidence", "associate", "merged_ids", "finding_ids")
_WORDS = ["finding_id", "section", "sent_idx", "ent", "location"]
_SPANS = ["study_id", "finding_id", "section", "status", "column", "begin", "end", "words"]


def annotation_frames(given: Mapping[str, Given], read: Frames, made: Frames) -> Frames:
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
