"""What the reports say of every edge of the pathways, beside the 0.8 of the experts (implicit.md section 4).

A study counts for an edge when it states the diagnosis now, without doubt, and matches the pathway. The
sub-finding is mentioned when a stated row says it, or means it, at a compatible place, or denies it there:
the rules of the expansion, but that attributes need not be stated, because a denial names none either.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal, get_args

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.expansion.expand import compatible_places
from lunguage_assets.implicit.merging.probabilities import KEPT_ABOVE
from lunguage_assets.implicit.pathways.pathways import (
    Edge,
    PathwayDictionary,
    only_shares_the_name,
)
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, Row, by_study, read_rows
from lunguage_assets.implicit.statements.contradictions import Statements
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomical_parts
from lunguage_assets.tables import PATHWAY_AUDIT

EdgeKey = tuple[str, int]
"""Pathway and 0-based number of the sub-finding in it."""

Mention = Literal["present", "absent", "both", "unmentioned"]
Counts = Counter[tuple[EdgeKey, Mention]]
"""Studies by edge, and by what is said of the child."""


def edge_counts(
    rows: pd.DataFrame, dictionary: PathwayDictionary, listed: LabelList
) -> Counts:
    """LUNGUAGE_PLUS_PLUS of whole studies, matched to the dictionary, to counts, which may be added up."""
    known = [
        one
        for diagnosis in dictionary.diagnoses
        for one in dictionary.pathways_of(diagnosis)
    ]
    edges = {pathway.id: pathway.edges for pathway in known}
    found: Counts = Counter()
    stated = rows[rows["source"] == "original"].drop(
        columns="mode"
    )  # by the rules of the default mode
    for study in by_study(read_rows(stated)):
        parents = [
            row for row in study if row.pathway_id in edges and row.status == "dp"
        ]
        statements = Statements(listed, study if parents else ())
        said: dict[EdgeKey, set[Mention]] = {}
        for parent in parents:
            for number, edge in enumerate(edges[parent.pathway_id]):
                child = _child(parent, edge, dictionary.vocabulary)
                about = said.setdefault((parent.pathway_id, number), set())
                about |= _mentions(statements, parent, child, dictionary)
        for key, mentions in said.items():
            one: Mention = (
                "both" if len(mentions) == 2 else next(iter(mentions), "unmentioned")
            )
            found[key, one] += 1
    return found


def _mentions(
    statements: Statements, parent: Row, child: Row, dictionary: PathwayDictionary
) -> set[Mention]:
    found: set[Mention] = set()
    for own, said in statements.about(child):
        if said.row is parent or only_shares_the_name(said.row, dictionary):
            continue
        if own.contradicts(said):
            found.add("absent")
        elif (
            said.present
            and not dictionary.contradictory(said.row.measurement, child.measurement)
            and compatible_places(
                frozenset(anatomical_parts(said.place)),
                frozenset(anatomical_parts(own.place)),
            )
        ):
            found.add("present")
    return found


def _child(parent: Row, edge: Edge, vocabulary: Vocabulary) -> Row:
    """The sub-finding as a presence at the place where the pathway implies it, whatever is implied."""
    parts: tuple[str, ...] = ()
    if not edge.is_symptom:
        own = parent.location_parts if edge.inherits else ()
        parts = tuple(sorted({*own, *vocabulary.location_parts(edge.location)}))
    attributes: dict[str, Any] = {
        name: edge.attributes.get(name, "") for name in ATTRIBUTE_NAMES
    }
    return replace(
        parent,
        finding_id=f"{parent.finding_id}/",
        ent=edge.ent,
        name=edge.name,
        status="dp",
        sent="",
        location=", ".join(parts),
        location_parts=parts,
        source="expansion",
        **attributes,
    )


def audit_table(counts: Counts, dictionary: PathwayDictionary) -> pd.DataFrame:
    """Counts over all studies to PATHWAY_AUDIT: every edge, mentioned or not, in the order of the file."""
    return PATHWAY_AUDIT.frame(
        {"diagnosis": diagnosis} | _audited(counts, (pathway.id, number), edge)
        for diagnosis in dictionary.diagnoses
        for pathway in dictionary.pathways_of(diagnosis)
        for number, edge in enumerate(pathway.edges)
    )


def _audited(counts: Counts, key: EdgeKey, edge: Edge) -> dict[str, object]:
    from scipy.stats import (
        binomtest,
    )  # slow to import, and definitions load this module

    expected: Mention = "present" if edge.status == "dp" else "absent"
    said = {one: counts[key, one] for one in get_args(Mention)}
    agreeing, mentioned = said[expected], said["present"] + said["absent"]
    share = low = high = None
    verdict = "not measured"
    if mentioned:
        interval = binomtest(agreeing, mentioned).proportion_ci(method="wilson")
        share = agreeing / mentioned
        low, high = min(interval.low, share), max(interval.high, share)
        verdict = (
            "above" if low > KEPT_ABOVE else "below" if high < KEPT_ABOVE else "open"
        )
    return {
        "pathway_id": key[0],
        "edge": key[1],
        "sub_finding": edge.ent,
        "place": edge.location,
        "expected": expected,
        "studies": sum(said.values()),
        "mentioned": mentioned,
        "as_implied": agreeing,
        "otherwise": mentioned - agreeing,
        "both": said["both"],
        "share": share,
        "share_low": low,
        "share_high": high,
        "experts": KEPT_ABOVE,
        "strength": edge.strength,
        "against_experts": verdict,
    }
