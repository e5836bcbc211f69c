"""A language model's claims about a report, grounded in its text: what the text does not bear out is refused
with a reason, and the rest is kept (method.md section 8).

A refused value does not take its finding with it; a refused finding takes its values with it. Everything here
is a function of the report and the answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from lunguage_assets.structuring.contract import (
    Account,
    Mention,
    RefusedValue,
    SectionedReport,
    Sentence,
    SentenceReading,
    Span,
    StructuredReport,
    Value,
)
from lunguage_assets.structuring.model.schema import ACCOUNTS, Answer, FindingClaim, SentenceClaim
from lunguage_assets.tables.columns import ATTRIBUTES

VERSION = 2
"""Of these rules; part of a structurer's identity, since they change what comes of an answer."""

SHOWN = 80
"""Characters of a refused claim that are kept."""

_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|\d{1,2}(?!\d)|[ '()/.-]){0,59}")
_NAME_WORDS = 6
"""A canonical name is shown where report text is not: it has few words, no long numbers, and no commas, which
references use.
"""

_POINTS = 40
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

_COLUMNS = {name: column for column, published in ATTRIBUTES.items() for name in (column, published)}
_REFERENCES = ("evidence", "associate")


@dataclass(frozen=True, slots=True)
class Grounded:
    """What is kept of the answer `line`. `claims`: how many there were, refused or not, and sentences that it
    forgot; `finders`: number of the finding that made each refused claim, 0: none.
    """

    report: StructuredReport = field(repr=False)
    line: str = field(repr=False)
    claims: int
    finders: tuple[int, ...]

    @property
    def refused_share(self) -> float:
        """Refused claims among all claims."""
        return len(self.report.refused) / max(1, self.claims)

    @property
    def points(self) -> list[str]:
        """What is wrong, for the second question: number and column, never the claim itself."""
        said = list(dict.fromkeys(map(_point, self.finders, self.report.refused)))
        left = len(said) - _POINTS
        return said if left <= 0 else [*said[:_POINTS], f"and {left} more of the kind"]


def grounded(report: SectionedReport, answer: Answer) -> Grounded:
    """An answer as far as the report bears it out."""
    grounding = _Grounding(report)
    for place, claim in enumerate(answer.findings, start=1):
        grounding.take(claim, place)
    grounding.refer()
    accounts = grounding.accounts(answer.sentences)
    kept = replace(assembled(report, grounding.kept, accounts), refused=tuple(grounding.refused))
    return Grounded(kept, answer.line, grounding.claims, tuple(grounding.finders))


@dataclass(eq=False, slots=True)
class _Kept:
    """A finding that is believed: its claim, its sentence's position, and what its words bear out.

    `references`: the findings that the numbers of its claim turned out to be.
    """

    claim: FindingClaim
    position: int
    ent: Value
    name: str
    location: tuple[Value, ...]
    attributes: Mapping[str, tuple[Value, ...]]
    references: dict[str, list[_Kept]] = field(default_factory=lambda: {name: [] for name in _REFERENCES})


class _Grounding:
    def __init__(self, report: SectionedReport) -> None:
        self.report = report
        self.positions = {s.name: n for n, s in enumerate(report.sentences) if s.section != "other"}
        self.claims, self.kept = 0, list[_Kept]()
        self.refused, self.finders = list[RefusedValue](), list[int]()
        self._known: set[tuple[int, Span, frozenset[Span]]] = set()
        self._used: Counter[tuple[int, Span]] = Counter()
        self._touched: set[int] = set()

    def take(self, raw: Any, place: int) -> None:
        """Keep a claimed finding, or refuse it as a whole."""
        self.claims += 1
        try:
            claim = FindingClaim.model_validate(raw)
        except ValidationError:
            self._refuse(place, "", raw, "not-an-entry")
            return
        position = self._position(claim.sentence)
        if position is None:
            self._refuse(claim.number, "", claim.sentence, "no-such-sentence")
            return
        self._touched.add(position)
        sentence = self.report.sentences[position]
        span = self._span(claim, position)
        if span is None:
            self._refuse(claim.number, "ent", claim.words, "not-in-sentence", sentence)
            return
        location = self._values(claim.number, "location", claim.places, span, sentence)
        own = position, span, frozenset(value.span for value in location)
        if own in self._known:
            self._refuse(claim.number, "ent", claim.words, "duplicate", sentence)
            return
        self._known.add(own)
        self._used[position, span] += 1
        ent = span.value(sentence.text)
        name = self._name(claim, ent, sentence)
        attributes = self._attributes(claim, span, sentence)
        self.kept.append(_Kept(claim, position, ent, name, location, attributes))

    def refer(self) -> None:
        """Turn numbers into findings, once all are known."""
        known = {one.claim.number: one for one in reversed(self.kept)}
        for one in self.kept:
            for column, goals in one.references.items():
                for number in getattr(one.claim, column):
                    self.claims += 1
                    goal = known.get(number)
                    if goal is None or goal is one or goal in goals:
                        reason = "duplicate" if goal in goals else "no-such-finding"
                        sentence = self.report.sentences[one.position]
                        self._refuse(one.claim.number, column, number, reason, sentence)
                    else:
                        goals.append(goal)

    def accounts(self, raw: Sequence[Any]) -> dict[int, SentenceReading]:
        """Account and reason of every sentence that has no findings, by its position."""
        stated = {one.position for one in self.kept}
        accounts: dict[int, SentenceReading] = {}
        for entry in raw:
            self.claims += 1
            try:
                claim = SentenceClaim.model_validate(entry)
            except ValidationError:
                self._refuse(0, "account", entry, "not-an-entry")
                continue
            position = self._position(claim.sentence)
            if position is None:
                self._refuse(0, "account", claim.sentence, "no-such-sentence")
            elif position in stated or position in accounts:
                reason = "has-findings" if position in stated else "duplicate"
                self._refuse(0, "account", claim.account, reason, self.report.sentences[position])
            else:
                silent = claim.account == ACCOUNTS[0]
                account: Account = "nothing stated" if silent else "not about the patient now"
                accounts[position] = SentenceReading(account, claim.reason)
        for position in self.positions.values():
            if position not in stated and position not in accounts:
                refused = position in self._touched
                accounts[position] = SentenceReading("unreadable", "refused" if refused else "left out")
                if not refused:
                    self.claims += 1
                    self._refuse(0, "account", "", "left-out", self.report.sentences[position])
        return accounts

    def _position(self, name: str) -> int | None:
        return self.positions.get("".join(name.split()).casefold())

    def _span(self, claim: FindingClaim, position: int) -> Span | None:
        """Where the finding's words stand. Of several places the one nearest to what is said of it, then one
        that no finding has taken yet, then the first.
        """
        text = self.report.sentences[position].text
        words = [*claim.places, *(attribute.words for attribute in claim.attributes)]
        said = [occurrences(part, text) for cell in words for part in _parts(cell)]

        def cost(span: Span) -> tuple[int, int, int]:
            away = sum(_distance(_nearest(places, span), span) for places in said if places)
            return away, self._used[position, span], span.begin

        return min(occurrences(claim.words, text), key=cost, default=None)

    def _name(self, claim: FindingClaim, ent: Value, sentence: Sentence) -> str:
        """The canonical name; where there is none that can be one, the finding's own words."""
        name = " ".join(claim.name.split()).lower()
        if _NAME.fullmatch(name) and name.count(" ") < _NAME_WORDS:
            return name
        self.claims += 1
        self._refuse(claim.number, "normed_ent", claim.name, "not-a-name", sentence)
        return " ".join(ent.words.split()).lower()

    def _attributes(
        self, finding: FindingClaim, near: Span, sentence: Sentence
    ) -> dict[str, tuple[Value, ...]]:
        words: dict[str, list[str]] = {column: [] for column in ATTRIBUTES}
        for claim in finding.attributes:
            column = _COLUMNS.get(" ".join(claim.column.split()).lower())
            if column is None:
                self.claims += 1
                self._refuse(finding.number, "", claim.column, "no-such-column", sentence)
            else:
                words[column].append(claim.words)
        found = {c: self._values(finding.number, c, those, near, sentence) for c, those in words.items()}
        return {column: values for column, values in found.items() if values}

    def _values(
        self, number: int, column: str, claims: Sequence[str], near: Span, sentence: Sentence
    ) -> tuple[Value, ...]:
        """The claimed words, cut at commas, at their places nearest to the finding, in the order claimed."""
        spans: list[Span] = []
        for words in (part for cell in claims for part in _parts(cell)):
            self.claims += 1
            found = occurrences(words, sentence.text)
            if not found or _nearest(found, near) in spans:
                reason = "duplicate" if found else "not-in-sentence"
                self._refuse(number, column, words, reason, sentence)
            else:
                spans.append(_nearest(found, near))
        return tuple(span.value(sentence.text) for span in spans)

    def _refuse(
        self, finding: int, column: str, found: Any, reason: str, sentence: Sentence | None = None
    ) -> None:
        section, number = (sentence.section, sentence.number) if sentence is not None else ("", 0)
        shown = (found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))[:SHOWN]
        self.refused.append(RefusedValue(section, number, column, shown, reason))
        self.finders.append(finding)


def _point(finding: int, value: RefusedValue) -> str:
    place = f"finding {finding}" if finding else f"sentence {value.section}:{value.sentence}"
    if not finding and not value.section:
        place = "an entry of the sentences"
    return f"{place}{', ' + value.column if value.column else ''}: {_REASON_TEXTS[value.reason]}"


def assembled(
    report: SectionedReport, kept: Sequence[_Kept], accounts: Mapping[int, SentenceReading]
) -> StructuredReport:
    """The answer about a report: findings in the order of the text, references by position, accounts.

    The way back of an evidence is an associate, whether the model says so or not (method.md section 5).
    """
    ordered = sorted(kept, key=lambda one: (one.position, one.ent.span.begin, one.ent.span.end))
    place = {id(one): number for number, one in enumerate(ordered)}
    evidence = [sorted(place[id(goal)] for goal in one.references["evidence"]) for one in ordered]
    associate = [{place[id(goal)] for goal in one.references["associate"]} for one in ordered]
    for number, supports in enumerate(evidence):
        for support in supports:
            associate[support].add(number)
    mentions = []
    for one, supports, others in zip(ordered, evidence, associate, strict=True):
        claim, links = one.claim, (tuple(supports), tuple(sorted(others)))
        status = claim.certainty[0] + claim.polarity[0]
        found = Mention(one.ent, one.name, claim.category, status, one.location, one.attributes, *links)
        mentions.append((one.position, found))
    silent = dict.fromkeys(range(len(report.sentences)), SentenceReading("nothing stated", "section"))
    stated = dict.fromkeys((position for position, _ in mentions), SentenceReading("findings"))
    readings = silent | dict(accounts) | stated
    return StructuredReport(report.study_id, tuple(readings.values()), tuple(mentions))


def unreadable(report: SectionedReport, reason: str) -> StructuredReport:
    """The answer about a report of which no answer can be read."""
    asked = (n for n, sentence in enumerate(report.sentences) if sentence.section != "other")
    accounts = dict.fromkeys(asked, SentenceReading("unreadable", reason))
    return replace(assembled(report, (), accounts), valid=False)


# --- places of words in a sentence: letter case, runs of white space and kinds of hyphen do not matter, word
# boundaries do

_GAP = r"[\s\-\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+"
"""White space and hyphens: "ground glass", "ground-glass" and a line break between them are the same."""

_APOSTROPHES = "'\u2018\u2019`\u00b4"
_EDGES = " \t\r\n.,;:"
_PARTS = re.compile(r"[,;](?!\d)")


def occurrences(words: str, sentence: str) -> list[Span]:
    """Every place of these words in the sentence, from left to right, as whole words; none for what has
    neither letter nor digit.
    """
    if not any(map(str.isalnum, words)):
        return []
    tokens = [token for token in re.split(_GAP, words.strip(_EDGES)) if token]
    before = r"(?<!\w)" if re.match(r"\w", tokens[0]) else ""
    behind = r"(?!\w)" if re.match(r"\w", tokens[-1][-1]) else ""
    pattern = before + _GAP.join(map(_token, tokens)) + behind
    return [Span(*found.span()) for found in re.finditer(pattern, sentence, re.IGNORECASE)]


def _token(token: str) -> str:
    return "".join(f"[{_APOSTROPHES}]" if one in _APOSTROPHES else re.escape(one) for one in token)


def _nearest(found: Sequence[Span], anchor: Span) -> Span:
    """Of several places the one nearest to `anchor`, one that does not overlap it before one that does, the
    first of equals.
    """

    def rank(span: Span) -> tuple[bool, int, int]:
        overlaps = span.begin < anchor.end and anchor.begin < span.end
        return overlaps, _distance(span, anchor), span.begin

    return min(found, key=rank)


def _distance(one: Span, other: Span) -> int:
    """Characters between two places; 0 where they touch or overlap."""
    return max(0, one.begin - other.end, other.begin - one.end)


def _parts(words: str) -> list[str]:
    """The words between commas, because a cell joins its values by commas; "2,5 cm" is one."""
    return [part for piece in _PARTS.split(words) if (part := piece.strip(_EDGES))]
