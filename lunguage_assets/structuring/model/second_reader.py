"""A second reader: a language model reads the sentences that the rules left open.

It gets these sentences and no others (method.md section 8). Where it reads one, its
rows stand in the place of those of the rules; where it does not, theirs stay.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pandas as pd

from lunguage_assets.parallel import joined_tables
from lunguage_assets.structuring.contract import (
    UNANSWERED,
    SectionedReport,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.rows import StructuredTables, structured_reports

SENTENCES = "second_reader_sentences"
CHANGED_ROWS = "second_reader_changed_rows"
"""What of its reading stands in metadata."""


class SecondReader:
    """The rules, and behind them a language model for what they did not understand.

    Args:
        rules: that read everything first.
        model: that reads what they leave unresolved.

    Attributes:
        metadata: how many sentences the model was asked about last, and how many rows
            its reading removed, added or gave another status.
    """

    def __init__(self, rules: Structurer, model: Structurer) -> None:
        self.key = rules.key
        self.identity = f"{rules.identity}; second reader: {model.identity}"
        self.metadata = {SENTENCES: 0, CHANGED_ROWS: 0}
        self._rules = rules
        self._model = model

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """Give one answer per report, in the reports' order.

        Raises:
            LunguageError: as of the model.
        """
        answers = self._rules.structure(reports)
        open_sentences = [
            {mention.sentence for mention in answer.mentions if mention.is_unresolved}
            for answer in answers
        ]
        questions = map(_with_these_alone, reports, open_sentences)
        second_answers = self._model.structure(list(questions))
        merged = list(map(_merged, answers, second_answers, open_sentences))
        self.metadata = {
            SENTENCES: sum(map(len, open_sentences)),
            CHANGED_ROWS: sum(map(_count_changes, answers, merged)),
        }
        return merged

    def read_again(
        self,
        structured: StructuredTables,
        report_texts: pd.DataFrame,
        report_sentences: pd.DataFrame,
    ) -> StructuredTables:
        """Read the studies again in which the rules left a row open.

        Args:
            structured: what the rules read in all studies.
            report_texts: `tables.REPORT_TEXTS`.
            report_sentences: `tables.REPORT_SENTENCES` of the same reports.
        """
        findings = structured.structured_findings
        is_open = findings["cues"].str.contains(UNANSWERED, regex=False)
        studies = findings.loc[is_open, "study_id"].unique()
        again = structured_reports(
            report_texts[report_texts["study_id"].isin(studies)],
            report_sentences[report_sentences["study_id"].isin(studies)],
            self,
        )
        others = (rows[~rows["study_id"].isin(studies)] for rows in structured)
        together = joined_tables([StructuredTables(*others), again])
        ordered = (
            rows.sort_values("study_id", kind="stable", ignore_index=True)
            for rows in together
        )
        return StructuredTables(*ordered)


def _with_these_alone(
    report: SectionedReport, positions: Collection[int]
) -> SectionedReport:
    """Hide all sentences but these from a model: it is not asked about `other` ones."""
    sentences = [
        sentence if position in positions else replace(sentence, section="other")
        for position, sentence in enumerate(report.sentences)
    ]
    return replace(report, sentences=tuple(sentences))


def _merged(
    first: StructuredReport, second: StructuredReport, positions: Collection[int]
) -> StructuredReport:
    """Take a second reading of some sentences, where there is one.

    Args:
        first: the reading of all sentences.
        second: that of some.
        positions: of these.
    """
    readings = list(first.readings)
    for position in positions:
        if second.readings[position].account != "unreadable":
            readings[position] = second.readings[position]
    kept = [
        (mention, reader)
        for reader in (first, second)
        for mention in reader.mentions
        if readings[mention.sentence] is reader.readings[mention.sentence]
    ]
    kept.sort(key=lambda entry: entry[0].sentence)
    # Equal mentions of both readings are two.
    index_by_id = {id(mention): index for index, (mention, _) in enumerate(kept)}

    def led_to(references: Sequence[int], reader: StructuredReport) -> tuple[int, ...]:
        # Some of the mentions that were led to are gone.
        targets = [id(reader.mentions[number]) for number in references]
        return tuple(sorted(index_by_id[it] for it in targets if it in index_by_id))

    mentions = [
        replace(
            mention,
            evidence=led_to(mention.evidence, reader),
            associate=led_to(mention.associate, reader),
        )
        for mention, reader in kept
    ]
    refused = first.refused + second.refused
    return StructuredReport(first.study_id, tuple(readings), tuple(mentions), refused)


def _count_changes(first: StructuredReport, second: StructuredReport) -> int:
    """Count the rows that are gone, new, or of another status."""
    before = {(mention.ent, mention.status) for mention in first.mentions}
    after = {(mention.ent, mention.status) for mention in second.mentions}
    return len({ent for ent, _ in before ^ after})
