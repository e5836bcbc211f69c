"""The published form of findings, `Lunguage.csv`.

`RowReader` reads each delivered record as a typed row, or rejects it with its reason.
`lunguage_frame` writes the rows of a structurer in the same columns. What concerns a
row alone, and what it may not share with earlier ones (its number, its study's
patient), is decided here; what needs the study as a whole is in `findings.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import (
    ROW_NUMBER,
    clean_list,
    first_alternative,
)
from lunguage_assets.corpus.delivered import (
    DeliveredRow,
    DeliveredStudy,
    SectionPosition,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import (
    ENCODING,
    Cells,
    Record,
    cells_of,
    read_records,
)
from lunguage_assets.corpus.references import Target
from lunguage_assets.corpus.vocabulary import Vocabulary, category_code, plain
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

MOST_ROWS_OF_A_STUDY = 5_000
"""No report has as many findings; a file whose column of study ids is constant has."""
_NOTE_ON_MISSING_COLUMN = {
    ROW_NUMBER: "row-numbers-made",
    "sent_idx": "positions-derived",
    "ent_idx": "positions-derived",
}
"""Reasons of notes on missing columns whose values are counted instead."""
_POLARITIES = ("positive", "negative")
_CERTAINTIES = ("definitive", "tentative")
_WORD_BY_CODE = {word[0]: word for word in (*_POLARITIES, *_CERTAINTIES)}
"""A status such as `tp` is the code of a certainty and that of a polarity."""


class _Refusal(NamedTuple):
    """Why a record is not used, and the column that is wrong; empty: none is."""

    reason: str
    column: str


class _Meaning(NamedTuple):
    """How the cells of a column are read, and the reason of a rejection.

    `read` returns None for a cell that cannot be used.
    """

    read: Callable[[str], Any]
    reason: str


def _optional_number(value: str) -> int | str | None:
    """Read a number; empty stays empty."""
    return columns.whole_number(value) if value else ""


def _finding_name(value: str) -> str | None:
    """Read the name of a finding, which has a letter or digit."""
    name = clean_list(value)
    return name if any(map(str.isalnum, name)) else None


def _category(value: str) -> str | None:
    """Read a category; empty stays empty."""
    if not value:
        return ""
    return category_code(columns.without_repetition(first_alternative(value)))


_MEANINGS = {
    "section": _Meaning(columns.section, "section"),
    "dx_status": _Meaning(partial(columns.status_code, words=_POLARITIES), "dx-status"),
    "dx_certainty": _Meaning(
        partial(columns.status_code, words=_CERTAINTIES), "dx-certainty"
    ),
    "ent": _Meaning(_finding_name, "finding-empty"),
    "cat": _Meaning(_category, "category"),
    "sequence": _Meaning(_optional_number, "number"),
    "sent_idx": _Meaning(_optional_number, "number"),
    "ent_idx": _Meaning(_optional_number, "number"),
}
"""By column, in the order in which a record is looked through: the first cell that
cannot be used is the reason of its rejection.
"""


class RowReader:
    """Reads the findings file into `studies`, by study id."""

    def __init__(self, path: Path, vocabulary: Vocabulary, log: IntakeLog) -> None:
        """Open the file and note which columns are missing or unknown.

        Args:
            path: a CSV or Parquet file with the columns of Lunguage.csv.
            vocabulary: names rejected rows, and gives categories that are missing.
            log: takes rejected rows and notes.

        Raises:
            InputError: a required column is missing, or the file cannot be read.
        """
        self.file = path.name
        self.studies: dict[str, DeliveredStudy] = {}
        self._vocabulary = vocabulary
        self._log = log
        self._header, self._records = read_records(path, columns.NAMES)
        self._columns = columns.map_columns(self._header, self.file)
        self._row_numbers: set[int] = set()
        # In a million rows coded columns repeat a handful of texts, and the rows of a
        # section its passage.
        self._sentences_of = cache(columns.numbered_sentences)
        self._clean_list = cache(clean_list)
        self._read_cell = {
            column: cache(meaning.read) for column, meaning in _MEANINGS.items()
        }
        for name in self._columns.ignored:
            log.note("column-ignored", self.file, column=name)
        for name in columns.OPTIONAL:
            if name not in self._columns.index_by_column:
                reason = _NOTE_ON_MISSING_COLUMN.get(name, "column-missing")
                log.note(reason, self.file, column=name)

    def read(self) -> dict[str, DeliveredStudy]:
        """Read all studies with a readable id; rejections go to the log."""
        for record in self._records:
            cells = self._cells(record)
            study = self._study_of(record, cells)
            refusal = self._add(record, cells, study)
            if refusal is not None:
                self._reject(record, cells, study, refusal)
        for study in self.studies.values():
            if len(study.rows) > MOST_ROWS_OF_A_STUDY:
                self._reject_all_rows(study)
        return self.studies

    def _cells(self, record: Record) -> Cells:
        names = (*columns.REQUIRED, *columns.OPTIONAL)
        cells = cells_of(record, names, self._columns.index_by_column)
        if self._columns.has_passages and not record.broken:
            cells["sent"] = self._sentence(cells["sent"], cells["sent_idx"])
        return cells

    def _sentence(self, passage: str, number: str) -> str:
        """Choose a row's sentence in a numbered passage; empty when it has none."""
        sentences = self._sentences_of(passage)
        # A passage without numbers is a sentence.
        if not sentences:
            return passage
        sentence_number = columns.whole_number(number)
        if sentence_number is None:
            return ""
        return sentences.get(sentence_number, "")

    def _study_of(self, record: Record, cells: Cells) -> DeliveredStudy | None:
        """Find or begin the study of a record; None where its id cannot be read."""
        study_id = columns.study_id(cells["study_id"])
        if study_id is None:
            return None
        # In a broken record another column may stand in the place of the study.
        if record.broken and not columns.is_plainly_study(cells["study_id"]):
            return None
        if study_id not in self.studies:
            self.studies[study_id] = DeliveredStudy(
                study_id, source_id=cells["study_id"], first_line=record.number
            )
        study = self.studies[study_id]
        study.rows_delivered += 1
        # The first row whose patient can be read says whose the study is.
        if not study.subject_id:
            study.subject_id = columns.subject_id(cells["subject_id"]) or ""
        return study

    def _add(
        self, record: Record, cells: Cells, study: DeliveredStudy | None
    ) -> _Refusal | None:
        """Add a record to its study, or return the first reason against it."""
        if record.broken:
            return _Refusal(record.broken, "")
        if study is None:
            return _Refusal("study-id", "study_id")
        # Rejected records are counted too: the numbers are those of the file.
        position = self._next_position(cells, study)
        subject = columns.subject_id(cells["subject_id"])
        if not subject:
            return _Refusal("subject-id", "subject_id")
        if subject != study.subject_id:
            return _Refusal("study-of-two-patients", "subject_id")
        row_number: int | None = record.number - 1
        if ROW_NUMBER in self._columns.index_by_column:
            row_number = columns.whole_number(cells[ROW_NUMBER])
        if row_number is None:
            return _Refusal("row-number", ROW_NUMBER)
        if row_number in self._row_numbers:
            return _Refusal("duplicate-row-number", ROW_NUMBER)
        self._row_numbers.add(row_number)
        coded: dict[str, Any] = {}
        for column, read_cell in self._read_cell.items():
            coded[column] = read_cell(cells[column])
            if coded[column] is None:
                return _Refusal(_MEANINGS[column].reason, column)
        row = self._row(record.number, study, row_number, cells, coded, position)
        study.rows.append(row)
        self._learn(record.number, study, coded["sequence"], cells["report"])
        self._note_derived(record.number, study, cells)
        return None

    def _row(
        self,
        line: int,
        study: DeliveredStudy,
        row_number: int,
        cells: Cells,
        coded: Mapping[str, Any],
        position: SectionPosition,
    ) -> DeliveredRow:
        """Make the row of a record that can be used.

        Args:
            line: 1-based record in the file.
            study: that it belongs to.
            row_number: the delivered one, or the one that was counted.
            cells: of the record.
            coded: the values that `_MEANINGS` read in them.
            position: the numbers that it gets where the file has none.
        """
        sent_idx = coded["sent_idx"]
        if sent_idx == "":
            sent_idx = position.sentences
        ent_idx = coded["ent_idx"]
        if ent_idx == "":
            ent_idx = position.findings
        normed_ent = first_alternative(self._clean_list(cells["normed_ent"]))
        listed_category = self._vocabulary.category(normed_ent or coded["ent"])
        attributes = [self._clean_list(cells[name]) for name in ATTRIBUTES]
        return DeliveredRow(
            line=line,
            row=row_number,
            finding_id=f"{study.study_id}:{row_number}",
            section=coded["section"],
            sent_idx=sent_idx,
            sent=cells["sent"],
            ent_idx=ent_idx,
            ent=coded["ent"],
            normed_ent=normed_ent,
            cat=coded["cat"] or listed_category or "OTH",
            status=coded["dx_certainty"] + coded["dx_status"],
            location=self._clean_list(cells["location"]),
            evidence=cells["evidence"],
            associate=cells["associate"],
            attributes=tuple(attributes),
        )

    def _next_position(self, cells: Cells, study: DeliveredStudy) -> SectionPosition:
        """Count a record inside its section, for a file without numbers of its own.

        Sentences are counted from 0 and findings from 1, by file order; a sentence is
        new when its text differs from the one before.
        """
        section = self._read_cell["section"](cells["section"]) or ""
        previous = study.positions.get(section, SectionPosition())
        is_first = previous.sentences < 0
        is_new_sentence = is_first or cells["sent"] != previous.last_sentence
        position = SectionPosition(
            sentences=previous.sentences + is_new_sentence,
            last_sentence=cells["sent"],
            findings=previous.findings + 1,
        )
        study.positions[section] = position
        return position

    def _reject(
        self,
        record: Record,
        cells: Cells,
        study: DeliveredStudy | None,
        refusal: _Refusal,
    ) -> None:
        """Reject a record, and keep it as a target of references.

        A reference to it must not find another row instead.
        """
        content = record.raw
        if not content:
            names = [
                name or columns.unnamed(index)
                for index, name in enumerate(self._header)
            ]
            # The first column of the published file has no name, and keeps none.
            names[0] = self._header[0]
            # A broken record may have fewer values than there are columns, or more.
            cell_by_name = dict(zip(names, record.values, strict=False))
            content = json.dumps(cell_by_name, ensure_ascii=False)
        study_id = study.study_id if study is not None else ""
        self._log.reject(
            refusal.reason,
            self.file,
            record.number,
            study_id=study_id,
            column=refusal.column,
            found=record.problem or cells.get(refusal.column) or "nothing",
            content=content,
        )
        # Cells of a record with too many or too few values may be those of other
        # columns; and what is another patient's is no row of this study.
        has_moved_cells = record.broken not in ("", ENCODING)
        is_foreign = refusal.reason == "study-of-two-patients"
        if study is None or has_moved_cells or is_foreign:
            return
        ent = cells["ent"]
        normed_ent = first_alternative(cells["normed_ent"])
        target = Target(
            finding_id="",
            section=columns.section(cells["section"]) or "",
            ent_idx=columns.whole_number(cells["ent_idx"]),
            wordings=frozenset({plain(ent), plain(normed_ent)} - {""}),
            name=self._vocabulary.finding(normed_ent or ent),
        )
        study.refused.append(target)

    def _reject_all_rows(self, study: DeliveredStudy) -> None:
        for row in study.rows:
            self._log.reject(
                "study-too-long",
                self.file,
                row.line,
                study_id=study.study_id,
                column="study_id",
                found=f"{len(study.rows):,} rows of {study.study_id}",
            )
        study.rows = []

    def _learn(
        self, line: int, study: DeliveredStudy, sequence: int | str, report: str
    ) -> None:
        """Keep the report and the sequence, which all rows of a study share."""
        if isinstance(sequence, int):
            if study.sequence is None:
                study.sequence = sequence
            if sequence != study.sequence:
                self._note_once(study, "sequence-differs", line, "sequence")
        study.report = study.report or report
        if report and report != study.report:
            self._note_once(study, "reports-differ", line, "report")

    def _note_derived(self, line: int, study: DeliveredStudy, cells: Cells) -> None:
        """Note values that the cells do not have, or have more than one of."""
        for column in ("sent_idx", "ent_idx"):
            if column in self._columns.index_by_column and not cells[column]:
                self._note_once(study, "positions-derived", line, column)
        if "cat" in self._columns.index_by_column and not cells["cat"]:
            self._note(study, "category-derived", line, "cat")
        for column in ("section", "dx_status", "dx_certainty", "normed_ent", "cat"):
            if "|" in cells[column]:
                self._note(study, "first-of-alternatives", line, column)

    def _note_once(
        self, study: DeliveredStudy, reason: str, line: int, column: str
    ) -> None:
        """Note for the first row of a study what may hold for all."""
        if (reason, column) not in study.noted:
            study.noted.add((reason, column))
            self._note(study, reason, line, column)

    def _note(self, study: DeliveredStudy, reason: str, line: int, column: str) -> None:
        self._log.note(
            reason, self.file, line=line, study_id=study.study_id, column=column
        )


def in_report_order(structured_findings: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by study, section and number; the index counts them from 0."""
    rank_by_section = {section: rank for rank, section in enumerate(SECTIONS)}
    rows = structured_findings.assign(
        section_rank=structured_findings["section"].map(rank_by_section)
    )
    rows = rows.sort_values(
        ["study_id", "section_rank", "ent_idx"], kind="stable", ignore_index=True
    )
    return rows.drop(columns="section_rank")


def lunguage_frame(
    report_texts: pd.DataFrame, structured_findings: pd.DataFrame
) -> pd.DataFrame:
    """Write rows in the columns of Lunguage.csv, by study, section and number.

    `frame.to_csv(path, index=False)` makes the file.

    Args:
        report_texts: `tables.REPORT_TEXTS` of all studies of the rows.
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
    """
    rows = in_report_order(structured_findings)
    texts = report_texts.set_index("study_id")
    # A number is one of its section (`find:2`), as rows refer to each other by it.
    name_by_row: dict[tuple[str, str], str] = {}
    row: Any
    for row in rows[["study_id", "section", "ent_idx", "normed_ent"]].itertuples():
        key = (row.study_id, f"{row.section}:{row.ent_idx}")
        name_by_row[key] = f"{row.normed_ent}, idx{row.ent_idx}"

    def references(column: str) -> list[str]:
        cells = []
        for study_id, keys in zip(rows["study_id"], rows[column], strict=True):
            names = [name_by_row[study_id, key] for key in keys]
            cells.append(", ".join(names))
        return cells

    return pd.DataFrame(
        {
            # The published file numbers its rows in a column without a name.
            "": range(len(rows)),
            "subject_id": rows["study_id"].map(texts["subject_id"]),
            "study_id": rows["study_id"],
            "section": rows["section"],
            "report": rows["study_id"].map(texts["report"]),
            "sent_idx": rows["sent_idx"],
            "sent": rows["sent"],
            "ent_idx": rows["ent_idx"],
            "ent": rows["ent"],
            "normed_ent": rows["normed_ent"],
            "cat": rows["cat"],
            "dx_status": rows["status"].str[1].map(_WORD_BY_CODE),
            "dx_certainty": rows["status"].str[0].map(_WORD_BY_CODE),
            "location": rows["location"],
            "evidence": references("evidence"),
            "associate": references("associate"),
            **{published: rows[column] for column, published in ATTRIBUTES.items()},
        }
    )
