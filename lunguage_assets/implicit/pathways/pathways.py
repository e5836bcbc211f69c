"""The dictionary of expert pathways (implicit.md section 3).

It recognises diagnoses, chooses a pathway, and writes trees and statistics. The file
that it reads is in `pathway_file.py`; the pathway of a finding, or the reason for none,
in `expansion/matching.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.edges import (
    Edge,
    MatchedPathway,
    Subject,
    notation_of,
)
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
from lunguage_assets.implicit.rows import Content, Row
from lunguage_assets.packaged_data import read_as, resource


class DiagnosisStatistics(NamedTuple):
    """Spellings, pathways, longest chain of diagnoses and distinct leaf names."""

    diagnosis: str
    variants: int
    pathways: int
    depth: int
    width: int


class _Spelling(NamedTuple):
    """The diagnosis that a spelling names, and the refinement of which it is one."""

    diagnosis: str
    refinement: str


class PathwayDictionary:
    """Diagnoses and their pathways, seen through a `vocabulary`."""

    def __init__(self, content: PathwayFile, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.diagnoses: dict[str, Diagnosis] = {
            plain(diagnosis.name): diagnosis for diagnosis in content.diagnoses
        }
        self._categories = {
            plain(name): category for name, category in content.categories.items()
        }
        self._directions: dict[str, str] = {}
        for direction, words in content.directions.items():
            self._directions.update(dict.fromkeys(map(plain, words), direction))
        self.rules = {
            name: RefinementRule(diagnosis)
            for name, diagnosis in self.diagnoses.items()
        }
        self._spellings = self._read_spellings()
        self._normal_forms = self._read_normal_forms()
        self._recognise = remembered(self._diagnosis_named)
        self._pathways = {
            name: self._pathways_of(diagnosis)
            for name, diagnosis in self.diagnoses.items()
        }
        self._rank = {name: rank for rank, name in enumerate(self._parents_first())}

    # Which diagnosis a wording names

    def _read_spellings(self) -> dict[str, _Spelling]:
        spellings: dict[str, _Spelling] = {}
        for name, diagnosis in self.diagnoses.items():
            for refinement, listed in diagnosis.spellings.items():
                for spelling in map(plain, listed):
                    spellings[spelling] = _Spelling(name, refinement)
        return spellings

    def _read_normal_forms(self) -> dict[str, str]:
        """Read the vocabulary's forms of spellings; two diagnoses may share none."""
        names_by_form: dict[str, set[str]] = {}
        for spelling, listed in self._spellings.items():
            form = self.vocabulary.finding(spelling)
            names_by_form.setdefault(form, set()).add(listed.diagnosis)
        return {
            form: next(iter(names))
            for form, names in names_by_form.items()
            if len(names) == 1
        }

    def recognise(self, name: str, ent: str = "") -> str | None:
        """Find the diagnosis that a finding names, canonically or in its wording.

        A listed spelling with refinement words is recognised, too ("acute on chronic
        bronchitis").
        """
        diagnosis = self._recognise(name)
        if diagnosis is None and ent and ent != name:
            diagnosis = self._recognise(plain(ent))
        return diagnosis

    def _look_up(self, name: str) -> str | None:
        # Exact spellings go before their forms in the vocabulary.
        listed = self._spellings.get(name)
        return listed.diagnosis if listed else self._normal_forms.get(name)

    def _diagnosis_named(self, name: str) -> str | None:
        """Find the diagnosis of a name as it is, and else without refinement words."""
        exact = self._look_up(name)
        if exact:
            return exact
        # Refinement words are those of a diagnosis: "acute on chronic bronchitis" is a
        # bronchitis, because both words refine one.
        for diagnosis, rule in self.rules.items():
            unrefined = rule.without_refinements(name)
            if not unrefined:
                continue
            canonical = self.vocabulary.finding(unrefined)
            if diagnosis in (self._look_up(unrefined), self._look_up(canonical)):
                return diagnosis
        return None

    # Which pathway applies

    def refinements(
        self,
        diagnosis: str,
        name: str,
        ent: str,
        location: tuple[str, ...],
        attributes: Iterable[str],
    ) -> list[str]:
        """List the refinements that a finding states, most specific first.

        Args:
            diagnosis: of the finding.
            name: its canonical name.
            ent: its words.
            location: the cell and its parts.
            attributes: its other cells.
        """
        wordings = (name, plain(ent))
        # "Long standing fracture" is listed as an old one.
        by_spelling = self._spelled_refinements(wordings)
        cells = (*wordings, *attributes)
        return self.rules[diagnosis].stated(location, cells, by_spelling)

    def _spelled_refinements(self, wordings: Sequence[str]) -> list[str]:
        """List the refinements that wordings are listed under."""
        refinements = []
        for wording in wordings:
            listed = self._spellings.get(wording)
            if listed is not None and listed.refinement != PLAIN:
                refinements.append(listed.refinement)
        return refinements

    def choose(
        self, diagnosis: str, refinements: Sequence[str], views: frozenset[str]
    ) -> tuple[MatchedPathway | None, str]:
        """Choose the pathway for the most specific refinement and the views.

        Args:
            diagnosis: whose pathways there are.
            refinements: that the finding states, most specific first.
            views: of the study.

        Returns:
            The pathway, or None; and one of `tables.MATCH_REASONS`.
        """
        # Of "acute on chronic" the more specific one chooses.
        refinement = refinements[0] if refinements else PLAIN
        candidates = [
            pathway
            for pathway in self._pathways[diagnosis]
            if refinement in pathway.when.refinements
        ]
        if not candidates:
            return None, "no pathway for this refinement"
        for pathway in candidates:
            if pathway.when.admits(views):
                return pathway, "matched"
        # The size of a heart is read on ap and pa films: without one it is unknown.
        needs_projection = any(pathway.when.needs for pathway in candidates)
        has_projection = bool(views & set(PROJECTIONS))
        if not views or (needs_projection and not has_projection):
            return None, "unknown view"
        return None, "view not covered"

    def pathways_of(self, diagnosis: str) -> tuple[MatchedPathway, ...]:
        """List all pathways of a diagnosis, unions last."""
        return self._pathways[diagnosis]

    def _pathways_of(self, diagnosis: Diagnosis) -> tuple[MatchedPathway, ...]:
        edges_by_id: dict[str, tuple[Edge, ...]] = {}
        for pathway in diagnosis.pathways:
            edges_by_id[pathway.id] = tuple(map(self._edge, pathway.implies))
        for union in diagnosis.unions:
            members = (edges_by_id[member] for member in union.of)
            edges_by_id[union.id] = tuple(chain.from_iterable(members))
        matched = []
        for entry in diagnosis.entries:
            edges = edges_by_id[entry.id]
            notation = notation_of(entry.when, edges)
            matched.append(MatchedPathway(entry.id, entry.when, edges, notation))
        return tuple(matched)

    def _edge(self, child: SubFinding) -> Edge:
        category: str = self._categories.get(child.name, "PF")
        is_symptom = category == SYMPTOM_CATEGORY
        if not is_symptom:
            category = self.vocabulary.category(child.name) or category
        return Edge(
            ent=child.name,
            name=self.vocabulary.finding(child.name),
            status=child.status,
            location=child.location,
            attributes=child.attributes,
            strength=child.strength,
            category=category,
            is_symptom=is_symptom,
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
            return Subject(name)
        refinements = self._spelled_refinements((name, plain(wording)))
        return Subject(diagnosis, frozenset(refinements))

    # Directions of measurements

    def agree(self, first_cell: str, second_cell: str) -> bool:
        """Whether two cells share a direction ("enlarged" and "increased")."""
        first = self._stated_directions(first_cell)
        second = self._stated_directions(second_cell)
        return not first.isdisjoint(second)

    def contradictory(self, first_cell: str, second_cell: str) -> bool:
        """Whether two cells state directions of which they have none in common."""
        if not first_cell or not second_cell:
            return False
        first = self._stated_directions(first_cell)
        second = self._stated_directions(second_cell)
        return bool(first and second and first.isdisjoint(second))

    def _stated_directions(self, cell: str) -> set[str]:
        stated: set[str] = set()
        for token in chain.from_iterable(read_cell(cell)):
            direction = self._directions.get(token.removeprefix("non-"))
            if direction is None:
                continue
            if not token.startswith("non-"):
                stated.add(direction)
            elif direction != "normal":
                # "Not enlarged" says normal; "not normal" says no direction.
                stated.add("normal")
        return stated

    # The graph of diagnoses

    def _parents_first(self) -> list[str]:
        """Order the diagnoses: each comes before those among its sub-findings.

        Raises:
            CycleError: there is no such order.
        """
        below = {}
        for name, pathways in self._pathways.items():
            edges = chain.from_iterable(pathway.edges for pathway in pathways)
            below[name] = [
                diagnosis for diagnosis in map(self._named, edges) if diagnosis
            ]
        return list(TopologicalSorter(below).static_order())[::-1]

    def _named(self, edge: Edge) -> str | None:
        return self.recognise(edge.name, edge.ent)

    def rank(self, name: str, ent: str = "") -> int:
        """Find the position of a finding in the graph; no diagnosis comes last."""
        diagnosis = self.recognise(name, ent)
        return len(self._rank) if diagnosis is None else self._rank[diagnosis]

    def statistics(self) -> list[DiagnosisStatistics]:
        """Count variants, pathways, depth and width per diagnosis, in file order."""
        depth: dict[str, int] = {}
        leaves: dict[str, set[str]] = {}
        for name in reversed(self._rank):
            depth[name] = 1
            leaves[name] = set()
            for edge in chain.from_iterable(p.edges for p in self._pathways[name]):
                diagnosis = self._named(edge)
                if diagnosis is None:
                    leaves[name].add(edge.ent)
                    continue
                depth[name] = max(depth[name], 1 + depth[diagnosis])
                leaves[name] |= leaves[diagnosis]
        return [
            DiagnosisStatistics(
                diagnosis=name,
                variants=len(diagnosis.variants),
                pathways=len(diagnosis.pathways),
                depth=depth[name],
                width=len(leaves[name]),
            )
            for name, diagnosis in self.diagnoses.items()
        ]


def load_dictionary(path: Path | None, vocabulary: Vocabulary) -> PathwayDictionary:
    """Load the packaged dictionary, or the file at `path`.

    Raises:
        ConfigurationError: what is wrong with the file, and where.
    """
    file = path or resource("pathways.yaml")
    content = read_as(file, PathwayFile, "See the header of the packaged file.")
    try:
        return PathwayDictionary(content, vocabulary)
    except CycleError as error:
        # In the error every diagnosis comes before what implies it.
        cycle = " -> ".join(reversed(error.args[1]))
        raise ConfigurationError(
            f"{file}: the pathways form a cycle: {cycle}. Break it."
        ) from None


# Pathways as text


def pathway_tree(dictionary: PathwayDictionary, diagnosis: str) -> Iterator[str]:
    """Yield the pathways of a diagnosis as indented lines, unions last."""
    yield diagnosis
    for pathway in dictionary.pathways_of(diagnosis):
        yield f"    if {_situation(pathway.when)} ({pathway.id})"
        for edge in pathway.edges:
            sign = edge.ent
            if edge.status == "dn":
                sign = f"absent: {sign}"
            notes = "; ".join(_notes_on(edge, dictionary))
            if notes:
                sign = f"{sign} ({notes})"
            yield f"        {sign}"


def _notes_on(edge: Edge, dictionary: PathwayDictionary) -> list[str]:
    notes = []
    if edge.location:
        notes.append(f"at: {edge.location}")
    notes += edge.published_attributes()
    if edge.is_symptom:
        notes.append("symptom")
    if edge.is_paper_only:
        notes.append("mode paper alone")
    if edge.strength is not None:
        notes.append(f"strength {edge.strength:g}")
    # An absent one is not expanded in turn.
    if edge.status == "dp" and dictionary.recognise(edge.name, edge.ent):
        notes.append("a diagnosis")
    return notes


def _situation(when: When) -> str:
    """Write when a pathway applies: the wording of the finding, then the views."""
    views = _views(when)
    if when.refinements == [PLAIN]:
        return views
    wordings = [
        "unrefined" if refinement == PLAIN else refinement
        for refinement in when.refinements
    ]
    return f"{' or '.join(wordings)}, {views}"


def _views(when: When) -> str:
    situations: list[Sequence[str]] = [*when.postures, *when.projections]
    either = " or ".join(map(" + ".join, situations))
    if when.postures:
        return f"posture {either}"
    if when.projections:
        return f"views {either}, posture unknown"
    return f"a view among {', '.join(when.needs)}" if when.needs else "any view"


# The diagnosis of a row


def diagnosis_of(row: Row | Content, dictionary: PathwayDictionary) -> str | None:
    """Find the diagnosis of a row; its location may make it another condition."""
    diagnosis = dictionary.recognise(row.name, row.ent)
    if diagnosis is None or is_elsewhere(row, diagnosis, dictionary):
        return None
    return diagnosis


def is_elsewhere(
    row: Row | Content, diagnosis: str, dictionary: PathwayDictionary
) -> bool:
    """Whether a row only shares its name with a diagnosis ("effusion", pericardial).

    Args:
        row: the finding.
        diagnosis: that its wording names.
        dictionary: that says where it is another condition.
    """
    cells = row.location, *row.location_parts
    return dictionary.rules[diagnosis].elsewhere.in_any(cells)


def is_of_device(
    row: Row | Content, diagnosis: str, dictionary: PathwayDictionary
) -> bool:
    """Whether a device has the diagnosis ("fracture" of a lead), and not the patient.

    Args:
        row: the finding.
        diagnosis: that its wording names.
        dictionary: that says which devices have it.
    """
    cells = row.name, plain(row.ent), row.location, *row.location_parts
    return dictionary.rules[diagnosis].devices.in_any(cells)


def only_shares_the_name(row: Row, dictionary: PathwayDictionary) -> bool:
    """Whether a row is another condition, as a pericardial "effusion" is."""
    diagnosis = dictionary.recognise(row.name)
    return diagnosis is not None and is_elsewhere(row, diagnosis, dictionary)
