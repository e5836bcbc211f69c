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
from dataclasses import dataclass, field, replace
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
    FindingClaim,
    SentenceClaim,
    one_line,
    plain_words,
)
from lunguage_assets.structuring.model.quotes import distance, nearest, occurrences
from lunguage_assets.tables.columns import ATTRIBUTES

VERSION = 3
"""Of these rules.

It is a part of a structurer's identity, since they change what comes of an answer.
"""

# Unlike the other values a canonical name is no quotation (method.md section 8): only
# its form keeps a model from writing a sentence into it.
_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|\d{1,2}(?!\d)|[ '()/.-]){0,59}")
"""What a canonical name may be; it is shown where report text is not.

No long number, which might be one of the patient, and no comma.
"""
_LONGEST_NAME = 6
"""Words of a canonical name."""
_MAX_POINTS = 40
"""Faults that the second question lists."""
_SHOWN_LENGTH = 80
"""Characters that are kept of a refused value."""

_SILENT = SentenceReading("nothing stated", "section")
_REASON_TEXTS = {
    "not-an-entry": "is no entry of the form above, or has a code that is none",
    "no-such-sentence": "its sentence does not exist",
    "not-in-sentence": "words that do not stand in its sentence",
    "not-a-name": "no name of a finding",
    "no-such-column": "a column that does not exist",
    "no-such-finding": "a number that no finding has, or one that cannot be used",
    "duplicate": "is there already",
    "left-out": "the sentence has neither a finding nor an account",
}
"""Reason codes, and how the second question words them."""

_COLUMN_BY_NAME = {published: column for column, published in ATTRIBUTES.items()} | {
    column: column for column in ("location", *ATTRIBUTES)
}
"""Columns under their published and their internal names."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """What is kept of an answer.

    Attributes:
        report: what is believed, and what is refused.
        line: the answer, on one line.
        refused_share: of its claims, what is refused or forgotten.
    """

    report: StructuredReport = field(repr=False)
    line: str = field(repr=False)
    refused_share: float

    @property
    def points(self) -> list[str]:
        """What is wrong, for the second question; never the claim itself."""
        points = dict.fromkeys(_point(value) for value in self.report.refused)
        return list(points)[:_MAX_POINTS]


def _point(value: RefusedValue) -> str:
    subject = "an entry of the sentences"
    if value.finding:
        subject = f"finding {value.finding}"
    elif value.section:
        subject = f"sentence {value.section}:{value.sentence}"
    if value.column:
        subject += f", {value.column}"
    return f"{subject}: {_REASON_TEXTS[value.reason]}"


def ground_answer(report: SectionedReport, answer: Mapping[str, Any]) -> Grounded:
    """Keep of an answer what the report bears out."""
    grounding = _Grounding(report)
    for number, entry in enumerate(answer["findings"], start=1):
        grounding.take_finding(entry, number)
    # In this order: references need all findings, and accounts need to know which
    # sentences have some. Each of the three adds to what is refused.
    mentions = grounding.mentions()
    readings = grounding.readings(answer["sentences"])
    refused = tuple(grounding.refused)
    refused_share = len(refused) / max(1, grounding.believed + len(refused))
    structured = StructuredReport(report.study_id, readings, mentions, refused)
    return Grounded(structured, one_line(answer), refused_share)


def unread_report(report: SectionedReport, reason: str) -> StructuredReport:
    """Answer about a report of which nothing that may be asked about could be read."""
    readings = [
        _SILENT
        if sentence.section == "other"
        else SentenceReading("unreadable", reason)
        for sentence in report.sentences
    ]
    return StructuredReport(report.study_id, tuple(readings), ())


class _Subject(NamedTuple):
    """What a claim is about.

    Attributes:
        finding: its number in the answer, or 0.
        position: of its sentence; None: it has none.
    """

    finding: int = 0
    position: int | None = None


class _Kept(NamedTuple):
    """A claim, and the mention that is believed of it."""

    claim: FindingClaim
    mention: Mention


def _are_alike(first: Mention, second: Mention) -> bool:
    same_words = first.ent == second.ent
    return same_words and {*first.location} == {*second.location}


class _Grounding:
    """Goes through the claims of one answer.

    Attributes:
        believed: how many claims are borne out.
        refused: the others.
    """

    def __init__(self, report: SectionedReport) -> None:
        self.believed = 0
        self.refused: list[RefusedValue] = []
        self._report = report
        self._position_by_name = {
            sentence.name: position
            for position, sentence in enumerate(report.sentences)
            if sentence.section != "other"
        }
        self._kept: list[_Kept] = []

    # --- findings

    def take_finding(self, entry: Any, number: int) -> None:
        """Keep a claimed finding, or refuse it as a whole.

        Args:
            entry: of the answer's `findings`.
            number: of the entry, for one that has none that can be read.
        """
        try:
            claim = FindingClaim.model_validate(entry)
        except ValidationError:
            self._refuse(_Subject(number), "", entry, "not-an-entry")
            return
        position = self._position(claim.sentence)
        subject = _Subject(claim.number, position)
        if position is None:
            self._refuse(subject, "", claim.sentence, "no-such-sentence")
            return
        ent = self._words_of(claim, position)
        if ent is None:
            self._refuse(subject, "ent", claim.words, "not-in-sentence")
            return
        values = self._values(claim, ent, position)
        mention = Mention(
            sentence=position,
            ent=ent,
            normed_ent=self._name(claim.name, ent),
            cat=claim.category,
            status=claim.status,
            location=values.pop("location", ()),
            attributes=values,
        )
        # "Effusion on the right and left" may be two findings of the same word. With
        # the same location they are one.
        if any(_are_alike(mention, kept.mention) for kept in self._kept):
            self._refuse(subject, "ent", claim.words, "duplicate")
            return
        self.believed += 1
        self._kept.append(_Kept(claim, mention))

    def _position(self, name: str) -> int | None:
        """Find the position of a sentence by the name that the question gave it."""
        return self._position_by_name.get("".join(name.split()).casefold())

    def _spans_of(self, words: str, position: int) -> list[Span]:
        """Find these words everywhere in a sentence, in the report's characters."""
        sentence = self._report.sentences[position]
        spans = occurrences(words, sentence.text)
        return [span.moved(sentence.span.begin) for span in spans]

    def _words_of(self, claim: FindingClaim, position: int) -> Span | None:
        """Find where the finding's words stand; None: they do not.

        Where they stand several times, the nearest to what is said of the finding is
        meant: of "opacity in the right base and opacity in the left apex" location
        "left apex" tells the second. Then one that is not taken yet, then the first.
        """
        described = [self._spans_of(value.words, position) for value in claim.values]
        spans_by_value = [spans for spans in described if spans]
        taken = {kept.mention.ent for kept in self._kept}

        def rank(ent: Span) -> tuple[int, bool, int]:
            distances = [distance(nearest(spans, ent), ent) for spans in spans_by_value]
            return sum(distances), ent in taken, ent.begin

        return min(self._spans_of(claim.words, position), key=rank, default=None)

    def _values(
        self, claim: FindingClaim, ent: Span, position: int
    ) -> dict[str, tuple[Span, ...]]:
        """Find claimed values in the sentence, where they stand nearest to the finding.

        Args:
            claim: of the finding.
            ent: the finding's words.
            position: of the sentence.

        Returns:
            Column -> values, in the order claimed.
        """
        subject = _Subject(claim.number, position)
        values: dict[str, tuple[Span, ...]] = {}
        for value in claim.values:
            column = _COLUMN_BY_NAME.get(plain_words(value.column))
            if column is None:
                self._refuse(subject, "", value.column, "no-such-column")
                continue
            spans = self._spans_of(value.words, position)
            if not spans:
                self._refuse(subject, column, value.words, "not-in-sentence")
                continue
            self.believed += 1
            span = nearest(spans, ent)
            if span not in values.get(column, ()):
                values[column] = (*values.get(column, ()), span)
        return values

    def _name(self, claimed: str, ent: Span) -> str:
        """Choose the canonical name; where it can be none, the finding's own words."""
        name = plain_words(claimed)
        if _NAME.fullmatch(name) and name.count(" ") < _LONGEST_NAME:
            return name
        return plain_words(ent.of(self._report.text))

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
        for index, signs in enumerate(evidence):
            for sign in signs:
                associate[sign].add(index)
        return tuple(
            replace(
                kept.mention,
                evidence=tuple(sorted(evidence[index])),
                associate=tuple(sorted(associate[index])),
            )
            for index, kept in enumerate(ordered)
        )

    def _references(
        self, kept: _Kept, column: str, index_by_number: Mapping[int, int]
    ) -> set[int]:
        """Find the findings that a claim refers to; refuse what is none.

        Args:
            kept: the claim, and its mention.
            column: `evidence` or `associate`.
            index_by_number: of the mention of every claim.
        """
        subject = _Subject(kept.claim.number, kept.mention.sentence)
        targets: set[int] = set()
        for number in getattr(kept.claim, column):
            # No finding is evidence of itself.
            if number == kept.claim.number or number not in index_by_number:
                self._refuse(subject, column, str(number), "no-such-finding")
            else:
                self.believed += 1
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
                self._refuse(_Subject(), "account", entry, "not-an-entry")
                continue
            position = self._position(claim.sentence)
            if position is None:
                self._refuse(_Subject(), "account", claim.sentence, "no-such-sentence")
                continue
            self.believed += 1
            accounts[position] = SentenceReading(claim.account, claim.reason)
        # A sentence with findings has that account, whatever else the model says of it.
        for kept in self._kept:
            accounts[kept.mention.sentence] = SentenceReading("findings")
        for position, sentence in enumerate(self._report.sentences):
            if sentence.section == "other":
                accounts[position] = _SILENT
            elif position not in accounts:
                accounts[position] = SentenceReading("unreadable", "left out")
                # A forgotten sentence counts as a fault, so that a model that forgets
                # many is asked again.
                self._refuse(_Subject(0, position), "account", "", "left-out")
        return tuple(accounts[position] for position in sorted(accounts))

    def _refuse(
        self, subject: _Subject, column: str, claimed: Any, reason: str
    ) -> None:
        """List what is not believed.

        Args:
            subject: what it is about.
            column: of the value, or empty.
            claimed: the value.
            reason: a code of `_REASON_TEXTS`.
        """
        section = ""
        sentence_number = 0
        if subject.position is not None:
            sentence = self._report.sentences[subject.position]
            section = sentence.section
            sentence_number = sentence.number
        if not isinstance(claimed, str):
            claimed = json.dumps(claimed, ensure_ascii=False)
        found = claimed[:_SHOWN_LENGTH]
        self.refused.append(
            RefusedValue(
                section, sentence_number, column, found, reason, subject.finding
            )
        )
