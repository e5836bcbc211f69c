"""The optional files of a delivery: vocabulary, image metadata, raw reports.

A missing file is noted and stops nothing. A row that cannot be used is noted, never put among the rejected
rows: those are rows of findings and are accounted for one by one.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import clean, column_places, study_id
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_cells, read_records
from lunguage_assets.corpus.views import ImageViews, image_views, written
from lunguage_assets.corpus.vocabulary import category_code, plain
from lunguage_assets.tables import TERMS

_POSITION = "viewposition"
_ORIENTATION = "patientorientationcodesequence_codemeaning"
_PROCEDURES = ("performedprocedurestepdescription", "procedurecodesequence_codemeaning")
_DATE, _TIME, _PATIENT = "studydate", "studytime", "subject_id"


@dataclass(slots=True)
class StudyMetadata:
    """The images of a study: views by source, and time and patient as written (empty when unknown)."""

    coded: set[str] = field(default_factory=set)
    from_procedure: set[str] = field(default_factory=set)
    taken_at: str = ""
    patient: str = ""

    @property
    def views(self) -> str:
        return written(self.coded | self.from_procedure)

    @property
    def source(self) -> str:
        return "metadata" if self.coded else "procedure text"


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """`tables.TERMS` from `Lunguage_vocab.csv`, lower case, sorted, each line once."""
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    terms: set[tuple[str, ...]] = set()
    columns = ("category", "target_term", "normed_term", "subcategory")
    for line, values in _rows(path, columns[:3], columns[3:], log, "vocabulary-row-ignored"):
        category, target, normed = (
            category_code(values[0]) or values[0].lower(),
            plain(values[1]),
            plain(values[2]),
        )
        if not (category and target and normed):
            log.note("vocabulary-row-ignored", path.name, line=line, column="" if category else "category")
            continue
        terms.add((category, target, normed, values[3]))
    _note_contradictions(terms, path.name, log)
    return TERMS.frame([dict(zip(columns, term, strict=True)) for term in sorted(terms)])


def _note_contradictions(terms: Collection[tuple[str, ...]], file: str, log: IntakeLog) -> None:
    forms: dict[tuple[bool, str], set[str]] = {}
    for category, target, normed, _ in terms:
        if category == "location" or category_code(category):
            forms.setdefault((category == "location", target), set()).add(normed)
    for (_, target), found in sorted(forms.items()):
        if len(found) > 1:
            log.note("vocabulary-contradiction", file, column="normed_term", found=target)


def read_metadata(path: Path | None, wanted: Collection[str], log: IntakeLog) -> dict[str, StudyMetadata]:
    """Views, time and patient by study id, united over the images of each wanted study; the patient is that
    of its first image.
    """
    if path is None:
        log.note("metadata-missing", "mimic-cxr-2.0.0-metadata.csv")
        return {}
    studies: dict[str, StudyMetadata] = {}
    seen: dict[tuple[str, str, str], ImageViews] = {}
    unknown: Counter[tuple[str, str]] = Counter()
    optional = (_POSITION, _ORIENTATION, *_PROCEDURES, _DATE, _TIME, _PATIENT)
    for line, values in _rows(path, ("study_id",), optional, log, "metadata-row-ignored"):
        study = study_id(values[0])
        if study is None:
            log.note("metadata-row-ignored", path.name, line=line, column="study_id", found=values[0])
            continue
        if study not in wanted:
            continue
        known = studies.setdefault(study, StudyMetadata())
        image = (values[1], values[2], f"{values[3]} ; {values[4]}")
        views = seen.get(image)
        if views is None:
            views = seen[image] = image_views(*image)
        known.coded |= views.coded
        known.from_procedure |= views.from_procedure
        unknown.update(views.unknown)
        if values[5]:
            taken = f"{values[5].split('.')[0]:0>8}{values[6].split('.')[0]:0>6}"
            known.taken_at = min(known.taken_at or taken, taken)
        known.patient = known.patient or values[7]
    for (column, code), count in sorted(unknown.items()):
        log.note("unknown-view-code", path.name, column=column, found=f"{code} ({count} images)")
    return studies


def read_patients(path: Path) -> dict[str, str]:
    """Patients by study id, both as far as `read_metadata` reads them.

    Raises:
        InputError: the file is unusable as a whole.
    """
    patients: dict[str, str] = {}
    for _, (study, patient) in _rows(path, ("study_id",), (_PATIENT,), IntakeLog(), "metadata-row-ignored"):
        if patient:
            patients.setdefault(study_id(study) or "", patient)
    return patients


def split_metadata(path: Path, places: Mapping[Path, Collection[str]]) -> None:
    """Write the rows of the studies of each place there, with the same header, as plain CSV.

    Raises:
        InputError: the file is unusable as a whole.
    """
    header, records = read_records(path, ("subject_id", "study_id"), may_be_empty=True)
    at = column_places(header).get("study_id")
    owners: dict[str, list[Path]] = {}
    for place, studies in places.items():
        for study in studies:
            owners.setdefault(study, []).append(place)
    with ExitStack() as opened:
        writers = {}
        for place in places:
            stream = opened.enter_context(place.open("w", encoding="utf-8", newline=""))
            writers[place] = csv.writer(stream, lineterminator="\n")
            writers[place].writerow(header)
        for record in records:
            if at is not None and not record.broken:
                for place in owners.get(study_id(clean(record.values[at])) or "", ()):
                    writers[place].writerow(record.values)


def read_reports(path: Path | None, wanted: Collection[str], log: IntakeLog) -> dict[str, str]:
    """Raw report texts of the wanted studies by study id."""
    texts: dict[str, str] = {}
    if path is None:
        return texts
    others: set[str] = set()
    for line, values in _rows(path, ("study_id", "report"), (), log, "report-row-ignored"):
        study = study_id(values[0])
        if study is None:
            log.note("report-row-ignored", path.name, line=line, column="study_id", found=values[0])
        elif study not in wanted:
            others.add(study)
        elif values[1] and texts.setdefault(study, values[1]) != values[1]:
            log.note("reports-differ", path.name, line=line, study_id=study, column="report")
    if others:
        log.note("reports-without-rows", path.name, found=f"{len(others)} studies")
    return texts


def _rows(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...], log: IntakeLog, ignored: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Record number and cleaned values of the required, then the optional columns.

    A broken record is noted under `ignored`. A file with a header and no row stops nothing: it is noted.
    """
    remedy = "Correct the header line or leave the file out."
    there, records = read_cells(path, required, optional, remedy=remedy, may_be_empty=True)
    for name in optional:
        if name not in there and ignored == "metadata-row-ignored":
            log.note("metadata-column-missing", path.name, column=name)
    record = None
    for record, cells in records:
        if record.broken:
            log.note(ignored, path.name, line=record.number)
        else:
            yield record.number, tuple(cells.values())
    if record is None:
        log.note("side-file-without-rows", path.name)
