"""The dictionary of expert pathways (implicit.md section 3).

It recognises diagnoses, chooses a pathway, and writes the paper's notation and statistics. The form of the
file and the checks that need the file alone are in `pathway_file.py`; what a row states is read in
`match.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path

from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.data_files import resource
from lunguage_assets.implicit.merging.refinements import ListedWords, RefinementRule, TokenReader
from lunguage_assets.implicit.pathways.annotated_yaml import AnnotatedYaml, read_annotated
from lunguage_assets.implicit.pathways.pathway_file import (
    PLAIN,
    PROJECTIONS,
    SYMPTOM_CATEGORY,
    Diagnosis,
    PathwayFile,
    SubFinding,
    Unless,
    When,
    check_file,
)
from lunguage_assets.tables import ATTRIBUTES

Subject = tuple[str, frozenset[str]]
"""A diagnosis with refinements, or a canonical name with none."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What keeps a sub-finding from being implied: words of the diagnosis' row or of what shows it, and what
    the report states or denies.
    """

    said: ListedWords
    stated: tuple[Subject, ...]
    denied: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """One sub-finding of a pathway, ready to become a row."""

    ent: str
    name: str
    status: str
    location: str
    attributes: dict[str, str]
    strength: float | None
    category: str
    is_symptom: bool
    inherits: bool
    unless: Condition | None


@dataclass(frozen=True, slots=True)
class MatchedPathway:
    """A pathway that a row can match: identity, condition, edges, and the paper's notation."""

    id: str
    when: When
    edges: tuple[Edge, ...]
    notation: str


@dataclass(frozen=True, slots=True)
class DiagnosisStatistics:
    """Spellings, pathways, longest chain of diagnoses and distinct leaf names of one diagnosis."""

    diagnosis: str
    variants: int
    pathways: int
    depth: int
    width: int


class PathwayDictionary:
    """Diagnoses and their pathways, seen through a vocabulary."""

    def __init__(self, content: PathwayFile, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.diagnoses: dict[str, Diagnosis] = {plain(d.name): d for d in content.diagnoses}
        self._categories = {plain(name): category for name, category in content.categories.items()}
        self._reader = TokenReader(content.negators)
        self._directions = {
            word: direction for direction, words in content.directions.items() for word in map(plain, words)
        }
        self.rules = {
            name: RefinementRule(diagnosis, self._reader) for name, diagnosis in self.diagnoses.items()
        }
        self._index_spellings()
        self._recognise = cache(lambda name: self._look_up(name) or self._look_up_refined(name))
        self._edges = {name: self._pathways_of(diagnosis) for name, diagnosis in self.diagnoses.items()}

    def _index_spellings(self) -> None:
        """Exact spellings first; then their forms in the vocabulary, unless two diagnoses would share one."""
        self._spellings: dict[str, tuple[str, str]] = {}
        for name, diagnosis in self.diagnoses.items():
            for group, spellings in diagnosis.spellings.items():
                self._spellings.update({plain(spelling): (name, group) for spelling in spellings})
        claims: dict[str, set[str]] = {}
        for spelling, (name, _) in self._spellings.items():
            claims.setdefault(self._vocabulary.finding(spelling), set()).add(name)
        self._normal_forms = {form: next(iter(names)) for form, names in claims.items() if len(names) == 1}

    # recognising
    # --------------------------------------------------------------------------------------------------------

    def recognise(self, name: str, ent: str = "") -> str | None:
        """The diagnosis that a finding names, by its canonical name, else by its wording; else None.

        A spelling that is not listed is recognised when it is a listed one plus refinement words ("acute on
        chronic bronchitis").
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
            if rest and diagnosis in (self._look_up(rest), self._look_up(self._vocabulary.finding(rest))):
                return diagnosis
        return None

    def naming(self, words: Sequence[str]) -> ListedWords:
        """Cells that name one of the words; a negated word names nothing."""
        return ListedWords(words, self._reader, plurals=False)

    def spelled_refinements(self, wordings: Sequence[str]) -> list[str]:
        """Refinements that the wordings are listed under ("long standing fracture" -> old)."""
        listed = (self._spellings.get(wording) for wording in wordings)
        return [found[1] for found in listed if found is not None and found[1] != PLAIN]

    @cached_property
    def order(self) -> dict[str, int]:
        """Topological position of every diagnosis: it comes before the diagnoses among its sub-findings."""
        deepest_first = sorted(self.diagnoses, key=lambda diagnosis: (-self._depth(diagnosis), diagnosis))
        return {name: position for position, name in enumerate(deepest_first)}

    def rank(self, name: str, ent: str = "") -> int:
        """Position of a finding in the pathway graph; findings that are no diagnosis come last, together."""
        diagnosis = self.recognise(name, ent)
        return len(self.diagnoses) if diagnosis is None else self.order[diagnosis]

    # choosing
    # --------------------------------------------------------------------------------------------------------

    def choose(
        self, diagnosis: str, refinements: Sequence[str], views: frozenset[str]
    ) -> tuple[MatchedPathway | None, str]:
        """The pathway for the most specific refinement and the study's views, with the reason.

        Reasons are those of `tables.MATCH_REASONS`.
        """
        refinement = refinements[0] if refinements else PLAIN
        candidates = [pathway for pathway in self._edges[diagnosis] if refinement in pathway.when.refinements]
        if not candidates:
            return None, "no pathway for this refinement"
        for pathway in candidates:
            if pathway.when.admits(views):
                return pathway, "matched"
        unknown = not views or (
            any(pathway.when.needs for pathway in candidates) and not views & set(PROJECTIONS)
        )
        return None, "unknown view" if unknown else "view not covered"

    def agree(self, measurement: str, other: str) -> bool:
        """Whether two measurement cells state a direction in common ("enlarged" and "increased")."""
        return bool(self._stated_directions(measurement) & self._stated_directions(other))

    def contradictory(self, measurement: str, other: str) -> bool:
        """Whether two measurement cells exclude each other: both state a direction, and none in common."""
        if not measurement or not other:
            return False
        mine, theirs = self._stated_directions(measurement), self._stated_directions(other)
        return bool(mine and theirs and not mine & theirs)

    def _stated_directions(self, cell: str) -> set[str]:
        stated = set()
        for token in chain.from_iterable(self._reader.read(cell)):
            direction = self._directions.get(token.removeprefix("non-"))
            if direction is not None and token.startswith("non-"):
                # "not enlarged" says normal; "not normal" says nothing about the direction
                direction = "abnormal" if direction == "normal" else "normal"
            if direction is not None:
                stated.add(direction)
        return stated - {"abnormal"}

    # building
    # --------------------------------------------------------------------------------------------------------

    def pathways_of(self, diagnosis: str) -> tuple[MatchedPathway, ...]:
        """All pathways of a diagnosis, unions last."""
        return self._edges[diagnosis]

    def _pathways_of(self, diagnosis: Diagnosis) -> tuple[MatchedPathway, ...]:
        single = {
            p.id: MatchedPathway(p.id, p.when, tuple(map(self._edge, p.implies)), "")
            for p in diagnosis.pathways
        }
        union = [
            MatchedPathway(u.id, u.when, tuple(edge for member in u.of for edge in single[member].edges), "")
            for u in diagnosis.unions
        ]
        return tuple(MatchedPathway(p.id, p.when, p.edges, _notation(p)) for p in (*single.values(), *union))

    def _edge(self, child: SubFinding) -> Edge:
        name = self._vocabulary.finding(child.name)
        listed = self._categories.get(child.name, "PF")
        symptom = listed == SYMPTOM_CATEGORY
        category = listed if symptom else self._vocabulary.category(child.name) or listed
        said = child.status, child.location, child.attributes, child.strength
        return Edge(child.name, name, *said, category, symptom, child.inherits, self._condition(child.unless))

    def _condition(self, unless: Unless | None) -> Condition | None:
        if unless is None:
            return None
        stated, denied = (tuple(map(self._subject, said)) for said in (unless.stated, unless.denied))
        return Condition(ListedWords(unless.said, self._reader, plurals=True), stated, denied)

    def _subject(self, wording: str) -> Subject:
        name = self._vocabulary.finding(wording)
        diagnosis = self.recognise(name, wording)
        if diagnosis is None:
            return name, frozenset()
        return diagnosis, frozenset(self.spelled_refinements((name, plain(wording))))

    def check_acyclic(self, source: AnnotatedYaml) -> None:
        """Raise `ConfigurationError` when a diagnosis implies itself through any chain."""
        try:
            TopologicalSorter({name: self._child_diagnoses(name) for name in self.diagnoses}).prepare()
        except CycleError as error:
            cycle = list(reversed(error.args[1]))  # there every diagnosis comes before what implies it
            place = ("diagnoses", list(self.diagnoses).index(cycle[0]), "pathways")
            raise source.error(
                place, f"the pathways form a cycle: {' -> '.join(cycle)}", "Break it."
            ) from None

    def _child_diagnoses(self, name: str) -> list[str]:
        found = (
            self.recognise(edge.name, edge.ent) for pathway in self._edges[name] for edge in pathway.edges
        )
        return list(dict.fromkeys(child for child in found if child is not None))

    def _depth(self, name: str) -> int:
        return 1 + max(map(self._depth, self._child_diagnoses(name)), default=0)

    def _leaves(self, name: str) -> set[str]:
        leaves: set[str] = set()
        for edge in (edge for pathway in self._edges[name] for edge in pathway.edges):
            child = self.recognise(edge.name, edge.ent)
            leaves |= {edge.ent} if child is None else self._leaves(child)
        return leaves

    def statistics(self) -> list[DiagnosisStatistics]:
        """Variants, pathways, depth and width per diagnosis, in file order (implicit.md section 3)."""
        return [
            DiagnosisStatistics(
                name, len(known.variants), len(known.pathways), self._depth(name), len(self._leaves(name))
            )
            for name, known in self.diagnoses.items()
        ]


def load_dictionary(path: Path | None, vocabulary: Vocabulary) -> PathwayDictionary:
    """The packaged dictionary, or the file at `path`.

    Raises `ConfigurationError` that names line and field.
    """
    source = read_annotated(path if path is not None else resource("pathways.yaml"))
    content = source.validated(PathwayFile)
    check_file(source, content)
    dictionary = PathwayDictionary(content, vocabulary)
    dictionary.check_acyclic(source)
    return dictionary


def _notation(pathway: MatchedPathway) -> str:
    """The paper's notation, attributes under their published names.

    `view: ap, pa, lateral > ent: opacity > status: dp > loc: airspace && ent: ...`
    """
    described = []
    for edge in pathway.edges:
        pieces = [f"ent: {edge.ent}", f"status: {edge.status}"]
        if edge.location:
            pieces.append(f"loc: {edge.location}")
        pieces += [
            f"{published}: {edge.attributes[name]}"
            for name, published in ATTRIBUTES.items()
            if name in edge.attributes
        ]
        described.append(" > ".join(pieces))
    return f"view: {', '.join(pathway.when.views())} > " + " && ".join(described)
