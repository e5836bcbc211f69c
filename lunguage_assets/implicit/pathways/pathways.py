"""The dictionary of expert pathways (implicit.md section 3): it recognises diagnoses, chooses a pathway, and
writes the paper's notation, trees and statistics; and the pathway of a finding, or the reason for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathway_file import (
    PLAIN,
    PROJECTIONS,
    SYMPTOM_CATEGORY,
    Diagnosis,
    ListedWords,
    PathwayFile,
    RefinementRule,
    SubFinding,
    When,
    read_cell,
)
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, PAPER, Content, Row
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import ATTRIBUTES, VIEWS

Subject = tuple[str, frozenset[str]]
"""A diagnosis with refinements, or a canonical name with none."""


class Edge(NamedTuple):
    """One sub-finding of a pathway, ready to become a row, and what keeps it from being implied."""

    ent: str
    name: str
    status: str
    location: str
    attributes: dict[str, str]
    strength: float | None
    category: str
    is_symptom: bool
    inherits: bool
    is_paper_only: bool
    unless_said: ListedWords
    unless_stated: tuple[Subject, ...]
    unless_denied: tuple[Subject, ...]

    def published_attributes(self) -> list[str]:
        """Attributes under their published names."""
        known = (
            (published, self.attributes.get(name))
            for name, published in ATTRIBUTES.items()
        )
        return [f"{published}: {cell}" for published, cell in known if cell is not None]


class MatchedPathway(NamedTuple):
    """A pathway that a row can match: identity, condition, edges, and the paper's notation."""

    id: str
    when: When
    edges: tuple[Edge, ...]
    notation: str


class DiagnosisStatistics(NamedTuple):
    """Spellings, pathways, longest chain of diagnoses and distinct leaf names of one diagnosis."""

    diagnosis: str
    variants: int
    pathways: int
    depth: int
    width: int


class PathwayDictionary:
    """Diagnoses and their pathways, seen through a `vocabulary`."""

    def __init__(self, content: PathwayFile, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.diagnoses: dict[str, Diagnosis] = {
            plain(d.name): d for d in content.diagnoses
        }
        self._categories = {
            plain(name): category for name, category in content.categories.items()
        }
        self._directions = {
            word: direction
            for direction, words in content.directions.items()
            for word in map(plain, words)
        }
        self.rules = {name: RefinementRule(one) for name, one in self.diagnoses.items()}
        # exact spellings first; then their forms in the vocabulary, unless two diagnoses would share one
        self._spellings = {
            plain(spelling): (name, group)
            for name, diagnosis in self.diagnoses.items()
            for group, spellings in diagnosis.spellings.items()
            for spelling in spellings
        }
        claims: dict[str, set[str]] = {}
        for spelling, (name, _) in self._spellings.items():
            claims.setdefault(vocabulary.finding(spelling), set()).add(name)
        self._normal_forms = {
            form: next(iter(names)) for form, names in claims.items() if len(names) == 1
        }
        self._recognise = remembered(
            lambda name: self._look_up(name) or self._look_up_refined(name)
        )
        self._pathways = {
            name: self._pathways_of(diagnosis)
            for name, diagnosis in self.diagnoses.items()
        }

    def recognise(self, name: str, ent: str = "") -> str | None:
        """The diagnosis that a finding names, by its canonical name, else by its wording; else None. A listed
        spelling with refinement words is recognised, too ("acute on chronic bronchitis").
        """
        found = self._recognise(name)
        if found is None and ent and ent != name:
            found = self._recognise(plain(ent))
        return found

    def _look_up(self, name: str) -> str | None:
        listed = self._spellings.get(name)
        return listed[0] if listed else self._normal_forms.get(name)

    def _look_up_refined(self, name: str) -> str | None:
        for diagnosis, rule in self.rules.items():
            rest = rule.without_refinements(name)
            if rest and diagnosis in (
                self._look_up(rest),
                self._look_up(self.vocabulary.finding(rest)),
            ):
                return diagnosis
        return None

    def refinements(
        self,
        diagnosis: str,
        name: str,
        ent: str,
        location: tuple[str, ...],
        attributes: Iterable[str],
    ) -> list[str]:
        """Refinements of a diagnosis that a finding states, most specific first; `location` with parts."""
        wording = (name, plain(ent))
        spelled = self._spelled_refinements(wording)
        return self.rules[diagnosis].stated(location, (*wording, *attributes), spelled)

    def _spelled_refinements(self, wordings: Sequence[str]) -> list[str]:
        """Refinements that the wordings are listed under ("long standing fracture" -> old)."""
        listed = (self._spellings.get(wording) for wording in wordings)
        return [found[1] for found in listed if found is not None and found[1] != PLAIN]

    def choose(
        self, diagnosis: str, refinements: Sequence[str], views: frozenset[str]
    ) -> tuple[MatchedPathway | None, str]:
        """The pathway for the most specific refinement and the views, with one of `tables.MATCH_REASONS`."""
        refinement = refinements[0] if refinements else PLAIN
        candidates = [
            one
            for one in self._pathways[diagnosis]
            if refinement in one.when.refinements
        ]
        if not candidates:
            return None, "no pathway for this refinement"
        for pathway in candidates:
            if pathway.when.admits(views):
                return pathway, "matched"
        needing = any(pathway.when.needs for pathway in candidates)
        unknown = not views or (needing and not views & set(PROJECTIONS))
        return None, "unknown view" if unknown else "view not covered"

    def agree(self, measurement: str, other: str) -> bool:
        """Whether two measurement cells state a direction in common ("enlarged" and "increased")."""
        return bool(
            self._stated_directions(measurement) & self._stated_directions(other)
        )

    def contradictory(self, measurement: str, other: str) -> bool:
        """Whether two measurement cells exclude each other: both state a direction, and none in common."""
        if not measurement or not other:
            return False
        mine, theirs = (
            self._stated_directions(measurement),
            self._stated_directions(other),
        )
        return bool(mine and theirs and not mine & theirs)

    def _stated_directions(self, cell: str) -> set[str]:
        stated = set()
        for token in chain.from_iterable(read_cell(cell)):
            direction = self._directions.get(token.removeprefix("non-"))
            if direction is not None and token.startswith("non-"):
                # "not enlarged" says normal; "not normal" says nothing about the direction
                direction = None if direction == "normal" else "normal"
            if direction is not None:
                stated.add(direction)
        return stated

    def pathways_of(self, diagnosis: str) -> tuple[MatchedPathway, ...]:
        """All pathways of a diagnosis, unions last."""
        return self._pathways[diagnosis]

    def _pathways_of(self, diagnosis: Diagnosis) -> tuple[MatchedPathway, ...]:
        edges = {
            one.id: tuple(map(self._edge, one.implies)) for one in diagnosis.pathways
        }
        for union in diagnosis.unions:
            edges[union.id] = tuple(
                edge for member in union.of for edge in edges[member]
            )
        return tuple(
            MatchedPathway(
                one.id, one.when, edges[one.id], _notation(one.when, edges[one.id])
            )
            for one in diagnosis.entries
        )

    def _edge(self, child: SubFinding) -> Edge:
        listed = self._categories.get(child.name, "PF")
        symptom = listed == SYMPTOM_CATEGORY
        return Edge(
            ent=child.name,
            name=self.vocabulary.finding(child.name),
            status=child.status,
            location=child.location,
            attributes=child.attributes,
            strength=child.strength,
            category=listed
            if symptom
            else self.vocabulary.category(child.name) or listed,
            is_symptom=symptom,
            inherits=child.inherits,
            is_paper_only=bool(child.paper_only.strip()),
            unless_said=ListedWords(child.unless.said),
            unless_stated=tuple(map(self._subject, child.unless.stated)),
            unless_denied=tuple(map(self._subject, child.unless.denied)),
        )

    def _subject(self, wording: str) -> Subject:
        name = self.vocabulary.finding(wording)
        diagnosis = self.recognise(name, wording)
        if diagnosis is None:
            return name, frozenset()
        return diagnosis, frozenset(self._spelled_refinements((name, plain(wording))))

    # the graph of diagnoses

    def children(self, name: str) -> list[tuple[str, str | None]]:
        """The sub-findings of a diagnosis, each with the diagnosis that it is."""
        edges = (edge for pathway in self._pathways[name] for edge in pathway.edges)
        return [(edge.ent, self.recognise(edge.name, edge.ent)) for edge in edges]

    def _below(self, name: str) -> tuple[int, set[str]]:
        """The longest chain of diagnoses from here, and the names of the leaves."""
        deepest, leaves = 0, set[str]()
        for ent, child in self.children(name):
            depth, below = (0, {ent}) if child is None else self._below(child)
            deepest, leaves = max(deepest, depth), leaves | below
        return 1 + deepest, leaves

    @cached_property
    def _order(self) -> dict[str, int]:
        """Topological position of every diagnosis: it comes before the diagnoses among its sub-findings."""
        deepest_first = sorted(
            self.diagnoses, key=lambda name: (-self._below(name)[0], name)
        )
        return {name: position for position, name in enumerate(deepest_first)}

    def rank(self, name: str, ent: str = "") -> int:
        """Position of a finding in the pathway graph; findings that are no diagnosis come last, together."""
        diagnosis = self.recognise(name, ent)
        return len(self.diagnoses) if diagnosis is None else self._order[diagnosis]

    def statistics(self) -> list[DiagnosisStatistics]:
        """Variants, pathways, depth and width per diagnosis, in file order (implicit.md section 3)."""
        found = []
        for name, known in self.diagnoses.items():
            depth, leaves = self._below(name)
            found.append(
                DiagnosisStatistics(
                    name, len(known.variants), len(known.pathways), depth, len(leaves)
                )
            )
        return found


def load_dictionary(path: Path | None, vocabulary: Vocabulary) -> PathwayDictionary:
    """The packaged dictionary, or the file at `path`; raises `ConfigurationError` that names the fault."""
    file = path or resource("pathways.yaml")
    content = read_as(file, PathwayFile, "See the header of the packaged file.")
    dictionary = PathwayDictionary(content, vocabulary)
    try:
        children = {
            name: dict(dictionary.children(name)).values()
            for name in dictionary.diagnoses
        }
        TopologicalSorter(
            {name: filter(None, below) for name, below in children.items()}
        ).prepare()
    except CycleError as error:
        cycle = " -> ".join(
            reversed(error.args[1])
        )  # there every diagnosis comes before what implies it
        raise ConfigurationError(
            f"{file}: the pathways form a cycle: {cycle}. Break it."
        ) from None
    return dictionary


def _notation(when: When, edges: Sequence[Edge]) -> str:
    """The paper's notation: `view: ap, pa > ent: opacity > status: dp > loc: airspace && ent: ...`"""
    described = []
    for edge in edges:
        location = [f"loc: {edge.location}"] if edge.location else []
        pieces = [
            f"ent: {edge.ent}",
            f"status: {edge.status}",
            *location,
            *edge.published_attributes(),
        ]
        described.append(" > ".join(pieces))
    situations: list[Sequence[str]] = [*when.postures, *when.projections, when.needs]
    named = {view for situation in situations for view in situation}
    if when.postures or not named:  # a posture goes with any projection
        named |= set(PROJECTIONS)
    return (
        f"view: {', '.join(view for view in VIEWS if view in named)} > "
        + " && ".join(described)
    )


def pathway_tree(dictionary: PathwayDictionary, diagnosis: str) -> Iterator[str]:
    """The diagnosis, the situations of its pathways, and what they imply, as indented lines, unions last."""
    yield diagnosis
    for pathway in dictionary.pathways_of(diagnosis):
        yield f"    if {_situation(pathway.when)} ({pathway.id})"
        for edge in pathway.edges:
            said = [f"at: {edge.location}"] if edge.location else []
            said += edge.published_attributes()
            said += ["symptom"] if edge.is_symptom else []
            said += ["mode paper alone"] if edge.is_paper_only else []
            said += [f"strength {edge.strength:g}"] if edge.strength is not None else []
            named = edge.status == "dp" and dictionary.recognise(edge.name, edge.ent)
            said += ["a diagnosis"] if named else []
            absent = "absent: " if edge.status == "dn" else ""
            yield f"        {absent}{edge.ent}" + (
                f" ({'; '.join(said)})" if said else ""
            )


def _situation(when: When) -> str:
    """When a pathway applies, in words: the wording of the finding, then the views of the study."""
    situations: list[Sequence[str]] = [*when.postures, *when.projections]
    either = " or ".join(map(" + ".join, situations))
    if when.postures:
        views = f"posture {either}"
    elif when.projections:
        views = f"views {either}, posture unknown"
    else:
        views = f"a view among {', '.join(when.needs)}" if when.needs else "any view"
    wording = " or ".join(
        "unrefined" if name == PLAIN else name for name in when.refinements
    )
    return views if when.refinements == [PLAIN] else f"{wording}, {views}"


# the pathway of a finding

_ABOUT_THE_EXAMINATION = {"comparison", "other_source", "assessment_limitations"}
"""Attributes about films and sources: "compared with the old film" does not make a fracture old."""

_REFINING = attrgetter(
    *[name for name in ATTRIBUTE_NAMES if name not in _ABOUT_THE_EXAMINATION]
)


class Match(NamedTuple):
    """The answer for one row: its diagnosis with refinements, and a pathway or the reason for none."""

    row: Row
    reason: str
    diagnosis: str = ""
    refinements: Sequence[str] = ()
    matched: MatchedPathway | None = None

    def record(self) -> dict[str, object]:
        """The answer as a row of PATHWAY_MATCHES."""
        return {
            "finding_id": self.row.finding_id,
            "study_id": self.row.study_id,
            "name": self.row.name,
            "diagnosis": self.diagnosis,
            "refinements": self.refinements,
            "pathway_id": self.matched.id if self.matched else "",
            "pathway": self.matched.notation if self.matched else "",
            "reason": self.reason,
            "generated": self.row.source == "expansion",
        }


def match(row: Row, dictionary: PathwayDictionary) -> Match:
    """The pathway of one row, with the reason; a row without a pathway never expands. The first reason that
    applies: it takes no part (history section, merged); it is no diagnosis; about a device; past; negative;
    resolved; nothing is known of its certainty; and only then what the pathways say.
    """
    diagnosis = diagnosis_of(row, dictionary)
    if diagnosis is None:
        return Match(row, _not_taking_part(row) or "not a diagnosis")
    location = row.location, *row.location_parts
    refinements = dictionary.refinements(
        diagnosis, row.name, row.ent, location, _REFINING(row)
    )
    device = "device" if is_of_device(row, diagnosis, dictionary) else ""
    if reason := _not_taking_part(row) or device or _not_expanding(row):
        return Match(row, reason, diagnosis, refinements)
    pathway, reason = dictionary.choose(
        diagnosis, refinements, study_views(row.view_information)
    )
    return Match(row, reason, diagnosis, refinements, pathway)


def diagnosis_of(row: Row | Content, dictionary: PathwayDictionary) -> str | None:
    """The diagnosis of a row; None without one, or when its place makes it another condition."""
    diagnosis = dictionary.recognise(row.name, row.ent)
    return (
        None
        if diagnosis is None or is_elsewhere(row, diagnosis, dictionary)
        else diagnosis
    )


def is_elsewhere(
    row: Row | Content, diagnosis: str, dictionary: PathwayDictionary
) -> bool:
    """Whether the row only shares its name with the diagnosis ("effusion", pericardial)."""
    return dictionary.rules[diagnosis].elsewhere.in_any(
        (row.location, *row.location_parts)
    )


def is_of_device(
    row: Row | Content, diagnosis: str, dictionary: PathwayDictionary
) -> bool:
    """Whether a device has the diagnosis ("fracture" of a lead), and not the patient."""
    cells = row.name, plain(row.ent), row.location, *row.location_parts
    return dictionary.rules[diagnosis].devices.in_any(cells)


def only_shares_the_name(row: Row, dictionary: PathwayDictionary) -> bool:
    """Whether the row is another condition: a pericardial "effusion" states no pleural one."""
    diagnosis = dictionary.recognise(row.name)
    return diagnosis is not None and is_elsewhere(row, diagnosis, dictionary)


def _not_taking_part(row: Row) -> str:
    return {"excluded": "history section", "merged": "merged"}.get(row.disposition, "")


def _not_expanding(row: Row) -> str:
    if row.currency != "current dx":
        return "past diagnosis"
    if not row.positive:
        return "negative"
    if row.mode != PAPER and says_resolved(row.improved):
        return "resolved"
    return "no information on certainty" if row.p_source == "none" else ""


@lru_cache(maxsize=1024)
def study_views(view_information: str) -> frozenset[str]:
    """The set of known views; anything else in the cell is unknown."""
    return frozenset(VIEWS) & frozenset(
        view.strip().lower() for view in view_information.split(",")
    )
