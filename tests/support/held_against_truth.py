"""Holds what a structurer reads in the varied prose of the synthetic corpus against what the prose says.

Rows are compared inside a sentence: a row of the truth and a row read there are one finding when their names
agree, best first by status and place. Words that say "normal" are the status of a row (method.md section
"Status") and are compared nowhere.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from lunguage_assets.sample import sample_findings, sample_studies
from lunguage_assets.structuring.contract import SectionedReport, Structurer
from lunguage_assets.structuring.text.read import sectioned
from lunguage_assets.tables import ATTRIBUTES

NORMAL = frozenset(
    ("clear", "normal", "unremarkable", "intact", "sharp", "midline", "within", "limits", "size", "not",
     "enlarged", "widened", "engorged", "well", "expanded", "free", "grossly", "configuration", "preserved")
)  # fmt: skip
_FUNCTION_WORDS = frozenset(
    ("the", "a", "an", "in", "at", "of", "on", "to", "its", "with", "and", "is", "are", "tip",
     "approximately", "below", "above")
)  # fmt: skip
Fact = Mapping[Any, str]
"""A row of the truth, by the columns of Lunguage.csv."""


@dataclass(frozen=True)
class Row:
    """A finding as both sides give it; place and attributes as sets of words.

    `passed_on`: further places that are as good, because the sentence gives a place to the sign alone and
    leaves open whether its diagnosis has it too.
    """

    words: str
    name: str
    cat: str
    status: str
    place: frozenset[str]
    attributes: dict[str, frozenset[str]] = field(hash=False)
    passed_on: tuple[frozenset[str], ...] = ()


@dataclass
class Score:
    """Right ones, those read in vain, and those missed."""

    right: int = 0
    vain: int = 0
    missed: int = 0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 when there was nothing to read and nothing was read."""
        total = 2 * self.right + self.vain + self.missed
        return 2 * self.right / total if total else 1.0

    def add(self, true: object, read: object) -> bool:
        """Count one value of each side, empty when it has none; whether they agree."""
        if true == read:
            self.right += bool(true)
            return True
        self.vain += bool(read)
        self.missed += bool(true)
        return False


@dataclass
class Comparison:
    """The scores of many reports, and the disagreements with a sentence of each kind."""

    findings: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    categories: Score = field(default_factory=Score)
    place: Score = field(default_factory=Score)
    attributes: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    sentences: Score = field(default_factory=Score)
    kinds: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def finding(self) -> Score:
        """Finding with status, findings and impression together; history stands apart."""
        return _sum(score for section, score in self.findings.items() if section != "hist")

    @property
    def attribute(self) -> Score:
        return _sum(self.attributes.values())

    def note(self, kind: str, sentence: str) -> None:
        self.kinds[kind] += 1
        if len(self.shown[kind]) < 3:
            self.shown[kind].append(sentence)


def compare(structurer: Structurer, reports: int, seed: int = 0) -> Comparison:
    """Structure the text of invented reports in varied prose and hold the answers against their rows."""
    result = Comparison()
    studies = sample_studies(reports, seed, "varied")
    truth: dict[str, list[Fact]] = defaultdict(list)
    for fact in sample_findings(studies, "varied").to_dict("records"):
        truth[fact["study_id"]].append(fact)
    texts = [
        sectioned(study, text) for study, text in zip(studies["study_id"], studies["report"], strict=True)
    ]
    for report, answer in zip(texts, structurer.structure(texts), strict=True):
        read: dict[int, list[Row]] = defaultdict(list)
        for position, mention in answer.mentions:
            read[position].append(
                Row(
                    mention.ent.words.lower(), mention.normed_ent, mention.cat, mention.status,
                    _words(value.words for value in mention.location),
                    {
                        column: _words(value.words for value in values)
                        for column, values in mention.attributes.items()
                    },
                )
            )  # fmt: skip
        _compare_study(truth[report.study_id], report, read, result)
    return result


def _compare_study(
    truth: list[Fact], report: SectionedReport, read: dict[int, list[Row]], result: Comparison
) -> None:
    placed: set[int] = set()
    for (section, _), found_together in groupby(truth, lambda fact: (fact["section"], fact["sent_idx"])):
        facts = list(found_together)
        text = facts[0]["sent"]
        here = [
            at
            for at, one in enumerate(report.sentences)
            if one.section == section and at not in placed and _overlap(text, one.text)
        ]
        here = _together(text, here, report)
        placed.update(here)
        result.sentences.add(text, text if here else "")
        if not here:
            result.note(f"sentence of {section} not found", text)
        found = [row for at in here for row in read.get(at, [])]
        _compare_rows(section, text, [_row(fact, facts) for fact in facts], found, result)
    for at, rows in read.items():
        if at not in placed:
            one = report.sentences[at]
            for row in rows:
                result.findings[one.section].vain += 1
                result.note(f"read where nothing is ({one.section}): {row.name} {row.status}", one.text)


def _together(text: str, positions: list[int], report: SectionedReport) -> list[int]:
    """The first sentence of the report that is this one, or the consecutive pieces that it was cut into."""
    chosen: list[int] = []
    whole = _plain(text)
    for at in positions:
        piece = _plain(report.sentences[at].text)
        if chosen and (at != chosen[-1] + 1 or piece not in whole or len(piece) == len(whole)):
            break
        chosen.append(at)
        if whole in piece:
            break
    return chosen


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def _overlap(one: str, other: str) -> bool:
    first, second = _plain(one), _plain(other)
    return bool(second) and (first in second or second in first)


def _row(fact: Fact, sentence: list[Fact]) -> Row:
    evidence = re.findall(r"(?:^|, )([^,]+), idx(\d+)", fact["evidence"])
    signs = [other for other in sentence if (other["ent"], other["ent_idx"]) in evidence]
    beside = [other for other in sentence if other is not fact] if fact["place_open"] else signs
    own = {"", *(other["location"] for other in beside)}
    open_place = fact["place_open"] or any(sign["location"] == fact["location"] for sign in signs)
    return Row(
        fact["ent"].lower(), fact["normed_ent"], fact["cat"], fact["dx_certainty"][0] + fact["dx_status"][0],
        _words([fact["location"]]),
        {internal: _words([fact[column]]) for internal, column in ATTRIBUTES.items() if fact[column]},
        tuple(_words([place]) for place in sorted(own)) if open_place else (),
    )  # fmt: skip


def _words(values: Iterable[str]) -> frozenset[str]:
    found = re.findall(r"[\w.-]+", " ".join(values).lower())
    return frozenset(word for word in found if word not in _FUNCTION_WORDS)


def _compare_rows(section: str, text: str, true: list[Row], read: list[Row], result: Comparison) -> None:
    score = result.findings[section]
    for one, other in _pairs(true, read):
        if other is None and one is not None:
            score.missed += 1
            result.note(f"missed: {one.name} {one.status}", text)
        elif one is None and other is not None:
            score.vain += 1
            result.note(f"not there: {other.name} {other.status}", text)
        elif one is not None and other is not None:
            if not score.add(one.status, other.status):
                result.note(f"status: {one.status} read as {other.status} ({one.name})", text)
            _compare_values(section, text, one, other, result)


def _compare_values(section: str, text: str, one: Row, other: Row, result: Comparison) -> None:
    if not result.categories.add(_joined(one.cat), _joined(other.cat)):
        result.note(f"category: {one.cat} read as {other.cat} ({one.words})", text)
    if section == "hist":
        return
    true, read = one.place - set(other.words.split()), other.place - set(one.words.split())
    if read in one.passed_on:
        true = read
    if not result.place.add(true, read):
        result.note(f"place of {one.name}: {_said(true)} read as {_said(read)}", text)
    for column in ATTRIBUTES:
        true, read = (_told(row, column, also) for row, also in ((one, other), (other, one)))
        if not result.attributes[column].add(true, read):
            result.note(f"{column}: {_said(true)} read as {_said(read)}", text)


def _joined(category: str) -> str:
    """The category, seen and read findings as one (method.md section "Category")."""
    return "RF" if category in ("PF", "CF") else category


def _told(row: Row, column: str, beside: Row) -> frozenset[str]:
    """The words of an attribute, less those that say 'normal' and those of the name, on either side."""
    return (
        row.attributes.get(column, frozenset()) - NORMAL - set(beside.words.split()) - set(row.words.split())
    )


def _said(words: frozenset[str]) -> str:
    return " ".join(sorted(words)) or "nothing"


def _pairs(true: list[Row], read: list[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows of both sides that are one finding, the most alike first; then what is left alone."""
    options = sorted(
        (
            (-_likeness(one, other), at, beside)
            for at, one in enumerate(true)
            for beside, other in enumerate(read)
            if _likeness(one, other)
        )
    )
    left, right = set(range(len(true))), set(range(len(read)))
    for _, at, beside in options:
        if at in left and beside in right:
            left.discard(at)
            right.discard(beside)
            yield true[at], read[beside]
    for at in sorted(left):
        yield true[at], None
    for beside in sorted(right):
        yield None, read[beside]


def _likeness(one: Row, other: Row) -> int:
    """0 when the names do not agree; else more for the same words, status and place."""
    first, second = set(_plain(one.words).split()), set(_plain(other.words).split())
    same = one.words == other.words
    if not (same or one.name == other.name or first <= second or second <= first):
        return 0
    return 1 + 4 * same + 2 * (one.status == other.status) + 3 * (one.place == other.place)


def _sum(scores: Iterable[Score]) -> Score:
    total = Score()
    for score in scores:
        total.right += score.right
        total.vain += score.vain
        total.missed += score.missed
    return total
