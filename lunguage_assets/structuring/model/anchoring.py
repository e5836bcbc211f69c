"""What a language model claims about a report, anchored in its text: what the text does not bear out is
refused with a reason, and the rest is kept (method.md section 8).

A refused value does not take its finding with it; a refused finding takes its values with it. Everything here
is a function of the report and the answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lunguage_assets.structuring.contract import (
    Account,
    RefusedValue,
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
    Value,
)
from lunguage_assets.structuring.model.assembling import Kept, assembled
from lunguage_assets.structuring.model.locating import distance, nearest, occurrences, parts
from lunguage_assets.structuring.model.prompts import sentence_id
from lunguage_assets.structuring.model.schema import ACCOUNTS, CERTAINTIES, POLARITIES, REASONS, Answer
from lunguage_assets.tables.columns import ATTRIBUTES, CATEGORIES

VERSION = 1
"""Of these rules; part of a structurer's identity, since they change what comes of an answer."""

SHOWN = 80
"""Characters of a refused claim that are kept."""

_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|\d{1,2}(?!\d)|[ '()/.-]){0,59}")
_NAME_WORDS = 6
"""A canonical name is shown where report text is not: it has few words, no long numbers, and no commas, which
references use.
"""

_POINTS = 40
_SAID = {
    "not-an-entry": "is no entry of the form above",
    "no-such-sentence": "its sentence does not exist",
    "not-in-sentence": "words that do not stand in its sentence",
    "not-a-code": "not one of the codes",
    "not-text": "text is missing",
    "not-a-name": "no name of a finding",
    "no-such-column": "a column that does not exist",
    "no-such-finding": "a number that no finding has",
    "refused-finding": "refers to a finding that cannot be used",
    "duplicate": "is there already",
    "has-findings": "the sentence has findings and was said to have none",
    "left-out": "the sentence has neither a finding nor an account",
}
"""Reason codes, and how the second question words them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A refused claim, and the number of the finding that made it; 0: none."""

    finding: int
    refused: RefusedValue


@dataclass(frozen=True, slots=True)
class Anchored:
    """What is kept of the answer `line`. `claims`: everything that it claimed or should have, refused or
    not.
    """

    report: StructuredReport = field(repr=False)
    line: str = field(repr=False)
    claims: int
    faults: tuple[Fault, ...] = field(repr=False)

    @property
    def refused_share(self) -> float:
        """Refused claims among all claims."""
        return len(self.faults) / max(1, self.claims)

    @property
    def points(self) -> list[str]:
        """What is wrong, for the second question: number and column, never the claim itself."""
        said = list(dict.fromkeys(_point(fault) for fault in self.faults))
        left = len(said) - _POINTS
        return said if left <= 0 else [*said[:_POINTS], f"and {left} more of the kind"]


def anchored(report: SectionedReport, answer: Answer) -> Anchored:
    """An answer as far as the report bears it out."""
    return _Anchoring(report).of(answer)


class _Anchoring:
    def __init__(self, report: SectionedReport) -> None:
        self.report = report
        self.positions: dict[str, int] = {}
        for position, sentence in enumerate(report.sentences):
            if sentence.section != "other":
                self.positions.setdefault(sentence_id(sentence), position)
        self.claims, self.faults, self.kept = 0, list[Fault](), list[Kept]()
        self.used: Counter[tuple[int, Span]] = Counter()
        self.touched: set[int] = set()

    def of(self, answer: Answer) -> Anchored:
        for place, claim in enumerate(answer.findings, start=1):
            self._finding(claim, place)
        self._references()
        accounts = self._accounts(answer.sentences)
        refused = tuple(fault.refused for fault in self.faults)
        report = assembled(self.report, self.kept, accounts, refused)
        return Anchored(report, answer.line, self.claims, tuple(self.faults))

    # --- findings

    def _finding(self, claim: Any, place: int) -> None:
        """One claimed finding: kept, or refused as a whole."""
        self.claims += 1
        if not isinstance(claim, dict):
            self._refuse(place, "", claim, "not-an-entry")
            return
        number = _whole(claim.get("number"))
        number = place if number is None else number
        position = self._position(claim.get("sentence"))
        if position is None:
            self._refuse(number, "", claim.get("sentence"), "no-such-sentence")
            return
        self.touched.add(position)
        sentence = self.report.sentences[position]
        cat, status = _code(claim.get("category"), CATEGORIES), _status(claim)
        span = self._anchor(claim, position)
        if cat is None:
            self._refuse(number, "cat", claim.get("category"), "not-a-code", sentence)
        elif status is None:
            said = [claim.get("certainty"), claim.get("polarity")]
            self._refuse(number, "status", said, "not-a-code", sentence)
        elif span is None:
            self._refuse(number, "ent", claim.get("words"), "not-in-sentence", sentence)
        else:
            self._keep(number, position, claim, span, cat, status)

    def _keep(
        self, number: int, position: int, claim: dict[Any, Any], span: Span, cat: str, status: str
    ) -> None:
        """A finding whose words, codes and sentence are right, unless it is there already."""
        sentence = self.report.sentences[position]
        before = len(self.faults), self.claims
        location = self._values(number, "location", _listed(claim.get("places")), span, sentence)
        ent = span.value(sentence.text)
        one = Kept(number, position, ent, "", cat, status, location, {}, {})
        if any(other.same_place(one) for other in self.kept):
            del self.faults[before[0] :]
            self.claims = before[1]
            self._refuse(number, "ent", claim.get("words"), "duplicate", sentence)
            return
        self.used[position, span] += 1
        one.name = self._name(number, claim.get("name"), ent, sentence)
        one.attributes = self._attributes(number, claim.get("attributes"), span, sentence)
        one.wanted = {column: _listed(claim.get(column)) for column in ("evidence", "associate")}
        self.kept.append(one)

    def _position(self, claim: Any) -> int | None:
        return self.positions.get("".join(claim.split()).casefold()) if isinstance(claim, str) else None

    def _anchor(self, claim: dict[Any, Any], position: int) -> Span | None:
        """Where the finding's words stand. Of several places the one nearest to what is said of it, then one
        that no finding has taken yet, then the first.
        """
        text, words = self.report.sentences[position].text, claim.get("words")
        found = occurrences(words, text) if isinstance(words, str) else []
        if len(found) < 2:
            return found[0] if found else None
        said = [occurrences(part, text) for part in _said_of_it(claim)]

        def cost(span: Span) -> tuple[int, int, int]:
            away = sum(distance(nearest(places, span), span) for places in said if places)
            return away, self.used[position, span], span.begin

        return min(found, key=cost)

    def _name(self, number: int, claim: Any, ent: Value, sentence: Sentence) -> str:
        """The canonical name; where there is none that can be one, the finding's own words."""
        name = " ".join(claim.split()).lower() if isinstance(claim, str) else ""
        if _NAME.fullmatch(name) and name.count(" ") < _NAME_WORDS:
            return name
        self.claims += 1
        self._refuse(number, "normed_ent", claim, "not-a-name", sentence)
        return " ".join(ent.words.split()).lower()

    def _attributes(
        self, number: int, claims: Any, near: Span, sentence: Sentence
    ) -> dict[str, tuple[Value, ...]]:
        words: dict[str, list[Any]] = {column: [] for column in ATTRIBUTES}
        for claim in _listed(claims):
            entry = claim if isinstance(claim, dict) else {}
            column = _column(entry.get("column"))
            if column is None:
                self.claims += 1
                self._refuse(number, "", entry.get("column", claim), "no-such-column", sentence)
            else:
                words[column].append(entry.get("words"))
        found = {c: self._values(number, c, those, near, sentence) for c, those in words.items() if those}
        return {column: values for column, values in found.items() if values}

    def _values(
        self, number: int, column: str, claims: Sequence[Any], near: Span, sentence: Sentence
    ) -> tuple[Value, ...]:
        """The claimed words at their places nearest to the finding, in the order claimed."""
        values = list[Value]()
        for words in _words(claims):
            self.claims += 1
            if not isinstance(words, str):
                self._refuse(number, column, words, "not-text", sentence)
                continue
            found = occurrences(words, sentence.text)
            if not found:
                self._refuse(number, column, words, "not-in-sentence", sentence)
                continue
            span = nearest(found, near)
            if any(value.span == span for value in values):
                self._refuse(number, column, words, "duplicate", sentence)
                continue
            values.append(span.value(sentence.text))
        return tuple(values)

    def _references(self) -> None:
        """Numbers become findings, once all are known."""
        known = {one.number: one for one in reversed(self.kept)}
        refused = {fault.finding for fault in self.faults}
        for one in self.kept:
            sentence = self.report.sentences[one.position]
            for column, claims in one.wanted.items():
                for claim in claims:
                    self.claims += 1
                    number = _whole(claim)
                    goal = known.get(number) if number is not None else None
                    if goal is None or goal is one:
                        reason = "refused-finding" if number in refused else "no-such-finding"
                        self._refuse(one.number, column, claim, reason, sentence)
                    elif goal in one.references[column]:
                        self._refuse(one.number, column, claim, "duplicate", sentence)
                    else:
                        one.references[column].append(goal)

    # --- sentences

    def _accounts(self, claims: Sequence[Any]) -> dict[int, tuple[Account, str]]:
        """Account and reason of every sentence that has no findings, by its position."""
        stated = {one.position for one in self.kept}
        accounts: dict[int, tuple[Account, str]] = {}
        for claim in claims:
            self.claims += 1
            entry = claim if isinstance(claim, dict) else {}
            position = self._position(entry.get("sentence"))
            if position is None:
                self._refuse(0, "account", entry.get("sentence", claim), "no-such-sentence")
                continue
            sentence, account = self.report.sentences[position], _account(entry.get("account"))
            if account is None:
                self._refuse(0, "account", entry.get("account"), "not-a-code", sentence)
            elif position in stated:
                self._refuse(0, "account", account, "has-findings", sentence)
            elif position in accounts:
                self._refuse(0, "account", account, "duplicate", sentence)
            else:
                accounts[position] = account, _code(entry.get("reason"), REASONS) or "other"
        for position in self.positions.values():
            if position not in stated and position not in accounts:
                accounts[position] = self._unaccounted(position)
        return accounts

    def _unaccounted(self, position: int) -> tuple[Account, str]:
        if position in self.touched:
            return "unreadable", "refused"
        self.claims += 1
        self._refuse(0, "account", "", "left-out", self.report.sentences[position])
        return "unreadable", "left out"

    def _refuse(
        self, finding: int, column: str, found: Any, reason: str, sentence: Sentence | None = None
    ) -> None:
        section, number = (sentence.section, sentence.number) if sentence is not None else ("", 0)
        self.faults.append(Fault(finding, RefusedValue(section, number, column, _shown(found), reason)))


def _point(fault: Fault) -> str:
    value = fault.refused
    place = f"finding {fault.finding}" if fault.finding else f"sentence {value.section}:{value.sentence}"
    if not fault.finding and not value.section:
        place = "an entry of the sentences"
    return f"{place}{', ' + value.column if value.column else ''}: {_SAID[value.reason]}"


def _words(claims: Sequence[Any]) -> Iterator[Any]:
    """Claimed words, cut at commas; blank ones claim nothing."""
    for claim in claims:
        yield from parts(claim) if isinstance(claim, str) else [claim]


def _said_of_it(claim: dict[Any, Any]) -> Iterator[str]:
    entries = [one for one in _listed(claim.get("attributes")) if isinstance(one, dict)]
    words = [*_listed(claim.get("places")), *(entry.get("words") for entry in entries)]
    return (part for part in _words(words) if isinstance(part, str))


def _listed(value: Any) -> list[Any]:
    """A list as it is, nothing for null, and one thing as a list of it."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _code(value: Any, codes: Sequence[str]) -> str | None:
    folded = " ".join(value.split()).casefold() if isinstance(value, str) else ""
    return next((code for code in codes if code.casefold() == folded), None)


def _status(claim: dict[Any, Any]) -> str | None:
    certainty, polarity = _code(claim.get("certainty"), CERTAINTIES), _code(claim.get("polarity"), POLARITIES)
    return None if certainty is None or polarity is None else certainty[0] + polarity[0]


def _column(value: Any) -> str | None:
    """An attribute's column, also under its published name."""
    published = {name: column for column, name in ATTRIBUTES.items()}
    code = _code(value, (*ATTRIBUTES, *published))
    return None if code is None else published.get(code, code)


def _account(value: Any) -> Account | None:
    code = _code(value, ACCOUNTS)
    return "nothing stated" if code == ACCOUNTS[0] else "not about the patient now" if code else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6 else None


def _shown(found: Any) -> str:
    return (found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))[:SHOWN]
