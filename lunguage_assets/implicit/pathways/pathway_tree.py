"""A diagnosis' situations and sub-findings as a tree, down to the leaves: boxes in the report of a release,
text on the site's page of pathways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lunguage_assets.implicit.pathways.pathway_file import PLAIN, When, view_situations
from lunguage_assets.implicit.pathways.pathways import Edge, PathwayDictionary

Kind = Literal["diagnosis", "situation", "present", "absent"]
SOMETIMES = "in some situations only"


class Branch(NamedTuple):
    """A diagnosis, a situation of one of its pathways, or a sub-finding; `lines` describe it further."""

    kind: Kind
    title: str
    lines: tuple[str, ...] = ()
    children: tuple[Branch, ...] = ()

    def written(self, indent: str = "") -> Iterator[str]:
        """The tree as indented lines of text, a sub-finding that is denied marked as absent."""
        mark = {"situation": "if ", "absent": "absent: "}.get(self.kind, "")
        yield f"{indent}{mark}{self.title}" + (f" ({'; '.join(self.lines)})" if self.lines else "")
        for child in self.children:
            yield from child.written(indent + "    ")


def pathway_tree(dictionary: PathwayDictionary, diagnosis: str) -> Branch:
    """The diagnosis, one of the dictionary's, with all of its pathways, unions last.

    A diagnosis among the sub-findings is followed to its leaves with everything that its own pathways show,
    each once; what they do not show in every situation is marked (`SOMETIMES`), and its own tree says when.
    """
    situations = []
    for pathway in dictionary.pathways_of(diagnosis):
        children = tuple(_sub_finding(dictionary, edge) for edge in pathway.edges)
        situations.append(Branch("situation", _situation(pathway.when), (pathway.id,), children))
    return Branch("diagnosis", diagnosis, (), tuple(situations))


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
    wording = " or ".join("unrefined" if name == PLAIN else name for name in when.refinements)
    return views if when.refinements == [PLAIN] else f"{wording}, {views}"


def _sub_finding(dictionary: PathwayDictionary, edge: Edge, *, sometimes: bool = False) -> Branch:
    said = [f"at: {edge.location}"] if edge.location else []
    said += edge.published_attributes()
    said += ["symptom"] if edge.is_symptom else []
    said += [f"strength {edge.strength:g}"] if edge.strength is not None else []
    said += [SOMETIMES] if sometimes else []
    diagnosis = dictionary.recognise(edge.name, edge.ent) if edge.status == "dp" else None
    children = () if diagnosis is None else tuple(_shown(dictionary, diagnosis))
    kind: Kind = "absent" if edge.status == "dn" else "diagnosis" if children else "present"
    return Branch(kind, edge.ent, tuple(said), children)


def _shown(dictionary: PathwayDictionary, diagnosis: str) -> Iterator[Branch]:
    """Everything that the pathways of a diagnosis show, each once, in their order."""
    shown: dict[tuple[object, ...], tuple[Edge, list[When]]] = {}
    for pathway in dictionary.pathways_of(diagnosis):
        for edge in pathway.edges:
            said = (edge.ent, edge.status, edge.location, *edge.published_attributes(), edge.strength)
            shown.setdefault(said, (edge, []))[1].append(pathway.when)
    wordings = (PLAIN, *(refinement.name for refinement in dictionary.diagnoses[diagnosis].refinements))
    for edge, conditions in shown.values():
        yield _sub_finding(dictionary, edge, sometimes=not _cover_everything(conditions, wordings))


def _cover_everything(conditions: Sequence[When], wordings: Sequence[str]) -> bool:
    """Whether one of the conditions holds whatever the wording and the views, the unknown view included."""
    return all(
        any(wording in when.refinements and when.admits(views) for when in conditions)
        for wording in wordings
        for views in view_situations()
    )
