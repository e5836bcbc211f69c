"""A language model's answer about a report: its form, and what of it the report's text bears out (method.md
section 8).

What is not borne out is refused with a reason, and the rest is kept: a refused value leaves its finding, a
refused finding takes its values with it. Everything here is a function of the report and the answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lunguage_assets.packaged_data import resource
from lunguage_assets.structuring.contract import (
    Account,
    Mention,
    RefusedValue,
    SectionedReport,
    SentenceReading,
    Span,
    StructuredReport,
)
from lunguage_assets.tables.columns import ATTRIBUTES, CATEGORIES

VERSION = 2
"""Of these rules; part of a structurer's identity, since they change what comes of an answer."""

# --- the form of an answer

_SCHEMA = json.loads(resource("structuring", "answer.json").read_text("utf-8"))
ANSWER_SCHEMA = json.dumps(_SCHEMA, separators=(",", ":"))
"""JSON schema of an answer, as a request carries it: an object of `findings` and of `sentences` that have
none. Everything is required and nothing else is allowed, because OpenAI's strict mode wants it so.
"""
_SENTENCE = _SCHEMA["properties"]["sentences"]["items"]["properties"]
ACCOUNTS, REASONS = (tuple(_SENTENCE[name]["enum"]) for name in ("account", "reason"))
"""What a sentence without findings may be said to be, and why: codes, which are shown where text is not."""


def _code_of(codes: Iterable[str], otherwise: str = "") -> BeforeValidator:
    """A code, in whatever letter case and spacing; another word is refused, or stands for `otherwise`."""
    known = {code.casefold(): code for code in codes}

    def found(said: Any) -> str:
        code = (
            known.get(_plain(said).casefold(), otherwise)
            if isinstance(said, str)
            else ""
        )
        if not code:
            raise ValueError("no such code")
        return code

    return BeforeValidator(found)


def _plain(words: str) -> str:
    return " ".join(words.split()).lower()


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)


class AttributeClaim(_Claim):
    """An attribute's column, also under its published name, and its words."""

    column: str
    words: str


class FindingClaim(_Claim):
    """One entry of `findings`; what is left out is empty."""

    number: int = Field(gt=0, lt=10**6)
    sentence: str
    words: str
    name: str = ""
    category: Annotated[str, _code_of(CATEGORIES)]
    polarity: Annotated[str, _code_of(("positive", "negative"))]
    certainty: Annotated[str, _code_of(("definitive", "tentative"))]
    places: list[str] = []
    attributes: list[AttributeClaim] = []
    evidence: list[int] = []
    associate: list[int] = []


class SentenceClaim(_Claim):
    """One entry of `sentences`."""

    sentence: str
    account: Annotated[Account, _code_of(ACCOUNTS)]
    reason: Annotated[str, _code_of(REASONS, "other")] = "other"


_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)


def parse_answer(text: str) -> dict[str, Any] | None:
    """The answer in a model's text, with or without one code fence around the whole; None: unreadable (other
    text, a missing list, numbers that JSON does not have, half characters).
    """
    body = text.strip()
    fenced = _FENCE.match(body)
    try:
        value: Any = json.loads(fenced.group(1) if fenced else body)
        _line(
            value
        ).encode()  # half a surrogate pair is valid JSON and cannot be stored
        lists = isinstance(value["findings"], list) and isinstance(
            value["sentences"], list
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return value if lists else None


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# --- what of it is believed

_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|\d{1,2}(?!\d)|[ '()/.-]){0,59}")
"""A canonical name is shown where report text is not: six words at most, no long numbers, and no commas."""
_SILENT = SentenceReading("nothing stated", "section")
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

_COLUMNS = {
    name: column
    for column, published in ATTRIBUTES.items()
    for name in (column, published)
}


@dataclass(frozen=True, slots=True)
class Grounded:
    """What is kept of the answer `line`, and the share of its claims that is refused or forgotten."""

    report: StructuredReport = field(repr=False)
    line: str = field(repr=False)
    refused_share: float

    @property
    def points(self) -> list[str]:
        """What is wrong, for the second question: number and column, never the claim itself."""
        said = list(dict.fromkeys(map(_point, self.report.refused)))
        left = len(said) - _POINTS
        return said if left <= 0 else [*said[:_POINTS], f"and {left} more of the kind"]


def _point(value: RefusedValue) -> str:
    place = (
        f"sentence {value.section}:{value.sentence}"
        if value.section
        else "an entry of the sentences"
    )
    place = f"finding {value.finding}" if value.finding else place
    return f"{place}{', ' + value.column if value.column else ''}: {_REASON_TEXTS[value.reason]}"


def grounded(report: SectionedReport, answer: Mapping[str, Any]) -> Grounded:
    """An answer as far as the report bears it out."""
    grounding = _Grounding(report)
    for number, entry in enumerate(answer["findings"], start=1):
        grounding.take(entry, number)
    mentions, readings = grounding.referred(), grounding.readings(answer["sentences"])
    refused = tuple(grounding.refused)
    share = len(refused) / max(1, grounding.believed + len(refused))
    return Grounded(
        StructuredReport(report.study_id, readings, mentions, refused),
        _line(answer),
        share,
    )


def unread(report: SectionedReport, reason: str) -> StructuredReport:
    """The answer about a report of which nothing that may be asked about could be read."""
    unreadable = SentenceReading("unreadable", reason)
    readings = tuple(
        _SILENT if one.section == "other" else unreadable for one in report.sentences
    )
    return StructuredReport(report.study_id, readings, ())


class _Grounding:
    """`believed` counts the claims that are not `refused`."""

    def __init__(self, report: SectionedReport) -> None:
        self.report = report
        self.positions = {
            s.name: n for n, s in enumerate(report.sentences) if s.section != "other"
        }
        self.believed, self.refused = 0, list[RefusedValue]()
        self._kept: list[tuple[FindingClaim, Mention]] = []
        self._known: set[tuple[Span, frozenset[Span]]] = set()
        self._used: Counter[Span] = Counter()
        self._touched: set[int] = set()

    def take(self, entry: Any, number: int) -> None:
        """Keep a claimed finding, or refuse it as a whole."""
        try:
            claim = FindingClaim.model_validate(entry)
        except ValidationError:
            self._refuse(number, "", entry, "not-an-entry")
            return
        position = self._position(claim.sentence)
        if position is None:
            self._refuse(claim.number, "", claim.sentence, "no-such-sentence")
            return
        self._touched.add(position)
        ent = self._span(claim, position)
        if ent is None:
            self._refuse(claim.number, "ent", claim.words, "not-in-sentence", position)
            return
        location = self._values(claim, "location", claim.places, ent, position)
        if (ent, frozenset(location)) in self._known:
            self._refuse(claim.number, "ent", claim.words, "duplicate", position)
            return
        self.believed += 1
        self._known.add((ent, frozenset(location)))
        self._used[ent] += 1
        name = self._name(claim, ent, position)
        status = claim.certainty[0] + claim.polarity[0]
        attributes = self._attributes(claim, ent, position)
        found = Mention(
            position, ent, name, claim.category, status, location, attributes
        )
        self._kept.append((claim, found))

    def referred(self) -> tuple[Mention, ...]:
        """The kept findings in the order of the text, with references; an evidence leads back (section 5)."""
        claimed = {claim.number: found for claim, found in reversed(self._kept)}
        ordered = sorted(
            (found for _, found in self._kept), key=lambda found: found.ent
        )
        place = {id(found): number for number, found in enumerate(ordered)}
        evidence: list[set[int]] = [set() for _ in ordered]
        associate: list[set[int]] = [set() for _ in ordered]
        for claim, found in self._kept:
            own = place[id(found)]
            named = (
                ("evidence", claim.evidence, evidence),
                ("associate", claim.associate, associate),
            )
            for column, numbers, references in named:
                for number in numbers:
                    goal = place[id(claimed[number])] if number in claimed else own
                    if goal == own or goal in references[own]:
                        reason = "no-such-finding" if goal == own else "duplicate"
                        self._refuse(
                            claim.number, column, number, reason, found.sentence
                        )
                    else:
                        self.believed += 1
                        references[own].add(goal)
        for own, supports in enumerate(evidence):
            for support in supports:
                associate[support].add(own)
        return tuple(
            replace(
                found, evidence=tuple(sorted(supports)), associate=tuple(sorted(others))
            )
            for found, supports, others in zip(
                ordered, evidence, associate, strict=True
            )
        )

    def readings(self, entries: Sequence[Any]) -> tuple[SentenceReading, ...]:
        """Account and reason of every sentence."""
        stated = {found.sentence for _, found in self._kept}
        accounts = dict.fromkeys(stated, SentenceReading("findings"))
        for entry in entries:
            try:
                claim = SentenceClaim.model_validate(entry)
            except ValidationError:
                self._refuse(0, "account", entry, "not-an-entry")
                continue
            position = self._position(claim.sentence)
            if position is None:
                self._refuse(0, "account", claim.sentence, "no-such-sentence")
            elif position in accounts:
                reason = "has-findings" if position in stated else "duplicate"
                self._refuse(0, "account", claim.account, reason, position)
            else:
                self.believed += 1
                accounts[position] = SentenceReading(claim.account, claim.reason)
        for position, sentence in enumerate(self.report.sentences):
            if sentence.section == "other":
                accounts[position] = _SILENT
            elif position in self._touched:
                accounts.setdefault(position, SentenceReading("unreadable", "refused"))
            elif position not in accounts:
                accounts[position] = SentenceReading("unreadable", "left out")
                self._refuse(0, "account", "", "left-out", position)
        return tuple(accounts[position] for position in range(len(accounts)))

    def _position(self, name: str) -> int | None:
        return self.positions.get("".join(name.split()).casefold())

    def _found(self, words: str, position: int) -> list[Span]:
        """Every place of these words in the sentence."""
        sentence = self.report.sentences[position]
        return [
            span.moved(sentence.span.begin)
            for span in occurrences(words, sentence.text)
        ]

    def _span(self, claim: FindingClaim, position: int) -> Span | None:
        """Where the finding's words stand: nearest to what is said of it, then not taken yet, then first."""
        cells = [*claim.places, *(attribute.words for attribute in claim.attributes)]
        said = [self._found(part, position) for cell in cells for part in _parts(cell)]

        def cost(span: Span) -> tuple[int, int, int]:
            away = sum(
                _distance(_nearest(places, span), span) for places in said if places
            )
            return away, self._used[span], span.begin

        return min(self._found(claim.words, position), key=cost, default=None)

    def _name(self, claim: FindingClaim, ent: Span, position: int) -> str:
        """The canonical name; where there is none that can be one, the finding's own words."""
        name = _plain(claim.name)
        if _NAME.fullmatch(name) and name.count(" ") < 6:
            return name
        self._refuse(claim.number, "normed_ent", claim.name, "not-a-name", position)
        return _plain(ent.of(self.report.text))

    def _attributes(
        self, claim: FindingClaim, near: Span, position: int
    ) -> dict[str, tuple[Span, ...]]:
        words: dict[str, list[str]] = {column: [] for column in ATTRIBUTES}
        for one in claim.attributes:
            column = _COLUMNS.get(_plain(one.column))
            if column is None:
                self._refuse(claim.number, "", one.column, "no-such-column", position)
            else:
                words[column].append(one.words)
        found = {
            c: self._values(claim, c, those, near, position)
            for c, those in words.items()
        }
        return {column: values for column, values in found.items() if values}

    def _values(
        self,
        claim: FindingClaim,
        column: str,
        cells: Sequence[str],
        near: Span,
        position: int,
    ) -> tuple[Span, ...]:
        """The claimed words, cut at commas, at their places nearest to the finding, in the order claimed."""
        spans: list[Span] = []
        for words in (part for cell in cells for part in _parts(cell)):
            found = self._found(words, position)
            if not found or _nearest(found, near) in spans:
                reason = "duplicate" if found else "not-in-sentence"
                self._refuse(claim.number, column, words, reason, position)
            else:
                self.believed += 1
                spans.append(_nearest(found, near))
        return tuple(spans)

    def _refuse(
        self,
        finding: int,
        column: str,
        found: Any,
        reason: str,
        position: int | None = None,
    ) -> None:
        sentence = self.report.sentences[position] if position is not None else None
        place = (sentence.section, sentence.number) if sentence else ("", 0)
        shown = (
            found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        )[:80]
        self.refused.append(RefusedValue(*place, column, shown, reason, finding))


# --- places of words in a sentence: letter case, runs of white space and kinds of hyphen do not matter, word
# boundaries do

_GAP = r"[\s\-\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+"
"""White space and hyphens: "ground glass", "ground-glass" and a line break between them are the same."""

_APOSTROPHES = "'\u2018\u2019`\u00b4"
_EDGES = " \t\r\n.,;:"
_PARTS = re.compile(r"[,;](?!\d)")


def occurrences(words: str, sentence: str) -> list[Span]:
    """Every place of these words in the sentence, as whole words; none without letter or digit."""
    if not any(map(str.isalnum, words)):
        return []
    tokens = [token for token in re.split(_GAP, words.strip(_EDGES)) if token]
    before = r"(?<!\w)" if re.match(r"\w", tokens[0]) else ""
    behind = r"(?!\w)" if re.match(r"\w", tokens[-1][-1]) else ""
    apart = re.compile(f"[{_APOSTROPHES}]")
    escaped = [
        f"[{_APOSTROPHES}]".join(map(re.escape, apart.split(token))) for token in tokens
    ]
    pattern = before + _GAP.join(escaped) + behind
    return [
        Span(*found.span()) for found in re.finditer(pattern, sentence, re.IGNORECASE)
    ]


def _nearest(found: Sequence[Span], anchor: Span) -> Span:
    """The place nearest to `anchor`, one that does not overlap it first; of equals the first."""
    overlaps = [span.begin < anchor.end and anchor.begin < span.end for span in found]
    ranks = [
        (over, _distance(span, anchor), span)
        for over, span in zip(overlaps, found, strict=True)
    ]
    return min(ranks)[-1]


def _distance(one: Span, other: Span) -> int:
    """Characters between two places; 0 where they touch or overlap."""
    return max(0, one.begin - other.end, other.begin - one.end)


def _parts(words: str) -> list[str]:
    """The words between commas, because a cell joins its values by commas; "2,5 cm" is one."""
    return [part for piece in _PARTS.split(words) if (part := piece.strip(_EDGES))]
