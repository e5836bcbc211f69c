"""A diagnosis' situations and sub-findings as lines of text, for the report of a release and the site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lunguage_assets.implicit.pathways.pathway_file import PLAIN, When
from lunguage_assets.implicit.pathways.pathways import Edge, PathwayDictionary


def pathway_tree(dictionary: PathwayDictionary, diagnosis: str) -> Iterator[str]:
    """The diagnosis, the situations of its pathways, and what they imply, as indented lines, unions last.

    A sub-finding that is itself a diagnosis is named as one: its own tree says what it shows.
    """
    yield diagnosis
    for pathway in dictionary.pathways_of(diagnosis):
        yield f"    if {_situation(pathway.when)} ({pathway.id})"
        for edge in pathway.edges:
            yield f"        {_sub_finding(dictionary, edge)}"


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


def _sub_finding(dictionary: PathwayDictionary, edge: Edge) -> str:
    said = [f"at: {edge.location}"] if edge.location else []
    said += edge.published_attributes()
    said += ["symptom"] if edge.is_symptom else []
    said += [f"strength {edge.strength:g}"] if edge.strength is not None else []
    said += ["a diagnosis"] if edge.status == "dp" and dictionary.recognise(edge.name, edge.ent) else []
    return ("absent: " if edge.status == "dn" else "") + edge.ent + (f" ({'; '.join(said)})" if said else "")
