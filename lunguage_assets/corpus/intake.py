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

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.findings import findings_table, with_sequences
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.lunguage import in_report_order, read_findings, referred
from lunguage_assets.corpus.references import REFERENCES
from lunguage_assets.corpus.side_files import read_metadata, read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.views import named_views, written
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import REPORTS
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS


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
    """
    log = IntakeLog()
    terms = read_terms(delivery.vocabulary, log)
    (path,) = delivery.source.paths
    rows, studies = read_findings(path, Vocabulary(terms), log)
    metadata = read_metadata(delivery.metadata, studies["study_id"], log)
    return _intake(studies.join(metadata), rows, terms, settings, log)


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
        KeyError: a row belongs to a study without a report.
    """
    studies = received.report_texts.sort_values("study_id", ignore_index=True)
    log = IntakeLog(received.rejected, received.intake_notes)
    rows = in_report_order(structured_findings)
    number = rows.groupby("study_id", sort=False).cumcount() + 1
    ids = list(map(row_of_a_study, rows["study_id"].tolist(), number))
    references = {column: referred(rows, column, ids) for column in REFERENCES}
    rows = rows.assign(
        # Where notes on them say that they are from.
        file=STRUCTURED_FINDINGS.name,
        line=rows.index + 1,
        row=number,
        finding_id=ids,
        **references,
    )
    delivered = _count(received.rejected, studies) + _count(rows, studies)
    studies = studies.assign(rows_delivered=delivered)
    return _intake(studies, rows, received.terms, settings, log)


def row_of_a_study(study_id: str, number: int) -> str:
    """Make the id of a raw report's row by its number in the study: `s50000295:0012`.

    Of two rows that are equally strong, the order of their ids decides. Zeros in front
    keep it the order of their numbers: `:0002` comes before `:0010`.
    """
    return f"{study_id}:{number:04d}"


def _intake(
    studies: pd.DataFrame,
    rows: pd.DataFrame,
    terms: pd.DataFrame,
    settings: CorpusSettings,
    log: IntakeLog,
) -> Intake:
    """Make the tables of a batch, in which every row of a study is accounted for.

    Args:
        studies: all of them, also those without rows, with their `rows_delivered`.
        rows: that can be used.
        terms: the delivered vocabulary.
        settings: as of `take_in`.
        log: what was rejected and noted.
    """
    studies = with_sequences(studies)
    is_unknown = studies["view_information"] == ""
    default = written(named_views(settings.default_view))
    source = "default_view" if default else "unknown"
    studies.loc[is_unknown, ["view_information", "view_source"]] = [default, source]
    findings = findings_table(rows, studies, Vocabulary(terms), log)
    rejected = log.rejected_frame()
    # What was delivered was counted where it was read: that it is a finding or was
    # rejected is for the accounts to say.
    reports = studies.assign(rows_rejected=_count(rejected, studies))
    reports = reports.sort_values("study_id")
    return Intake(REPORTS.frame(reports), findings, rejected, log.notes_frame(), terms)


def _count(rows: pd.DataFrame, studies: pd.DataFrame) -> pd.Series:
    """Count the rows of each study."""
    return studies["study_id"].map(Counter(rows["study_id"].tolist()))
