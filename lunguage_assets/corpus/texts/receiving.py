"""From raw reports to the table `report_texts`.

Ids, encodings, markup, duplicates, views and times are settled here (implicit.md
section 1). Every record of the delivery is a row of `report_texts`, a row of
`rejected`, or, when it repeats a report word by word, a note; what was corrected or
merely noticed is in `intake_notes`. No record raises.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.columns import first_said, mapped, whole_number
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_metadata, read_terms
from lunguage_assets.corpus.texts.raw import (
    LARGEST,
    DecodedReport,
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
    delivered = _decoded_reports(delivery.raw_reports())
    # Of two reports of a study the first stays.
    # A record that is refused for itself takes no study's place.
    good = delivered[delivered["refusal"] == ""]
    first = good.drop_duplicates("study_id")
    first_text = first.set_index("study_id")["report"]
    again = good.drop(first.index)
    is_other = again["report"] != again["study_id"].map(first_text)
    delivered.loc[again.index[is_other], "refusal"] = "report-repeated: report"
    for row in delivered[delivered["refusal"] != ""].itertuples():
        _reject(log, row)
    log.note_rows("same-report-again", again[~is_other], "report")
    rows = _rows(first, log)
    rows = _completed(rows, delivery, log)
    texts = rows.sort_values("study_id").to_dict("list")
    return Received(
        REPORT_TEXTS.frame(texts), log.rejected_frame(), log.notes_frame(), terms
    )


def _decoded_reports(reports: pd.DataFrame) -> pd.DataFrame:
    """Give raw reports their ids, their text, and why they are refused."""
    decodings = [_decoded(content) for content in reports["content"]]
    study_ids = mapped(reports["study"], lambda study: study_of(study) if study else "")
    reasons = zip(reports["broken"].tolist(), study_ids, decodings, strict=True)
    refusals = [
        broken or ("" if study else "study-id-missing: study_id") or refusal
        for broken, study, (_, refusal) in reasons
    ]
    return reports.assign(
        study_id=study_ids,
        report=[decoding.text for decoding, _ in decodings],
        decoding_notes=pd.Series(
            [decoding.notes for decoding, _ in decodings], reports.index, dtype=object
        ),
        refusal=refusals,
    )


def _decoded(content: bytes) -> tuple[DecodedReport, str]:
    """Decode a text, and say what is wrong with it; whatever fails costs one record."""
    nothing = DecodedReport("")
    if len(content) > LARGEST:
        return nothing, "report-too-large: report"
    try:
        decoding = decoded(content)
    except MemoryError:
        raise
    # Only the kind of the failure is kept: its words may be those of the record.
    except Exception as failure:
        return nothing, f"unexpected: {type(failure).__name__}"
    if not decoding.is_text:
        return nothing, "report-not-text: report"
    if not any(map(str.isalnum, decoding.text)):
        return decoding, "report-empty: report"
    return decoding, ""


def _reject(log: IntakeLog, row: Any) -> None:
    """Reject a record, with its id as delivered and the beginning of its text."""
    reason, _, column = row.refusal.partition(": ")
    text = row.report[:_MOST_KEPT]
    if reason != "report-repeated":
        # Bytes that are no report are shown as far as they can be stored.
        beginning = row.content[:_MOST_KEPT].decode("utf-8", "backslashreplace")
        text = beginning.replace("\0", "\\x00")
    found = column if reason == "unexpected" else ""
    log.reject(
        reason,
        row.file,
        row.line,
        study_id=row.study_id,
        column="" if found else column,
        found=found,
        content=_content(row.study, text),
    )


def _rows(reports: pd.DataFrame, log: IntakeLog) -> pd.DataFrame:
    """Make rows of `report_texts`, and note what was corrected or not understood."""
    views = [
        views_of(*values)
        for values in zip(reports["views"], reports["procedure"], strict=True)
    ]
    sequence = mapped(reports["sequence"], lambda value: whole_number(value) or 0)
    taken_at = mapped(reports["taken_at"], _taken_at)
    rows = pd.DataFrame(
        {
            "study_id": reports["study_id"],
            # As delivered; the metadata may say more.
            "subject_id": reports["patient"],
            "source_id": reports["study"],
            "file": reports["file"],
            "line": reports["line"],
            "taken_at": taken_at,
            "sequence": sequence,
            "view_information": [view.codes for view in views],
            "view_source": [view.source for view in views],
            "report": reports["report"],
        }
    )
    found = reports.assign(views=reports["views"].str.lower())
    row: Any
    for row in found[reports["decoding_notes"].map(len) > 0].itertuples():
        for reason in row.decoding_notes:
            cells = {"study_id": row.study_id, "column": "report"}
            log.note(reason, row.file, line=row.line, **cells)
    for noted, rows_noted in found[reports["noted"] != ""].groupby("noted"):
        reason, _, key = str(noted).partition(": ")
        log.note_rows(reason, rows_noted, key)
    are_unknown = [view.are_unknown for view in views]
    log.note_rows("view-ignored", found[are_unknown], "view", "views")
    is_unread = (reports["taken_at"] != "") & (taken_at == "")
    log.note_rows("study-date-ignored", found[is_unread], "study_date", "taken_at")
    is_unread = (reports["sequence"] != "") & (sequence == 0)
    log.note_rows("study-order-ignored", found[is_unread], "sequence", "sequence")
    return rows


def _completed(rows: pd.DataFrame, delivery: Delivery, log: IntakeLog) -> pd.DataFrame:
    """Take from the metadata what the delivery does not say.

    These are views, times and patients. What concerns many records is noted once, with
    their count.
    """
    if delivery.metadata is not None:
        metadata = read_metadata(delivery.metadata, set(rows["study_id"]), log)
        without = int((~rows["study_id"].isin(metadata.index)).sum())
        if without:
            count = f"{without} reports"
            log.note("metadata-without-study", delivery.metadata.name, found=count)
        known = metadata.reindex(rows["study_id"], fill_value="").set_index(rows.index)
        has_views = known["view_information"] != ""
        rows = rows.assign(
            taken_at=first_said(known["taken_at"], rows["taken_at"]),
            view_information=first_said(
                known["view_information"], rows["view_information"]
            ),
            view_source=known["view_source"].where(has_views, rows["view_source"]),
            subject_id=first_said(rows["subject_id"], known["patient"]),
        )
    is_unknown = rows["subject_id"] == ""
    counts = {
        "id-numbered": sum(not is_number(study) for study in rows["source_id"]),
        "patient-unknown": int(is_unknown.sum()),
    }
    for reason, reports in counts.items():
        if reports:
            log.note(reason, rows["file"].iloc[0], found=f"{reports} reports")
    patients = mapped(rows["subject_id"], lambda name: patient_of(name) if name else "")
    own_patients = rows["study_id"].map(own_patient_of)
    return rows.assign(subject_id=first_said(patients, own_patients))


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
    row: Any
    for row in texts[is_foreign].itertuples():
        cells = {"study_id": row.study_id, "column": "report"}
        content = _content(row.source_id, row.report)
        log.reject(OTHER_LANGUAGE, row.file, row.line, **cells, content=content)
    return Received(
        texts[~is_foreign].reset_index(drop=True),
        log.rejected_frame(),
        log.notes_frame(),
        received.terms,
    )


@cache
def views_of(views: str, procedure: str) -> ReportViews:
    """Read the views of a study.

    Codes of projections count as metadata; without a code that is known, words for them
    may help.

    Args:
        views: as delivered.
        procedure: name of the examination as delivered.
    """
    delivered = views.lower()
    coded, unknown = coded_views(delivered, "")
    if coded and not unknown:
        return ReportViews(written(coded), "metadata")
    in_words = coded | named_views(delivered)
    in_procedure = study_views(procedure)
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


def _content(study: str, text: str) -> str:
    """Write a rejected report as `rejected` keeps it, with its id as delivered."""
    kept = {"study_id": study, "report": text[:_MOST_KEPT]}
    return json.dumps(kept, ensure_ascii=False)
