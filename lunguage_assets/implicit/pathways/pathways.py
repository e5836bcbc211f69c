"""The dictionary of expert pathways (implicit.md section 3).

It recognises diagnoses and chooses their pathways. The file that it reads is in
`pathway_file.py`; the pathway of a finding, or the reason for none, in
`expansion/matching.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathway_file import (
    PLAIN,
    SYMPTOM,
    Pathway,
    PathwayFile,
    SubFinding,
)
from lunguage_assets.implicit.pathways.words import DENIED, names_any, read_cell
from lunguage_assets.implicit.rows import Content, Row
from lunguage_assets.packaged_data import read_as, resource


class DiagnosisStatistics(NamedTuple):
    """Spellings, pathways, longest chain of diagnoses and distinct leaf names."""

    diagnosis: str
    variants: int
    pathways: int
    depth: int
    width: int


class PathwayDictionary:
    """Diagnoses and their pathways, seen through a `vocabulary`.

    Raises:
        CycleError: a diagnosis implies itself.
    """

    def __init__(self, content: PathwayFile, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.diagnoses = {diagnosis.name: diagnosis for diagnosis in content.diagnoses}
        self._categories = content.categories
        self._direction_by_word: dict[str, str] = {}
        for direction, words in content.directions.items():
            # "Not enlarged" says normal; "not normal" says no direction.
            if direction != "normal":
                denied = [DENIED + word for word in words]
                self._direction_by_word.update(dict.fromkeys(denied, "normal"))
            self._direction_by_word.update(dict.fromkeys(words, direction))
        self._diagnosis_by_spelling = {
            spelling: diagnosis.name
            for diagnosis in content.diagnoses
            for spelling in diagnosis.spellings
        }
        # Exact spellings go before their forms in the vocabulary.
        for spelling, name in list(self._diagnosis_by_spelling.items()):
            self._diagnosis_by_spelling.setdefault(vocabulary.finding(spelling), name)
        below = {
            name: [diagnosis for _, diagnosis in self._implied(name)]
            for name in self.diagnoses
        }
        # Each diagnosis comes before those among its sub-findings, and what is none
        # ("") comes last.
        parents_first = list(TopologicalSorter(below).static_order())[::-1]
        self._rank = {name: rank for rank, name in enumerate(parents_first)}

    # Which diagnosis a wording names

    def recognise(self, name: str, ent: str = "") -> str:
        """Find the diagnosis that a finding names, canonically or in its wording.

        It is empty where it names none.
        """
        by_wording = self._diagnosis_by_spelling.get(plain(ent), "")
        return self._diagnosis_by_spelling.get(name, by_wording)

    # Which pathway applies

    def choose(
        self, diagnosis: str, refinements: list[str], views: frozenset[str]
    ) -> tuple[Pathway | None, str]:
        """Choose the pathway for the most specific refinement and the views.

        Args:
            diagnosis: whose pathways there are.
            refinements: that the finding states, most specific first.
            views: of the study.

        Returns:
            The pathway, or None; and one of `tables.MATCH_REASONS`.
        """
        # Of "acute on chronic" the more specific one chooses.
        refinement = [*refinements, PLAIN][0]
        for pathway in self.diagnoses[diagnosis].applying(refinement, views):
            return pathway, "matched"
        pathways = self.diagnoses[diagnosis].pathways
        if not any(refinement in pathway.when.refinements for pathway in pathways):
            return None, "no pathway for this refinement"
        return None, "view not covered" if views else "unknown view"

    def category(self, child: SubFinding) -> str:
        """Name the Lunguage category of a sub-finding."""
        listed = self._categories.get(child.ent, "PF")
        if listed == SYMPTOM:
            return SYMPTOM
        return self.vocabulary.category(child.ent) or listed

    def is_symptom(self, child: SubFinding) -> bool:
        """Whether a sub-finding is one that no film shows."""
        return self._categories.get(child.ent) == SYMPTOM

    # Directions of measurements

    def contradictory(self, first_cell: str, second_cell: str) -> bool:
        """Whether two cells state directions of which they have none in common."""
        first = self._stated_directions(first_cell)
        second = self._stated_directions(second_cell)
        return bool(first and second and first.isdisjoint(second))

    def _stated_directions(self, cell: str) -> set[str]:
        words = set(chain.from_iterable(read_cell(cell)))
        stated = words & self._direction_by_word.keys()
        return set(map(self._direction_by_word.__getitem__, stated))

    # The graph of diagnoses

    def _implied(self, diagnosis: str) -> Iterator[tuple[str, str]]:
        """Yield the sub-findings of a diagnosis, each with the diagnosis that it is.

        That is empty for a leaf.
        """
        for pathway in self.diagnoses[diagnosis].pathways:
            for child in pathway.implies:
                yield child.ent, self.recognise(self.vocabulary.finding(child.ent))

    def rank(self, name: str, ent: str) -> int:
        """Find the position of a finding in the graph; no diagnosis comes last."""
        return self._rank[self.recognise(name, ent)]

    def _chains(self, diagnosis: str) -> Iterator[tuple[str, ...]]:
        """Yield every chain of sub-findings that a diagnosis implies, to its leaf."""
        for ent, implied in self._implied(diagnosis):
            if implied:
                yield from ((ent, *chain) for chain in self._chains(implied))
            else:
                yield (ent,)

    def statistics(self) -> list[DiagnosisStatistics]:
        """Count variants, pathways, depth and width per diagnosis, in file order."""
        statistics = []
        for name, diagnosis in self.diagnoses.items():
            chains = list(self._chains(name))
            statistics.append(
                DiagnosisStatistics(
                    diagnosis=name,
                    variants=len(diagnosis.spellings),
                    pathways=len(diagnosis.pathways),
                    depth=max(map(len, chains)),
                    width=len({chain[-1] for chain in chains}),
                )
            )
        return statistics


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


def pathway_tree(dictionary: PathwayDictionary, diagnosis: str) -> Iterator[str]:
    """Yield the pathways of a diagnosis as lines, in the paper's notation."""
    yield diagnosis
    for pathway in dictionary.diagnoses[diagnosis].pathways:
        refinements = " or ".join(pathway.when.refinements)
        views = ", ".join(pathway.when.views)
        yield f"    {pathway.id} > {refinements} > view: {views}"
        for child in pathway.implies:
            yield f"        {child.notation}"


# The diagnosis of a row


def diagnosis_of(row: Row | Content, dictionary: PathwayDictionary) -> str:
    """Find the diagnosis of a row, or ""; its location may make it another condition.

    An "effusion" of the pericardium only shares its name with the pleural one, and so
    does the "fracture" of a lead.
    """
    diagnosis = dictionary.recognise(row.name, row.ent)
    cells = row.name, plain(row.ent), row.location, *row.location_parts
    if diagnosis and names_any(cells, dictionary.diagnoses[diagnosis].elsewhere):
        return ""
    return diagnosis
