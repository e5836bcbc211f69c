"""The optional files of a delivery: vocabulary, image metadata, texts beside findings.

A missing file is noted and stops nothing. A row that cannot be used is noted, never put among the rejected
rows: those are rows of findings and are accounted for one by one.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import clean, index_by_name, study_id
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_cells, read_records
from lunguage_assets.corpus.views import coded_views, named_views, written
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
    def views(self) -> tuple[str, str]:
        """The views and their source; both empty when unknown."""
        views = written(self.coded | self.from_procedure)
        return views, ("metadata" if self.coded else "procedure text") if views else ""


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """`tables.TERMS` from `Lunguage_vocab.csv`, lower case, sorted, each line once."""
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    terms: set[tuple[str, ...]] = set()
    columns = ("category", "target_term", "normed_term", "subcategory")
    for line, row in _rows(
        path, columns[:3], columns[3:], log, "vocabulary-row-ignored"
    ):
        category = category_code(row["category"]) or row["category"].lower()
        target, normed = plain(row["target_term"]), plain(row["normed_term"])
        if category and target and normed:
            terms.add((category, target, normed, row["subcategory"]))
        else:
            log.note(
                "vocabulary-row-ignored",
                path.name,
                line=line,
                column="" if category else "category",
            )
    forms: dict[tuple[bool, str], set[str]] = {}
    for category, target, normed, _ in terms:
        if category == "location" or category_code(category):
            forms.setdefault((category == "location", target), set()).add(normed)
    for (_, target), found in sorted(forms.items()):
        if len(found) > 1:
            log.note(
                "vocabulary-contradiction",
                path.name,
                column="normed_term",
                found=target,
            )
    return TERMS.frame(
        [dict(zip(columns, term, strict=True)) for term in sorted(terms)]
    )


def read_metadata(
    path: Path | None, wanted: Collection[str], log: IntakeLog
) -> dict[str, StudyMetadata]:
    """Views, time and patient by study id, united over the images of each wanted study; the patient is that
    of its first image. The name of the procedure counts only where the view position is empty.
    """
    if path is None:
        log.note("metadata-missing", "mimic-cxr-2.0.0-metadata.csv")
        return {}
    studies: dict[str, StudyMetadata] = {}
    unknown: Counter[tuple[str, str]] = Counter()
    views_of, names_of = (
        cache(coded_views),
        cache(named_views),
    )  # images repeat a handful of words
    optional = (_POSITION, _ORIENTATION, *_PROCEDURES, _DATE, _TIME, _PATIENT)
    for line, row in _rows(path, ("study_id",), optional, log, "metadata-row-ignored"):
        study = study_id(row["study_id"])
        if study is None:
            log.note(
                "metadata-row-ignored",
                path.name,
                line=line,
                column="study_id",
                found=row["study_id"],
            )
            continue
        if study not in wanted:
            continue
        coded, without_view = views_of(row[_POSITION], row[_ORIENTATION])
        known = studies.setdefault(study, StudyMetadata())
        known.coded |= coded
        if not row[_POSITION]:
            known.from_procedure |= names_of(
                " ; ".join(row[name] for name in _PROCEDURES)
            )
        unknown.update(without_view)
        if row[_DATE]:
            taken = f"{row[_DATE].split('.')[0]:0>8}{row[_TIME].split('.')[0]:0>6}"
            known.taken_at = min(known.taken_at or taken, taken)
        known.patient = known.patient or row[_PATIENT]
    for (column, code), count in sorted(unknown.items()):
        log.note(
            "unknown-view-code",
            path.name,
            column=column,
            found=f"{code} ({count} images)",
        )
    return studies


def read_patients(path: Path) -> dict[str, str]:
    """Patients by study id, both as far as `read_metadata` reads them."""
    patients: dict[str, str] = {}
    for _, row in _rows(
        path, ("study_id",), (_PATIENT,), IntakeLog(), "metadata-row-ignored"
    ):
        if row[_PATIENT]:
            patients.setdefault(study_id(row["study_id"]) or "", row[_PATIENT])
    return patients


def split_metadata(path: Path, places: Mapping[Path, Collection[str]]) -> None:
    """Write the rows of the studies of each place there, with the same header, as plain CSV."""
    header, records = read_records(path, may_be_empty=True)
    at = index_by_name(header).get("study_id", len(header))
    whole = [record.values for record in records if not record.broken]
    owners = [
        study_id(clean(values[at])) if at < len(values) else None for values in whole
    ]
    for place, studies in places.items():
        with place.open("w", encoding="utf-8", newline="") as stream:
            rows = (
                values
                for values, study in zip(whole, owners, strict=True)
                if study in studies
            )
            csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def read_reports(
    path: Path | None, wanted: Collection[str], log: IntakeLog
) -> dict[str, str]:
    """Raw report texts of the wanted studies by study id."""
    texts: dict[str, str] = {}
    if path is None:
        return texts
    others: set[str] = set()
    for line, row in _rows(path, ("study_id", "report"), (), log, "report-row-ignored"):
        study, report = study_id(row["study_id"]), row["report"]
        if study is None:
            log.note(
                "report-row-ignored",
                path.name,
                line=line,
                column="study_id",
                found=row["study_id"],
            )
        elif study not in wanted:
            others.add(study)
        elif report and texts.setdefault(study, report) != report:
            log.note(
                "reports-differ", path.name, line=line, study_id=study, column="report"
            )
    if others:
        log.note("reports-without-rows", path.name, found=f"{len(others)} studies")
    return texts


def _rows(
    path: Path,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    log: IntakeLog,
    ignored: str,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Record number and cleaned cells. A broken record is noted under `ignored`, a file without rows, too."""
    there, records = read_cells(path, required, optional, may_be_empty=True)
    for name in optional:
        if name not in there and ignored == "metadata-row-ignored":
            log.note("metadata-column-missing", path.name, column=name)
    record = None
    for record, cells in records:
        if record.broken:
            log.note(ignored, path.name, line=record.number)
        else:
            yield record.number, cells
    if record is None:
        log.note("side-file-without-rows", path.name)
