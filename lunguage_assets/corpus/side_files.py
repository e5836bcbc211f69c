"""The optional files of a delivery: vocabulary, image metadata, texts beside findings.

A missing file is noted and stops nothing. A row that cannot be used is noted, never put
among the rejected rows: those are rows of findings and are accounted for one by one.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import clean, index_by_name, study_id
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import Cells, read_cells, read_records
from lunguage_assets.corpus.views import coded_views, named_views, written
from lunguage_assets.corpus.vocabulary import category_code, plain
from lunguage_assets.tables import TERMS

_TERM_COLUMNS = ("category", "target_term", "normed_term", "subcategory")
_POSITION = "viewposition"
_ORIENTATION = "patientorientationcodesequence_codemeaning"
_PROCEDURES = ("performedprocedurestepdescription", "procedurecodesequence_codemeaning")
_DATE = "studydate"
_TIME = "studytime"
_PATIENT = "subject_id"
_METADATA_ROW_IGNORED = "metadata-row-ignored"


@dataclass(slots=True)
class StudyMetadata:
    """The images of a study: views by source, and time and patient as written.

    Time and patient are empty when unknown.
    """

    coded: set[str] = field(default_factory=set)
    from_procedure: set[str] = field(default_factory=set)
    taken_at: str = ""
    patient: str = ""

    @property
    def views(self) -> tuple[str, str]:
        """The views and their source; both empty when unknown."""
        views = written(self.coded | self.from_procedure)
        if not views:
            return "", ""
        return views, "metadata" if self.coded else "procedure text"


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """Read `tables.TERMS` from `Lunguage_vocab.csv`.

    Terms are in lower case, sorted, each line once.
    """
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    terms: set[tuple[str, ...]] = set()
    rows = _rows(
        path, _TERM_COLUMNS[:3], _TERM_COLUMNS[3:], log, "vocabulary-row-ignored"
    )
    for line, row in rows:
        category = category_code(row["category"]) or row["category"].lower()
        target = plain(row["target_term"])
        normed = plain(row["normed_term"])
        if category and target and normed:
            terms.add((category, target, normed, row["subcategory"]))
            continue
        column = "" if category else "category"
        log.note("vocabulary-row-ignored", path.name, line=line, column=column)
    _note_contradictions(terms, path.name, log)
    return TERMS.frame(
        [dict(zip(_TERM_COLUMNS, term, strict=True)) for term in sorted(terms)]
    )


def _note_contradictions(
    terms: Collection[tuple[str, ...]], file: str, log: IntakeLog
) -> None:
    """Note every term of a finding or location that has several canonical forms."""
    forms: defaultdict[tuple[bool, str], set[str]] = defaultdict(set)
    for category, target, normed, _ in terms:
        is_location = category == "location"
        if is_location or category_code(category):
            forms[is_location, target].add(normed)
    for (_, target), normed_forms in sorted(forms.items()):
        if len(normed_forms) > 1:
            log.note(
                "vocabulary-contradiction", file, column="normed_term", found=target
            )


def read_metadata(
    path: Path | None, wanted: Collection[str], log: IntakeLog
) -> dict[str, StudyMetadata]:
    """Read views, time and patient of studies, united over the images of each.

    The patient is that of the first image. The name of the procedure counts only where
    the view position is empty.

    Args:
        path: `mimic-cxr-2.0.0-metadata.csv`, or a table of its columns; None: there is
            none, which is noted.
        wanted: ids of the studies that are read.
        log: takes notes on rows, columns and codes that are not understood.

    Returns:
        The metadata by study id.
    """
    if path is None:
        log.note("metadata-missing", "mimic-cxr-2.0.0-metadata.csv")
        return {}
    studies: dict[str, StudyMetadata] = {}
    images_by_unknown_code: Counter[tuple[str, str]] = Counter()
    # Images repeat a handful of words.
    views_of_codes = cache(coded_views)
    views_of_procedure = cache(named_views)
    optional = (_POSITION, _ORIENTATION, *_PROCEDURES, _DATE, _TIME, _PATIENT)
    for line, row in _rows(path, ("study_id",), optional, log, _METADATA_ROW_IGNORED):
        study = _noted_study_id(row, path, line, log, _METADATA_ROW_IGNORED)
        if study is None or study not in wanted:
            continue
        metadata = studies.setdefault(study, StudyMetadata())
        coded, unknown_codes = views_of_codes(row[_POSITION], row[_ORIENTATION])
        metadata.coded |= coded
        images_by_unknown_code.update(unknown_codes)
        if not row[_POSITION]:
            procedures = " ; ".join(row[name] for name in _PROCEDURES)
            metadata.from_procedure |= views_of_procedure(procedures)
        if row[_DATE]:
            taken_at = _taken_at(row)
            metadata.taken_at = min(metadata.taken_at or taken_at, taken_at)
        metadata.patient = metadata.patient or row[_PATIENT]
    for (column, code), count in sorted(images_by_unknown_code.items()):
        found = f"{code} ({count} images)"
        log.note("unknown-view-code", path.name, column=column, found=found)
    return studies


def _taken_at(row: Cells) -> str:
    """Write date and time as 14 digits; a number may have lost its zeros in front."""
    date = row[_DATE].split(".")[0]
    time = row[_TIME].split(".")[0]
    return f"{date:0>8}{time:0>6}"


def _noted_study_id(
    row: Cells, path: Path, line: int, log: IntakeLog, reason: str
) -> str | None:
    """Read the study's id; what is none is noted."""
    study = study_id(row["study_id"])
    if study is None:
        log.note(reason, path.name, line=line, column="study_id", found=row["study_id"])
    return study


def read_patients(path: Path | None) -> dict[str, str]:
    """Read patients by study id, both as far as `read_metadata` reads them."""
    patients: dict[str, str] = {}
    if path is None:
        return patients
    rows = _rows(path, ("study_id",), (_PATIENT,), IntakeLog(), _METADATA_ROW_IGNORED)
    for _, row in rows:
        if row[_PATIENT]:
            patients.setdefault(study_id(row["study_id"]) or "", row[_PATIENT])
    return patients


def split_metadata(path: Path, places: Mapping[Path, Collection[str]]) -> None:
    """Divide image metadata among files, as plain CSV with the same header.

    Args:
        path: the metadata as they were delivered.
        places: ids of studies by the file that their rows go to.
    """
    header, records = read_records(path, may_be_empty=True)
    index = index_by_name(header).get("study_id", len(header))
    rows = [record.values for record in records if not record.broken]
    studies = [
        study_id(clean(row[index])) if index < len(row) else None for row in rows
    ]
    for place, studies_there in places.items():
        rows_there = [
            row
            for row, study in zip(rows, studies, strict=True)
            if study in studies_there
        ]
        with place.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows_there)


def read_reports(
    path: Path | None, wanted: Collection[str], log: IntakeLog
) -> dict[str, str]:
    """Read raw report texts that lie beside findings.

    Args:
        path: a table with `study_id` and `report`, if there is one.
        wanted: ids of the studies that are read; others are counted in a note.
        log: takes notes.

    Returns:
        The texts by study id.
    """
    texts: dict[str, str] = {}
    if path is None:
        return texts
    unwanted: set[str] = set()
    for line, row in _rows(path, ("study_id", "report"), (), log, "report-row-ignored"):
        study = _noted_study_id(row, path, line, log, "report-row-ignored")
        if study is None:
            continue
        if study not in wanted:
            unwanted.add(study)
            continue
        report = row["report"]
        if report and texts.setdefault(study, report) != report:
            log.note(
                "reports-differ", path.name, line=line, study_id=study, column="report"
            )
    if unwanted:
        found = f"{len(unwanted)} studies"
        log.note("reports-without-rows", path.name, found=found)
    return texts


def _rows(
    path: Path,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    log: IntakeLog,
    ignored: str,
) -> Iterator[tuple[int, Cells]]:
    """Read the number and the cleaned cells of every record.

    A broken record is noted under the reason `ignored`; a file without rows is noted.
    """
    present, records = read_cells(path, required, optional, may_be_empty=True)
    for name in optional:
        if name not in present and ignored == _METADATA_ROW_IGNORED:
            log.note("metadata-column-missing", path.name, column=name)
    has_rows = False
    for record, cells in records:
        has_rows = True
        if record.broken:
            log.note(ignored, path.name, line=record.number)
        else:
            yield record.number, cells
    if not has_rows:
        log.note("side-file-without-rows", path.name)
