"""What of a language model's answer the report's text bears out (method.md section 8).

What is not borne out is refused with a reason, and the rest is kept: a refused value
leaves its finding, a refused finding takes its values with it. Everything here is a
function of the report and the answer. The form of an answer is in `claims.py`, how
quoted words are looked up in `quotes.py`, and how a model is asked in `structurer.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from lunguage_assets.structuring.contract import (
    Mention,
    RefusedValue,
    SectionedReport,
    SentenceReading,
    Span,
    StructuredReport,
)
from lunguage_assets.structuring.model.claims import (
    Answer,
    FindingClaim,
    SentenceClaim,
    plain_words,
)
from lunguage_assets.structuring.model.quotes import occurrences
from lunguage_assets.tables.columns import ATTRIBUTES

VERSION = 4
"""Of these rules.

It is a part of a structurer's identity, since they change what comes of an answer.
"""

# Unlike the other values a canonical name is no quotation (method.md section 8): only
# its form keeps a model from writing a sentence into it. No long number, which might be
# one of the patient, and no comma.
_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|\d{1,2}(?!\d)|[ '()/.-]){0,59}")
_LONGEST_NAME = 6
"""Words of a canonical name."""
_SHOWN_LENGTH = 80
"""Characters that are kept of a refused value."""
_SILENT = SentenceReading("nothing stated", "section")
_LEFT_OUT = "left out"
"""The reason of a sentence that a model forgot."""

_COLUMN_BY_NAME = {published: column for column, published in ATTRIBUTES.items()} | {
    column: column for column in ("location", *ATTRIBUTES)
}
"""Columns under their published and their internal names."""

Located = TypeVar("Located", FindingClaim, SentenceClaim)
"""A claim that names its sentence."""


class _Kept(NamedTuple):
    """A claim, and the mention that is believed of it."""

    claim: FindingClaim
    mention: Mention


def ground_answer(report: SectionedReport, answer: Answer) -> StructuredReport:
    """Keep of an answer what the report bears out."""
    grounding = _Grounding(report)
    # In this order: references need all findings, and accounts need to know which
    # sentences have some. Each of the three adds to what is refused.
    for entry in answer.findings:
        grounding.take_finding(entry)
    mentions = grounding.mentions()
    readings = grounding.readings(answer.sentences, mentions)
    refused = tuple(grounding.refused)
    return StructuredReport(report.study_id, readings, mentions, refused)


def unread_report(report: SectionedReport, reason: str) -> StructuredReport:
    """Answer about a report of which nothing that may be asked about could be read."""
    unread = SentenceReading("unreadable", reason)
    readings = [
        _SILENT if sentence.section == "other" else unread
        for sentence in report.sentences
    ]
    return StructuredReport(report.study_id, tuple(readings), ())


class _Grounding:
    """Goes through the claims of one answer.

    Attributes:
        kept: the findings that are, in the order of the answer.
        refused: the claims that are not borne out.
    """

    def __init__(self, report: SectionedReport) -> None:
        self.kept: list[_Kept] = []
        self.refused: list[RefusedValue] = []
        self._report = report
        self._position_by_name = {
            sentence.name: position
            for position, sentence in enumerate(report.sentences)
            if sentence.section != "other"
        }

    def take_finding(self, entry: Any) -> None:
        """Keep an entry of the answer's `findings`, or refuse it as a whole."""
        located = self._located(FindingClaim, entry, "")
        if located is None:
            return
        claim, position = located
        used_spans = [mention.ent for _, mention in self.kept]
        spans = self._spans_of(claim.words, position)
        if not spans:
            self._refuse("not-in-sentence", "ent", claim.words, position)
            return
        # Words that stand twice may be two findings: each takes a place of its own.
        ent = min(spans, key=lambda span: (span in used_spans, span))
        values = self._values(claim, position)
        location = values.pop("location", ())
        # "Effusion on the right and left" may be two findings of the same word.
        placed = [(mention.ent, mention.location) for _, mention in self.kept]
        if (ent, location) in placed:
            self._refuse("duplicate", "ent", claim.words, position)
            return
        # Where the claim can be no name, the finding has its own words as one.
        name = plain_words(claim.name)
        if not _NAME.fullmatch(name) or name.count(" ") >= _LONGEST_NAME:
            name = plain_words(ent.of(self._report.text))
        mention = Mention(
            sentence=position,
            ent=ent,
            normed_ent=name,
            cat=claim.category,
            status=claim.status,
            location=location,
            attributes=values,
        )
        self.kept.append(_Kept(claim, mention))

    def _located(
        self, form: type[Located], entry: Any, column: str
    ) -> tuple[Located, int] | None:
        """Read an entry, and find the position of the sentence that it is about."""
        try:
            claim = form.model_validate(entry)
        except ValidationError:
            self._refuse("not-an-entry", column, entry)
            return None
        name = "".join(claim.sentence.split()).casefold()
        if name not in self._position_by_name:
            self._refuse("no-such-sentence", column, claim.sentence)
            return None
        return claim, self._position_by_name[name]

    def _spans_of(self, words: str, position: int) -> list[Span]:
        """Find these words everywhere in a sentence, in the report's characters."""
        sentence = self._report.sentences[position]
        spans = occurrences(words, sentence.text)
        return [span.moved(sentence.span.begin) for span in spans]

    def _values(
        self, claim: FindingClaim, position: int
    ) -> dict[str, tuple[Span, ...]]:
        """Find claimed values in a sentence: column -> values, in the order claimed."""
        values: dict[str, tuple[Span, ...]] = {}
        for name, words in claim.values:
            column = _COLUMN_BY_NAME.get(plain_words(name))
            if column is None:
                self._refuse("no-such-column", "", name, position)
                continue
            spans = self._spans_of(words, position)
            if not spans:
                self._refuse("not-in-sentence", column, words, position)
                continue
            if spans[0] not in values.get(column, ()):
                values[column] = (*values.get(column, ()), spans[0])
        return values

    def mentions(self) -> tuple[Mention, ...]:
        """Give the kept findings in the order of the text, with their references.

        What is the evidence of a finding is associated with it (method.md section 5).
        """
        ordered = sorted(self.kept, key=lambda it: it.mention.ent)
        index_by_number = {it.claim.number: index for index, it in enumerate(ordered)}

        def referred(entry: _Kept, column: str) -> set[int]:
            indexes: set[int] = set()
            for number in getattr(entry.claim, column):
                # A refused finding has no index, and none is evidence of itself.
                if number in index_by_number and number != entry.claim.number:
                    indexes.add(index_by_number[number])
                else:
                    position = entry.mention.sentence
                    self._refuse("no-such-finding", column, number, position)
            return indexes

        evidence = [referred(entry, "evidence") for entry in ordered]
        associates = [referred(entry, "associate") for entry in ordered]
        for index, signs in enumerate(evidence):
            for sign in signs:
                associates[sign].add(index)
        return tuple(
            replace(
                mention,
                evidence=tuple(sorted(evidence[index])),
                associate=tuple(sorted(associates[index])),
            )
            for index, (_, mention) in enumerate(ordered)
        )

    def readings(
        self, entries: Sequence[Any], mentions: Sequence[Mention]
    ) -> tuple[SentenceReading, ...]:
        """Give account and reason of every sentence.

        Args:
            entries: of the answer's `sentences`.
            mentions: a sentence with findings has that account, whatever else the model
                says of it.
        """
        readings = list(unread_report(self._report, _LEFT_OUT).readings)
        for entry in entries:
            located = self._located(SentenceClaim, entry, "account")
            if located is not None:
                claim, position = located
                readings[position] = SentenceReading(claim.account, claim.reason)
        for mention in mentions:
            readings[mention.sentence] = SentenceReading("findings")
        for position, reading in enumerate(readings):
            if reading.reason == _LEFT_OUT:
                self._refuse("left-out", "account", "", position)
        return tuple(readings)

    def _refuse(
        self, reason: str, column: str, claimed: Any, position: int | None = None
    ) -> None:
        """List what is not believed.

        Args:
            reason: a short code.
            column: of the value, or empty.
            claimed: the value.
            position: of its sentence; None: it has none.
        """
        location: tuple[str, int] = ("", 0)
        if position is not None:
            sentence = self._report.sentences[position]
            location = (sentence.section, sentence.number)
        excerpt = str(claimed)[:_SHOWN_LENGTH]
        self.refused.append(RefusedValue(*location, column, excerpt, reason))
