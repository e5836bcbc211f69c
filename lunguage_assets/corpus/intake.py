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
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.columns import clean, clean_list, first_alternative
from lunguage_assets.corpus.delivery import FINDINGS, Corpus, Delivery
from lunguage_assets.corpus.findings import (
    DeliveredRow,
    DeliveredStudy,
    FindingsBuilder,
    place_in_time,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import RowReader
from lunguage_assets.corpus.side_files import read_metadata, read_reports, read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError, InvalidTable
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import ATTRIBUTES, REPORTS, SECTIONS
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS

_FILE = STRUCTURED_FINDINGS.name
"""Where notes on structured rows say that they are from."""


_clean_list = remembered(clean_list)


@dataclass(frozen=True)
class Intake:
    """The tables of a batch: `tables.REPORTS`, `FINDINGS`, `REJECTED`, `INTAKE_NOTES`, `TERMS`."""

    reports: pd.DataFrame
    findings: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


def read_files(
    delivery: Delivery, log: IntakeLog
) -> tuple[dict[str, DeliveredStudy], pd.DataFrame]:
    """Every file of a delivery, before names, places and sentences are computed: the studies, and the terms
    of the vocabulary. Rejections and notes go to the log.
    """
    if delivery.findings is None:
        remedy = "Findings are read in raw reports by a structurer (docs/method.md)."
        raise InputError(
            str(delivery.folder), "raw reports", f"a file {FINDINGS}", remedy
        )
    terms = read_terms(delivery.vocabulary, log)
    studies = RowReader(delivery.findings, Vocabulary.from_terms(terms), log).read()
    metadata = read_metadata(delivery.metadata, studies.keys(), log)
    texts = read_reports(delivery.reports, studies.keys(), log)
    for study_id, study in studies.items():
        study.report = study.report or texts.get(study_id, "")
        if study_id in metadata:
            study.views, study.taken_at = (
                metadata[study_id].views,
                metadata[study_id].taken_at,
            )
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
    vocabulary, default_view = Vocabulary.from_terms(terms), settings.default_view
    tables = _tables(
        in_order, vocabulary, log, file, default_view, notes_views=notes_views
    )
    return Intake(*tables, log.rejected_frame(), log.notes_frame(), terms)


def take_in_gold(
    file: Path, vocabulary: Path | None, settings: CorpusSettings
) -> pd.DataFrame:
    """FINDINGS of a file of rows that people coded.

    Args:
        file: in the columns of Lunguage.csv.
        vocabulary: of the batch, which names the rows.
        settings: as of `take_in`, and raises as it does.
    """
    return take_in(
        Delivery(file.parent, file, vocabulary, None, None, Corpus()), settings
    ).findings


def take_in_structured(
    received: Received,
    structured_findings: pd.DataFrame,
    settings: CorpusSettings,
    processes: int | None = 1,
) -> Intake:
    """The tables of a batch whose reports were structured here.

    Rows are numbered inside their study (`row_of_a_study`), by section and number of the finding, whatever
    the frame's order: a report has the same ids in every batch.

    Args:
        received: the batch's raw reports with what was rejected and noted in reading them. Views that were
            found in a report's own text are in its `report_texts` (`view_source` "report text").
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
        settings: `default_view` counts where a study's views are unknown.
        processes: as in `parallel.map_studies`.

    Raises:
        InvalidTable: a row belongs to a study without a report.
        ConfigurationError: `default_view` names an unknown view.
    """
    log, of_time = IntakeLog.of(received.rejected, received.intake_notes), IntakeLog()
    texts = received.report_texts.sort_values("study_id")
    strangers = len(
        {*structured_findings["study_id"].unique()} - {*texts["study_id"].unique()}
    )
    if strangers:
        found = f"{strangers} studies without a report"
        raise InvalidTable(f"{_FILE}: {found}; expected those of report_texts only")
    refused = received.rejected["study_id"].value_counts()
    texts = texts.assign(
        rows_delivered=[int(refused.get(one, 0)) for one in texts["study_id"].tolist()]
    )
    studies = list(_studies(texts))
    place_in_time(studies, of_time, _FILE)
    texts = texts.assign(sequence=[study.sequence or 0 for study in studies])
    order = {section: place for place, section in enumerate(SECTIONS)}
    rows = structured_findings.assign(place=structured_findings["section"].map(order))
    rows = rows.sort_values(
        ["study_id", "place", "ent_idx"], kind="stable", ignore_index=True
    )
    number_in_study = rows.groupby("study_id", sort=False).cumcount() + 1
    given = texts, rows.assign(line=rows.index + 1, number=number_in_study)
    terms, default_view = received.terms, settings.default_view
    made = map_studies(
        _take_in_part, given, _part_tools, terms, default_view, processes=processes
    )
    reports, findings = (
        joined(frames) for frames in zip(*(tables for tables, *_ in made), strict=True)
    )
    log.extend(
        *(of_rows for _, of_rows, _ in made),
        of_time,
        *(of_part for *_, of_part in made),
    )
    return Intake(reports, findings, log.rejected_frame(), log.notes_frame(), terms)


def row_of_a_study(study_id: str, number: int) -> str:
    """The id of a raw report's row by its number in the study, from 1: `s50000295:0012`.

    Of two rows that are equally strong, the order of their ids decides. Four digits for all rows of a study
    let them be in the order of their numbers.
    """
    return f"{study_id}:{number:04d}"


def _part_tools(terms: pd.DataFrame, default_view: str) -> tuple[Vocabulary, str]:
    return Vocabulary.from_terms(terms), default_view


def _take_in_part(
    texts: pd.DataFrame,
    structured: pd.DataFrame,
    vocabulary: Vocabulary,
    default_view: str,
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], IntakeLog, IntakeLog]:
    """REPORTS and FINDINGS of some studies, what is noted of their rows, and then of the studies."""
    of_rows, log = IntakeLog(), IntakeLog()
    studies = {study.study_id: study for study in _studies(texts)}
    for study, sequence in zip(
        studies.values(), texts["sequence"].tolist(), strict=True
    ):
        study.sequence = sequence
    for study_id, rows in _rows_by_study(structured, of_rows):
        studies[study_id].rows = rows
        studies[study_id].rows_delivered += len(rows)
    return (
        _tables(studies, vocabulary, log, _FILE, default_view, notes_views=True),
        of_rows,
        log,
    )


def _studies(texts: pd.DataFrame) -> Iterator[DeliveredStudy]:
    """The studies of REPORT_TEXTS, without their rows."""
    for line, row in enumerate(texts.to_dict("records"), 1):
        yield DeliveredStudy(
            row["study_id"],
            row["subject_id"],
            row["source_id"],
            line,
            sequence=row["sequence"] or None,  # 0: the delivery does not say
            report=row["report"],
            views=(row["view_information"], row["view_source"]),
            taken_at=row["taken_at"],
            rows_delivered=row["rows_delivered"],
        )


def _tables(
    studies: dict[str, DeliveredStudy],
    vocabulary: Vocabulary,
    log: IntakeLog,
    file: str,
    default_view: str,
    *,
    notes_views: bool,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """REPORTS and FINDINGS of studies, each of which is let go once it is in them."""
    default = parse_default_view(default_view)
    builder = FindingsBuilder(vocabulary, log, file)
    reports: list[dict[str, object]] = []
    for study_id in list(studies):
        study = studies.pop(study_id)
        views, source = study.views
        if not views:
            views, source = default, "default_view" if default else "unknown"
            if notes_views:
                log.note(
                    "default-view" if default else "unknown-view",
                    file,
                    study_id=study_id,
                )
        builder.add(study, views)
        if not study.report and file != _FILE:
            log.note("report-missing", file, study_id=study_id, column="report")
        reports.append(
            {
                "study_id": study_id,
                "subject_id": study.subject_id,
                "source_id": study.source_id,
                "sequence": study.sequence,
                "report": study.report,
                "view_information": views,
                "view_source": source,
                "rows_delivered": study.rows_delivered,
                "rows_rejected": study.rows_delivered - len(study.rows),
            }
        )
    return REPORTS.frame(reports), builder.frame()


def _rows_by_study(
    frame: pd.DataFrame, log: IntakeLog
) -> Iterator[tuple[str, list[DeliveredRow]]]:
    """The studies' rows, in the order of their numbers."""
    given = {name: frame[name].tolist() for name in frame}
    for name in (
        "ent",
        "normed_ent",
        "location",
        *ATTRIBUTES,
    ):  # cleaned as cells of a file are
        given[name] = list(map(_clean_list, given[name]))
    attributes = zip(*(given[name] for name in ATTRIBUTES), strict=True)
    rows = pd.DataFrame(given, dtype=object).itertuples(
        index=False
    )  # of Arrow's each value is made anew
    cells: Iterator[tuple[Any, tuple[str, ...]]] = zip(rows, attributes, strict=True)
    for study_id, group in groupby(cells, lambda one: one[0].study_id):
        listed = list(group)
        ids = {
            f"{cell.section}:{cell.ent_idx}": row_of_a_study(study_id, cell.number)
            for cell, _ in listed
        }
        yield study_id, [_row(cell, own, ids, log) for cell, own in listed]


def _row(
    cell: Any, attributes: tuple[str, ...], ids: Mapping[str, str], log: IntakeLog
) -> DeliveredRow:
    """A row, whose references `section:ent_idx` become ids; one that names no other row is noted and left
    out.
    """
    own = row_of_a_study(cell.study_id, cell.number)
    references: tuple[list[str], list[str]] = ([], [])
    for column, found in zip(("evidence", "associate"), references, strict=True):
        for reference in dict.fromkeys(getattr(cell, column)):
            finding_id = ids.get(reference, "")
            if finding_id not in ("", own):
                found.append(finding_id)
                continue
            reason = "self-reference" if finding_id else "dangling-reference"
            place = {
                "study_id": cell.study_id,
                "finding_id": own,
                "column": column,
                "found": reference,
            }
            log.note(reason, _FILE, line=cell.line, **place)
    return DeliveredRow(
        line=cell.line,
        row=cell.number,
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
        cues=cell.cues,
    )
