"""What the reports say of every edge of the pathways, beside the experts' 0.8.

This is an analysis of implicit.md section 4. A study counts for an edge when it states
the diagnosis now, without doubt, and matches the pathway. The sub-finding is mentioned
when a stated row says it, or means it, at a compatible location, or denies it there:
the rules of the expansion, but that attributes need not be stated, because a denial
names none either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.expansion.implied_probability import KEPT_ABOVE
from lunguage_assets.implicit.expansion.stated_signs import compatible_locations
from lunguage_assets.implicit.expansion.sub_findings import inherits_location
from lunguage_assets.implicit.pathways.edges import Edge
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    only_shares_the_name,
)
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, Row, by_study, read_rows
from lunguage_assets.implicit.statements.contradictions import Assertion, Statements
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomical_parts
from lunguage_assets.tables import PATHWAY_AUDIT


class EdgeKey(NamedTuple):
    """An edge: its pathway, and the 0-based number of the sub-finding in it."""

    pathway_id: str
    number: int


Mention = Literal["present", "absent", "both", "unmentioned"]
Counts = Counter[tuple[EdgeKey, Mention]]
"""Studies by edge, and by what is said of the sub-finding."""

_MENTIONS: tuple[Mention, ...] = get_args(Mention)


def edge_counts(
    rows: pd.DataFrame, dictionary: PathwayDictionary, listed: LabelList
) -> Counts:
    """Count what studies say of every edge; counts of parts may be added up.

    Args:
        rows: LUNGUAGE_PLUS_PLUS of whole studies.
        dictionary: to which they are matched.
        listed: what findings mean.
    """
    edges_by_pathway = {
        pathway.id: pathway.edges
        for diagnosis in dictionary.diagnoses
        for pathway in dictionary.pathways_of(diagnosis)
    }
    counts: Counts = Counter()
    stated = rows[rows["source"] == "original"]
    # Read by the rules of the default mode, whatever the rows were made by.
    for study in by_study(read_rows(stated.drop(columns="mode"))):
        parents = [
            row
            for row in study
            if row.pathway_id in edges_by_pathway and row.status == "dp"
        ]
        if not parents:
            continue
        statements = Statements(listed, study)
        mentions_by_edge: dict[EdgeKey, set[Mention]] = {}
        for parent in parents:
            for number, edge in enumerate(edges_by_pathway[parent.pathway_id]):
                key = EdgeKey(parent.pathway_id, number)
                child = _presence_of(parent, edge, dictionary.vocabulary)
                mentions = mentions_by_edge.setdefault(key, set())
                mentions.update(_mentions(statements, parent, child, dictionary))
        # A study counts once for an edge, however many rows imply it or speak of it.
        for key, mentions in mentions_by_edge.items():
            mention: Mention = next(iter(mentions), "unmentioned")
            if len(mentions) > 1:
                mention = "both"
            counts[key, mention] += 1
    return counts


def _mentions(
    statements: Statements, parent: Row, child: Row, dictionary: PathwayDictionary
) -> Iterator[Mention]:
    """Yield what the stated rows say of a sub-finding."""
    for assertion, stated in statements.about(child):
        if stated.row is parent or only_shares_the_name(stated.row, dictionary):
            continue
        if assertion.contradicts(stated):
            yield "absent"
        elif stated.present and _is_stated_at(stated, assertion):
            measurement = stated.row.measurement
            if not dictionary.contradictory(measurement, child.measurement):
                yield "present"


def _is_stated_at(stated: Assertion, implied: Assertion) -> bool:
    return compatible_locations(
        frozenset(anatomical_parts(stated.location)),
        frozenset(anatomical_parts(implied.location)),
    )


def _presence_of(parent: Row, edge: Edge, vocabulary: Vocabulary) -> Row:
    """Build the sub-finding as a presence where the pathway implies it."""
    parts: set[str] = set()
    if inherits_location(edge, parent):
        parts.update(parent.location_parts)
    if not edge.is_symptom:
        parts.update(vocabulary.location_parts(edge.location))
    attributes: dict[str, Any] = dict.fromkeys(ATTRIBUTE_NAMES, "")
    attributes |= edge.attributes
    in_order = tuple(sorted(parts))
    return replace(
        parent,
        finding_id=f"{parent.finding_id}/",
        ent=edge.ent,
        name=edge.name,
        status="dp",
        sent="",
        location=", ".join(in_order),
        location_parts=in_order,
        source="expansion",
        **attributes,
    )


def audit_table(counts: Counts, dictionary: PathwayDictionary) -> pd.DataFrame:
    """Write counts over all studies as PATHWAY_AUDIT, every edge in file order."""
    records = []
    for diagnosis in dictionary.diagnoses:
        for pathway in dictionary.pathways_of(diagnosis):
            for number, edge in enumerate(pathway.edges):
                audited = _audited(counts, EdgeKey(pathway.id, number), edge)
                records.append({"diagnosis": diagnosis} | audited)
    return PATHWAY_AUDIT.frame(records)


def _audited(counts: Counts, key: EdgeKey, edge: Edge) -> dict[str, object]:
    # Slow to import, and the definitions of Dagster load this module.
    from scipy.stats import binomtest

    expected: Mention = "present" if edge.status == "dp" else "absent"
    studies = {mention: counts[key, mention] for mention in _MENTIONS}
    agreeing = studies[expected]
    # A study that says both has mentioned the sign, and settles nothing.
    mentioned = studies["present"] + studies["absent"]
    share = low = high = None
    against_experts = "not measured"
    if mentioned:
        interval = binomtest(agreeing, mentioned).proportion_ci(method="wilson")
        share = agreeing / mentioned
        low = min(interval.low, share)
        high = max(interval.high, share)
        # A few studies have a wide interval, in which the experts' 0.8 may still lie.
        against_experts = "open"
        if low > KEPT_ABOVE:
            against_experts = "above"
        elif high < KEPT_ABOVE:
            against_experts = "below"
    return {
        "pathway_id": key.pathway_id,
        "edge": key.number,
        "sub_finding": edge.ent,
        "place": edge.location,
        "expected": expected,
        "studies": sum(studies.values()),
        "mentioned": mentioned,
        "as_implied": agreeing,
        "otherwise": mentioned - agreeing,
        "both": studies["both"],
        "share": share,
        "share_low": low,
        "share_high": high,
        "experts": KEPT_ABOVE,
        "strength": edge.strength,
        "against_experts": against_experts,
    }
