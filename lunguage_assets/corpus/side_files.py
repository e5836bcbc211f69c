"""The optional files of a delivery: vocabulary, image metadata, raw reports. Their absence is noted and stops nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import clean, study_id
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_records
from lunguage_assets.corpus.views import image_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.tables import TERMS


@dataclass(slots=True)
class StudyMetadata:
    """What the images of a study tell: views, whether a view position told them, and when the study was taken."""

    views: set[str] = field(default_factory=set)
    from_position: bool = False
    taken_at: str = ""

    @property
    def written_views(self) -> str:
        return written(self.views)


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """`tables.TERMS` from `Lunguage_vocab.csv`, lower case, sorted, each line once."""
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    terms: set[tuple[str, ...]] = set()
    for line, row in _rows(path, ("category", "target_term", "normed_term"), log, "vocabulary-row-ignored"):
        target, normed = row["target_term"].lower(), row["normed_term"].lower()
        if not target or not normed:
            log.note("vocabulary-row-ignored", path.name, line=line)
            continue
        terms.add((row["category"], target, normed, row.get("subcategory", "")))
    names = ("category", "target_term", "normed_term", "subcategory")
    return TERMS.frame([dict(zip(names, term, strict=True)) for term in sorted(terms)])


def read_metadata(path: Path | None, log: IntakeLog) -> dict[str, StudyMetadata]:
    """Views and time by study id, united over the study's images."""
    if path is None:
        log.note("metadata-missing", "mimic-cxr-2.0.0-metadata.csv")
        return {}
    studies: dict[str, StudyMetadata] = {}
    for line, row in _rows(path, ("study_id",), log, "metadata-row-ignored"):
        study = study_id(row["study_id"])
        if study is None:
            log.note("metadata-row-ignored", path.name, line=line, column="study_id", found=row["study_id"])
            continue
        known = studies.setdefault(study, StudyMetadata())
        position, orientation = row.get("viewposition", ""), row.get("patientorientationcodesequence_codemeaning", "")
        views = image_views(position, orientation, row.get("performedprocedurestepdescription", ""))
        known.views |= views
        known.from_position |= bool(position and views)
        taken = f"{row.get('studydate', '').split('.')[0]:0>8}{row.get('studytime', '').split('.')[0]:0>6}"
        known.taken_at = min(known.taken_at or taken, taken)
    return studies


def read_reports(path: Path | None) -> dict[str, str]:
    """Raw report texts by study id; used where the findings file carries none."""
    if path is None:
        return {}
    texts: dict[str, str] = {}
    for _, row in _rows(path, ("study_id", "report"), None, ""):
        study = study_id(row["study_id"])
        if study is not None and row["report"]:
            texts.setdefault(study, row["report"])
    return texts


def _rows(path: Path, required: tuple[str, ...], log: IntakeLog | None, broken: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Readable rows by lower-case column name; a broken record is noted."""
    header, records = read_records(path)
    names = [name.lower() for name in header]
    absent = [name for name in required if name not in names]
    if absent:
        raise InputError(path.name, f"columns {header[:40]}", f"also {absent}", "Correct the header or leave the file out.", column=absent[0])
    for record in records:
        if record.broken:
            if log is not None:
                log.note(broken, path.name, line=record.number)
            continue
        yield record.number, {name: clean(value) for name, value in zip(names, record.values, strict=True)}
