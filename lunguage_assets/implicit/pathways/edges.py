"""A pathway of the dictionary, ready for rows: its condition, and what it implies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lunguage_assets.implicit.pathways.pathway_file import (
    PROJECTIONS,
    ListedWords,
    When,
)
from lunguage_assets.tables import ATTRIBUTES, VIEWS


class Subject(NamedTuple):
    """A diagnosis with refinements, or a canonical name with none."""

    name: str
    refinements: frozenset[str] = frozenset()


class Edge(NamedTuple):
    """One sub-finding of a pathway, and what keeps it from being implied."""

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
        """List the attributes under their published names."""
        return [
            f"{published}: {self.attributes[name]}"
            for name, published in ATTRIBUTES.items()
            if name in self.attributes
        ]


class MatchedPathway(NamedTuple):
    """A pathway that a row can match."""

    id: str
    when: When
    edges: tuple[Edge, ...]
    notation: str


def notation_of(when: When, edges: Sequence[Edge]) -> str:
    """Write a pathway in the paper's notation.

    `view: ap, pa > ent: opacity > status: dp > loc: airspace && ent: ...`
    """
    situations: list[Sequence[str]] = [*when.postures, *when.projections, when.needs]
    views: set[str] = set()
    for situation in situations:
        views.update(situation)
    # A posture goes with any projection.
    if when.postures or not views:
        views.update(PROJECTIONS)
    in_order = ", ".join(view for view in VIEWS if view in views)
    return f"view: {in_order} > " + " && ".join(map(_notation_of_edge, edges))


def _notation_of_edge(edge: Edge) -> str:
    pieces = [f"ent: {edge.ent}", f"status: {edge.status}"]
    if edge.location:
        pieces.append(f"loc: {edge.location}")
    return " > ".join([*pieces, *edge.published_attributes()])
