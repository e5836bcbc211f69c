"""From the rows of a structurer to `findings`, as if the same rows had been delivered as Lunguage.csv.

Only what a file cannot say is different: references name their rows, so none is looked for by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean, clean_list, first_alternative
from lunguage_assets.corpus.findings.references import DeliveredRow, DeliveredStudy
from lunguage_assets.corpus.findings.studies import FindingsBuilder, place_in_time
from lunguage_assets.corpus.intake import Intake, report_row, views_or_default
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InvalidTable
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import ATTRIBUTES, REPORTS, SECTIONS
from lunguage_assets.tables.text import STRUCTURED_FINDINGS

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
        views = views_or_default(views, default_view, study.study_id, FILE, log)
        builder.add(study, views[0])
        rejected = int(refused.get(study.study_id, 0))
        reports.append(report_row(study, one["report"], views, rejected))
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
