"""The published form of findings, `Lunguage.csv`: each delivered record is read as a typed row, or rejected
with its reason; rows of a structurer are written in the same columns.

What concerns a row alone, and what it may not share with earlier ones (its number, its study's patient), is
decided here; what needs the study as a whole is in `findings.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import (
    ROW_NUMBER,
    clean,
    clean_list,
    first_alternative,
)
from lunguage_assets.corpus.findings import DeliveredRow, DeliveredStudy, Target
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import ENCODING, Record, read_records
from lunguage_assets.corpus.vocabulary import Vocabulary, category_code, plain
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

MOST_ROWS_OF_A_STUDY = 5_000
"""No report has as many findings; a file whose column of study ids is constant has."""
_MISSING = {ROW_NUMBER: "row-numbers-made"} | dict.fromkeys(
    ("sent_idx", "ent_idx"), "positions-derived"
)
"""Reasons of notes on missing columns whose values are counted."""


def _optional_number(value: str) -> int | str | None:
    """Empty stays empty; None when it is no number."""
    return columns.whole_number(value) if value else ""


def _finding_name(value: str) -> str | None:
    """None when there is no letter in it."""
    name = clean_list(value)
    return name if any(map(str.isalnum, name)) else None


def _category(value: str) -> str | None:
    return category_code(columns.said_once(first_alternative(value))) if value else ""


_POLARITIES, _CERTAINTIES = ("positive", "negative"), ("definitive", "tentative")
_WRITTEN_STATUS = {word[0]: word for word in (*_POLARITIES, *_CERTAINTIES)}
_MEANINGS: dict[str, tuple[Callable[[str], Any], str]] = {
    "section": (columns.section, "section"),
    "dx_status": (lambda value: columns.status_code(value, _POLARITIES), "dx-status"),
    "dx_certainty": (
        lambda value: columns.status_code(value, _CERTAINTIES),
        "dx-certainty",
    ),
    "ent": (_finding_name, "finding-empty"),
    "cat": (_category, "category"),
    "sequence": (_optional_number, "number"),
    "sent_idx": (_optional_number, "number"),
    "ent_idx": (_optional_number, "number"),
}
"""The meaning of a cell by column, in the order of looking, and the reason of the rejection if it is None."""


class RowReader:
    """Reads the findings file into `studies`, by study id."""

    def __init__(self, path: Path, vocabulary: Vocabulary, log: IntakeLog) -> None:
        self.file, self._vocabulary, self._log = path.name, vocabulary, log
        self.studies: dict[str, DeliveredStudy] = {}
        self._header, self._records = read_records(path)
        self._at, ignored, self._in_passage = columns.map_columns(
            self._header, self.file
        )
        self._numbers_seen: set[int] = set()
        # in a million rows coded columns repeat a handful of texts
        self._passages = cache(columns.numbered_sentences)
        self._lists = cache(clean_list)
        self._meanings = {
            name: cache(meaning) for name, (meaning, _) in _MEANINGS.items()
        }
        for name in ignored:
            log.note("column-ignored", self.file, column=name)
        for name in columns.OPTIONAL:
            if name not in self._at:
                log.note(_MISSING.get(name, "column-missing"), self.file, column=name)

    def read(self) -> dict[str, DeliveredStudy]:
        """All studies with a readable id; rejections go to the log."""
        absent = len(self._header)
        places = [
            (name, self._at.get(name, absent))
            for name in (*columns.REQUIRED, *columns.OPTIONAL)
        ]
        for record in self._records:
            values = record.values
            cells = {
                name: clean(values[at]) if at < len(values) else ""
                for name, at in places
            }
            if self._in_passage and not record.broken:
                cells["sent"] = self._sentence(cells["sent"], cells["sent_idx"])
            study = self._study(record, cells)
            reason, column = record.broken, ""
            if not record.broken:
                reason, column = "study-id", "study_id"
                if study is not None:
                    reason, column = self._read(record.number, cells, study)
            if reason:
                self._reject(record, cells, study, reason, column)
        for study in self.studies.values():
            if len(study.rows) > MOST_ROWS_OF_A_STUDY:
                found = f"{len(study.rows):,} rows of {study.study_id}"
                place = {
                    "column": "study_id",
                    "study_id": study.study_id,
                    "found": found,
                }
                for row in study.rows:
                    self._log.reject("study-too-long", self.file, row.line, **place)
                study.rows = []
        return self.studies

    def _sentence(self, passage: str, number: str) -> str:
        """The row's own sentence of a numbered passage; empty when the passage has none of that number."""
        sentences, place = self._passages(passage), columns.whole_number(number)
        return (
            sentences.get(-1 if place is None else place, "") if sentences else passage
        )

    def _study(self, record: Record, cells: dict[str, str]) -> DeliveredStudy | None:
        study_id = columns.study_id(cells["study_id"])
        if study_id is None or (
            record.broken and not columns.is_plainly_study(cells["study_id"])
        ):
            return None  # in a broken record another column may stand in the place of the study
        study = self.studies.setdefault(
            study_id,
            DeliveredStudy(
                study_id, source_id=cells["study_id"], first_line=record.number
            ),
        )
        study.rows_delivered += 1
        study.subject_id = (
            study.subject_id or columns.subject_id(cells["subject_id"]) or ""
        )
        return study

    def _reject(
        self,
        record: Record,
        cells: dict[str, str],
        study: DeliveredStudy | None,
        reason: str,
        column: str,
    ) -> None:
        """Reject a record, and keep it as a target: a reference to it must not find another row instead."""
        labels = [
            name or (columns.unnamed(at) if at else "")
            for at, name in enumerate(self._header)
        ]
        content = dict(zip(labels, record.values, strict=False))
        self._log.reject(
            reason,
            self.file,
            record.number,
            study_id=study.study_id if study is not None else "",
            column=column,
            found=record.found or cells.get(column) or "nothing",
            content=record.raw or json.dumps(content, ensure_ascii=False),
        )
        in_place = record.broken in ("", ENCODING)  # every value stands in its column
        if study is None or not in_place or reason == "study-of-two-patients":
            return
        ent, normed = cells["ent"], first_alternative(cells["normed_ent"])
        section, number = (
            columns.section(cells["section"]) or "",
            columns.whole_number(cells["ent_idx"]),
        )
        wordings = frozenset({plain(ent), plain(normed)} - {""})
        study.refused.append(
            Target(
                "", section, number, wordings, self._vocabulary.finding(normed or ent)
            )
        )

    def _read(
        self, line: int, cells: dict[str, str], study: DeliveredStudy
    ) -> tuple[str, str]:
        """Add a record to its study; else the first of the reasons against it, and the column."""
        sentence, finding, sent = self._counted(cells, study)
        subject = columns.subject_id(cells["subject_id"])
        if subject != study.subject_id or not subject:
            return "study-of-two-patients" if subject else "subject-id", "subject_id"
        number = (
            columns.whole_number(cells[ROW_NUMBER])
            if ROW_NUMBER in self._at
            else line - 1
        )
        if number is None or number in self._numbers_seen:
            return (
                "row-number" if number is None else "duplicate-row-number",
                ROW_NUMBER,
            )
        self._numbers_seen.add(number)
        known: dict[str, Any] = {}
        for column, meaning in self._meanings.items():
            known[column] = meaning(cells[column])
            if known[column] is None:
                return _MEANINGS[column][1], column
        normed_ent = first_alternative(self._lists(cells["normed_ent"]))
        study.rows.append(
            DeliveredRow(
                line=line,
                row=number,
                finding_id=f"{study.study_id}:{number}",
                section=known["section"],
                sent_idx=sentence if known["sent_idx"] == "" else known["sent_idx"],
                sent=sent,
                ent_idx=finding if known["ent_idx"] == "" else known["ent_idx"],
                ent=known["ent"],
                normed_ent=normed_ent,
                cat=known["cat"]
                or self._vocabulary.category(normed_ent or known["ent"])
                or "OTH",
                status=known["dx_certainty"] + known["dx_status"],
                location=self._lists(cells["location"]),
                evidence=cells["evidence"],
                associate=cells["associate"],
                attributes=tuple([self._lists(cells[column]) for column in ATTRIBUTES]),
            )
        )
        self._learn(line, study, known["sequence"], cells["report"])
        self._note_derived(line, study, cells)
        return "", ""

    def _counted(
        self, cells: dict[str, str], study: DeliveredStudy
    ) -> tuple[int, int, str]:
        """Numbers by file order inside the section (sentences from 0, findings from 1, also rejected ones),
        for a file without its own, and the sentence.
        """
        section = self._meanings["section"](cells["section"]) or ""
        sentences, last, findings = study.places.get(section, (-1, "", 0))
        sent = cells["sent"]
        if sentences < 0 or sent != last:
            sentences, last = sentences + 1, sent
        study.places[section] = (sentences, last, findings + 1)
        return sentences, findings + 1, last

    def _learn(
        self, line: int, study: DeliveredStudy, sequence: int | str, report: str
    ) -> None:
        """Note the report and the place in time, which all rows of a study share."""
        if isinstance(sequence, int):
            study.sequence = sequence if study.sequence is None else study.sequence
            if sequence != study.sequence:
                self._note(study, "sequence-differs", line, "sequence", once=True)
        study.report = study.report or report
        if report and report != study.report:
            self._note(study, "reports-differ", line, "report", once=True)

    def _note_derived(
        self, line: int, study: DeliveredStudy, cells: dict[str, str]
    ) -> None:
        for column in ("sent_idx", "ent_idx"):
            if column in self._at and not cells[column]:
                self._note(study, "positions-derived", line, column, once=True)
        if "cat" in self._at and not cells["cat"]:
            self._note(study, "category-derived", line, "cat")
        for column in ("section", "dx_status", "dx_certainty", "normed_ent", "cat"):
            if "|" in cells[column]:
                self._note(study, "first-of-alternatives", line, column)

    def _note(
        self,
        study: DeliveredStudy,
        reason: str,
        line: int,
        column: str,
        once: bool = False,
    ) -> None:
        if once and reason + column in study.noted:
            return
        study.noted.add(reason + column)
        self._log.note(
            reason, self.file, line=line, study_id=study.study_id, column=column
        )


def lunguage_frame(
    report_texts: pd.DataFrame, structured_findings: pd.DataFrame
) -> pd.DataFrame:
    """Rows in the columns of Lunguage.csv, by study, section and number; `frame.to_csv(path, index=False)`.

    Args:
        report_texts: `tables.REPORT_TEXTS` of all studies of the rows.
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
    """
    rank = {section: place for place, section in enumerate(SECTIONS)}
    rows = structured_findings.assign(_rank=structured_findings["section"].map(rank))
    rows = rows.sort_values(
        ["study_id", "_rank", "ent_idx"], kind="stable", ignore_index=True
    )
    own = report_texts.set_index("study_id")
    names = {
        (study, f"{section}:{number}"): f"{name}, idx{number}"
        for study, section, number, name in zip(
            rows["study_id"],
            rows["section"],
            rows["ent_idx"],
            rows["normed_ent"],
            strict=True,
        )
    }

    def named(column: str) -> list[str]:
        cells = zip(rows["study_id"], rows[column], strict=True)
        return [
            ", ".join(names[study, reference] for reference in written)
            for study, written in cells
        ]

    columns = {
        "": range(len(rows)),
        "subject_id": rows["study_id"].map(own["subject_id"]),
        "study_id": rows["study_id"],
        "section": rows["section"],
        "report": rows["study_id"].map(own["report"]),
        **{
            name: rows[name]
            for name in ("sent_idx", "sent", "ent_idx", "ent", "normed_ent", "cat")
        },
        "dx_status": rows["status"].str[1].map(_WRITTEN_STATUS),
        "dx_certainty": rows["status"].str[0].map(_WRITTEN_STATUS),
        "location": rows["location"],
        "evidence": named("evidence"),
        "associate": named("associate"),
        **{published: rows[column] for column, published in ATTRIBUTES.items()},
    }
    return pd.DataFrame(columns)
