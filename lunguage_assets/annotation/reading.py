"""From texts to findings: sections, sentences and the offline structurer, in memory.

The steps `reading`, `structuring` and `intake` of a run, on reports that no file holds; what becomes of the
findings is in `method.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from lunguage_assets.annotation.given import Given
from lunguage_assets.corpus.intake import Intake, take_in_structured
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.structuring.reading import ReportsRead, read_reports, sectioned_reports
from lunguage_assets.structuring.rows import StructuredTables, structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import INTAKE_NOTES, REJECTED, REPORT_TEXTS, TERMS

_structurer = lru_cache(maxsize=1)(RuleStructurer)


@dataclass(frozen=True)
class Read:
    """What was read in some texts: tables of a batch, in memory.

    Args:
        notes: reason codes of what was odd about a text, by study.
        read: texts with their views, and sentences.
        structured: rows of the offline structurer, and accounts of sentences.
        intake: findings that follow from these rows.
    """

    notes: Mapping[str, tuple[str, ...]]
    read: ReportsRead
    structured: StructuredTables
    intake: Intake


def read_texts(given: Mapping[str, Given]) -> Read:
    """Read reports by study id ("s" and digits)."""
    terms = TERMS.frame()
    texts = REPORT_TEXTS.frame([_row(study, one) for study, one in given.items()])
    read = read_reports(Received(texts, REJECTED.frame(), INTAKE_NOTES.frame(), terms))
    reports = list(sectioned_reports(read.report_texts, read.report_sentences))
    structured = structured_tables(reports, _structurer().structure(reports))
    intake = take_in_structured(
        Received(read.report_texts, read.rejected_reports, read.reading_notes, terms),
        structured.structured_findings,
        CorpusSettings(),
    )
    return Read(_notes(given, read.reading_notes), read, structured, intake)


def _row(study: str, given: Given) -> dict[str, object]:
    return {
        "study_id": study,
        "subject_id": "p" + study[1:],
        "source_id": given.name,
        "file": "",
        "line": 1,
        "taken_at": "",
        "view_information": given.views,
        "view_source": "metadata" if given.views else "unknown",
        "report": given.text,
    }


def _notes(given: Mapping[str, Given], noted: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    found: dict[str, Sequence[str]] = {study: one.notes for study, one in given.items()}
    for study, reason in zip(noted["study_id"].tolist(), noted["reason"].tolist(), strict=True):
        found[study] = (*found[study], reason)
    return {study: tuple(dict.fromkeys(reasons)) for study, reasons in found.items()}
