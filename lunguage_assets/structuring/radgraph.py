"""Delivered entities of RadGraph as a structurer's answer: an observation is a finding, `located_at` its
place, the label its status, `suggestive_of` makes it evidence, and what modifies it an attribute.

RadGraph names no canonical names, categories or kinds of attributes: they are those that the words of
`resources/structuring` give to the spelling around an entity, and what these do not know is left empty and
listed in `refused_values`, as are entities outside every sentence. "Uncertain" has no direction: it counts
as tentatively present. An observation at several places is one row.

RadGraph2 has entities for what changed since an earlier film (`CHAN-NC`, `CHAN-CON-WOR`, ...). They are
attributes of the observation that they modify, in the column that their label names. What has resolved or was
removed is negative, as for the rules (docs/method.md section 7). A part of the body that did not change is a
negative row of its own; another change of one says nothing about a finding, and is refused.
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
from lunguage_assets.assertion.vocabulary import LexiconEntry
from lunguage_assets.corpus.texts.published import RADGRAPH_LABELS, is_change
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

VERSION = 2
"""Of these rules: part of the structurer's identity."""
_CHANGE = "CHANGE"
"""The part that an entity of RadGraph2 for a change plays."""
_COLUMN_OF_CHANGE = {
    "CHAN-NC": "no_change",
    "CHAN-WOR": "worsened",
    "CHAN-CON-WOR": "worsened",
    "CHAN-IMP": "improved",
    "CHAN-CON-IMP": "improved",
    "CHAN-CON-AP": "onset",
    "CHAN-DEV-AP": "onset",
    "CHAN-AP": "onset",
    "CHAN-CON-RES": "improved",
    "CHAN-DEV-DISA": "improved",
    "CHAN-DISA": "improved",
    "CHAN-DEV-PLACE": "placement",
    "CHAN-DISP": "placement",
}
"""Labels of RadGraph2, of its paper and of its files, the older ones too. The words of a label that is not
here say the column themselves, as those of other attributes do.
"""
_ENDED = frozenset({"CHAN-CON-RES", "CHAN-DEV-DISA", "CHAN-DISA"})
"""What is said of these is not there now."""
_WITHOUT = {"dp": "dn", "tp": "tn"}
_STATUS = {"DP": "dp", "U": "tp", "DA": "dn"}
_TURNED = {"dp": "dn", "tp": "tn", "dn": "dp"}
_UNKNOWN = LexiconEntry("other")
_RELATIONS = frozenset({"modify", "located_at", "suggestive_of"})
_WORD, _BETWEEN = re.compile(r"\S+"), re.compile(r"[\s-]*")
_SIDE = re.compile(r"\b(?:right|left|bilateral|both)", re.IGNORECASE)


def radgraph_identity(content: str, key: str = RADGRAPH) -> str:
    """Identity of the structurer of this key with words of this hash (`lexicon.content_hash`)."""
    return f"{key}/{hashlib.blake2b(f'{VERSION}/{content}'.encode(), digest_size=8).hexdigest()}"


@dataclass(slots=True)
class _Entity:
    """An entity in a sentence.

    Args:
        part: OBS, ANAT, SIZE, or `_CHANGE`.
        sure: DP, U or DA; of a change its label.
        span: its words.
        sentence: position of its sentence in the report.
        relations: kind and name of the other entity.
        spelling: the known words around it.
        sense: what these mean.
        modified_by: names of entities.
    """

    part: str
    sure: str
    span: Span
    sentence: int
    relations: list[tuple[str, str]]
    spelling: Span
    sense: LexiconEntry
    modified_by: list[str] = field(default_factory=list)


class RadGraphStructurer:
    """Takes `graphs`, entities as JSON by study id, for what the reports say; a report without any is
    unreadable. `terms`: a delivered vocabulary (`tables.TERMS`). `key`: whose entities these are.
    """

    def __init__(
        self,
        graphs: Mapping[str, str],
        terms: pd.DataFrame | None = None,
        key: str = RADGRAPH,
    ) -> None:
        self.key = key
        self._graphs = graphs
        self._lexicon, content = build_lexicon(terms)
        self.identity = radgraph_identity(content, key)

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
        self,
        report: SectionedReport,
        graph: Mapping[str, Any],
        refused: list[RefusedValue],
    ) -> dict[str, _Entity]:
        """Entities by their names, as far as they stand in a sentence that may state findings."""
        words = [Span(*word.span()) for word in _WORD.finditer(report.text)]
        tokens = {
            place: self._lexicon.tokens(one.text)
            for place, one in enumerate(report.sentences)
        }
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
            if span.of(
                report.text
            ).lower().split() != said.lower().split() or section in ("", "other"):
                reason = "section" if section == "other" else "not-in-sentence"
                refused.append(RefusedValue(section, 0, "ent", said, reason))
                continue
            label = one["label"]
            part, sure = (
                (_CHANGE, label) if is_change(label) else RADGRAPH_LABELS[label]
            )
            begin = report.sentences[place].span.begin
            spelling, sense = self._spelled(tokens[place], span.moved(-begin))
            links = [
                (kind, str(goal))
                for kind, goal in one["relations"]
                if isinstance(kind, str) and isinstance(goal, str | int)
            ]
            found[name] = _Entity(
                part, sure, span, place, links, spelling.moved(begin), sense
            )
        for name, entity in found.items():
            at, said = report.sentences[entity.sentence], entity.span.of(report.text)
            # what a refused entity had to do with this one goes with it, which is listed
            lost = [kind for kind, goal in entity.relations if goal not in graph]
            for kind in lost:
                column = (
                    kind if kind in _RELATIONS else "relation"
                )  # no other word of the file is shown
                refused.append(
                    RefusedValue(at.section, at.number, column, said, "no-such-finding")
                )
            entity.relations = [
                (kind, goal) for kind, goal in entity.relations if goal in found
            ]
            for kind, goal in entity.relations:
                if kind == "modify" and goal != name:
                    found[goal].modified_by.append(name)
        return found

    def _spelled(self, tokens: list[Token], span: Span) -> tuple[Span, LexiconEntry]:
        """The longest known spelling with the last word of an entity in it."""
        last = next(
            (place for place, one in enumerate(tokens) if one.end >= span.end),
            len(tokens) - 1,
        )
        for start in range(max(0, last - 5), last + 1):
            sense, end = self._lexicon.match(tokens, start)
            if sense is not None and start <= last < end:
                begin = min(tokens[start].begin, span.begin)
                return Span(begin, max(tokens[end - 1].end, span.end)), sense
        return span, _UNKNOWN

    def _mentions(
        self,
        report: SectionedReport,
        found: Mapping[str, _Entity],
        refused: list[RefusedValue],
    ) -> tuple[Mention, ...]:
        made, root = list[tuple[Mention, str]](), dict[str, str]()
        for name, one in found.items():
            own = {*_with_modifiers(found, [name])}
            modified = [
                goal
                for kind, goal in one.relations
                if kind == "modify" and goal not in own
            ]
            if any(found[goal].part in ("OBS", _CHANGE) for goal in modified):
                continue
            if one.part == "OBS" or _is_unchanged_anatomy(found, one):
                made.append((_mention(report, found, name, refused), name))
                root |= dict.fromkeys(own, name)
            elif one.part == _CHANGE:
                at, said = report.sentences[one.sentence], one.span.of(report.text)
                refused.append(
                    RefusedValue(
                        at.section, at.number, "modify", said, "no-such-finding"
                    )
                )
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
    report: SectionedReport,
    found: Mapping[str, _Entity],
    name: str,
    refused: list[RefusedValue],
) -> Mention:
    """The row of an observation; one that only calls its place normal or not, or unchanged, is a row of the
    place.
    """
    one = about = found[name]
    attributes = dict[str, list[Span]]()
    places = _places(found, one)
    names = [*_with_modifiers(found, one.modified_by)]
    if one.part == _CHANGE:
        status = "dn"  # a part of the body that did not change is taken for normal
    else:
        status = _STATUS[one.sure]
    if places and (one.part == _CHANGE or one.sense.kind in ("normal", "abnormal")):
        about = found[places[0]]
        status = (
            _TURNED[status]
            if one.sense.kind == "normal" and one.part != _CHANGE
            else status
        )
        names.append(name)
    changes = [other for other in names if found[other].part == _CHANGE]
    column_of_change = {
        word: _COLUMN_OF_CHANGE.get(found[change].sure, found[change].sense.code)
        for change in changes
        for word in _with_modifiers(found, [change])
    }
    if any(found[change].sure in _ENDED for change in changes):
        status = _WITHOUT.get(status, status)
    within = [
        other
        for other in _with_modifiers(found, places)
        if other not in column_of_change
    ]
    location = {found[other].span for other in within}
    for word_name in names:
        word = found[word_name]
        column = "measurement" if word.part == "SIZE" else word.sense.code
        column = column_of_change.get(word_name, column)
        is_place = word.part == "ANAT" or word.sense.kind in ("place", "anatomy")
        if is_place and word_name not in column_of_change:
            location.add(word.span)
        elif column in ATTRIBUTES:
            attributes.setdefault(column, []).append(word.span)
        else:
            at, said = report.sentences[word.sentence], word.span.of(report.text)
            refused.append(
                RefusedValue(at.section, at.number, "modify", said, "no-such-column")
            )
    is_named = about.sense.kind in ("finding", "anatomy")
    ent = about.spelling if is_named else about.span
    outside = sorted(
        span for span in location if span.end <= ent.begin or ent.end <= span.begin
    )
    normed = (
        about.sense.name if is_named else " ".join(ent.of(report.text).lower().split())
    )
    category = "PF" if about is not one or is_named else "OTH"
    return Mention(
        about.sentence,
        ent,
        normed,
        about.sense.code if about.sense.kind == "finding" else category,
        status,
        tuple(
            sorted(
                _joined(outside, report.text),
                key=lambda span: not _SIDE.search(span.of(report.text)),
            )
        ),
        {
            column: tuple(sorted(attributes[column]))
            for column in ATTRIBUTES
            if column in attributes
        },
    )


def _places(found: Mapping[str, _Entity], one: _Entity) -> list[str]:
    """The parts of the body that an entity lies in, or is said of."""
    goals = [goal for kind, goal in one.relations if kind != "suggestive_of"]
    return [goal for goal in goals if found[goal].part == "ANAT"]


def _is_unchanged_anatomy(found: Mapping[str, _Entity], one: _Entity) -> bool:
    """Whether an entity says of a part of the body alone that it did not change."""
    return one.part == _CHANGE and one.sure == "CHAN-NC" and bool(_places(found, one))


def _with_modifiers(
    found: Mapping[str, _Entity], names: Sequence[str]
) -> Iterator[str]:
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
        if joined and _BETWEEN.fullmatch(
            text, joined[-1].end, max(span.begin, joined[-1].end)
        ):
            joined[-1] = Span(joined[-1].begin, max(span.end, joined[-1].end))
        else:
            joined.append(span)
    return joined
