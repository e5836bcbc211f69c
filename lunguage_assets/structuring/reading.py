"""From received reports to the tables that every structurer reads: sentences, and views where the text has
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.structuring.contract import SectionedReport, Sentence, Span
from lunguage_assets.structuring.text.read import sectioned
from lunguage_assets.tables import READING_NOTES, REJECTED_REPORTS, REPORT_SENTENCES, REPORT_TEXTS

IN_TEXT = "report text"
"""`view_source` of views that a report's own text names."""


@dataclass(frozen=True)
class ReportsRead:
    """Reports of a batch: `tables.REPORT_TEXTS`, `REPORT_SENTENCES`, `REJECTED_REPORTS`, `READING_NOTES`."""

    report_texts: pd.DataFrame
    report_sentences: pd.DataFrame
    rejected_reports: pd.DataFrame
    reading_notes: pd.DataFrame

    @classmethod
    def none(cls) -> ReportsRead:
        """Of a batch that was delivered as findings."""
        return cls(
            REPORT_TEXTS.frame(), REPORT_SENTENCES.frame(), REJECTED_REPORTS.frame(), READING_NOTES.frame()
        )


def read_reports(received: Received) -> ReportsRead:
    """Cut every report into sentences, and note what is odd about it.

    Views that the text names stand in where neither metadata nor the delivery know any.
    """
    log = IntakeLog.of(received.rejected, received.intake_notes)
    texts = received.report_texts
    views, sources = texts["view_information"].tolist(), texts["view_source"].tolist()
    columns: dict[str, list[object]] = {name: [] for name in REPORT_SENTENCES.names}
    named = texts[["study_id", "report", "file", "line"]].itertuples(index=False)
    for place, (study_id, report, file, line) in enumerate(named):
        found = sectioned(study_id, report)
        if not views[place] and found.views:
            views[place], sources[place] = found.views, IN_TEXT
        for reason in found.notes:
            log.note(reason, file, line=int(line), study_id=study_id)
        for sentence in found.sentences:
            where, span = (sentence.section, sentence.number, sentence.heading), sentence.span
            values = (study_id, *where, span.begin, span.end, sentence.text)
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    texts = texts.assign(
        view_information=pd.array(views, dtype="str"), view_source=pd.array(sources, dtype="str")
    )
    return ReportsRead(texts, REPORT_SENTENCES.frame(columns), log.rejected_frame(), log.notes_frame())


def sectioned_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame
) -> Iterator[SectionedReport]:
    """Reports as structurers get them, back from the tables, in the order of `report_texts`.

    Notes are not among the tables' columns: they are in `reading_notes`.
    """
    sentences: dict[str, list[Sentence]] = {}
    columns = (report_sentences[name].tolist() for name in REPORT_SENTENCES.names)
    for study_id, section, number, heading, begin, end, text in zip(*columns, strict=True):
        sentences.setdefault(study_id, []).append(Sentence(section, number, Span(begin, end), text, heading))
    named = (report_texts[name].tolist() for name in ("study_id", "report", "view_information"))
    for study_id, report, views in zip(*named, strict=True):
        own = sorted(sentences.get(study_id, ()), key=lambda sentence: sentence.span.begin)
        yield SectionedReport(study_id, report, tuple(own), views)
