"""From raw reports to the table `report_texts`: ids, encodings, markup, duplicates, views and times.

Every record of the delivery is a row of `report_texts`, a row of `rejected`, or, when it repeats a report
word by word, a note; what was corrected or merely noticed is in `intake_notes`. No record raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pandas as pd

from lunguage_assets.corpus.columns import whole_number
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import StudyMetadata, read_metadata, read_terms
from lunguage_assets.corpus.texts.raw import (
    LARGEST,
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
"""The reason of the rejection of a report that the offline rules do not read."""
_KEPT = 20_000
"""Characters of a rejected text that are kept in `rejected`; the delivered file has the rest."""
_DATE = re.compile(
    r"(\d{4})[-./]?(\d\d)[-./]?(\d\d)(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d))?)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Received:
    """Raw reports of a batch: `tables.REPORT_TEXTS`, `REJECTED`, `INTAKE_NOTES`, `TERMS`."""

    report_texts: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


def receive(delivery: Delivery, settings: CorpusSettings) -> Received:
    """Read the raw reports of a delivery of kind `text`, sorted by study id.

    A study's views are those of the metadata, else of the delivery's own columns; where neither says
    anything, `view_source` is `unknown` (`default_view` is applied by `take_in_structured`). Its patient is
    that of the delivery, else of the metadata, else its own. Raises `InputError`: a file is unusable as a
    whole, or findings were delivered.
    """
    if delivery.kind != "text":
        remedy = "Findings are taken in without a structurer."
        raise InputError(str(delivery.folder), FINDINGS, "raw reports", remedy)
    log = IntakeLog()
    terms = read_terms(delivery.vocabulary, log)
    reader = _Reader(log)
    for raw in delivery.raw_reports():
        try:
            reader.read(raw)
        except MemoryError:
            raise
        except Exception as failure:  # of one record, which is all that it costs
            reader.refuse(raw, failure)
    studies = reader.studies
    metadata: Mapping[str, StudyMetadata] = {}
    if delivery.metadata is not None:
        metadata = read_metadata(delivery.metadata, studies.keys(), log)
        if without := len(studies.keys() - metadata.keys()):
            log.note(
                "metadata-without-study",
                delivery.metadata.name,
                found=f"{without} reports",
            )
    reader.learn(metadata)
    rows = [studies[study_id] for study_id in sorted(studies)]
    return Received(
        REPORT_TEXTS.frame(rows), log.rejected_frame(), log.notes_frame(), terms
    )


def without_other_languages(received: Received, note: str) -> Received:
    """Reject the reports that no sentence in English was found in: who reads English words alone would take
    the opposite from them.

    Args:
        received: reports as they were cut into sentences, with notes.
        note: the reason of the notes that name such reports.
    """
    noted = received.intake_notes
    foreign = set(noted.loc[noted["reason"] == note, "study_id"])
    if not foreign:
        return received
    texts = received.report_texts
    is_foreign = texts["study_id"].isin(foreign)
    log = IntakeLog.of(received.rejected, noted)
    columns = ("study_id", "source_id", "file", "line", "report")
    for study, own, file, line, report in texts.loc[
        is_foreign, list(columns)
    ].itertuples(index=False):
        content = json.dumps(
            {"study_id": own, "report": report[:_KEPT]}, ensure_ascii=False
        )
        place = {"study_id": study, "column": "report", "content": content}
        log.reject(OTHER_LANGUAGE, file, line, **place)
    kept = texts[~is_foreign].reset_index(drop=True)
    return Received(kept, log.rejected_frame(), log.notes_frame(), received.terms)


class _Reader:
    """Rows of `report_texts` by study; what cannot be one goes to the log."""

    def __init__(self, log: IntakeLog) -> None:
        self.studies: dict[str, dict[str, object]] = {}
        self._log = log
        self._numbered = self._with_entities = 0
        self._patient_unknown: list[str] = []
        self._file = ""

    def read(self, raw: RawReport) -> None:
        """Take one delivered record, or reject it."""
        self._file = self._file or raw.file
        study_id = study_of(raw.study) if raw.study else ""
        shown = _shown(raw)
        if raw.broken:
            reason, _, column = raw.broken.partition(": ")
            self._reject(reason, raw, study_id, column, shown)
        elif not study_id:
            self._reject("study-id-missing", raw, "", "study_id", shown)
        elif len(raw.content) > LARGEST:
            self._reject("report-too-large", raw, study_id, "report", shown)
        elif not (text := decoded(raw.content)).is_text:
            self._reject("report-not-text", raw, study_id, "report", shown)
        elif not any(map(str.isalnum, text.text)):
            self._reject("report-empty", raw, study_id, "report", text.text)
        elif study_id not in self.studies:
            for reason in text.notes:
                self._note(reason, raw, study_id, "report")
            for noted in raw.noted.splitlines():
                reason, _, key = noted.partition(": ")
                self._note(reason, raw, study_id, key)
            self._take(raw, study_id, text.text)
        elif text.text == self.studies[study_id]["report"]:
            self._note("same-report-again", raw, study_id, "report")
        else:
            self._reject("report-repeated", raw, study_id, "report", text.text)

    def refuse(self, raw: RawReport, failure: Exception) -> None:
        """Reject a record that failed in a way that nobody thought of; the failure's own words may be its."""
        found, content = type(failure).__name__, _content(raw, _shown(raw))
        self._log.reject("unexpected", raw.file, raw.line, found=found, content=content)

    def _take(self, raw: RawReport, study_id: str, text: str) -> None:
        self._numbered += not is_number(raw.study)
        self._with_entities += bool(raw.graph)
        if not raw.patient:
            self._patient_unknown.append(study_id)
        views, source = self._views(raw, study_id)
        self.studies[study_id] = {
            "study_id": study_id,
            "subject_id": patient_of(raw.patient)
            if raw.patient
            else own_patient_of(study_id),
            "source_id": raw.study,
            "file": raw.file,
            "line": raw.line,
            "taken_at": self._taken_at(raw, study_id),
            "sequence": self._sequence(raw, study_id),
            "view_information": views,
            "view_source": source,
            "report": text,
        }

    def _views(self, raw: RawReport, study_id: str) -> tuple[str, str]:
        """Codes of projections count as metadata; without a code that is known, words for them may help."""
        said = raw.views.lower()
        coded, unknown = coded_views(said, "")
        if coded and not unknown:
            return written(coded), "metadata"
        in_words = coded | named_views(said)
        named = study_views(raw.procedure)
        if named and not in_words - {"lateral"}:  # "Frontal" leaves open what "PA" says
            return written(in_words | named), "procedure text"
        if in_words:
            return written(in_words | study_views(said)), "metadata"
        if said and set(re.findall(r"[a-z]+", said)) - {"frontal"}:
            self._note("view-ignored", raw, study_id, "view", said)
        return "", "unknown"

    def _taken_at(self, raw: RawReport, study_id: str) -> str:
        if not raw.taken_at:
            return ""
        found = _DATE.fullmatch(raw.taken_at)
        digits = "".join(group or "00" for group in found.groups()) if found else ""
        try:
            datetime.strptime(digits, "%Y%m%d%H%M%S")
            return digits
        except ValueError:
            self._note("study-date-ignored", raw, study_id, "study_date", raw.taken_at)
            return ""

    def _sequence(self, raw: RawReport, study_id: str) -> int:
        """The delivered place in the patient's time line; 0 without one that can be read."""
        if not raw.sequence:
            return 0
        number = whole_number(raw.sequence)
        if not number:
            self._note("study-order-ignored", raw, study_id, "sequence", raw.sequence)
        return number or 0

    def learn(self, metadata: Mapping[str, StudyMetadata]) -> None:
        """Take views and times from the metadata, and patients that the delivery does not name; note once
        what concerns many records, with their count.
        """
        for study_id in self.studies.keys() & metadata.keys():
            known, row = metadata[study_id], self.studies[study_id]
            row["taken_at"] = known.taken_at or row["taken_at"]
            if known.views[0]:
                row["view_information"], row["view_source"] = known.views
        unknown = 0
        for study_id in self._patient_unknown:
            if study_id in metadata and metadata[study_id].patient:
                self.studies[study_id]["subject_id"] = patient_of(
                    metadata[study_id].patient
                )
            else:
                unknown += 1
        counts = {"id-numbered": self._numbered, "patient-unknown": unknown}
        for reason, count in {
            **counts,
            "entities-delivered": self._with_entities,
        }.items():
            if count:
                self._log.note(reason, self._file, found=f"{count} reports")

    def _note(
        self, reason: str, raw: RawReport, study_id: str, column: str, found: str = ""
    ) -> None:
        self._log.note(
            reason,
            raw.file,
            line=raw.line,
            study_id=study_id,
            column=column,
            found=found,
        )

    def _reject(
        self, reason: str, raw: RawReport, study_id: str, column: str, text: str
    ) -> None:
        content = _content(raw, text)
        self._log.reject(
            reason,
            raw.file,
            raw.line,
            column=column,
            study_id=study_id,
            content=content,
        )


def _shown(raw: RawReport) -> str:
    """The beginning of its bytes as text that can be stored."""
    return (
        raw.content[:_KEPT].decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    )


def _content(raw: RawReport, text: str) -> str:
    return json.dumps(
        {"study_id": raw.study, "report": text[:_KEPT]}, ensure_ascii=False
    )
