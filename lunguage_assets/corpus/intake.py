"""From a delivery, or from the rows of a structurer, to validated tables (implicit.md section 1): reports,
findings, rejected rows, notes, vocabulary terms.

Good rows are never lost to bad ones: a row that cannot be used goes to `rejected` with its place, what was
found, what was expected and the remedy; what was corrected or merely noticed goes to `intake_notes`. Only a
file that cannot be used at all raises. Structured rows become what the same rows would be in a Lunguage.csv;
only what a file cannot say is different: references name their rows, so none is looked for by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean, clean_list, first_alternative
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.findings import DeliveredRow, DeliveredStudy, FindingsBuilder, place_in_time
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import RowReader
from lunguage_assets.corpus.side_files import read_metadata, read_reports, read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError, InvalidTable
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import ATTRIBUTES, REPORTS, SECTIONS
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS

_FILE = STRUCTURED_FINDINGS.name
"""Where notes on structured rows say that they are from."""


@dataclass(frozen=True)
class Intake:
    """The tables of a batch: `tables.REPORTS`, `FINDINGS`, `REJECTED`, `INTAKE_NOTES`, `TERMS`."""

    reports: pd.DataFrame
    findings: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


def read_files(delivery: Delivery, log: IntakeLog) -> tuple[dict[str, DeliveredStudy], pd.DataFrame]:
    """Every file of a delivery, before names, places and sentences are computed: the studies, and the terms
    of the vocabulary. Rejections and notes go to the log.
    """
    if delivery.findings is None:
        remedy = "Findings are read in raw reports by a structurer (docs/method.md)."
        raise InputError(str(delivery.folder), "raw reports", f"a file {FINDINGS}", remedy)
    terms = read_terms(delivery.vocabulary, log)
    studies = RowReader(delivery.findings, Vocabulary.from_terms(terms), log).read()
    metadata = read_metadata(delivery.metadata, studies.keys(), log)
    texts = read_reports(delivery.reports, studies.keys(), log)
    for study_id, study in studies.items():
        study.report = study.report or texts.get(study_id, "")
        if study_id in metadata:
            study.views, study.taken_at = metadata[study_id].views, metadata[study_id].taken_at
    return studies, terms


def take_in(delivery: Delivery, settings: CorpusSettings) -> Intake:
    """Read and validate a delivery; findings are sorted by (study_id, row), reports by study_id.

    Every record of the findings file is a row of `findings` or of `rejected`. A study whose id can be read is
    in `reports`, even when all its rows are rejected. Raises `InputError`: a file is unusable as a whole
    (missing columns, empty, not text). Raises `ConfigurationError`: `default_view` names an unknown view.
    """
    log = IntakeLog()
    studies, terms = read_files(delivery, log)
    file = delivery.main_file
    place_in_time(studies.values(), log, file)
    in_order = {study_id: studies.pop(study_id) for study_id in sorted(studies)}
    notes_views = delivery.metadata is not None  # else one note stands for all studies
    return _intake(in_order, terms, log, file, settings, notes_views=notes_views)


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
    texts = received.report_texts.sort_values("study_id")
    refused = received.rejected["study_id"].value_counts()
    studies: dict[str, DeliveredStudy] = {}
    for line, text in enumerate(texts.itertuples(index=False), 1):
        study = DeliveredStudy(str(text.study_id), str(text.subject_id), line, report=str(text.report))
        study.views, study.taken_at = (str(text.view_information), str(text.view_source)), str(text.taken_at)
        study.rows_delivered = int(refused.get(study.study_id, 0))
        studies[study.study_id] = study
    strangers = len(set(structured_findings["study_id"].unique()) - studies.keys())
    if strangers:
        found = f"{strangers} studies without a report"
        raise InvalidTable(f"{_FILE}: {found}; expected those of report_texts only")
    for study_id, rows in _rows_by_study(structured_findings, log):
        studies[study_id].rows = rows
        studies[study_id].rows_delivered += len(rows)
    place_in_time(studies.values(), log, _FILE)
    return _intake(studies, received.terms, log, _FILE, settings, notes_views=True)


def _intake(
    studies: dict[str, DeliveredStudy],
    terms: pd.DataFrame,
    log: IntakeLog,
    file: str,
    settings: CorpusSettings,
    *,
    notes_views: bool,
) -> Intake:
    """The tables of studies, each of which is let go once it is in them."""
    default = parse_default_view(settings.default_view)
    builder = FindingsBuilder(Vocabulary.from_terms(terms), log, file)
    reports: list[dict[str, object]] = []
    for study_id in list(studies):
        study = studies.pop(study_id)
        views, source = study.views
        if not views:
            views, source = default, "default_view" if default else "unknown"
            if notes_views:
                log.note("default-view" if default else "unknown-view", file, study_id=study_id)
        builder.add(study, views)
        if not study.report and file != _FILE:
            log.note("report-missing", file, study_id=study_id, column="report")
        reports.append(
            {
                "study_id": study_id,
                "subject_id": study.subject_id,
                "sequence": study.sequence,
                "report": study.report,
                "view_information": views,
                "view_source": source,
                "rows_delivered": study.rows_delivered,
                "rows_rejected": study.rows_delivered - len(study.rows),
            }
        )
    return Intake(REPORTS.frame(reports), builder.frame(), log.rejected_frame(), log.notes_frame(), terms)


def _rows_by_study(structured: pd.DataFrame, log: IntakeLog) -> Iterator[tuple[str, list[DeliveredRow]]]:
    """The studies' rows, in the order of their numbers."""
    order = {section: place for place, section in enumerate(SECTIONS)}
    frame = structured.assign(place=structured["section"].map(order))
    frame = frame.sort_values(["study_id", "place", "ent_idx"], kind="stable")
    for name in ("ent", "normed_ent", "location", *ATTRIBUTES):  # cleaned as cells of a file are
        frame[name] = frame[name].map({value: clean_list(value) for value in frame[name].unique()})
    attributes = zip(*(frame[name].tolist() for name in ATTRIBUTES), strict=True)
    cells = enumerate(zip(frame.itertuples(index=False), attributes, strict=True))
    for study_id, group in groupby(cells, lambda one: one[1][0].study_id):
        listed = list(group)
        ids = {f"{cell.section}:{cell.ent_idx}": f"{study_id}:{number}" for number, (cell, _) in listed}
        yield study_id, [_row(number, cell, own, ids, log) for number, (cell, own) in listed]


def _row(
    number: int, cell: Any, attributes: tuple[str, ...], ids: Mapping[str, str], log: IntakeLog
) -> DeliveredRow:
    """A row, whose references `section:ent_idx` become ids; one that names no other row is noted and left
    out.
    """
    own = f"{cell.study_id}:{number}"
    references: tuple[list[str], list[str]] = ([], [])
    for column, found in zip(("evidence", "associate"), references, strict=True):
        for reference in dict.fromkeys(getattr(cell, column)):
            finding_id = ids.get(reference, "")
            if finding_id not in ("", own):
                found.append(finding_id)
                continue
            reason = "self-reference" if finding_id else "dangling-reference"
            place = {"study_id": cell.study_id, "finding_id": own, "column": column, "found": reference}
            log.note(reason, _FILE, line=number + 1, **place)
    return DeliveredRow(
        line=number + 1,
        row=number,
        finding_id=own,
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
        references=references,
    )
