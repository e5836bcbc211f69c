"""What of a language model's answer the report's text bears out (method.md section 8).

What is not borne out is refused with a reason, and the rest is kept: a refused value
leaves its finding, a refused finding takes its values with it. Everything here is a
function of the report and the answer. The form of an answer is in `claims.py`, how
quoted words are looked up in `quotes.py`, and how a model is asked in `structurer.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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

_COLUMN_BY_NAME = {published: column for column, published in ATTRIBUTES.items()} | {
    column: column for column in ("location", *ATTRIBUTES)
}
"""Columns under their published and their internal names."""


class _Kept(NamedTuple):
    """A claim, and the mention that is believed of it."""

    claim: FindingClaim
    mention: Mention


def ground_answer(report: SectionedReport, answer: Answer) -> StructuredReport:
    """Keep of an answer what the report bears out."""
    grounding = _Grounding(report)
    for entry in answer.findings:
        grounding.take_finding(entry)
    # In this order: references need all findings, and accounts need to know which
    # sentences have some. Each of the three adds to what is refused.
    mentions = grounding.mentions()
    readings = grounding.readings(answer.sentences)
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
        refused: the claims that are not borne out.
    """

    def __init__(self, report: SectionedReport) -> None:
        self.refused: list[RefusedValue] = []
        self._report = report
        self._position_by_name = {
            sentence.name: position
            for position, sentence in enumerate(report.sentences)
            if sentence.section != "other"
        }
        self._kept: list[_Kept] = []

    # --- findings

    def take_finding(self, entry: Any) -> None:
        """Keep an entry of the answer's `findings`, or refuse it as a whole."""
        try:
            claim = FindingClaim.model_validate(entry)
        except ValidationError:
            self._refuse(None, "", entry, "not-an-entry")
            return
        position = self._position(claim.sentence)
        if position is None:
            self._refuse(None, "", claim.sentence, "no-such-sentence")
            return
        used_spans = {kept.mention.ent for kept in self._kept}
        # Words that stand twice may be two findings: each takes a place of its own.
        ent = min(
            self._spans_of(claim.words, position),
            key=lambda span: (span in used_spans, span),
            default=None,
        )
        if ent is None:
            self._refuse(position, "ent", claim.words, "not-in-sentence")
            return
        values = self._values(claim, position)
        location = values.pop("location", ())
        for _, mention in self._kept:
            # "Effusion on the right and left" may be two findings of the same word.
            if (mention.ent, mention.location) == (ent, location):
                self._refuse(position, "ent", claim.words, "duplicate")
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
        self._kept.append(_Kept(claim, mention))

    def _position(self, name: str) -> int | None:
        """Find the position of a sentence by the name that the question gave it."""
        return self._position_by_name.get("".join(name.split()).casefold())

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
        for value in claim.values:
            column = _COLUMN_BY_NAME.get(plain_words(value.column))
            if column is None:
                self._refuse(position, "", value.column, "no-such-column")
                continue
            spans = self._spans_of(value.words, position)
            if not spans:
                self._refuse(position, column, value.words, "not-in-sentence")
                continue
            if spans[0] not in values.get(column, ()):
                values[column] = (*values.get(column, ()), spans[0])
        return values

    # --- references

    def mentions(self) -> tuple[Mention, ...]:
        """Give the kept findings in the order of the text, with their references.

        What is the evidence of a finding is associated with it (method.md section 5).
        """
        ordered = sorted(self._kept, key=lambda kept: kept.mention.ent)
        # A refused finding has no index here: a reference to it is refused.
        index_by_number = {
            kept.claim.number: index for index, kept in enumerate(ordered)
        }
        evidence: list[set[int]] = []
        associate: list[set[int]] = []
        for kept in ordered:
            evidence.append(self._references(kept, "evidence", index_by_number))
            associate.append(self._references(kept, "associate", index_by_number))
        mentions: list[Mention] = []
        for index, signs in enumerate(evidence):
            supported = {
                cause for cause, of_it in enumerate(evidence) if index in of_it
            }
            links = tuple(sorted(associate[index] | supported))
            mention = ordered[index].mention
            mention = replace(mention, evidence=tuple(sorted(signs)), associate=links)
            mentions.append(mention)
        return tuple(mentions)

    def _references(
        self, kept: _Kept, column: str, index_by_number: Mapping[int, int]
    ) -> set[int]:
        """Find the findings that a claim refers to; refuse what is none.

        Args:
            kept: the claim, and its mention.
            column: `evidence` or `associate`.
            index_by_number: of the mention of every claim.
        """
        targets: set[int] = set()
        for number in getattr(kept.claim, column):
            # No finding is evidence of itself.
            if number == kept.claim.number or number not in index_by_number:
                position = kept.mention.sentence
                self._refuse(position, column, str(number), "no-such-finding")
            else:
                targets.add(index_by_number[number])
        return targets

    # --- sentences

    def readings(self, entries: Sequence[Any]) -> tuple[SentenceReading, ...]:
        """Give account and reason of every sentence.

        Args:
            entries: of the answer's `sentences`.
        """
        accounts: dict[int, SentenceReading] = {}
        for entry in entries:
            try:
                claim = SentenceClaim.model_validate(entry)
            except ValidationError:
                self._refuse(None, "account", entry, "not-an-entry")
                continue
            position = self._position(claim.sentence)
            if position is None:
                self._refuse(None, "account", claim.sentence, "no-such-sentence")
                continue
            accounts[position] = SentenceReading(claim.account, claim.reason)
        # A sentence with findings has that account, whatever else the model says of it.
        for kept in self._kept:
            accounts[kept.mention.sentence] = SentenceReading("findings")
        for position, sentence in enumerate(self._report.sentences):
            if sentence.section == "other":
                accounts[position] = _SILENT
            elif position not in accounts:
                accounts[position] = SentenceReading("unreadable", "left out")
                self._refuse(position, "account", "", "left-out")
        return tuple(accounts[position] for position in sorted(accounts))

    def _refuse(
        self, position: int | None, column: str, claimed: Any, reason: str
    ) -> None:
        """List what is not believed.

        Args:
            position: of its sentence; None: it has none.
            column: of the value, or empty.
            claimed: the value.
            reason: a short code.
        """
        section = ""
        number = 0
        if position is not None:
            section = self._report.sentences[position].section
            number = self._report.sentences[position].number
        if not isinstance(claimed, str):
            claimed = json.dumps(claimed, ensure_ascii=False)
        excerpt = claimed[:_SHOWN_LENGTH]
        self.refused.append(RefusedValue(section, number, column, excerpt, reason))
