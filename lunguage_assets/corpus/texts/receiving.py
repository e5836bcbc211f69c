"""From raw reports to the table `report_texts`.

Ids, encodings, markup, duplicates, views and times are settled here (implicit.md
section 1). Every record of the delivery is a row of `report_texts` or of `rejected`;
what was corrected or merely noticed is in `intake_notes`. No record raises.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.columns import first_said, mapped, whole_number
from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.raw import (
    DecodedReport,
    decoded,
    own_patient_of,
    patient_of,
    study_of,
)
from lunguage_assets.corpus.views import named_views, study_views, written
from lunguage_assets.tables.corpus import REPORT_TEXTS

OTHER_LANGUAGE = "report-other-language"
"""Why a report that the offline rules do not read is rejected."""
_MOST_KEPT = 20_000
"""Bytes of a rejected text that `rejected` keeps; the delivery has the rest."""
_IGNORED = {
    "views": ("view_information", "view-ignored"),
    "taken_at": ("taken_at", "study-date-ignored"),
    "sequence": ("sequence", "study-order-ignored"),
}
"""What is made of a column, and the note where nobody understands what it says."""


class Received(NamedTuple):
    """Raw reports of a batch.

    They are `tables.REPORT_TEXTS`, `REJECTED`, `INTAKE_NOTES` and `TERMS`.
    """

    report_texts: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


class ReportViews(NamedTuple):
    """The views of a study in the written form, and their source."""

    codes: str
    source: str


def receive(delivery: Delivery) -> Received:
    """Read the raw reports of a delivery of kind `text`, sorted by study id.

    A study's views are those of the metadata, else of the delivery's own columns;
    where neither says anything, `view_source` is `unknown` (`default_view` is applied
    by `take_in_structured`). Its patient is that of the delivery, else of the metadata,
    else its own.

    Raises:
        InputError: a file is unusable as a whole.
    """
    log = IntakeLog()
    terms = read_terms(delivery.vocabulary, log)
    reports = delivery.raw_reports()
    texts = map(decoded, reports["content"])
    decodings = pd.DataFrame(texts, columns=DecodedReport._fields, dtype=object)
    reports = reports.join(decodings).assign(
        study_id=mapped(reports["study"], study_of),
        refusal=first_said(reports["reason"], decodings["refusal"]),
    )
    # Of two reports of a study the first stays. A record that is refused for itself
    # takes no study's place.
    is_repeated = reports.duplicated(["study_id", "refusal"]) & (
        reports["refusal"] == ""
    )
    reports.loc[is_repeated, "refusal"] = "report-repeated: report"
    is_good = reports["refusal"] == ""
    refused = reports[~is_good]
    causes = refused["refusal"].str.extract("(?P<reason>[^:]*)(?:: (?P<column>.*))?")
    contents = map(_content, refused["study"], refused["content"])
    log.reject(
        refused[["file", "line", "study_id"]].join(causes), content=list(contents)
    )
    report_texts = _rows(reports[is_good], log).sort_values("study_id")
    return Received(
        REPORT_TEXTS.frame(report_texts),
        log.rejected_frame(),
        log.notes_frame(),
        terms,
    )


def _rows(reports: pd.DataFrame, log: IntakeLog) -> pd.DataFrame:
    """Make rows of `report_texts`, and note what was corrected or not understood."""
    unknown = reports[reports["patient"] == ""]
    # Once for all of them.
    log.note(
        "patient-unknown", unknown[["file"]].head(1), found=f"{len(unknown)} reports"
    )
    views = pd.DataFrame(
        map(views_of, reports["views"], reports["procedure"]),
        reports.index,
        ReportViews._fields,
    )
    # Of an unknown patient a study is the only one.
    patients = mapped(reports["patient"], patient_of)
    rows = reports.assign(
        subject_id=first_said(patients, reports["study_id"].map(own_patient_of)),
        source_id=reports["study"],
        taken_at=mapped(reports["taken_at"], _taken_at),
        sequence=mapped(reports["sequence"], lambda rank: whole_number(rank) or 0),
        view_information=first_said(reports["view_information"], views["codes"]),
        view_source=first_said(reports["view_source"], views["source"]),
    )
    noted = reports[reports["note"] != ""]
    log.note("encoding-guessed", noted, column="report")
    for column, (target, reason) in _IGNORED.items():
        is_ignored = (reports[column] != "") & ~rows[target].astype(bool)
        ignored = reports[is_ignored]
        log.note(reason, ignored, column=column, found=ignored[column])
    return rows


def without_other_languages(received: Received, note: str) -> Received:
    """Reject the reports in which no English sentence was found.

    Rules that read English words alone would take the opposite from such a report.

    Args:
        received: reports as they were cut into sentences, with notes.
        note: the reason of the notes that name such reports.
    """
    texts = received.report_texts
    notes = received.intake_notes
    foreign_studies = notes.loc[notes["reason"] == note, "study_id"]
    is_foreign = texts["study_id"].isin(foreign_studies)
    log = IntakeLog(received.rejected)
    foreign = texts[is_foreign]
    contents = map(_content, foreign["source_id"], foreign["report"].map(str.encode))
    log.reject(foreign, reason=OTHER_LANGUAGE, column="report", content=list(contents))
    return received._replace(
        report_texts=texts[~is_foreign].reset_index(drop=True),
        rejected=log.rejected_frame(),
    )


@cache
def views_of(views: str, procedure: str) -> ReportViews:
    """Read the views of a study.

    Args:
        views: as delivered, in words or codes of projections.
        procedure: name of the examination as delivered.
    """
    named = named_views(views)
    in_procedure = study_views(procedure)
    # "Frontal" leaves open what "PA" of the procedure says.
    is_open = not named or (named == {"lateral"} and "frontal" in views.lower())
    if in_procedure and is_open:
        return ReportViews(written(named | in_procedure), "procedure text")
    codes = written(named | study_views(views))
    return ReportViews(codes, "metadata" if codes else "unknown")


def _taken_at(delivered: str) -> str:
    """Write date and time as 14 digits; empty without one that can be read."""
    # A time that is not said is midnight.
    with suppress(ValueError):
        return f"{datetime.fromisoformat(delivered):%Y%m%d%H%M%S}"
    return ""


def _content(study: str, report: bytes) -> str:
    """Write a rejected report as `rejected` keeps it, with its id as delivered."""
    # Bytes that are no report are shown as far as they can be stored.
    text = report[:_MOST_KEPT].decode("utf-8", "backslashreplace")
    return json.dumps({"study_id": study, "report": text}, ensure_ascii=False)
