"""Delivered entities of RadGraph as a structurer's answer.

An observation is a finding, `located_at` its location, the label its status,
`suggestive_of` makes it evidence, and what modifies it is an attribute. "Uncertain" has
no direction: it counts as tentatively present. An observation at several places is one
row.

RadGraph names no canonical names, categories or kinds of attributes: they are those
that the words of `resources/structuring` give to the spelling around an entity. What
these do not know is left empty and listed in `refused_values`, as are entities outside
every sentence.

RadGraph2 has entities for what changed since an earlier film (`CHAN-NC`,
`CHAN-CON-WOR`, ...). They are attributes of the observation that they modify, in the
column that their label names. What has resolved or was removed is negative, as for the
rules (docs/method.md section 7). A part of the body that did not change is a negative
row of its own; another change of one says nothing about a finding, and is refused.

The form of delivered files is checked before, in `corpus/texts/published.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.assertion.tokens import Token
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary
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
"""The type of an entity of RadGraph2 for a change, beside `OBS`, `ANAT` and `SIZE`."""
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
"""Labels of RadGraph2, of its paper and of its files, the older ones too.

The words of a label that is not here say the column themselves, as those of other
attributes do.
"""
_UNCHANGED = "CHAN-NC"
_ENDED = frozenset({"CHAN-CON-RES", "CHAN-DEV-DISA", "CHAN-DISA"})
"""What these are said of is not there now."""

_STATUS_BY_LABEL = {"DP": "dp", "U": "tp", "DA": "dn"}
_NEGATED = {"dp": "dn", "tp": "tn"}
_TURNED = {"dp": "dn", "tp": "tn", "dn": "dp"}
"""A part of the body that is "present: normal" is not abnormal, and so on."""

_UNKNOWN = LexiconEntry("other")
"""What a word means that the lexicon does not have."""
_LONGEST_SPELLING = 5
"""Words before the last one of an entity where its spelling may begin."""
_RELATIONS = frozenset({"modify", "located_at", "suggestive_of"})
_WORD = re.compile(r"\S+")
_BETWEEN_NEIGHBOURS = re.compile(r"[\s-]*")
_SIDE = re.compile(r"\b(?:right|left|bilateral|both)", re.IGNORECASE)


def radgraph_identity(content: str, key: str = RADGRAPH) -> str:
    """Name the structurer of this key with words of this hash (`content_hash`)."""
    digest = hashlib.blake2b(f"{VERSION}/{content}".encode(), digest_size=8)
    return f"{key}/{digest.hexdigest()}"


class Relation(NamedTuple):
    """What an entity has to do with another: `modify`, `located_at`, ..."""

    type: str
    target: str


@dataclass(slots=True)
class Entity:
    """An entity in a sentence.

    Attributes:
        type: OBS, ANAT, SIZE, or CHANGE.
        label: DP, U or DA, whether it is there; of a change what has changed.
        span: its words.
        sentence: position of its sentence in the report.
        relations: to other entities.
        spelling: the known words around it.
        entry: what these mean.
        modified_by: names of entities.
    """

    type: str
    label: str
    span: Span
    sentence: int
    relations: list[Relation]
    spelling: Span
    entry: LexiconEntry
    modified_by: list[str] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        """Whether it says what has changed."""
        return self.type == _CHANGE


class RadGraphStructurer:
    """Takes delivered entities for what the reports say.

    Args:
        graphs: entities as JSON, by study id; a report without any is unreadable.
        terms: a delivered vocabulary (`tables.TERMS`).
        key: whose entities these are.
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
        """Give one answer per report, in the reports' order."""
        return [self._structure(report) for report in reports]

    def _structure(self, report: SectionedReport) -> StructuredReport:
        entities = self._delivered_entities(report.study_id)
        graph = _ReportGraph(report, entities or {}, self._lexicon)
        mentions = graph.mentions()
        # A sentence without entities states nothing where its report has some. Without
        # any delivered for the report, nobody knows.
        silent = SentenceReading("nothing stated", "no entity")
        if entities is None:
            silent = SentenceReading("unreadable", "no entities delivered")
        stated = {mention.sentence for mention in mentions}
        readings: list[SentenceReading] = []
        for position, sentence in enumerate(report.sentences):
            if position in stated:
                readings.append(SentenceReading("findings"))
            elif sentence.section == "other":
                readings.append(SentenceReading("nothing stated", "section"))
            else:
                readings.append(silent)
        refused = tuple(graph.refused)
        return StructuredReport(report.study_id, tuple(readings), mentions, refused)

    def _delivered_entities(self, study_id: str) -> Mapping[str, Any] | None:
        """Read the entities of a report.

        Returns:
            None where there are none, or where brackets stand in too many brackets.
        """
        if study_id not in self._graphs:
            return None
        try:
            return dict(json.loads(self._graphs[study_id]))
        except RecursionError:
            return None


class _ReportGraph:
    """The entities of one report that stand in its sentences, and what is refused.

    Args:
        report: of the entities.
        delivered: entities by name, as RadGraph writes them.
        lexicon: names, categories and columns of spellings.
    """

    def __init__(
        self,
        report: SectionedReport,
        delivered: Mapping[str, Any],
        lexicon: Vocabulary,
    ) -> None:
        self.refused: list[RefusedValue] = []
        self._report = report
        self._delivered = delivered
        self._lexicon = lexicon
        self._tokens = [lexicon.tokens(sentence.text) for sentence in report.sentences]
        self._entities: dict[str, Entity] = {}
        # RadGraph counts words, not characters: what stands between blanks.
        words = [Span(*word.span()) for word in _WORD.finditer(report.text)]
        for name, entity in delivered.items():
            self._take(name, entity, words)
        # Only when all are there: a relation may lead to an entity further down.
        for name, entity in self._entities.items():
            self._connect(name, entity)

    # --- entities in sentences

    def _take(self, name: str, delivered: Mapping[str, Any], words: list[Span]) -> None:
        """Keep an entity that stands in a sentence that may state findings.

        Args:
            name: of the entity.
            delivered: the entity, which counts the words of the report.
            words: of the report.
        """
        claimed = delivered["tokens"]
        span = _span_of_words(words, delivered["start_ix"], delivered["end_ix"])
        position = self._sentence_around(span)
        section = ""
        if position >= 0:
            section = self._report.sentences[position].section
        if section == "other":
            self.refused.append(RefusedValue(section, 0, "ent", claimed, "section"))
            return
        # Entities of another text, or of one that was edited later, count other words.
        words_at_span = span.of(self._report.text).lower().split()
        is_quoted = words_at_span == claimed.lower().split()
        if position < 0 or not is_quoted:
            reason = "not-in-sentence"
            self.refused.append(RefusedValue(section, 0, "ent", claimed, reason))
            return
        label = delivered["label"]
        if is_change(label):
            entity_type = _CHANGE
        else:
            entity_type, label = RADGRAPH_LABELS[label]
        # The lexicon reads the sentence alone: spans of it are moved there and back.
        begin = self._report.sentences[position].span.begin
        spelling = self._spelling_around(position, span.moved(-begin))
        self._entities[name] = Entity(
            type=entity_type,
            label=label,
            span=span,
            sentence=position,
            relations=_relations_of(delivered),
            spelling=spelling.span.moved(begin),
            entry=spelling.entry,
        )

    def _sentence_around(self, span: Span) -> int:
        """Find the position of the sentence that words stand in; -1: none."""
        for position, sentence in enumerate(self._report.sentences):
            if sentence.span.begin <= span.begin and span.end <= sentence.span.end:
                return position
        return -1

    def _spelling_around(self, position: int, span: Span) -> _Spelling:
        """Find the longest known spelling with the last word of an entity in it.

        RadGraph takes "pleural effusion" apart, into a part of the body and an
        observation "effusion", whose name stands in the lexicon as a whole.

        Args:
            position: of the sentence.
            span: of the entity, in the sentence.
        """
        tokens = self._tokens[position]
        last = _last_token_of(tokens, span)
        # The earliest begin that reaches the last word gives the longest spelling.
        for start in range(max(0, last - _LONGEST_SPELLING), last + 1):
            entry, end = self._lexicon.match(tokens, start)
            if entry is not None and start <= last < end:
                begin = min(tokens[start].begin, span.begin)
                return _Spelling(Span(begin, max(tokens[end - 1].end, span.end)), entry)
        return _Spelling(span, _UNKNOWN)

    def _connect(self, name: str, entity: Entity) -> None:
        """Keep the relations to entities that were kept, and list the others."""
        for relation in entity.relations:
            # A relation to a refused entity is not listed: the entity itself is.
            if relation.target in self._delivered:
                continue
            # A type that does not exist may be any text: it is not shown.
            if relation.type in _RELATIONS:
                self._refuse(entity, relation.type, "no-such-finding")
            else:
                self._refuse(entity, "relation", "no-such-finding")
        entity.relations = [
            relation
            for relation in entity.relations
            if relation.target in self._entities
        ]
        for relation in entity.relations:
            if relation.type == "modify" and relation.target != name:
                self._entities[relation.target].modified_by.append(name)

    def _refuse(self, entity: Entity, column: str, reason: str) -> None:
        sentence = self._report.sentences[entity.sentence]
        words = entity.span.of(self._report.text)
        self.refused.append(
            RefusedValue(sentence.section, sentence.number, column, words, reason)
        )

    # --- mentions

    def mentions(self) -> tuple[Mention, ...]:
        """Make the rows of the observations, with their references."""
        mention_by_root: dict[str, Mention] = {}
        root_by_name: dict[str, str] = {}
        for name, entity in self._entities.items():
            # "Patchy", which modifies "opacity", is an attribute of its row.
            if self._modifies_another(name, entity):
                continue
            if entity.type == "OBS" or self._is_unchanged_anatomy(entity):
                mention_by_root[name] = self._mention(name, entity)
                # What supports "patchy" supports the opacity.
                root_by_name |= dict.fromkeys(self._with_modifiers([name]), name)
            elif entity.is_change:
                self._refuse(entity, "modify", "no-such-finding")
        roots = sorted(mention_by_root, key=lambda root: mention_by_root[root].ent)
        number_by_root = {root: number for number, root in enumerate(roots)}
        evidence: list[set[int]] = [set() for _ in roots]
        associate: list[set[int]] = [set() for _ in roots]
        for support in self._supports(root_by_name):
            sign = number_by_root[support.sign]
            cause = number_by_root[support.cause]
            evidence[cause].add(sign)
            # The way back of an evidence (method.md section 5).
            associate[sign].add(cause)
        return tuple(
            replace(
                mention_by_root[root],
                evidence=tuple(sorted(evidence[number])),
                associate=tuple(sorted(associate[number])),
            )
            for number, root in enumerate(roots)
        )

    def _modifies_another(self, name: str, entity: Entity) -> bool:
        """Whether an entity belongs to the row of another observation or change.

        Two that modify each other belong to none but their own: each makes a row.
        """
        modifiers = set(self._with_modifiers([name]))
        for relation in entity.relations:
            target = self._entities[relation.target]
            is_outside = relation.type == "modify" and relation.target not in modifiers
            if is_outside and (target.type == "OBS" or target.is_change):
                return True
        return False

    def _is_unchanged_anatomy(self, entity: Entity) -> bool:
        """Whether an entity says of a part of the body alone that it did not change."""
        is_unchanged = entity.is_change and entity.label == _UNCHANGED
        return is_unchanged and bool(self._locations_of(entity))

    def _locations_of(self, entity: Entity) -> list[str]:
        """Find the parts of the body that an entity lies in, or is said of."""
        return [
            relation.target
            for relation in entity.relations
            if relation.type != "suggestive_of"
            and self._entities[relation.target].type == "ANAT"
        ]

    def _with_modifiers(self, names: Sequence[str]) -> Iterator[str]:
        """Take entities, each once, with all that modify them."""
        # Modifiers may have modifiers, and delivered ones may go round in a circle.
        seen: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self._entities[name].modified_by
                yield name

    def _supports(self, root_by_name: Mapping[str, str]) -> Iterator[_Support]:
        """Find what is evidence of what; what is denied has none and is none."""
        for name, entity in self._entities.items():
            for relation in entity.relations:
                if relation.type != "suggestive_of":
                    continue
                sign = root_by_name.get(name)
                cause = root_by_name.get(relation.target)
                if sign is None or cause is None or sign == cause:
                    continue
                if "DA" not in (entity.label, self._entities[relation.target].label):
                    yield _Support(sign, cause)

    def _mention(self, name: str, entity: Entity) -> Mention:
        """Make the row of an observation.

        One that only calls its location normal or not, or unchanged, is a row of the
        location.
        """
        locations = self._locations_of(entity)
        describing = list(self._with_modifiers(entity.modified_by))
        subject = entity
        is_judgement = entity.is_change or entity.entry.kind in ("normal", "abnormal")
        # "Heart size is normal": the row is the heart's, described by "normal".
        if locations and is_judgement:
            subject = self._entities[locations[0]]
            describing.append(name)
        is_of_location = subject is not entity
        described = self._described(describing, locations)
        if subject.entry.kind in ("finding", "anatomy"):
            ent = subject.spelling
            canonical_name = subject.entry.name
        else:
            # A finding that the lexicon does not have is called by its own words.
            ent = subject.span
            canonical_name = " ".join(ent.of(self._report.text).lower().split())
        return Mention(
            sentence=subject.sentence,
            ent=ent,
            normed_ent=canonical_name,
            cat=_category(subject, is_row_of_location=is_of_location),
            status=self._status(entity, describing, is_of_location=is_of_location),
            location=_location(described.locations, ent, self._report.text),
            attributes=described.attributes,
        )

    def _described(
        self, describing: Sequence[str], locations: Sequence[str]
    ) -> _Description:
        """Tell words that describe an observation from those that locate it.

        Args:
            describing: names of what describes it.
            locations: names of the parts of the body that it lies in.
        """
        column_by_change = self._columns_of_changes(describing)
        # Of "left lower lobe" the lobe is a location, and "left" and "lower" modify it.
        spans = {
            self._entities[name].span
            for name in self._with_modifiers(locations)
            if name not in column_by_change
        }
        values: dict[str, list[Span]] = {}
        for name in describing:
            word = self._entities[name]
            # What has changed is told by the label, whatever the word means elsewhere.
            column = column_by_change.get(name)
            if column is None and _is_location(word):
                spans.add(word.span)
                continue
            if column is None and word.type == "SIZE":
                column = "measurement"
            elif column is None:
                column = word.entry.code
            if column in ATTRIBUTES:
                values.setdefault(column, []).append(word.span)
            else:
                self._refuse(word, "modify", "no-such-column")
        attributes = {
            column: tuple(sorted(values[column]))
            for column in ATTRIBUTES
            if column in values
        }
        return _Description(spans, attributes)

    def _columns_of_changes(self, names: Sequence[str]) -> dict[str, str]:
        """Find the column of every word that says what has changed."""
        column_by_name: dict[str, str] = {}
        for name in names:
            change = self._entities[name]
            if change.is_change:
                column = _COLUMN_OF_CHANGE.get(change.label, change.entry.code)
                column_by_name |= dict.fromkeys(self._with_modifiers([name]), column)
        return column_by_name

    def _status(
        self, entity: Entity, describing: Sequence[str], *, is_of_location: bool
    ) -> str:
        """Decide the status of a row.

        Args:
            entity: the observation or change.
            describing: names of what describes it.
            is_of_location: whether the row is one of its location.
        """
        # A part of the body that did not change is taken for normal, as for the rules.
        if entity.is_change:
            return "dn"
        status = _STATUS_BY_LABEL[entity.label]
        # "Not clear" is denied, and abnormal: the lungs are stated.
        if is_of_location and entity.entry.kind == "normal":
            status = _TURNED[status]
        # "The opacity has resolved": it is labelled present, and not there now.
        described = [self._entities[name] for name in describing]
        if any(word.is_change and word.label in _ENDED for word in described):
            return _NEGATED.get(status, status)
        return status


class _Spelling(NamedTuple):
    """Known words around an entity, and what they mean."""

    span: Span
    entry: LexiconEntry


class _Description(NamedTuple):
    """Words that say where an observation lies, and those that describe it."""

    locations: set[Span]
    attributes: dict[str, tuple[Span, ...]]


class _Support(NamedTuple):
    """Names of an observation, and of what it is evidence of."""

    sign: str
    cause: str


def _span_of_words(words: list[Span], first: int, last: int) -> Span:
    """Find the characters of words by their numbers; an empty span: there are none.

    Args:
        words: of the report.
        first: number of the first word.
        last: number of the last word, which belongs to them.
    """
    if not 0 <= first <= last or first >= len(words):
        return Span(0, 0)
    spans = words[first : last + 1]
    return Span(spans[0].begin, spans[-1].end)


def _last_token_of(tokens: list[Token], span: Span) -> int:
    for number, token in enumerate(tokens):
        if token.end >= span.end:
            return number
    return len(tokens) - 1


def _relations_of(delivered: Mapping[str, Any]) -> list[Relation]:
    return [
        Relation(relation_type, str(target))
        for relation_type, target in delivered["relations"]
        if isinstance(relation_type, str) and isinstance(target, str | int)
    ]


def _is_location(word: Entity) -> bool:
    return word.type == "ANAT" or word.entry.kind in ("place", "anatomy")


def _category(subject: Entity, *, is_row_of_location: bool) -> str:
    """Decide the category (method.md section 2).

    Args:
        subject: of the row.
        is_row_of_location: whether the row is one of a part of the body.
    """
    if subject.entry.kind == "finding":
        return subject.entry.code
    # A described part of the body is seen on the film.
    if is_row_of_location or subject.entry.kind == "anatomy":
        return "PF"
    return "OTH"


def _location(spans: set[Span], ent: Span, text: str) -> tuple[Span, ...]:
    """Take locations outside the finding's own words, sides first, neighbours as one.

    "Left", "lower" and "lobe" are "left lower lobe".

    Args:
        spans: of the words of locations.
        ent: the finding's words.
        text: of the report.
    """
    joined: list[Span] = []
    for span in sorted(spans):
        # "Pleural" of "pleural effusion" is a part of the name.
        if span.begin < ent.end and ent.begin < span.end:
            continue
        if joined and _are_neighbours(joined[-1], span, text):
            joined[-1] = Span(joined[-1].begin, max(span.end, joined[-1].end))
        else:
            joined.append(span)
    return tuple(sorted(joined, key=lambda span: not _SIDE.search(span.of(text))))


def _are_neighbours(first: Span, second: Span, text: str) -> bool:
    begin = max(second.begin, first.end)
    return _BETWEEN_NEIGHBOURS.fullmatch(text, first.end, begin) is not None
