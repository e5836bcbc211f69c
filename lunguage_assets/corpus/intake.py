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

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.columns import (
    clean,
    clean_list,
    first_alternative,
    first_said,
    mapped,
)
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.corpus.delivery import FINDINGS, Delivery
from lunguage_assets.corpus.findings import findings_table, with_sequences
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import (
    DeliveredFindings,
    in_report_order,
    read_findings,
)
from lunguage_assets.corpus.side_files import read_metadata, read_reports, read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import parse_default_view
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError, InvalidTable
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import ATTRIBUTES, REPORTS
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS

_STRUCTURED = STRUCTURED_FINDINGS.name
"""Where notes on structured rows say that they are from."""
_CLEANED_LISTS = ("ent", "normed_ent", "location", *ATTRIBUTES)
"""Columns of structured rows that are cleaned as the cells of a file are."""


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


class FilesRead(NamedTuple):
    """What the files of a delivery of findings hold, before names are computed.

    `studies` have `view_information`, `view_source` and `taken_at`, too.
    """

    findings: DeliveredFindings
    studies: pd.DataFrame
    terms: pd.DataFrame


def read_files(delivery: Delivery, log: IntakeLog) -> FilesRead:
    """Read every file of a delivery, before names and sentences are computed.

    Args:
        delivery: of kind `findings`.
        log: takes rejections and notes.

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
    findings = read_findings(delivery.findings, Vocabulary.from_terms(terms), log)
    studies = findings.studies
    ids = set(studies["study_id"])
    metadata = read_metadata(delivery.metadata, ids, log)
    texts = studies["study_id"].map(read_reports(delivery.reports, ids, log))
    of_studies = (
        metadata.reindex(studies["study_id"]).fillna("").set_index(studies.index)
    )
    studies = studies.join(of_studies.drop(columns="patient")).assign(
        # What the findings file itself says goes before what lies beside it.
        report=first_said(studies["report"], texts.fillna("")),
        file=delivery.main_file,
    )
    return FilesRead(findings, studies, terms)


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
    (rows, refused, _), studies, terms = read_files(delivery, log)
    studies = with_sequences(studies, log)
    studies = _with_default_view(studies, settings)
    # Without metadata one note stands for all studies.
    if delivery.metadata is not None:
        _note_default_views(studies, log)
    log.note_rows("report-missing", studies[studies["report"] == ""], "report")
    rows = rows.assign(file=delivery.main_file)
    vocabulary = Vocabulary.from_terms(terms)
    findings = findings_table(rows, studies, refused, vocabulary, log)
    return _intake(studies, findings, log, terms)


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

    Raises:
        InvalidTable: a row belongs to a study without a report.
        ConfigurationError: `default_view` names an unknown view.
    """
    studies = received.report_texts.sort_values("study_id", ignore_index=True)
    # A row without its report could be explained to nobody.
    without_report = set(structured_findings["study_id"]) - set(studies["study_id"])
    if without_report:
        raise InvalidTable(
            f"{_STRUCTURED}: {len(without_report)} studies without a report; "
            "expected those of report_texts only"
        )
    log = IntakeLog.of(received.rejected, received.intake_notes)
    rows = _delivered_rows(structured_findings, log)
    refused = received.rejected["study_id"].value_counts()
    usable = rows["study_id"].value_counts()
    delivered = pd.concat([refused, usable]).groupby(level=0).sum()
    studies = studies.assign(
        file=_STRUCTURED,
        first_line=studies.index,
        rows_delivered=studies["study_id"].map(delivered).fillna(0).astype("int64"),
    )
    studies = with_sequences(studies, log)
    studies = _with_default_view(studies, settings)
    _note_default_views(studies.drop(columns="line"), log)
    vocabulary = Vocabulary.from_terms(received.terms)
    findings = findings_table(rows, studies, rows.head(0), vocabulary, log)
    return _intake(studies, findings, log, received.terms)


def row_of_a_study(study_id: str, number: int) -> str:
    """Make the id of a raw report's row by its number in the study: `s50000295:0012`.

    Of two rows that are equally strong, the order of their ids decides. Zeros in front
    keep it the order of their numbers: `:0002` comes before `:0010`.
    """
    return f"{study_id}:{number:04d}"


def _intake(
    studies: pd.DataFrame, findings: pd.DataFrame, log: IntakeLog, terms: pd.DataFrame
) -> Intake:
    """Make the tables of a batch, in which every row of a study is accounted for."""
    # What was delivered and is no finding was rejected: the accounts balance.
    used = studies["study_id"].map(findings["study_id"].value_counts()).fillna(0)
    rejected = studies["rows_delivered"] - used.astype("int64")
    reports = studies.assign(rows_rejected=rejected).sort_values("study_id")
    return Intake(
        REPORTS.frame(reports.to_dict("list")),
        findings,
        log.rejected_frame(),
        log.notes_frame(),
        terms,
    )


def _with_default_view(studies: pd.DataFrame, settings: CorpusSettings) -> pd.DataFrame:
    """Give studies of unknown views the configured one, if there is one."""
    default = parse_default_view(settings.default_view)
    is_known = studies["view_information"] != ""
    source = "default_view" if default else "unknown"
    return studies.assign(
        view_information=studies["view_information"].where(is_known, default),
        view_source=studies["view_source"].where(is_known, source),
    )


def _note_default_views(studies: pd.DataFrame, log: IntakeLog) -> None:
    for source, reason in (
        ("default_view", "default-view"),
        ("unknown", "unknown-view"),
    ):
        log.note_rows(reason, studies[studies["view_source"] == source], "")


def _delivered_rows(structured_findings: pd.DataFrame, log: IntakeLog) -> pd.DataFrame:
    """Make rows as a file would have them, whose references are ids already.

    `line` is the number in the frame, `row` that in the study; both from 1.
    """
    rows = in_report_order(structured_findings)
    number = rows.groupby("study_id", sort=False).cumcount() + 1
    finding_ids = list(map(row_of_a_study, rows["study_id"], number))
    cleaned = {name: mapped(rows[name], clean_list) for name in _CLEANED_LISTS}
    cleaned["normed_ent"] = mapped(cleaned["normed_ent"], first_alternative)
    rows = rows.assign(
        **cleaned,
        file=_STRUCTURED,
        line=rows.index + 1,
        row=number,
        finding_id=finding_ids,
        sent=mapped(rows["sent"], clean),
    )
    keys = zip(rows["study_id"], rows["section"], rows["ent_idx"], strict=True)
    id_by_reference = {
        (study, f"{section}:{number}"): finding_id
        for (study, section, number), finding_id in zip(keys, finding_ids, strict=True)
    }
    for column in ("evidence", "associate"):
        referred = [
            [id_by_reference.get((study, name), "") for name in dict.fromkeys(names)]
            for study, names in zip(rows["study_id"], rows[column], strict=True)
        ]
        named = rows.assign(
            found=rows[column].map(lambda names: [*dict.fromkeys(names)])
        )
        named = named.assign(
            target=pd.Series(referred, rows.index, dtype=object)
        ).explode(["found", "target"])
        # A model may refer to a row that it did not write, or to the row itself.
        is_self = named["target"] == named["finding_id"]
        log.note_rows("self-reference", named[is_self], column, "found")
        is_dangling = named["target"] == ""
        log.note_rows("dangling-reference", named[is_dangling], column, "found")
        rows[column] = [
            [target for target in targets if target not in ("", own)]
            for targets, own in zip(referred, finding_ids, strict=True)
        ]
    return rows
