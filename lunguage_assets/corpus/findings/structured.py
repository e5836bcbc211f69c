"""From the rows of a structurer to `findings`, as if the same rows had been delivered as Lunguage.csv.

Only what a file cannot say is different: references name their rows, so none is looked for by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean, clean_list, first_alternative
from lunguage_assets.corpus.findings.delivered import DeliveredRow, DeliveredStudy
from lunguage_assets.corpus.findings.studies import FindingsBuilder, place_in_time
from lunguage_assets.corpus.intake import Intake
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
        views, source = one["view_information"], one["view_source"]
        if not views:
            log.note("default-view" if default_view else "unknown-view", FILE, study_id=study.study_id)
            views, source = (default_view, "default_view") if default_view else ("", "unknown")
        builder.add(study, views)
        rejected = int(refused.get(study.study_id, 0))
        reports.append(
            {
                "study_id": study.study_id,
                "subject_id": study.subject_id,
                "sequence": study.sequence,
                "report": one["report"],
                "view_information": views,
                "view_source": source,
                "rows_delivered": len(study.rows) + rejected,
                "rows_rejected": rejected,
            }
        )
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
    cells = _Cells(structured)
    order = sorted(range(len(structured)), key=cells.place)
    numbered = enumerate(order)
    for study_id, group in groupby(numbered, lambda one: cells.study[one[1]]):
        yield study_id, [cells.row(at, number) for number, at in group]


class _Cells:
    """The columns of structured rows as lists, cleaned as cells of a file are."""

    def __init__(self, frame: pd.DataFrame) -> None:
        def column(name: str) -> list[Any]:
            return frame[name].tolist()

        def cleaned(name: str) -> list[str]:
            known = {value: clean_list(value) for value in frame[name].unique().tolist()}
            return [known[value] for value in column(name)]

        self.study: list[str] = column("study_id")
        self._section: list[str] = column("section")
        self._sentence: list[int] = column("sent_idx")
        self._sent: list[str] = column("sent")
        self._number: list[int] = column("ent_idx")
        self._ent = cleaned("ent")
        self._normed = cleaned("normed_ent")
        self._cat: list[str] = column("cat")
        self._status: list[str] = column("status")
        self._location = cleaned("location")
        self._attributes = list(zip(*map(cleaned, ATTRIBUTES), strict=True))
        self._evidence: list[Sequence[str]] = column("evidence")
        self._associate: list[Sequence[str]] = column("associate")

    def place(self, at: int) -> tuple[str, int, int]:
        return self.study[at], _ORDER[self._section[at]], self._number[at]

    def row(self, at: int, number: int) -> _Row:
        row = DeliveredRow(
            line=number + 1,
            row=number,
            finding_id=f"{self.study[at]}:{number}",
            section=self._section[at],
            sent_idx=self._sentence[at],
            sent=clean(self._sent[at]),
            ent_idx=self._number[at],
            ent=self._ent[at],
            normed_ent=first_alternative(self._normed[at]),
            cat=self._cat[at],
            status=self._status[at],
            location=self._location[at],
            evidence="",
            associate="",
            attributes=self._attributes[at],
        )
        return row, (self._evidence[at], self._associate[at])


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
