"""What of a language model's answer the report's text bears out (method.md section 8).

What is not borne out is refused with a reason, and the rest is kept: a refused value
leaves its finding, a refused finding takes its values with it. Everything here is a
function of the report and the answer. The form of an answer is in `claims.py`, how
quoted words are looked up in `quotes.py`, and how a model is asked in `structurer.py`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
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
from lunguage_assets.structuring.model.quotes import (
    distance,
    nearest,
    occurrences,
    values_of,
)
from lunguage_assets.tables.columns import ATTRIBUTES

VERSION = 2
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
    "has-findings": "the sentence has findings and was said to have none",
    "left-out": "the sentence has neither a finding nor an account",
}
"""Reason codes, and how the second question words them."""

_COLUMN_BY_NAME = {published: column for column, published in ATTRIBUTES.items()} | {
    column: column for column in ATTRIBUTES
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
        points = list(dict.fromkeys(_point(value) for value in self.report.refused))
        unlisted = len(points) - _MAX_POINTS
        if unlisted <= 0:
            return points
        return [*points[:_MAX_POINTS], f"and {unlisted} more of the kind"]


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
    unreadable = SentenceReading("unreadable", reason)
    readings: list[SentenceReading] = []
    for sentence in report.sentences:
        is_asked_about = sentence.section != "other"
        readings.append(unreadable if is_asked_about else _SILENT)
    return StructuredReport(report.study_id, tuple(readings), ())


class _Kept(NamedTuple):
    """A claim, and the mention that is believed of it."""

    claim: FindingClaim
    mention: Mention


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
        self._identities: set[tuple[Span, frozenset[Span]]] = set()
        """Words and locations of the mentions so far."""
        self._uses: Counter[Span] = Counter()
        """How often words are those of a finding."""
        self._claimed_positions: set[int] = set()
        """Sentences that a finding was claimed in, kept or refused."""

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
            self._refuse(number, "", entry, "not-an-entry")
            return
        position = self._position(claim.sentence)
        if position is None:
            self._refuse(claim.number, "", claim.sentence, "no-such-sentence")
            return
        self._claimed_positions.add(position)
        ent = self._words_of(claim, position)
        if ent is None:
            self._refuse(claim.number, "ent", claim.words, "not-in-sentence", position)
            return
        location = self._values(claim, "location", claim.places, ent, position)
        # "Effusion on the right and left" may be two findings of the same word. With
        # the same location they are one.
        identity = (ent, frozenset(location))
        if identity in self._identities:
            self._refuse(claim.number, "ent", claim.words, "duplicate", position)
            return
        self.believed += 1
        self._identities.add(identity)
        self._uses[ent] += 1
        mention = Mention(
            sentence=position,
            ent=ent,
            normed_ent=self._name(claim, ent, position),
            cat=claim.category,
            status=claim.status,
            location=location,
            attributes=self._attributes(claim, ent, position),
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

    def _words_of(self, claim: FindingClaim, position: int) -> Span | None:
        """Find where the finding's words stand; None: they do not.

        Where they stand several times, the nearest to what is said of the finding is
        meant: of "opacity in the right base and opacity in the left apex" location
        "left apex" tells the second. Then one that is not taken yet, then the first.
        """
        cells = [*claim.places, *(attribute.words for attribute in claim.attributes)]
        spans_by_value: list[list[Span]] = []
        for cell in cells:
            for value in values_of(cell):
                spans = self._spans_of(value, position)
                if spans:
                    spans_by_value.append(spans)

        def rank(ent: Span) -> tuple[int, int, int]:
            distances = [distance(nearest(spans, ent), ent) for spans in spans_by_value]
            return sum(distances), self._uses[ent], ent.begin

        return min(self._spans_of(claim.words, position), key=rank, default=None)

    def _name(self, claim: FindingClaim, ent: Span, position: int) -> str:
        """Choose the canonical name; where it can be none, the finding's own words."""
        name = plain_words(claim.name)
        if _NAME.fullmatch(name) and name.count(" ") < _LONGEST_NAME:
            return name
        self._refuse(claim.number, "normed_ent", claim.name, "not-a-name", position)
        return plain_words(ent.of(self._report.text))

    def _attributes(
        self, claim: FindingClaim, ent: Span, position: int
    ) -> dict[str, tuple[Span, ...]]:
        cells_by_column: dict[str, list[str]] = {column: [] for column in ATTRIBUTES}
        for attribute in claim.attributes:
            column = _COLUMN_BY_NAME.get(plain_words(attribute.column))
            if column is None:
                number = claim.number
                self._refuse(number, "", attribute.column, "no-such-column", position)
            else:
                cells_by_column[column].append(attribute.words)
        attributes: dict[str, tuple[Span, ...]] = {}
        for column, cells in cells_by_column.items():
            values = self._values(claim, column, cells, ent, position)
            if values:
                attributes[column] = values
        return attributes

    def _values(
        self,
        claim: FindingClaim,
        column: str,
        cells: Sequence[str],
        ent: Span,
        position: int,
    ) -> tuple[Span, ...]:
        """Find claimed values in the sentence, where they stand nearest to the finding.

        Args:
            claim: of the finding.
            column: of the values.
            cells: the claimed words, of one value or several.
            ent: the finding's words.
            position: of the sentence.

        Returns:
            In the order claimed.
        """
        spans: list[Span] = []
        for cell in cells:
            for words in values_of(cell):
                occurring = self._spans_of(words, position)
                if not occurring:
                    reason = "not-in-sentence"
                    self._refuse(claim.number, column, words, reason, position)
                    continue
                span = nearest(occurring, ent)
                if span in spans:
                    self._refuse(claim.number, column, words, "duplicate", position)
                else:
                    self.believed += 1
                    spans.append(span)
        return tuple(spans)

    # --- references

    def mentions(self) -> tuple[Mention, ...]:
        """Give the kept findings in the order of the text, with their references.

        What is the evidence of a finding is associated with it (method.md section 5).
        """
        # A claim keeps its index in the answer, a mention gets a number in the text.
        indexes = range(len(self._kept))
        order = sorted(indexes, key=lambda index: self._kept[index].mention.ent)
        number_by_index = {index: number for number, index in enumerate(order)}
        # A refused finding has no number here: a reference to it is refused. Of two
        # findings of one number the first is meant.
        number_by_claim: dict[int, int] = {}
        for index, kept in enumerate(self._kept):
            number_by_claim.setdefault(kept.claim.number, number_by_index[index])
        evidence: list[set[int]] = [set() for _ in order]
        associate: list[set[int]] = [set() for _ in order]
        for index, kept in enumerate(self._kept):
            number = number_by_index[index]
            evidence[number] = self._references(
                kept, "evidence", number, number_by_claim
            )
            associate[number] = self._references(
                kept, "associate", number, number_by_claim
            )
        # Only now, when what the model itself associates is there: the way back of an
        # evidence that it gives as well is no second link.
        for number, signs in enumerate(evidence):
            for sign in signs:
                associate[sign].add(number)
        return tuple(
            replace(
                self._kept[index].mention,
                evidence=tuple(sorted(evidence[number])),
                associate=tuple(sorted(associate[number])),
            )
            for number, index in enumerate(order)
        )

    def _references(
        self,
        kept: _Kept,
        column: str,
        number: int,
        number_by_claim: Mapping[int, int],
    ) -> set[int]:
        """Find the findings that a claim refers to; refuse what is none.

        Args:
            kept: the claim, and its mention.
            column: `evidence` or `associate`.
            number: of its own mention.
            number_by_claim: number of the mention of every claim.
        """
        claim = kept.claim
        claimed_numbers = claim.associate
        if column == "evidence":
            claimed_numbers = claim.evidence
        targets: set[int] = set()
        for claimed in claimed_numbers:
            target = number_by_claim.get(claimed)
            # No finding is evidence of itself.
            if target is None or target == number:
                reason = "no-such-finding"
            elif target in targets:
                reason = "duplicate"
            else:
                self.believed += 1
                targets.add(target)
                continue
            self._refuse(claim.number, column, claimed, reason, kept.mention.sentence)
        return targets

    # --- sentences

    def readings(self, entries: Sequence[Any]) -> tuple[SentenceReading, ...]:
        """Give account and reason of every sentence.

        Args:
            entries: of the answer's `sentences`.
        """
        stated = {kept.mention.sentence for kept in self._kept}
        accounts = dict.fromkeys(stated, SentenceReading("findings"))
        for entry in entries:
            self._take_account(entry, stated, accounts)
        for position, sentence in enumerate(self._report.sentences):
            if sentence.section == "other":
                accounts[position] = _SILENT
            elif position in self._claimed_positions:
                # Its findings were all refused, and no account of it was believed.
                accounts.setdefault(position, SentenceReading("unreadable", "refused"))
            elif position not in accounts:
                accounts[position] = SentenceReading("unreadable", "left out")
                # A forgotten sentence counts as a fault, so that a model that forgets
                # many is asked again.
                self._refuse(0, "account", "", "left-out", position)
        return tuple(accounts[position] for position in range(len(accounts)))

    def _take_account(
        self, entry: Any, stated: set[int], accounts: dict[int, SentenceReading]
    ) -> None:
        """Keep the account of a sentence without findings, or refuse it.

        Args:
            entry: of the answer's `sentences`.
            stated: positions of sentences with findings.
            accounts: by position; changed in place.
        """
        try:
            claim = SentenceClaim.model_validate(entry)
        except ValidationError:
            self._refuse(0, "account", entry, "not-an-entry")
            return
        position = self._position(claim.sentence)
        if position is None:
            self._refuse(0, "account", claim.sentence, "no-such-sentence")
        elif position in stated:
            self._refuse(0, "account", claim.account, "has-findings", position)
        elif position in accounts:
            self._refuse(0, "account", claim.account, "duplicate", position)
        else:
            self.believed += 1
            accounts[position] = SentenceReading(claim.account, claim.reason)

    def _refuse(
        self,
        finding: int,
        column: str,
        claimed: Any,
        reason: str,
        position: int | None = None,
    ) -> None:
        """List what is not believed.

        Args:
            finding: its number in the answer, or 0.
            column: of the value, or empty.
            claimed: the value.
            reason: a code of `_REASON_TEXTS`.
            position: of the sentence; None: there is none.
        """
        section = ""
        sentence_number = 0
        if position is not None:
            sentence = self._report.sentences[position]
            section = sentence.section
            sentence_number = sentence.number
        if not isinstance(claimed, str):
            claimed = json.dumps(claimed, ensure_ascii=False)
        self.refused.append(
            RefusedValue(
                section=section,
                sentence=sentence_number,
                column=column,
                found=claimed[:_SHOWN_LENGTH],
                reason=reason,
                finding=finding,
            )
        )
