"""The published form of findings, `Lunguage.csv`: each delivered record is read as a typed row, or rejected
with its reason; rows of a structurer are written in the same columns.

What concerns a row alone, and what it may not share with earlier ones (its number, its study's patient), is
decided here; what needs the study as a whole is in `findings/studies.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import pandas as pd

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import ROW_NUMBER, clean, clean_list, first_alternative, map_columns
from lunguage_assets.corpus.findings.references import DeliveredRow, DeliveredStudy, Target
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import ENCODING, Record, read_records
from lunguage_assets.corpus.vocabulary import Vocabulary, category_code, plain
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

MOST_ROWS_OF_A_STUDY = 5_000
"""No report has as many findings; a file whose column of study ids is constant has."""
_Value = TypeVar("_Value")
_NUMBERED = ("sequence", "sent_idx", "ent_idx")
_MAY_BE_DERIVED = ("sent_idx", "ent_idx", "cat")
_DERIVED = {ROW_NUMBER: "row-numbers-made"} | dict.fromkeys(("sent_idx", "ent_idx"), "positions-derived")
"""Reasons of notes on missing columns whose values are counted."""


class _Rejection(Exception):
    """A row cannot be used."""

    def __init__(self, reason: str, column: str, found: str) -> None:
        super().__init__(reason)
        self.reason, self.column, self.found = reason, column, found


def _read_as(meaning: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """The meaning of a cell, computed once per text: in a million rows coded columns repeat a handful."""
    return cache(lambda written: meaning(clean(written)))


def _optional_number(value: str) -> int | None:
    """None when the cell is empty, -1 when it is no number."""
    if not value:
        return None
    number = columns.whole_number(value)
    return -1 if number is None else number


class RowReader:
    """Reads the findings file into `studies`, by study id."""

    def __init__(self, path: Path, vocabulary: Vocabulary, log: IntakeLog) -> None:
        self.file = path.name
        self.studies: dict[str, DeliveredStudy] = {}
        self._vocabulary, self._log = vocabulary, log
        self._header, self._records = read_records(path, ("subject_id", "study_id"))
        known = map_columns(self._header, self.file)
        self._labels = [
            name or (columns.unnamed(place) if place else "") for place, name in enumerate(self._header)
        ]
        self._has = frozenset(known.position)
        absent = len(self._header)  # every record gets an empty value there
        self._at = {
            column: known.position.get(column, absent) for column in (*columns.REQUIRED, *columns.OPTIONAL)
        }
        self._passage_at = self._at["sent"] if known.sentence_in_passage else None
        if known.sentence_in_passage:  # every record gets its own sentence behind; its passage stays
            self._at["sent"] = absent + 1
        self._passages = _read_as(columns.numbered_sentences)
        self._attributes = [self._at[column] for column in ATTRIBUTES]
        self._coded = [
            (column, self._at[column])
            for column in ("section", "dx_status", "dx_certainty", "normed_ent", "cat")
        ]
        self._numbers_seen: set[int] = set()
        self._lists = _read_as(clean_list)
        self._subjects = _read_as(columns.subject_id)
        self._sections = _read_as(columns.section)
        self._polarities = _read_as(columns.polarity)
        self._certainties = _read_as(columns.certainty)
        self._categories = _read_as(
            lambda value: category_code(columns.said_once(first_alternative(value))) if value else ""
        )
        self._numbers = _read_as(_optional_number)
        for name in known.ignored:
            log.note("column-ignored", self.file, column=name)
        for name in known.missing:
            log.note(_DERIVED.get(name, "column-missing"), self.file, column=name)

    def read(self) -> dict[str, DeliveredStudy]:
        """All studies with a readable id; rejections go to the log."""
        for record in self._records:
            record.values.append("")
            if self._passage_at is not None and not record.broken:
                record.values.append(self._sentence(record, record.values[self._passage_at]))
            study = self._study(record)
            try:
                if record.broken:
                    raise _Rejection(record.broken, "", record.found)
                if study is None:
                    raise self._rejection(record, "study-id", "study_id")
                self._read(record, study)
            except _Rejection as rejection:
                self._reject(record, study, rejection)
        self._reject_long_studies()
        return self.studies

    def _reject_long_studies(self) -> None:
        """Reject the rows of studies that have more than any report."""
        for study in self.studies.values():
            if len(study.rows) <= MOST_ROWS_OF_A_STUDY:
                continue
            found = f"{len(study.rows):,} rows of {study.study_id}"
            place = {"column": "study_id", "study_id": study.study_id, "found": found}
            for row in study.rows:
                self._log.reject("study-too-long", self.file, row.line, **place)
            study.rows = []

    def _sentence(self, record: Record, passage: str) -> str:
        """The row's own sentence of a numbered passage; empty when the passage has none of that number."""
        sentences = self._passages(passage)
        number = columns.whole_number(self._cell(record, "sent_idx"))
        return sentences.get(-1 if number is None else number, "") if sentences else passage

    def _study(self, record: Record) -> DeliveredStudy | None:
        written = self._cell(record, "study_id")
        study_id = columns.study_id(written)
        if study_id is None or (record.broken and not columns.is_plainly_study(written)):
            return None  # in a broken record another column may stand in the place of the study
        study = self.studies.get(study_id)
        if study is None:
            study = self.studies[study_id] = DeliveredStudy(study_id, first_line=record.number)
        study.rows_delivered += 1
        if not study.subject_id:
            study.subject_id = columns.subject_id(self._cell(record, "subject_id")) or ""
        return study

    def _reject(self, record: Record, study: DeliveredStudy | None, rejection: _Rejection) -> None:
        content = record.raw or json.dumps(
            dict(zip(self._labels, record.values, strict=False)), ensure_ascii=False
        )
        study_id = study.study_id if study is not None else ""
        what = {"column": rejection.column, "found": rejection.found, "content": content}
        self._log.reject(rejection.reason, self.file, record.number, study_id=study_id, **what)
        in_place = record.broken in ("", ENCODING)  # every value stands in its column
        if study is not None and in_place and rejection.reason != "study-of-two-patients":
            study.refused.append(self._refused_target(record))

    def _refused_target(self, record: Record) -> Target:
        """A rejected row as the target of references.

        A reference to it must not find another row instead.
        """
        ent, normed = self._cell(record, "ent"), first_alternative(self._cell(record, "normed_ent"))
        section = columns.section(self._cell(record, "section")) or ""
        number = columns.whole_number(self._cell(record, "ent_idx"))
        wordings = frozenset({plain(ent), plain(normed)} - {""})
        return Target("", section, number, wordings, self._vocabulary.finding(normed or ent))

    def _cell(self, record: Record, column: str) -> str:
        place = self._at[column]
        return clean(record.values[place]) if place < len(record.values) else ""

    def _rejection(self, record: Record, reason: str, column: str) -> _Rejection:
        return _Rejection(reason, column, self._cell(record, column) or "nothing")

    def _read(self, record: Record, study: DeliveredStudy) -> None:
        """Add a record to its study, or raise the first of the reasons against it."""
        values, at = record.values, self._at
        sentence, finding, sent = self._counted(values, study)
        subject = self._subjects(values[at["subject_id"]])
        if subject is None:
            raise self._rejection(record, "subject-id", "subject_id")
        if subject != study.subject_id:
            raise self._rejection(record, "study-of-two-patients", "subject_id")
        number = self._row_number(record)
        section = self._sections(values[at["section"]])
        if section is None:
            raise self._rejection(record, "section", "section")
        polarity = self._polarities(values[at["dx_status"]])
        if polarity is None:
            raise self._rejection(record, "dx-status", "dx_status")
        certainty = self._certainties(values[at["dx_certainty"]])
        if certainty is None:
            raise self._rejection(record, "dx-certainty", "dx_certainty")
        ent = self._lists(values[at["ent"]])
        if not any(map(str.isalnum, ent)):
            raise self._rejection(record, "finding-empty", "ent")
        normed_ent = first_alternative(self._lists(values[at["normed_ent"]]))
        category = self._categories(values[at["cat"]])
        if category is None:
            raise self._rejection(record, "category", "cat")
        sequence, sent_idx, ent_idx = (self._numbers(values[at[column]]) for column in _NUMBERED)
        if -1 in (sequence, sent_idx, ent_idx):
            raise self._rejection(record, "number", _NUMBERED[(sequence, sent_idx, ent_idx).index(-1)])
        study.rows.append(
            DeliveredRow(
                line=record.number,
                row=number,
                finding_id=f"{study.study_id}:{number}",
                section=section,
                sent_idx=sentence if sent_idx is None else sent_idx,
                sent=sent,
                ent_idx=finding if ent_idx is None else ent_idx,
                ent=ent,
                normed_ent=normed_ent,
                cat=category or self._vocabulary.category(normed_ent or ent) or "OTH",
                status=certainty + polarity,
                location=self._lists(values[at["location"]]),
                evidence=clean(values[at["evidence"]]),
                associate=clean(values[at["associate"]]),
                attributes=tuple([self._lists(values[place]) for place in self._attributes]),
            )
        )
        self._learn(record, study, sequence)
        self._note_derived(record, study)

    def _row_number(self, record: Record) -> int:
        if ROW_NUMBER not in self._has:
            return record.number - 1
        number = columns.whole_number(self._cell(record, ROW_NUMBER))
        if number is None:
            raise self._rejection(record, "row-number", ROW_NUMBER)
        if number in self._numbers_seen:
            raise self._rejection(record, "duplicate-row-number", ROW_NUMBER)
        self._numbers_seen.add(number)
        return number

    def _counted(self, values: list[str], study: DeliveredStudy) -> tuple[int, int, str]:
        """Numbers by file order inside the section, for a file without its own.

        Sentences count from 0, findings from 1. Rejected rows count too, so that their absence changes no
        number.
        """
        section = self._sections(values[self._at["section"]]) or ""
        sentences, last, findings = study.places.get(section, (-1, "", 0))
        sent = clean(values[self._at["sent"]])
        if sentences < 0 or sent != last:
            sentences, last = sentences + 1, sent
        study.places[section] = (sentences, last, findings + 1)
        return sentences, findings + 1, last

    def _learn(self, record: Record, study: DeliveredStudy, sequence: int | None) -> None:
        """Note the report and the place in time, which all rows of a study share."""
        if study.sequence is None:
            study.sequence = sequence
        elif sequence is not None and sequence != study.sequence:
            self._once(study, "sequence-differs", record, "sequence")
        report = record.values[self._at["report"]]
        if report != study.written_report:
            report = clean(report)
            if not study.report:
                study.report, study.written_report = report, record.values[self._at["report"]]
            elif report and report != study.report:
                self._once(study, "reports-differ", record, "report")

    def _note_derived(self, record: Record, study: DeliveredStudy) -> None:
        for column in _MAY_BE_DERIVED:
            if column in self._has and not clean(record.values[self._at[column]]):
                if column == "cat":
                    self._note(study, "category-derived", record, column)
                else:
                    self._once(study, "positions-derived", record, column)
        for column, place in self._coded:
            if "|" in record.values[place]:
                self._note(study, "first-of-alternatives", record, column)

    def _once(self, study: DeliveredStudy, reason: str, record: Record, column: str) -> None:
        if reason + column not in study.noted:
            study.noted.add(reason + column)
            self._note(study, reason, record, column)

    def _note(self, study: DeliveredStudy, reason: str, record: Record, column: str) -> None:
        self._log.note(reason, self.file, line=record.number, study_id=study.study_id, column=column)


_WRITTEN_STATUS = {"p": "positive", "n": "negative", "d": "definitive", "t": "tentative"}


def lunguage_frame(
    report_texts: pd.DataFrame, structured_findings: pd.DataFrame, sequences: pd.Series | None = None
) -> pd.DataFrame:
    """Rows in the columns of Lunguage.csv, in the order of study, section and number of the finding.

    Reports in which no finding was read have no row. Write it with `frame.to_csv(path, index=False)`.

    Args:
        report_texts: `tables.REPORT_TEXTS` of all studies of the rows.
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
        sequences: rank in the patient's time line by study id; without it the column is left out, and whoever
            reads the file counts.
    """
    rank = {section: place for place, section in enumerate(SECTIONS)}
    rows = structured_findings.assign(_rank=structured_findings["section"].map(rank))
    rows = rows.sort_values(["study_id", "_rank", "ent_idx"], kind="stable", ignore_index=True)
    own = report_texts.set_index("study_id")
    names = {
        (study, f"{section}:{number}"): f"{name}, idx{number}"
        for study, section, number, name in zip(
            rows["study_id"], rows["section"], rows["ent_idx"], rows["normed_ent"], strict=True
        )
    }

    def named(column: str) -> list[str]:
        return [
            ", ".join(names[study, reference] for reference in references)
            for study, references in zip(rows["study_id"], rows[column], strict=True)
        ]

    columns = {
        "": range(len(rows)),
        "subject_id": rows["study_id"].map(own["subject_id"]),
        "study_id": rows["study_id"],
        **({} if sequences is None else {"sequence": rows["study_id"].map(sequences)}),
        "section": rows["section"],
        "report": rows["study_id"].map(own["report"]),
        **{name: rows[name] for name in ("sent_idx", "sent", "ent_idx", "ent", "normed_ent", "cat")},
        "dx_status": rows["status"].str[1].map(_WRITTEN_STATUS),
        "dx_certainty": rows["status"].str[0].map(_WRITTEN_STATUS),
        "location": rows["location"],
        "evidence": named("evidence"),
        "associate": named("associate"),
        **{published: rows[column] for column, published in ATTRIBUTES.items()},
    }
    return pd.DataFrame(columns)
