"""Delivered entities of RadGraph as a structurer's answer: an observation is a finding, `located_at` its
place, the label its status, `suggestive_of` makes it evidence, and what modifies it an attribute.

RadGraph names no canonical names, categories or kinds of attributes: they are those that the words of
`resources/structuring` give to the spelling around an entity, and what these do not know is left empty and
listed in `refused_values`, as are entities outside every sentence. "Uncertain" has no direction: it counts
as tentatively present. An observation at several places is one row.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from lunguage_assets.assertion.tokens import Token
from lunguage_assets.assertion.vocabulary import Sense
from lunguage_assets.corpus.texts.published import RADGRAPH_LABELS
from lunguage_assets.judges.configuration import RADGRAPH
from lunguage_assets.structuring.contract import (
    Mention,
    RefusedValue,
    SectionedReport,
    SentenceReading,
    Span,
    StructuredReport,
)
from lunguage_assets.structuring.rules.lexicon import build_lexicon
from lunguage_assets.tables import ATTRIBUTES

VERSION = 1
"""Of these rules: part of the structurer's identity."""
_STATUS = {"DP": "dp", "U": "tp", "DA": "dn"}
_TURNED = {"dp": "dn", "tp": "tn", "dn": "dp"}
_UNKNOWN = Sense("other")
_RELATIONS = frozenset({"modify", "located_at", "suggestive_of"})
_WORD, _BETWEEN = re.compile(r"\S+"), re.compile(r"[\s-]*")
_SIDE = re.compile(r"\b(?:right|left|bilateral|both)", re.IGNORECASE)


def radgraph_identity(content: str) -> str:
    """Identity of the structurer with words of this hash (`lexicon.content_hash`)."""
    return f"{RADGRAPH}/{hashlib.blake2b(f'{VERSION}/{content}'.encode(), digest_size=8).hexdigest()}"


@dataclass(slots=True)
class _Entity:
    """An entity in a sentence; `spelling` are the known words around it, with what they mean."""

    part: str
    sure: str
    span: Span
    sentence: int
    relations: list[tuple[str, str]]
    spelling: Span
    sense: Sense
    modified_by: list[str] = field(default_factory=list)


class RadGraphStructurer:
    """Takes `graphs`, entities as JSON by study id, for what the reports say; a report without any is
    unreadable. `terms`: a delivered vocabulary (`tables.TERMS`).
    """

    key = RADGRAPH

    def __init__(self, graphs: Mapping[str, str], terms: pd.DataFrame | None = None) -> None:
        self._graphs = graphs
        self._lexicon, content = build_lexicon(terms)
        self.identity = radgraph_identity(content)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        return [self._structured(report) for report in reports]

    def _structured(self, report: SectionedReport) -> StructuredReport:
        graph = self._graph(report.study_id)
        refused = list[RefusedValue]()
        found = self._entities(report, graph or {}, refused)
        mentions = self._mentions(report, found, refused)
        stated = {mention.sentence for mention in mentions}
        silent = SentenceReading("nothing stated", "no entity")
        if graph is None:
            silent = SentenceReading("unreadable", "no entities delivered")
        readings = tuple(
            SentenceReading("findings") if place in stated
            else SentenceReading("nothing stated", "section") if one.section == "other" else silent
            for place, one in enumerate(report.sentences)
        )  # fmt: skip
        return StructuredReport(report.study_id, readings, mentions, tuple(refused))

    def _graph(self, study_id: str) -> Mapping[str, Any] | None:
        """The entities of a report; None where none were delivered, or brackets in brackets."""
        if study_id not in self._graphs:
            return None
        try:
            return dict(json.loads(self._graphs[study_id]))
        except RecursionError:
            return None

    def _entities(
        self, report: SectionedReport, graph: Mapping[str, Any], refused: list[RefusedValue]
    ) -> dict[str, _Entity]:
        """Entities by their names, as far as they stand in a sentence that may state findings."""
        words = [Span(*word.span()) for word in _WORD.finditer(report.text)]
        tokens = {place: self._lexicon.tokens(one.text) for place, one in enumerate(report.sentences)}
        found = {}
        for name, one in graph.items():
            first, last, said = one["start_ix"], one["end_ix"], one["tokens"]
            own = words[first : last + 1] if 0 <= first <= last else []
            span = Span(own[0].begin, own[-1].end) if own else Span(0, 0)
            inside = (
                place
                for place, sentence in enumerate(report.sentences)
                if sentence.span.begin <= span.begin and span.end <= sentence.span.end
            )
            place = next(inside, -1)
            section = report.sentences[place].section if place >= 0 else ""
            if span.of(report.text).lower().split() != said.lower().split() or section in ("", "other"):
                reason = "section" if section == "other" else "not-in-sentence"
                refused.append(RefusedValue(section, 0, "ent", said, reason))
                continue
            part, sure = RADGRAPH_LABELS[one["label"]]
            begin = report.sentences[place].span.begin
            spelling, sense = self._spelled(tokens[place], span.moved(-begin))
            links = [
                (kind, str(goal))
                for kind, goal in one["relations"]
                if isinstance(kind, str) and isinstance(goal, str | int)
            ]
            found[name] = _Entity(part, sure, span, place, links, spelling.moved(begin), sense)
        for name, entity in found.items():
            at, said = report.sentences[entity.sentence], entity.span.of(report.text)
            # what a refused entity had to do with this one goes with it, which is listed
            lost = [kind for kind, goal in entity.relations if goal not in graph]
            for kind in lost:
                column = kind if kind in _RELATIONS else "relation"  # no other word of the file is shown
                refused.append(RefusedValue(at.section, at.number, column, said, "no-such-finding"))
            entity.relations = [(kind, goal) for kind, goal in entity.relations if goal in found]
            for kind, goal in entity.relations:
                if kind == "modify" and goal != name:
                    found[goal].modified_by.append(name)
        return found

    def _spelled(self, tokens: list[Token], span: Span) -> tuple[Span, Sense]:
        """The longest known spelling with the last word of an entity in it."""
        last = next((place for place, one in enumerate(tokens) if one.end >= span.end), len(tokens) - 1)
        for start in range(max(0, last - 5), last + 1):
            sense, end = self._lexicon.match(tokens, start)
            if sense is not None and start <= last < end:
                begin = min(tokens[start].begin, span.begin)
                return Span(begin, max(tokens[end - 1].end, span.end)), sense
        return span, _UNKNOWN

    def _mentions(
        self, report: SectionedReport, found: Mapping[str, _Entity], refused: list[RefusedValue]
    ) -> tuple[Mention, ...]:
        made, root = list[tuple[Mention, str]](), dict[str, str]()
        for name, one in found.items():
            own = {*_with_modifiers(found, [name])}
            modified = (goal for kind, goal in one.relations if kind == "modify" and goal not in own)
            if one.part == "OBS" and not any(found[goal].part == "OBS" for goal in modified):
                made.append((_mention(report, found, name, refused), name))
                root |= dict.fromkeys(own, name)
        made.sort(key=lambda pair: pair[0].ent)
        place = {name: number for number, (_, name) in enumerate(made)}
        supports = {
            (place[root[goal]], place[root[name]])
            for name, one in found.items()
            for kind, goal in one.relations
            if kind == "suggestive_of" and name in root and goal in root and root[name] != root[goal]
            and "DA" not in (one.sure, found[goal].sure)
        }  # fmt: skip
        return tuple(
            replace(
                mention,
                evidence=tuple(sorted(sign for goal, sign in supports if goal == own)),
                associate=tuple(sorted(goal for goal, sign in supports if sign == own)),
            )
            for own, (mention, _) in enumerate(made)
        )


def _mention(
    report: SectionedReport, found: Mapping[str, _Entity], name: str, refused: list[RefusedValue]
) -> Mention:
    """The row of an observation; one that only calls its place normal or not is a row of the place."""
    one = about = found[name]
    status, attributes = _STATUS[one.sure], dict[str, list[Span]]()
    places = [goal for kind, goal in one.relations if kind != "suggestive_of" and found[goal].part == "ANAT"]
    words = [found[other] for other in _with_modifiers(found, one.modified_by)]
    if one.sense.kind in ("normal", "abnormal") and places:
        about = found[places[0]]
        status = _TURNED[status] if one.sense.kind == "normal" else status
        words.append(one)
    location = {found[other].span for other in _with_modifiers(found, places)}
    for word in words:
        column = "measurement" if word.part == "SIZE" else word.sense.code
        if word.part == "ANAT" or word.sense.kind in ("place", "anatomy"):
            location.add(word.span)
        elif column in ATTRIBUTES:
            attributes.setdefault(column, []).append(word.span)
        else:
            at, said = report.sentences[word.sentence], word.span.of(report.text)
            refused.append(RefusedValue(at.section, at.number, "modify", said, "no-such-column"))
    is_named = about.sense.kind in ("finding", "anatomy")
    ent = about.spelling if is_named else about.span
    outside = sorted(span for span in location if span.end <= ent.begin or ent.end <= span.begin)
    normed = about.sense.name if is_named else " ".join(ent.of(report.text).lower().split())
    category = "PF" if about is not one or is_named else "OTH"
    return Mention(
        about.sentence,
        ent,
        normed,
        about.sense.code if about.sense.kind == "finding" else category,
        status,
        tuple(sorted(_joined(outside, report.text), key=lambda span: not _SIDE.search(span.of(report.text)))),
        {column: tuple(sorted(attributes[column])) for column in ATTRIBUTES if column in attributes},
    )


def _with_modifiers(found: Mapping[str, _Entity], names: Sequence[str]) -> Iterator[str]:
    """Entities, each once, with all that modify them."""
    seen, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += found[name].modified_by
            yield name


def _joined(spans: Sequence[Span], text: str) -> list[Span]:
    """Neighbours as one: "left", "lower" and "lobe" are "left lower lobe"."""
    joined: list[Span] = []
    for span in spans:
        if joined and _BETWEEN.fullmatch(text, joined[-1].end, max(span.begin, joined[-1].end)):
            joined[-1] = Span(joined[-1].begin, max(span.end, joined[-1].end))
        else:
            joined.append(span)
    return joined
