"""From a delivery to validated tables: reports, findings, rejected rows, notes, vocabulary terms (implicit.md section 1).

Good rows are never lost to bad ones: a row that cannot be used goes to `rejected` with its place, what was found, what was expected and the
remedy; what was mended or merely noticed goes to `intake_notes`. Only a file that cannot be used at all raises.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.rows import RowReader
from lunguage_assets.corpus.side_files import StudyMetadata, read_metadata, read_reports, read_terms
from lunguage_assets.corpus.studies import Study, StudyBuilder, group_studies
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import FINDINGS, REPORTS


@dataclass(frozen=True)
class Intake:
    """The tables of a batch: `tables.REPORTS`, `FINDINGS`, `REJECTED`, `INTAKE_NOTES`, `TERMS`."""

    reports: pd.DataFrame
    findings: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


def take_in(delivery: Delivery, settings: CorpusSettings) -> Intake:
    """Read and validate a delivery; findings are sorted by (study_id, row), reports by study_id.

    Raises:
        InputError: a file is unusable as a whole (missing columns, empty, not text).
        ConfigurationError: `default_view` names an unknown view.
    """
    log = IntakeLog()
    default_view = parse_default_view(settings.default_view)
    terms = read_terms(delivery.vocabulary, log)
    metadata = read_metadata(delivery.metadata, log)
    texts = read_reports(delivery.reports)
    vocabulary = Vocabulary.from_terms(terms)
    reader = RowReader(delivery.findings, vocabulary, log)
    studies = group_studies(reader.rows(), reader, log)
    _place_in_time(studies, metadata, reader, log)
    builder = StudyBuilder(vocabulary, log, reader.file)
    rows: list[dict[str, object]] = []
    reports: list[dict[str, object]] = []
    for study in studies:
        view_information, source = _views(study, metadata, default_view, log, reader.file)
        rows += builder.finding_rows(study, view_information)
        reports.append(
            {
                "study_id": study.study_id,
                "subject_id": study.subject_id,
                "sequence": study.sequence,
                "report": study.report or texts.get(study.study_id, ""),
                "view_information": view_information,
                "view_source": source,
                "rows_delivered": study.rows_delivered,
                "rows_rejected": study.rows_delivered - len(study.rows),
            }
        )
        if not reports[-1]["report"]:
            log.note("report-missing", reader.file, study_id=study.study_id, column="report")
    return Intake(REPORTS.frame(reports), FINDINGS.frame(rows), log.rejected_frame(), log.notes_frame(), terms)


def _views(study: Study, metadata: dict[str, StudyMetadata], default: str, log: IntakeLog, file: str) -> tuple[str, str]:
    known = metadata.get(study.study_id)
    if known is not None and known.views:
        return known.written_views, "metadata" if known.from_position else "procedure text"
    if default:
        log.note("default-view", file, study_id=study.study_id)
        return default, "default_view"
    log.note("unknown-view", file, study_id=study.study_id)
    return "", "unknown"


def _place_in_time(studies: list[Study], metadata: dict[str, StudyMetadata], reader: RowReader, log: IntakeLog) -> None:
    """Fill in a missing `sequence`: per patient by study date and time, then by order of first appearance."""
    patients: dict[str, list[Study]] = {}
    for study in studies:
        patients.setdefault(study.subject_id, []).append(study)
    for own in patients.values():
        if all(study.sequence_known for study in own):
            continue
        dated = sorted(own, key=lambda s: (metadata[s.study_id].taken_at if s.study_id in metadata else "", s.first_line))
        for place, study in enumerate(dated, 1):
            if not study.sequence_known:
                study.sequence = place
                log.note("sequence-derived", reader.file, study_id=study.study_id, column="sequence")
