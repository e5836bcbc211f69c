"""One delivered record at a time: either a typed row, or a rejection with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import ROW_NUMBER, clean, first_alternative, map_columns
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import Record, read_records
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.tables import ATTRIBUTES

_Value = TypeVar("_Value", int, str)


@dataclass(slots=True)
class DeliveredRow:
    """A row that can be used; numbers that the file does not give are None until its study is complete."""

    line: int
    row: int
    subject_id: str
    study_id: str
    sequence: int | None
    section: str
    sent_idx: int | None
    sent: str
    ent_idx: int | None
    ent: str
    normed_ent: str
    cat: str
    status: str
    location: str
    evidence: str
    associate: str
    report: str
    attributes: dict[str, str] = field(default_factory=dict)


class _Rejection(Exception):
    """A row cannot be used."""

    def __init__(self, reason: str, column: str, found: str) -> None:
        super().__init__(reason)
        self.reason, self.column, self.found = reason, column, found


class RowReader:
    """Reads the findings file; `delivered` counts records by the study they name, rejected ones included."""

    def __init__(self, path: Path, vocabulary: Vocabulary, log: IntakeLog) -> None:
        self.file = path.name
        self.delivered: dict[str, int] = {}
        self.rejected_subjects: dict[str, str] = {}
        self._vocabulary, self._log = vocabulary, log
        self._header, self._records = read_records(path)
        self._map = map_columns(self._header, self.file)
        self._numbers_seen: set[int] = set()
        for name in self._map.ignored:
            log.note("column-ignored", self.file, column=name)
        for name in self._map.missing:
            reason = "row-numbers-made" if name == ROW_NUMBER else "positions-derived" if name in ("sent_idx", "ent_idx") else "column-missing"
            log.note(reason, self.file, column=name)

    def rows(self) -> Iterator[DeliveredRow]:
        """Usable rows in file order; the others go to the log."""
        for record in self._records:
            if record.broken:
                self._reject_broken(record)
                continue
            study = columns.study_id(clean(self._cell(record, "study_id"))) or ""
            self.delivered[study] = self.delivered.get(study, 0) + 1
            try:
                row = self._read(record)
            except _Rejection as rejection:
                self._remember_subject(study, record)
                self._reject(record, rejection, study)
                continue
            yield row

    def reject_row(self, row: DeliveredRow, reason: str, column: str, found: str) -> None:
        """Reject a row that was readable by itself but does not fit its study."""
        kept = {"row": str(row.row), "subject_id": row.subject_id, "study_id": row.study_id, "section": row.section, "ent": row.ent}
        content = {**kept, "sent": row.sent, "status": row.status, "location": row.location, **row.attributes}
        self._log.reject(reason, self.file, row.line, column=column, found=found, study_id=row.study_id, content=content)

    def _reject_broken(self, record: Record) -> None:
        reason = "broken-encoding" if record.values else "broken-record"
        study = ""
        if record.values:
            study = columns.study_id(clean(self._cell(record, "study_id"))) or ""
        self.delivered[study] = self.delivered.get(study, 0) + 1
        self._log.reject(reason, self.file, record.number, found=record.broken, study_id=study, content=record.raw)

    def _reject(self, record: Record, rejection: _Rejection, study: str) -> None:
        content = dict(zip(self._header, record.values, strict=True))
        self._log.reject(
            rejection.reason, self.file, record.number, column=rejection.column, found=rejection.found, study_id=study, content=content
        )

    def _remember_subject(self, study: str, record: Record) -> None:
        """A study all of whose rows are rejected is still listed, with its patient when that can be read."""
        subject = columns.subject_id(clean(self._cell(record, "subject_id")))
        if study and subject:
            self.rejected_subjects.setdefault(study, subject)

    def _cell(self, record: Record, column: str) -> str:
        place = self._map.position.get(column)
        return "" if place is None else record.values[place]

    def _read(self, record: Record) -> DeliveredRow:
        def cell(column: str) -> str:
            return clean(self._cell(record, column))

        def required(value: _Value | None, column: str, reason: str) -> _Value:
            if value is None:
                raise _Rejection(reason, column, cell(column) or "nothing")
            return value

        def optional_number(column: str) -> int | None:
            return required(columns.whole_number(cell(column)), column, "number") if cell(column) else None

        line = record.number
        number = required(columns.whole_number(cell(ROW_NUMBER)), ROW_NUMBER, "row-number") if ROW_NUMBER in self._map.position else line - 1
        subject = required(columns.subject_id(cell("subject_id")), "subject_id", "subject-id")
        study = required(columns.study_id(cell("study_id")), "study_id", "study-id")
        section = required(columns.section(cell("section")), "section", "section")
        polarity = required(columns.polarity(cell("dx_status")), "dx_status", "dx-status")
        certainty = required(columns.certainty(cell("dx_certainty")), "dx_certainty", "dx-certainty")
        ent = required(cell("ent") or None, "ent", "finding-empty")
        row = DeliveredRow(
            line=line,
            row=number,
            subject_id=subject,
            study_id=study,
            sequence=optional_number("sequence"),
            section=section,
            sent_idx=optional_number("sent_idx"),
            sent=cell("sent"),
            ent_idx=optional_number("ent_idx"),
            ent=ent,
            normed_ent=first_alternative(cell("normed_ent")),
            cat=self._category(cell("cat"), ent, line, study),
            status=certainty + polarity,
            location=cell("location"),
            evidence=cell("evidence"),
            associate=cell("associate"),
            report=cell("report"),
            attributes={column: cell(column) for column in ATTRIBUTES},
        )
        if number in self._numbers_seen:
            raise _Rejection("duplicate-row-number", ROW_NUMBER, str(number))
        self._numbers_seen.add(number)
        for column in ("section", "dx_status", "dx_certainty", "normed_ent", "cat"):
            if "|" in cell(column):
                self._log.note("first-of-alternatives", self.file, line=line, study_id=study, column=column, found=cell(column))
        return row

    def _category(self, written: str, ent: str, line: int, study: str) -> str:
        if written:
            code = columns.category(written)
            if code is None:
                raise _Rejection("category", "cat", written)
            return code
        if "cat" in self._map.position:
            self._log.note("category-derived", self.file, line=line, study_id=study, column="cat")
        return self._vocabulary.category(ent) or "OTH"
