"""What a structurer is given, and what it answers (docs/method.md).

It is given reports cut into sentences. Words are quoted, never written: a value is a
piece of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

SectionCode = Literal["hist", "find", "impr", "other"]
"""Sections; sentences of `other` state no findings: technique, comparison, ..."""

Account = Literal[
    "findings", "nothing stated", "not about the patient now", "unreadable"
]
"""What became of a sentence. Every sentence of findings and impression has one."""


UNANSWERED = "unanswered."
"""How the ids of words begin that no cue answered for (`CueUse`).

A mention that would be certain is tentative beside them: `unanswered.words` speak of
doubt, denial or time and reached nothing, `unanswered.unknown` are in no word list.
They stand in the column `cues` of its row with their characters, as cues do.
"""


class Span(NamedTuple):
    """Characters of a text, from `begin` up to, not including, `end`."""

    begin: int
    end: int

    def of(self, text: str) -> str:
        """Quote the characters."""
        return text[self.begin : self.end]

    def moved(self, by: int) -> Span:
        """Give the same characters of a text that has `by` more in front."""
        return Span(self.begin + by, self.end + by)


class CueUse(NamedTuple):
    """A cue that says how a mention is meant.

    Attributes:
        cue: id (`assertion/cues.py`).
        span: its characters.
    """

    cue: str
    span: Span


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a report.

    Attributes:
        section: code of its section.
        number: counts from 1 inside its section code.
        span: its characters in the report's text.
        text: exactly what stands there.
        heading: of its section, as written, or empty.
    """

    section: SectionCode
    number: int
    span: Span
    text: str = field(repr=False)
    heading: str = ""

    @property
    def name(self) -> str:
        """Name it as prompts do: section and number, such as `find:2`."""
        return f"{self.section}:{self.number}"


@dataclass(frozen=True, slots=True)
class SectionedReport:
    """A report, cut into sentences.

    Attributes:
        study_id: of the report.
        text: of the report.
        sentences: in the order of the text.
        views: that the text names.
        notes: codes of what was odd.
    """

    study_id: str
    text: str = field(repr=False)
    sentences: tuple[Sentence, ...] = field(repr=False)
    views: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """One finding at one place in one sentence: a row. Spans are of the report's text.

    Attributes:
        sentence: position of its sentence in the report.
        ent: the finding's words.
        normed_ent: canonical name, lower case.
        cat: code of `tables.CATEGORIES`.
        status: code of `tables.STATUSES`; negative means absent or normal.
        location: anatomy first, then details.
        attributes: internal column of `tables.ATTRIBUTES` -> values; columns without
            values are left out.
        evidence: positions, among the mentions of the same answer, of what supports it.
        associate: positions of mentions that it goes with otherwise.
        cues: what decided status and time, of structurers that know it.
    """

    sentence: int
    ent: Span
    normed_ent: str
    cat: str
    status: str
    location: tuple[Span, ...] = ()
    attributes: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    evidence: tuple[int, ...] = ()
    associate: tuple[int, ...] = ()
    cues: tuple[CueUse, ...] = ()

    @property
    def is_unresolved(self) -> bool:
        """Whether it is tentative only because words of its clause were not read."""
        return any(use.cue.startswith(UNANSWERED) for use in self.cues)


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """What became of a sentence.

    Attributes:
        account: of the sentence.
        reason: short code of why nothing is stated now: "recommendation", ...
    """

    account: Account
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """What was claimed of a report and is not believed.

    Attributes:
        section: code of the sentence's section, or empty.
        sent_idx: its number, or 0.
        column: of the value.
        found: what was claimed.
        reason: code of why it is not believed.
    """

    section: str
    sent_idx: int
    column: str
    found: str = field(repr=False)
    reason: str


@dataclass(frozen=True, slots=True)
class StructuredReport:
    """A structurer's answer for one report.

    Attributes:
        readings: one per sentence of the report, in its order; those of section `other`
            are `nothing stated`.
        mentions: in the order of the text; references are positions in this very tuple.
        refused: what was claimed and not believed.
    """

    study_id: str
    readings: tuple[SentenceReading, ...] = field(repr=False)
    mentions: tuple[Mention, ...] = field(repr=False)
    refused: tuple[RefusedValue, ...] = field(default=(), repr=False)


class Structurer(Protocol):
    """Turns reports into mentions.

    `identity` names everything that changes its answers.
    """

    key: str
    identity: str

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        ...
