"""From findings that are believed to a structurer's answer: order, references by position, accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lunguage_assets.structuring.contract import (
    Account,
    Mention,
    RefusedValue,
    SectionedReport,
    SentenceReading,
    StructuredReport,
    Value,
)


@dataclass(eq=False, slots=True)
class Kept:
    """A finding that is believed: its number in the answer, its sentence's position, and what is said of it.

    `wanted` are the numbers that it refers to, as claimed; `references` the findings that they turned out to
    be.
    """

    number: int
    position: int
    ent: Value
    name: str
    cat: str
    status: str
    location: tuple[Value, ...]
    attributes: Mapping[str, tuple[Value, ...]]
    wanted: Mapping[str, Sequence[Any]]
    references: dict[str, list[Kept]] = field(default_factory=lambda: {"evidence": [], "associate": []})

    def same_place(self, other: Kept) -> bool:
        """Whether both are the same words at the same place of the patient."""
        mine, others = ({(v.span.begin, v.span.end) for v in one.location} for one in (self, other))
        return self.position == other.position and self.ent.span == other.ent.span and mine == others


def assembled(
    report: SectionedReport,
    kept: Sequence[Kept],
    accounts: Mapping[int, tuple[Account, str]],
    refused: tuple[RefusedValue, ...],
) -> StructuredReport:
    """The answer about a report.

    The way back of an evidence is an associate, whether the model says so or not (method.md section 5).
    """
    ordered = sorted(kept, key=lambda one: (one.position, one.ent.span.begin, one.ent.span.end))
    place = {id(one): number for number, one in enumerate(ordered)}
    evidence = [sorted(place[id(goal)] for goal in one.references["evidence"]) for one in ordered]
    associate = [{place[id(goal)] for goal in one.references["associate"]} for one in ordered]
    for number, supports in enumerate(evidence):
        for support in supports:
            associate[support].add(number)
    mentions = [
        Mention(
            one.ent,
            one.name,
            one.cat,
            one.status,
            one.location,
            one.attributes,
            tuple(evidence[number]),
            tuple(sorted(associate[number])),
        )
        for number, one in enumerate(ordered)
    ]
    placed = tuple((one.position, mention) for one, mention in zip(ordered, mentions, strict=True))
    readings = tuple(_reading(place, placed, accounts) for place, _ in enumerate(report.sentences))
    return StructuredReport(report.study_id, readings, placed, refused)


def unreadable(report: SectionedReport, reason: str) -> StructuredReport:
    """The answer about a report of which no answer can be read."""
    readings = tuple(
        SentenceReading("nothing stated", reason="section")
        if sentence.section == "other"
        else SentenceReading("unreadable", reason=reason)
        for sentence in report.sentences
    )
    return StructuredReport(report.study_id, readings, (), valid=False)


def _reading(
    position: int,
    placed: Sequence[tuple[int, Mention]],
    accounts: Mapping[int, tuple[Account, str]],
) -> SentenceReading:
    """One sentence, its references as positions among its own mentions; those that leave it stay out."""
    own = [number for number, (place, _) in enumerate(placed) if place == position]
    if not own:
        account, reason = accounts.get(position, ("nothing stated", "section"))
        return SentenceReading(account, reason=reason)
    first = own[0]

    def inside(references: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(number - first for number in references if number in own)

    mentions = (placed[number][1] for number in own)
    return SentenceReading(
        "findings",
        tuple(
            replace(one, evidence=inside(one.evidence), associate=inside(one.associate)) for one in mentions
        ),
    )
