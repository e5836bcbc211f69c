"""From a delivery to validated tables (implicit.md section 1).

Reports, findings, rejected rows, notes, vocabulary terms. Good rows are never lost to bad ones: a row that
cannot be used goes to `rejected` with its place, what was found, what was expected and the remedy; what was
corrected or merely noticed goes to `intake_notes`. Only a file that cannot be used at all raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.findings.references import DeliveredStudy
from lunguage_assets.corpus.findings.studies import FindingsBuilder, place_in_time
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import RowReader
from lunguage_assets.corpus.side_files import StudyMetadata, read_metadata, read_reports, read_terms
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import REPORTS


@dataclass(frozen=True)
class Intake:
    """The tables of a batch: `tables.REPORTS`, `FINDINGS`, `REJECTED`, `INTAKE_NOTES`, `TERMS`."""

    reports: pd.DataFrame
    findings: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


@dataclass(frozen=True)
class FilesRead:
    """The content of a delivery's files, before names, places and sentences are computed."""

    file: str
    studies: dict[str, DeliveredStudy]
    metadata: Mapping[str, StudyMetadata]
    texts: Mapping[str, str]
    terms: pd.DataFrame
    vocabulary: Vocabulary


def read_files(delivery: Delivery, log: IntakeLog) -> FilesRead:
    """Read every file of a delivery; rejections and notes go to the log.

    Raises:
        InputError: a file is unusable as a whole.
    """
    if delivery.findings is None:
        remedy = "Findings are read in raw reports by a structurer (docs/method.md)."
        raise InputError(str(delivery.folder), "raw reports", f"a file {FINDINGS}", remedy)
    terms = read_terms(delivery.vocabulary, log)
    vocabulary = Vocabulary.from_terms(terms)
    reader = RowReader(delivery.findings, vocabulary, log)
    studies = reader.read()
    metadata = read_metadata(delivery.metadata, studies.keys(), log)
    texts = read_reports(delivery.reports, studies.keys(), log)
    return FilesRead(reader.file, studies, metadata, texts, terms, vocabulary)


def take_in(delivery: Delivery, settings: CorpusSettings) -> Intake:
    """Read and validate a delivery; findings are sorted by (study_id, row), reports by study_id.

    Every record of the findings file is a row of `findings` or of `rejected`. A study whose id can be read is
    in `reports`, even when all its rows are rejected.

    Raises:
        InputError: a file is unusable as a whole (missing columns, empty, not text).
        ConfigurationError: `default_view` names an unknown view.
    """
    log = IntakeLog()
    default_view = parse_default_view(settings.default_view)
    read = read_files(delivery, log)
    studies, metadata = read.studies, read.metadata
    place_in_time(
        studies.values(), {study_id: known.taken_at for study_id, known in metadata.items()}, log, read.file
    )
    builder = FindingsBuilder(read.vocabulary, log, read.file)
    reports: list[dict[str, object]] = []
    for study_id in sorted(studies):
        study = studies.pop(study_id)  # a study's rows are let go once they are in the table
        known = metadata.get(study_id)
        views = (known.views, known.source) if known is not None else ("", "")
        noted = log if delivery.metadata is not None else None  # else one note stands for all studies
        views = views_or_default(views, default_view, study_id, read.file, noted)
        builder.add(study, views[0])
        report = study.report or read.texts.get(study_id, "")
        if not report:
            log.note("report-missing", read.file, study_id=study_id, column="report")
        reports.append(report_row(study, report, views, study.rows_delivered - len(study.rows)))
    return Intake(
        REPORTS.frame(reports), builder.frame(), log.rejected_frame(), log.notes_frame(), read.terms
    )


def views_or_default(
    views: tuple[str, str], default: str, study_id: str, file: str, log: IntakeLog | None
) -> tuple[str, str]:
    """View information and its source, the default where it is unknown, which is noted with a log."""
    if views[0]:
        return views
    if log is not None:
        log.note("default-view" if default else "unknown-view", file, study_id=study_id)
    return (default, "default_view") if default else ("", "unknown")


def report_row(
    study: DeliveredStudy, report: str, views: tuple[str, str], rejected: int
) -> dict[str, object]:
    """The row of a study in `tables.REPORTS`."""
    return {
        "study_id": study.study_id,
        "subject_id": study.subject_id,
        "sequence": study.sequence,
        "report": report,
        "view_information": views[0],
        "view_source": views[1],
        "rows_delivered": len(study.rows) + rejected,
        "rows_rejected": rejected,
    }
