"""A second reader: a language model reads the sentences that the rules left open.

It gets these sentences and no others (method.md section 8). Where it reads one, its
rows stand in the place of those of the rules; where it does not, theirs stay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from lunguage_assets.structuring.contract import (
    Mention,
    SectionedReport,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.rows import (
    StructuredTables,
    is_unresolved,
    structured_reports,
)

SENTENCES = "second_reader_sentences"
CHANGED_ROWS = "second_reader_changed_rows"
"""What of its reading stands in metadata."""


class SecondReader:
    """The rules, and behind them a language model for what they did not understand.

    Args:
        rules: that read everything first.
        model: that reads what they leave unresolved.

    Attributes:
        sentences: how many the model was asked about.
        changed_rows: how many rows its reading removed, added or gave another status.
    """

    def __init__(self, rules: Structurer, model: Structurer) -> None:
        self.key = rules.key
        self.identity = f"{rules.identity}; second reader: {model.identity}"
        self.sentences = 0
        self.changed_rows = 0
        self._rules = rules
        self._model = model

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """Give one answer per report, in the reports' order.

        Raises:
            LunguageError: as of the model.
        """
        answers = self._rules.structure(reports)
        open_by_number: dict[int, set[int]] = {}
        for number, answer in enumerate(answers):
            positions = {it.sentence for it in answer.mentions if it.is_unresolved}
            if positions:
                open_by_number[number] = positions
                self.sentences += len(positions)
        second_answers = self._model.structure(
            [
                _with_these_alone(reports[number], positions)
                for number, positions in open_by_number.items()
            ]
        )
        for number, second in zip(open_by_number, second_answers, strict=True):
            merged = _merged(answers[number], second, open_by_number[number])
            self.changed_rows += _count_changes(answers[number], merged)
            answers[number] = merged
        return answers

    @property
    def metadata(self) -> dict[str, int]:
        """What was read again."""
        return {SENTENCES: self.sentences, CHANGED_ROWS: self.changed_rows}

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
        self.sentences = 0
        self.changed_rows = 0
        findings = structured.structured_findings
        is_open = findings["cues"].map(is_unresolved).astype(bool)
        studies = set(findings.loc[is_open, "study_id"])
        if not studies:
            return structured
        again = structured_reports(
            report_texts[report_texts["study_id"].isin(studies)],
            report_sentences[report_sentences["study_id"].isin(studies)],
            self,
        )
        return StructuredTables(
            _replaced(findings, again.structured_findings, studies),
            _replaced(structured.sentence_accounts, again.sentence_accounts, studies),
            # The rules refuse nothing.
            again.refused_values,
        )


def _replaced(
    rows: pd.DataFrame, again: pd.DataFrame, studies: Collection[str]
) -> pd.DataFrame:
    """Put the rows of some studies in the place of their former ones."""
    others = rows[~rows["study_id"].isin(studies)]
    together = pd.concat([others, again], ignore_index=True)
    return together.sort_values("study_id", kind="stable", ignore_index=True)


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
    taken = {it for it in positions if second.readings[it].account != "unreadable"}
    count = len(first.mentions)
    numbered = [
        *enumerate(first.mentions),
        *enumerate(second.mentions, start=count),
    ]
    kept = [(n, it) for n, it in numbered if (it.sentence in taken) == (n >= count)]
    kept.sort(key=lambda entry: entry[1].sentence)
    place_by_number = {number: place for place, (number, _) in enumerate(kept)}
    readings = list(first.readings)
    for position in taken:
        readings[position] = second.readings[position]
    mentions: list[Mention] = []
    for number, mention in kept:
        # References count from the first mention of their own reading.
        offset = count if number >= count else 0
        renumbered: dict[str, Any] = {}
        for column in ("evidence", "associate"):
            numbers = [reference + offset for reference in getattr(mention, column)]
            renumbered[column] = _places(numbers, place_by_number)
        mentions.append(replace(mention, **renumbered))
    refused = first.refused + second.refused
    return StructuredReport(first.study_id, tuple(readings), tuple(mentions), refused)


def _places(
    numbers: Sequence[int], place_by_number: Mapping[int, int]
) -> tuple[int, ...]:
    """Find where mentions stand now; some are gone."""
    return tuple(sorted(place_by_number[it] for it in numbers if it in place_by_number))


def _count_changes(first: StructuredReport, second: StructuredReport) -> int:
    """Count the rows that are gone, new, or of another status."""
    before = {mention.ent: mention.status for mention in first.mentions}
    after = {mention.ent: mention.status for mention in second.mentions}
    return sum(before.get(ent) != after.get(ent) for ent in before.keys() | after)
