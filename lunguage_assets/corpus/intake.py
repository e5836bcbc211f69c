"""From a delivery, or from the rows of a structurer, to validated tables.

The tables are reports, findings, rejected rows, notes and vocabulary terms
(implicit.md section 1). Good rows are never lost to bad ones: a row that cannot be used
goes to `rejected` with where it stands, what was found, what was expected and the
remedy; what was corrected or merely noticed goes to `intake_notes`. Only a file that
cannot be used at all raises.

Structured rows become what the same rows would be in a Lunguage.csv. Only what a file
cannot say is different: references name their rows, so none is looked for by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.columns import clean, clean_list, first_alternative
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.corpus.delivered import DeliveredRow, DeliveredStudy
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.findings import FindingsBuilder, assign_sequences
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import RowReader, in_report_order
from lunguage_assets.corpus.side_files import read_metadata, read_reports, read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError, InvalidTable
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import ATTRIBUTES, REPORTS
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS

_STRUCTURED = STRUCTURED_FINDINGS.name
"""Where notes on structured rows say that they are from."""
_CLEANED_LISTS = ("ent", "normed_ent", "location", *ATTRIBUTES)
"""Columns of structured rows that are cleaned as the cells of a file are."""

_clean_list = remembered(clean_list)


@dataclass(frozen=True)
class Intake:
    """The tables of a batch.

    They are `tables.REPORTS`, `FINDINGS`, `REJECTED`, `INTAKE_NOTES` and `TERMS`.
    """

    reports: pd.DataFrame
    findings: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


class _TakenPart(NamedTuple):
    """What one process made of some studies; notes on rows come before the others."""

    reports: pd.DataFrame
    findings: pd.DataFrame
    notes_on_rows: IntakeLog
    notes_on_studies: IntakeLog


def read_files(
    delivery: Delivery, log: IntakeLog
) -> tuple[dict[str, DeliveredStudy], pd.DataFrame]:
    """Read every file of a delivery, before names and sentences are computed.

    Args:
        delivery: of kind `findings`.
        log: takes rejections and notes.

    Returns:
        The studies by id, and the terms of the vocabulary.

    Raises:
        InputError: the delivery holds raw reports, or a file is unusable as a whole.
    """
    if delivery.findings is None:
        raise InputError(
            str(delivery.folder),
            "raw reports",
            f"a file {FINDINGS}",
            "Findings are read in raw reports by a structurer (docs/method.md).",
        )
    terms = read_terms(delivery.vocabulary, log)
    studies = RowReader(delivery.findings, Vocabulary.from_terms(terms), log).read()
    metadata = read_metadata(delivery.metadata, studies.keys(), log)
    texts = read_reports(delivery.reports, studies.keys(), log)
    for study_id, study in studies.items():
        # What the findings file itself says goes before what lies beside it.
        study.report = study.report or texts.get(study_id, "")
        if study_id in metadata:
            study.views = metadata[study_id].views
            study.taken_at = metadata[study_id].taken_at
    return studies, terms


def take_in(delivery: Delivery, settings: CorpusSettings) -> Intake:
    """Read and validate a delivery of findings.

    Every record of the findings file is a row of `findings` or of `rejected`. A study
    whose id can be read is in `reports`, even when all its rows are rejected.

    Args:
        delivery: of kind `findings`.
        settings: `default_view` counts where a study's views are unknown.

    Returns:
        Findings are sorted by (study_id, row), reports by study_id.

    Raises:
        InputError: a file is unusable as a whole (missing columns, empty, not text).
        ConfigurationError: `default_view` names an unknown view.
    """
    log = IntakeLog()
    studies, terms = read_files(delivery, log)
    assign_sequences(studies.values(), log, delivery.main_file)
    # Taken out of the one dictionary, so that the other alone holds the studies, and
    # the rows of each go as soon as its tables are made.
    in_order = {study_id: studies.pop(study_id) for study_id in sorted(studies)}
    reports, findings = _study_tables(
        in_order,
        Vocabulary.from_terms(terms),
        log,
        delivery.main_file,
        settings.default_view,
        # Without metadata one note stands for all studies.
        notes_views=delivery.metadata is not None,
    )
    return Intake(reports, findings, log.rejected_frame(), log.notes_frame(), terms)


def take_in_gold(
    file: Path, vocabulary: Path | None, settings: CorpusSettings
) -> pd.DataFrame:
    """Read FINDINGS of a file of rows that people coded.

    Args:
        file: in the columns of Lunguage.csv.
        vocabulary: of the batch, which names the rows.
        settings: as of `take_in`, and raises as it does.
    """
    delivery = Delivery(file.parent, file, vocabulary, None, None, Corpus())
    return take_in(delivery, settings).findings


def take_in_structured(
    received: Received,
    structured_findings: pd.DataFrame,
    settings: CorpusSettings,
    processes: int | None = 1,
) -> Intake:
    """Make the tables of a batch whose reports were structured here.

    Rows are numbered inside their study (`row_of_a_study`), by section and number of
    the finding, whatever the frame's order: a report has the same ids in every batch.

    Args:
        received: the batch's raw reports with what was rejected and noted in reading
            them. Views that were found in a report's own text are in its
            `report_texts` (`view_source` "report text").
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
        settings: `default_view` counts where a study's views are unknown.
        processes: as in `parallel.map_studies`.

    Raises:
        InvalidTable: a row belongs to a study without a report.
        ConfigurationError: `default_view` names an unknown view.
    """
    _require_reports(structured_findings, received.report_texts)
    log = IntakeLog.of(received.rejected, received.intake_notes)
    notes_on_sequences = IntakeLog()
    texts = _with_sequences(received, notes_on_sequences)
    parts: list[_TakenPart] = map_studies(
        _take_in_part,
        (texts, _numbered(structured_findings)),
        _part_tools,
        received.terms,
        settings.default_view,
        processes=processes,
    )
    # The order of notes is that of one process: rows, sequences, studies.
    log.extend(*(part.notes_on_rows for part in parts))
    log.extend(notes_on_sequences)
    log.extend(*(part.notes_on_studies for part in parts))
    return Intake(
        joined([part.reports for part in parts]),
        joined([part.findings for part in parts]),
        log.rejected_frame(),
        log.notes_frame(),
        received.terms,
    )


def _require_reports(
    structured_findings: pd.DataFrame, report_texts: pd.DataFrame
) -> None:
    studies_of_rows = set(structured_findings["study_id"].unique())
    without_report = studies_of_rows - set(report_texts["study_id"].unique())
    if without_report:
        raise InvalidTable(
            f"{_STRUCTURED}: {len(without_report)} studies without a report; "
            "expected those of report_texts only"
        )


def _with_sequences(received: Received, log: IntakeLog) -> pd.DataFrame:
    """Sort the texts, and count refused rows and sequences, which need all studies."""
    texts = received.report_texts.sort_values("study_id")
    refused = received.rejected["study_id"].value_counts()
    rows_delivered = [
        int(refused.get(study_id, 0)) for study_id in texts["study_id"].tolist()
    ]
    texts = texts.assign(rows_delivered=rows_delivered)
    studies = list(_studies(texts))
    assign_sequences(studies, log, _STRUCTURED)
    return texts.assign(sequence=[study.sequence or 0 for study in studies])


def _numbered(structured_findings: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by study, section and finding, and number them.

    `line` is the number in the frame, `number` that in the study; both from 1.
    """
    rows = in_report_order(structured_findings)
    number_in_study = rows.groupby("study_id", sort=False).cumcount() + 1
    return rows.assign(line=rows.index + 1, number=number_in_study)


def row_of_a_study(study_id: str, number: int) -> str:
    """Make the id of a raw report's row by its number in the study: `s50000295:0012`.

    Of two rows that are equally strong, the order of their ids decides. Zeros in front
    keep it the order of their numbers: `:0002` comes before `:0010`.
    """
    return f"{study_id}:{number:04d}"


def _part_tools(terms: pd.DataFrame, default_view: str) -> tuple[Vocabulary, str]:
    return Vocabulary.from_terms(terms), default_view


def _take_in_part(
    texts: pd.DataFrame,
    structured: pd.DataFrame,
    vocabulary: Vocabulary,
    default_view: str,
) -> _TakenPart:
    """Make the tables of some studies."""
    notes_on_rows = IntakeLog()
    notes_on_studies = IntakeLog()
    studies = {study.study_id: study for study in _studies(texts)}
    for study_id, rows in _rows_by_study(structured, notes_on_rows):
        studies[study_id].rows = rows
        studies[study_id].rows_delivered += len(rows)
    reports, findings = _study_tables(
        studies,
        vocabulary,
        notes_on_studies,
        _STRUCTURED,
        default_view,
        notes_views=True,
    )
    return _TakenPart(reports, findings, notes_on_rows, notes_on_studies)


def _studies(texts: pd.DataFrame) -> Iterator[DeliveredStudy]:
    """Read the studies of REPORT_TEXTS, without their rows."""
    for line, row in enumerate(texts.to_dict("records"), 1):
        yield DeliveredStudy(
            row["study_id"],
            row["subject_id"],
            row["source_id"],
            line,
            # 0: the delivery does not say.
            sequence=row["sequence"] or None,
            report=row["report"],
            views=(row["view_information"], row["view_source"]),
            taken_at=row["taken_at"],
            rows_delivered=row["rows_delivered"],
        )


def _study_tables(
    studies: dict[str, DeliveredStudy],
    vocabulary: Vocabulary,
    log: IntakeLog,
    file: str,
    default_view: str,
    *,
    notes_views: bool,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make REPORTS and FINDINGS of studies.

    Args:
        studies: by id; each is taken out when it is done, which lets its rows go.
        vocabulary: gives canonical names and locations.
        log: takes notes.
        file: the name of the delivered file, for notes.
        default_view: counts where a study's views are unknown.
        notes_views: a study without views is noted.
    """
    default = parse_default_view(default_view)
    builder = FindingsBuilder(vocabulary, log, file)
    reports: list[dict[str, object]] = []
    for study_id in list(studies):
        study = studies.pop(study_id)
        views, view_source = study.views
        if not views:
            views = default
            view_source = "default_view" if default else "unknown"
            if notes_views:
                reason = "default-view" if default else "unknown-view"
                log.note(reason, file, study_id=study_id)
        builder.add(study, views)
        # A structurer's rows were read in the report.
        if not study.report and file != _STRUCTURED:
            log.note("report-missing", file, study_id=study_id, column="report")
        reports.append(
            {
                "study_id": study_id,
                "subject_id": study.subject_id,
                "source_id": study.source_id,
                "sequence": study.sequence,
                "report": study.report,
                "view_information": views,
                "view_source": view_source,
                "rows_delivered": study.rows_delivered,
                "rows_rejected": study.rows_delivered - len(study.rows),
            }
        )
    return REPORTS.frame(reports), builder.frame()


def _rows_by_study(
    frame: pd.DataFrame, log: IntakeLog
) -> Iterator[tuple[str, list[DeliveredRow]]]:
    """Read the studies' rows, in the order of their numbers."""
    cells = {name: frame[name].tolist() for name in frame}
    for name in _CLEANED_LISTS:
        cells[name] = [_clean_list(cell) for cell in cells[name]]
    # Plain objects: of an Arrow column every value would be made anew at each reading.
    rows: Iterator[Any] = pd.DataFrame(cells, dtype=object).itertuples(index=False)
    for study_id, rows_of_study in groupby(rows, lambda row: row.study_id):
        id_by_reference = {}
        rows_in_order = list(rows_of_study)
        for row in rows_in_order:
            reference = f"{row.section}:{row.ent_idx}"
            id_by_reference[reference] = row_of_a_study(study_id, row.number)
        delivered_rows = [
            _delivered_row(row, id_by_reference, log) for row in rows_in_order
        ]
        yield study_id, delivered_rows


def _delivered_row(
    row: Any, id_by_reference: Mapping[str, str], log: IntakeLog
) -> DeliveredRow:
    """Make a row, whose references `section:ent_idx` become ids."""
    finding_id = row_of_a_study(row.study_id, row.number)
    return DeliveredRow(
        line=row.line,
        row=row.number,
        finding_id=finding_id,
        section=row.section,
        sent_idx=row.sent_idx,
        sent=clean(row.sent),
        ent_idx=row.ent_idx,
        ent=row.ent,
        normed_ent=first_alternative(row.normed_ent),
        cat=row.cat,
        status=row.status,
        location=row.location,
        evidence="",
        associate="",
        attributes=tuple([getattr(row, name) for name in ATTRIBUTES]),
        references=(
            _referred_ids(row, "evidence", finding_id, id_by_reference, log),
            _referred_ids(row, "associate", finding_id, id_by_reference, log),
        ),
        cues=row.cues,
    )


def _referred_ids(
    row: Any,
    column: str,
    finding_id: str,
    id_by_reference: Mapping[str, str],
    log: IntakeLog,
) -> list[str]:
    """Look up the rows that a cell refers to; one that is no other row is noted."""
    referred: list[str] = []
    for reference in dict.fromkeys(getattr(row, column)):
        target_id = id_by_reference.get(reference, "")
        # A model may refer to a row that it did not write, or to the row itself.
        if target_id and target_id != finding_id:
            referred.append(target_id)
            continue
        reason = "self-reference" if target_id else "dangling-reference"
        log.note(
            reason,
            _STRUCTURED,
            line=row.line,
            study_id=row.study_id,
            finding_id=finding_id,
            column=column,
            found=reference,
        )
    return referred
