"""From raw reports to the table `report_texts`.

Ids, encodings, markup, duplicates, views and times are settled here (implicit.md
section 1). Every record of the delivery is a row of `report_texts`, a row of
`rejected`, or, when it repeats a report word by word, a note; what was corrected or
merely noticed is in `intake_notes`. No record raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.columns import whole_number
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import StudyMetadata, read_metadata, read_terms
from lunguage_assets.corpus.texts.raw import (
    LARGEST,
    DecodedReport,
    RawReport,
    decoded,
    is_number,
    own_patient_of,
    patient_of,
    study_of,
)
from lunguage_assets.corpus.views import coded_views, named_views, study_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables.corpus import REPORT_TEXTS

OTHER_LANGUAGE = "report-other-language"
"""Why a report that the offline rules do not read is rejected."""
_MOST_KEPT = 20_000
"""Characters of a rejected text that `rejected` keeps; the delivery has the rest."""
_DATE = re.compile(
    r"(\d{4})[-./]?(\d\d)[-./]?(\d\d)"
    r"(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d))?)?"
    r"(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Received:
    """Raw reports of a batch.

    They are `tables.REPORT_TEXTS`, `REJECTED`, `INTAKE_NOTES` and `TERMS`.
    """

    report_texts: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


class ReportViews(NamedTuple):
    """The views of a study in the written form, and their source.

    `are_unknown`: words for views are there that nobody understands.
    """

    codes: str
    source: str
    are_unknown: bool = False


class _Refusal(NamedTuple):
    """Why a record is rejected, the column that is wrong, and the text that is kept."""

    reason: str
    column: str
    text: str


def receive(delivery: Delivery, settings: CorpusSettings) -> Received:
    """Read the raw reports of a delivery of kind `text`, sorted by study id.

    A study's views are those of the metadata, else of the delivery's own columns;
    where neither says anything, `view_source` is `unknown` (`default_view` is applied
    by `take_in_structured`). Its patient is that of the delivery, else of the metadata,
    else its own.

    Raises:
        InputError: a file is unusable as a whole, or findings were delivered.
    """
    if delivery.kind != "text":
        remedy = "Findings are taken in without a structurer."
        raise InputError(str(delivery.folder), FINDINGS, "raw reports", remedy)
    log = IntakeLog()
    terms = read_terms(delivery.vocabulary, log)
    receiver = _Receiver(log)
    for report in delivery.raw_reports():
        # Whatever fails costs one record.
        try:
            receiver.receive(report)
        except MemoryError:
            raise
        except Exception as failure:
            receiver.reject_unexpected(report, failure)
    receiver.complete(_metadata(delivery, receiver.rows_by_study.keys(), log))
    rows = [row for _, row in sorted(receiver.rows_by_study.items())]
    return Received(
        REPORT_TEXTS.frame(rows), log.rejected_frame(), log.notes_frame(), terms
    )


def _metadata(
    delivery: Delivery, studies: Collection[str], log: IntakeLog
) -> Mapping[str, StudyMetadata]:
    """Read the image metadata, and count the reports that have none."""
    if delivery.metadata is None:
        return {}
    metadata = read_metadata(delivery.metadata, studies, log)
    reports_without = sum(study not in metadata for study in studies)
    if reports_without:
        count = f"{reports_without} reports"
        log.note("metadata-without-study", delivery.metadata.name, found=count)
    return metadata


def without_other_languages(received: Received, note: str) -> Received:
    """Reject the reports in which no English sentence was found.

    Rules that read English words alone would take the opposite from such a report.

    Args:
        received: reports as they were cut into sentences, with notes.
        note: the reason of the notes that name such reports.
    """
    notes = received.intake_notes
    foreign = set(notes.loc[notes["reason"] == note, "study_id"])
    if not foreign:
        return received
    texts = received.report_texts
    is_foreign = texts["study_id"].isin(foreign)
    log = IntakeLog.of(received.rejected, notes)
    for row in texts[is_foreign].to_dict("records"):
        log.reject(
            OTHER_LANGUAGE,
            row["file"],
            row["line"],
            study_id=row["study_id"],
            column="report",
            content=_content(row["source_id"], row["report"]),
        )
    return Received(
        texts[~is_foreign].reset_index(drop=True),
        log.rejected_frame(),
        log.notes_frame(),
        received.terms,
    )


class _Receiver:
    """Makes rows of `report_texts` by study; what cannot be one goes to the log."""

    def __init__(self, log: IntakeLog) -> None:
        self.rows_by_study: dict[str, dict[str, object]] = {}
        self._log = log
        self._file = ""
        self._reports_with_made_id = 0
        self._studies_without_patient: list[str] = []

    def receive(self, report: RawReport) -> None:
        """Take one delivered record, note that it repeats another, or reject it."""
        self._file = self._file or report.file
        study_id = study_of(report.study) if report.study else ""
        text = DecodedReport("")
        # What is wrong with a record is looked for before its text is decoded.
        refusal = _delivery_refusal(report, study_id)
        if refusal is None:
            text = decoded(report.content)
            refusal = self._text_refusal(report, study_id, text)
        if refusal is not None:
            self._log.reject(
                refusal.reason,
                report.file,
                report.line,
                column=refusal.column,
                study_id=study_id,
                content=_content(report.study, refusal.text),
            )
        elif study_id in self.rows_by_study:
            self._note("same-report-again", report, study_id, "report")
        else:
            for reason in text.notes:
                self._note(reason, report, study_id, "report")
            if report.noted:
                reason, _, key = report.noted.partition(": ")
                self._note(reason, report, study_id, key)
            self._take(report, study_id, text.text)

    def _text_refusal(
        self, report: RawReport, study_id: str, text: DecodedReport
    ) -> _Refusal | None:
        """Find what is wrong with a text; of two of a study the second is rejected."""
        if not text.is_text:
            return _Refusal("report-not-text", "report", _shown(report))
        if not any(map(str.isalnum, text.text)):
            return _Refusal("report-empty", "report", text.text)
        earlier = self.rows_by_study.get(study_id)
        if earlier is not None and earlier["report"] != text.text:
            return _Refusal("report-repeated", "report", text.text)
        return None

    def reject_unexpected(self, report: RawReport, failure: Exception) -> None:
        """Reject a record that failed in a way that nobody thought of.

        Only the kind of the failure is kept: its words may be those of the record.
        """
        self._log.reject(
            "unexpected",
            report.file,
            report.line,
            found=type(failure).__name__,
            content=_content(report.study, _shown(report)),
        )

    def complete(self, metadata: Mapping[str, StudyMetadata]) -> None:
        """Take from the metadata what the delivery does not say.

        These are views, times and patients. What concerns many records is noted once,
        with their count.
        """
        for study_id in self.rows_by_study.keys() & metadata.keys():
            row = self.rows_by_study[study_id]
            row["taken_at"] = metadata[study_id].taken_at or row["taken_at"]
            views, source = metadata[study_id].views
            if views:
                row["view_information"] = views
                row["view_source"] = source
        unknown_patients = 0
        for study_id in self._studies_without_patient:
            if study_id in metadata and metadata[study_id].patient:
                patient = patient_of(metadata[study_id].patient)
                self.rows_by_study[study_id]["subject_id"] = patient
            else:
                unknown_patients += 1
        counts = {
            "id-numbered": self._reports_with_made_id,
            "patient-unknown": unknown_patients,
        }
        for reason, reports in counts.items():
            if reports:
                self._log.note(reason, self._file, found=f"{reports} reports")

    def _take(self, report: RawReport, study_id: str, text: str) -> None:
        """Make the row of a study; the metadata may complete it later."""
        self._reports_with_made_id += not is_number(report.study)
        patient = patient_of(report.patient) if report.patient else ""
        if not patient:
            self._studies_without_patient.append(study_id)
        views = views_of(report)
        if views.are_unknown:
            self._note("view-ignored", report, study_id, "view", report.views.lower())
        taken_at = _taken_at(report.taken_at)
        if report.taken_at and not taken_at:
            found = report.taken_at
            self._note("study-date-ignored", report, study_id, "study_date", found)
        sequence = whole_number(report.sequence) or 0
        if report.sequence and not sequence:
            found = report.sequence
            self._note("study-order-ignored", report, study_id, "sequence", found)
        self.rows_by_study[study_id] = {
            "study_id": study_id,
            "subject_id": patient or own_patient_of(study_id),
            "source_id": report.study,
            "file": report.file,
            "line": report.line,
            "taken_at": taken_at,
            "sequence": sequence,
            "view_information": views.codes,
            "view_source": views.source,
            "report": text,
        }

    def _note(
        self,
        reason: str,
        report: RawReport,
        study_id: str,
        column: str,
        found: str = "",
    ) -> None:
        self._log.note(
            reason,
            report.file,
            line=report.line,
            study_id=study_id,
            column=column,
            found=found,
        )


def views_of(report: RawReport) -> ReportViews:
    """Read the views of a study.

    Codes of projections count as metadata; without a code that is known, words for them
    may help.
    """
    delivered = report.views.lower()
    coded, unknown = coded_views(delivered, "")
    if coded and not unknown:
        return ReportViews(written(coded), "metadata")
    in_words = coded | named_views(delivered)
    in_procedure = study_views(report.procedure)
    # "Frontal" leaves open what "PA" of the procedure says.
    if in_procedure and not in_words - {"lateral"}:
        return ReportViews(written(in_words | in_procedure), "procedure text")
    if in_words:
        return ReportViews(written(in_words | study_views(delivered)), "metadata")
    # "Frontal" alone is understood: it may be AP or PA.
    are_unknown = bool(set(_WORD.findall(delivered)) - {"frontal"})
    return ReportViews("", "unknown", are_unknown)


def _taken_at(delivered: str) -> str:
    """Write date and time as 14 digits; empty without one that can be read."""
    date = _DATE.fullmatch(delivered)
    if date is None:
        return ""
    # A time that is not said is midnight.
    digits = "".join(number or "00" for number in date.groups())
    # Days that no calendar has are found by the calendar.
    with suppress(ValueError):
        datetime.strptime(digits, "%Y%m%d%H%M%S")
        return digits
    return ""


def _delivery_refusal(report: RawReport, study_id: str) -> _Refusal | None:
    """Find what is wrong with a record before its text is read."""
    if report.broken:
        reason, _, column = report.broken.partition(": ")
        return _Refusal(reason, column, _shown(report))
    if not study_id:
        return _Refusal("study-id-missing", "study_id", _shown(report))
    if len(report.content) > LARGEST:
        return _Refusal("report-too-large", "report", _shown(report))
    return None


def _shown(report: RawReport) -> str:
    """Make text that can be stored of the beginning of a record's bytes."""
    beginning = report.content[:_MOST_KEPT].decode("utf-8", "backslashreplace")
    return beginning.replace("\0", "\\x00")


def _content(study: str, text: str) -> str:
    """Write a rejected report as `rejected` keeps it, with its id as delivered."""
    kept = {"study_id": study, "report": text[:_MOST_KEPT]}
    return json.dumps(kept, ensure_ascii=False)
