"""A second reader: a language model reads the sentences that the rules left open.

It gets these sentences and no others (method.md section 8). Where it reads one, its
rows stand in the place of those of the rules; where it does not, theirs stay.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

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

_Origin = tuple[int, int]
"""Of a mention: whose answer it stands in, 0 or 1, and where."""


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
    mentions = [
        (mention, (reader, index))
        for reader, answer in enumerate((first, second))
        for index, mention in enumerate(answer.mentions)
        if (mention.sentence in taken) == bool(reader)
    ]
    mentions.sort(key=lambda entry: (entry[0].sentence, entry[1]))
    index_by_origin = {origin: index for index, (_, origin) in enumerate(mentions)}
    readings = list(first.readings)
    for position in taken:
        readings[position] = second.readings[position]
    return replace(
        first,
        readings=tuple(readings),
        mentions=tuple(
            _renumbered(mention, origin[0], index_by_origin)
            for mention, origin in mentions
        ),
        refused=first.refused + second.refused,
    )


def _renumbered(
    mention: Mention, reader: int, index_by_origin: dict[_Origin, int]
) -> Mention:
    """Lead references to where the mentions stand now; some are gone.

    Args:
        mention: of one of the readings.
        reader: which one.
        index_by_origin: where each mention stands now.
    """

    def renumbered(references: Sequence[int]) -> tuple[int, ...]:
        origins = [(reader, reference) for reference in references]
        kept = [index_by_origin[it] for it in origins if it in index_by_origin]
        return tuple(sorted(kept))

    return replace(
        mention,
        evidence=renumbered(mention.evidence),
        associate=renumbered(mention.associate),
    )


def _count_changes(first: StructuredReport, second: StructuredReport) -> int:
    """Count the rows that are gone, new, or of another status."""
    before = {mention.ent: mention.status for mention in first.mentions}
    after = {mention.ent: mention.status for mention in second.mentions}
    return sum(before.get(ent) != after.get(ent) for ent in before.keys() | after)
