"""From a delivery, or from the rows of a structurer, to validated tables (implicit.md section 1): reports,
findings, rejected rows, notes, vocabulary terms.

Good rows are never lost to bad ones: a row that cannot be used goes to `rejected` with its place, what was
found, what was expected and the remedy; what was corrected or merely noticed goes to `intake_notes`. Only a
file that cannot be used at all raises. Structured rows become what the same rows would be in a Lunguage.csv;
only what a file cannot say is different: references name their rows, so none is looked for by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean, clean_list, first_alternative
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.findings.references import DeliveredRow, DeliveredStudy
from lunguage_assets.corpus.findings.studies import FindingsBuilder, place_in_time
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import RowReader
from lunguage_assets.corpus.side_files import StudyMetadata, read_metadata, read_reports, read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError, InvalidTable
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import ATTRIBUTES, REPORTS, SECTIONS
from lunguage_assets.tables.text import STRUCTURED_FINDINGS


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
        views = _views_or_default(views, default_view, study_id, read.file, noted)
        builder.add(study, views[0])
        report = study.report or read.texts.get(study_id, "")
        if not report:
            log.note("report-missing", read.file, study_id=study_id, column="report")
        reports.append(_report_row(study, report, views, study.rows_delivered - len(study.rows)))
    return Intake(
        REPORTS.frame(reports), builder.frame(), log.rejected_frame(), log.notes_frame(), read.terms
    )


def _views_or_default(
    views: tuple[str, str], default: str, study_id: str, file: str, log: IntakeLog | None
) -> tuple[str, str]:
    """View information and its source, the default where it is unknown, which is noted with a log."""
    if views[0]:
        return views
    if log is not None:
        log.note("default-view" if default else "unknown-view", file, study_id=study_id)
    return (default, "default_view") if default else ("", "unknown")


def _report_row(
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


FILE = STRUCTURED_FINDINGS.name
"""Where notes on structured rows say that they are from."""

_ORDER = {section: place for place, section in enumerate(SECTIONS)}
_Row = tuple[DeliveredRow, tuple[Sequence[str], Sequence[str]]]


def take_in_structured(
    received: Received, structured_findings: pd.DataFrame, settings: CorpusSettings
) -> Intake:
    """The tables of a batch whose reports were structured here.

    Rows are numbered from 0 by study, section and number of the finding, whatever the frame's order.

    Args:
        received: the batch's raw reports with what was rejected and noted in reading them. Views that were
            found in a report's own text are in its `report_texts` (`view_source` "report text").
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
        settings: `default_view` counts where a study's views are unknown.

    Raises:
        InvalidTable: a row belongs to a study without a report.
        ConfigurationError: `default_view` names an unknown view.
    """
    log = IntakeLog.of(received.rejected, received.intake_notes)
    default_view = parse_default_view(settings.default_view)
    texts = received.report_texts.sort_values("study_id")
    refused = received.rejected["study_id"].value_counts()
    studies = _studies(texts, structured_findings, log)
    place_in_time(studies.values(), dict(zip(texts["study_id"], texts["taken_at"], strict=True)), log, FILE)
    builder = FindingsBuilder(Vocabulary.from_terms(received.terms), log, FILE)
    reports: list[dict[str, object]] = []
    for one in texts.to_dict("records"):
        study = studies.pop(one["study_id"])
        views = (one["view_information"], one["view_source"])
        views = _views_or_default(views, default_view, study.study_id, FILE, log)
        builder.add(study, views[0])
        rejected = int(refused.get(study.study_id, 0))
        reports.append(_report_row(study, one["report"], views, rejected))
    return Intake(
        REPORTS.frame(reports), builder.frame(), log.rejected_frame(), log.notes_frame(), received.terms
    )


def _studies(texts: pd.DataFrame, structured: pd.DataFrame, log: IntakeLog) -> dict[str, DeliveredStudy]:
    studies = {
        study_id: DeliveredStudy(study_id, subject_id, line)
        for line, (study_id, subject_id) in enumerate(
            zip(texts["study_id"].tolist(), texts["subject_id"].tolist(), strict=True), 1
        )
    }
    strangers = len(set(structured["study_id"].unique()) - studies.keys())
    if strangers:
        raise InvalidTable(
            f"{FILE}: {strangers} studies without a report; expected those of report_texts only"
        )
    for study_id, rows in _rows_by_study(structured):
        _refer(rows, log)
        studies[study_id].rows = [row for row, _ in rows]
    return studies


def _rows_by_study(structured: pd.DataFrame) -> Iterator[tuple[str, list[_Row]]]:
    """The studies' rows, each with its references as written, in the order of their numbers."""
    frame = structured.assign(place=structured["section"].map(_ORDER))
    frame = frame.sort_values(["study_id", "place", "ent_idx"], kind="stable")
    for name in ("ent", "normed_ent", "location", *ATTRIBUTES):  # cleaned as cells of a file are
        frame[name] = frame[name].map({value: clean_list(value) for value in frame[name].unique()})
    attributes = zip(*(frame[name].tolist() for name in ATTRIBUTES), strict=True)
    cells = enumerate(zip(frame.itertuples(index=False), attributes, strict=True))
    for study_id, group in groupby(cells, lambda one: one[1][0].study_id):
        yield study_id, [_row(number, cell, own) for number, (cell, own) in group]


def _row(number: int, cell: Any, attributes: tuple[str, ...]) -> _Row:
    row = DeliveredRow(
        line=number + 1,
        row=number,
        finding_id=f"{cell.study_id}:{number}",
        section=cell.section,
        sent_idx=cell.sent_idx,
        sent=clean(cell.sent),
        ent_idx=cell.ent_idx,
        ent=cell.ent,
        normed_ent=first_alternative(cell.normed_ent),
        cat=cell.cat,
        status=cell.status,
        location=cell.location,
        evidence="",
        associate="",
        attributes=attributes,
    )
    return row, (cell.evidence, cell.associate)


def _refer(rows: list[_Row], log: IntakeLog) -> None:
    """Turn `section:ent_idx` into the ids of these rows; what names no other row is noted and left out."""
    known: dict[str, str] | None = None
    for row, written in rows:
        if not (len(written[0]) or len(written[1])):
            continue
        if known is None:
            known = {f"{other.section}:{other.ent_idx}": other.finding_id for other, _ in rows}
        found: list[tuple[str, ...]] = []
        for column, references in zip(("evidence", "associate"), written, strict=True):
            ids = {reference: known.get(reference, "") for reference in references}
            for reference, finding_id in ids.items():
                if finding_id in ("", row.finding_id):
                    log.note(
                        "self-reference" if finding_id else "dangling-reference",
                        FILE,
                        line=row.line,
                        study_id=row.finding_id.split(":")[0],
                        finding_id=row.finding_id,
                        column=column,
                        found=reference,
                    )
            found.append(tuple(own for own in ids.values() if own not in ("", row.finding_id)))
        row.references = (found[0], found[1])
