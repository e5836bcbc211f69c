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
        source = "metadata" if self.coded else "procedure text"
        return views, source


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """Read `tables.TERMS` from `Lunguage_vocab.csv`.

    Terms are in lower case, sorted, each line once.
    """
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    terms: set[tuple[str, ...]] = set()
    required = ("category", "target_term", "normed_term")
    rows = _rows(path, required, ("subcategory",), log, "vocabulary-row-ignored")
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
    columns = ("category", "target_term", "normed_term", "subcategory")
    return TERMS.frame(
        [dict(zip(columns, term, strict=True)) for term in sorted(terms)]
    )


def _note_contradictions(
    terms: Collection[tuple[str, ...]], file: str, log: IntakeLog
) -> None:
    """Note every term of a finding or location that has several canonical forms."""
    forms_by_term: defaultdict[tuple[bool, str], set[str]] = defaultdict(set)
    for category, target, normed, _ in terms:
        is_location = category == "location"
        # Terms of attributes are not used.
        if is_location or category_code(category):
            forms_by_term[is_location, target].add(normed)
    for (_, target), forms in sorted(forms_by_term.items()):
        if len(forms) > 1:
            log.note(
                "vocabulary-contradiction", file, column="normed_term", found=target
            )


def read_metadata(
    path: Path | None, study_ids: Collection[str], log: IntakeLog
) -> dict[str, StudyMetadata]:
    """Read views, time and patient of studies, united over the images of each.

    The patient is that of the first image. The name of the procedure counts only where
    the view position is empty.

    Args:
        path: `mimic-cxr-2.0.0-metadata.csv`, or a table of its columns; None: there is
            none, which is noted.
        study_ids: of the studies that are read.
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
    rows = _rows_of_studies(path, (), optional, log, _METADATA_ROW_IGNORED)
    for _, study, row in rows:
        if study not in study_ids:
            continue
        metadata = studies.setdefault(study, StudyMetadata())
        coded, unknown_codes = views_of_codes(row[_POSITION], row[_ORIENTATION])
        metadata.coded |= coded
        images_by_unknown_code.update(unknown_codes)
        if not row[_POSITION]:
            procedures = " ; ".join(row[name] for name in _PROCEDURES)
            metadata.from_procedure |= views_of_procedure(procedures)
        # The time of a study is that of its first image.
        if row[_DATE]:
            taken_at = _taken_at(row)
            metadata.taken_at = min(metadata.taken_at or taken_at, taken_at)
        metadata.patient = metadata.patient or row[_PATIENT]
    for (column, code), count in sorted(images_by_unknown_code.items()):
        images = f"{code} ({count} images)"
        log.note("unknown-view-code", path.name, column=column, found=images)
    return studies


def _taken_at(row: Cells) -> str:
    """Write date and time as 14 digits; a number may have lost its zeros in front."""
    date = row[_DATE].split(".")[0]
    time = row[_TIME].split(".")[0]
    return f"{date:0>8}{time:0>6}"


def read_patients(path: Path | None) -> dict[str, str]:
    """Read patients by study id, both as far as `read_metadata` reads them."""
    patients: dict[str, str] = {}
    if path is None:
        return patients
    # They are noted when the metadata are taken in.
    unused_log = IntakeLog()
    rows = _rows_of_studies(path, (), (_PATIENT,), unused_log, _METADATA_ROW_IGNORED)
    for _, study, row in rows:
        if row[_PATIENT]:
            patients.setdefault(study, row[_PATIENT])
    return patients


def split_metadata(path: Path, studies_by_file: Mapping[Path, Collection[str]]) -> None:
    """Divide image metadata among files, as plain CSV with the same header.

    Args:
        path: the metadata as they were delivered.
        studies_by_file: ids of the studies whose rows a file gets.
    """
    header, records = read_records(path, may_be_empty=True)
    # Without that column no row is of any study.
    index = index_by_name(header).get("study_id", len(header))
    rows: list[tuple[str | None, list[str]]] = []
    for record in records:
        if not record.broken and index < len(record.values):
            rows.append((study_id(clean(record.values[index])), record.values))
    for file, studies in studies_by_file.items():
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(values for study, values in rows if study in studies)


def read_reports(
    path: Path | None, study_ids: Collection[str], log: IntakeLog
) -> dict[str, str]:
    """Read raw report texts that lie beside findings.

    Args:
        path: a table with `study_id` and `report`, if there is one.
        study_ids: of the studies that are read; others are counted in a note.
        log: takes notes.

    Returns:
        The texts by study id.
    """
    texts: dict[str, str] = {}
    if path is None:
        return texts
    studies_without_rows: set[str] = set()
    rows = _rows_of_studies(path, ("report",), (), log, "report-row-ignored")
    for line, study, row in rows:
        if study not in study_ids:
            studies_without_rows.add(study)
            continue
        report = row["report"]
        if report and texts.setdefault(study, report) != report:
            log.note(
                "reports-differ", path.name, line=line, study_id=study, column="report"
            )
    if studies_without_rows:
        count = f"{len(studies_without_rows)} studies"
        log.note("reports-without-rows", path.name, found=count)
    return texts


def _rows_of_studies(
    path: Path,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    log: IntakeLog,
    reason: str,
) -> Iterator[tuple[int, str, Cells]]:
    """Read the number, the study's id and the cells of every record.

    Takes the arguments of `_rows`; a record whose id cannot be read is noted instead.
    """
    for line, row in _rows(path, ("study_id", *required), optional, log, reason):
        study = study_id(row["study_id"])
        if study is not None:
            yield line, study, row
            continue
        log.note(reason, path.name, line=line, column="study_id", found=row["study_id"])


def _rows(
    path: Path,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    log: IntakeLog,
    reason: str,
) -> Iterator[tuple[int, Cells]]:
    """Read the number and the cleaned cells of every record.

    Args:
        path: a table.
        required: columns that must be there.
        optional: columns that may be there; of image metadata missing ones are noted.
        log: takes notes; a file without rows is noted, too.
        reason: code of the note on a record that is not used.
    """
    present, records = read_cells(path, required, optional, may_be_empty=True)
    for name in optional:
        if name not in present and reason == _METADATA_ROW_IGNORED:
            log.note("metadata-column-missing", path.name, column=name)
    has_rows = False
    for record, cells in records:
        has_rows = True
        if record.broken:
            log.note(reason, path.name, line=record.number)
        else:
            yield record.number, cells
    if not has_rows:
        log.note("side-file-without-rows", path.name)
