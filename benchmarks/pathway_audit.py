"""What the reports say of every edge of the pathways, beside the experts' 0.8: `python
benchmarks/pathway_audit.py HOME [--ranker panel]`.

A study counts for an edge when it states the diagnosis now, without doubt, and matches
the pathway. The sub-finding is mentioned when a stated row says it, or means it, at a
compatible location, or denies it there: the rules of the expansion (docs/method/
implicit.md section 4), but that attributes need not be stated, because a denial names
none either. Reports mention selectively, so a share is no probability given the
diagnosis alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import binomtest

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.expansion.sub_findings import KEPT_ABOVE
from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    diagnosis_of,
    load_dictionary,
)
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, Row, by_study, read_rows
from lunguage_assets.implicit.statements.contradictions import Assertion, Statements
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.implicit.statements.locations import anatomy
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS, TERMS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import is_stored, partition_path, read_table

EDGE = ["diagnosis", "sub_finding", "location", "expected", "pathway_id", "edge"]
"""What names an edge: its pathway, and the 0-based number of the sub-finding in it."""


def mentions_of_edges(
    rows: pd.DataFrame, dictionary: PathwayDictionary, labels: LabelList
) -> pd.DataFrame:
    """Find what every study says of the edges of its pathways.

    Args:
        rows: LUNGUAGE_PLUS_PLUS of whole studies.
        dictionary: to which they are matched.
        labels: what findings mean.

    Returns:
        A row for each study and edge: `EDGE`, `study_id`, and whether the study states
        the sub-finding (`present`), or denies it (`absent`).
    """
    pathways = {
        pathway.id: (diagnosis, pathway)
        for diagnosis, entry in dictionary.diagnoses.items()
        for pathway in entry.pathways
    }
    records = []
    stated = rows[rows["source"] == "original"]
    # Read by the rules of the default mode, whatever the rows were made by.
    for study in by_study(read_rows(stated.drop(columns="mode"))):
        statements = Statements(labels, study)
        for parent in study:
            if parent.pathway_id not in pathways or parent.status != "dp":
                continue
            diagnosis, pathway = pathways[parent.pathway_id]
            for number, edge in enumerate(pathway.implies):
                child = _presence_of(parent, edge, dictionary)
                mentions = set(_mentions(statements, parent, child, dictionary))
                records.append(
                    {
                        "diagnosis": diagnosis,
                        "sub_finding": edge.ent,
                        "location": edge.location,
                        "expected": "present" if edge.status == "dp" else "absent",
                        "pathway_id": pathway.id,
                        "edge": number,
                        "study_id": parent.study_id,
                        "present": "present" in mentions,
                        "absent": "absent" in mentions,
                    }
                )
    columns = [*EDGE, "study_id", "present", "absent"]
    mentions_by_parent = pd.DataFrame(records, columns=columns)
    # A study counts once for an edge, however many rows imply it or speak of it.
    return mentions_by_parent.groupby([*EDGE, "study_id"], as_index=False).any()


def audit(mentions: pd.DataFrame) -> pd.DataFrame:
    """Count the studies of every edge, with the share that says what is implied.

    Args:
        mentions: as `mentions_of_edges` returns them, of all studies.

    Returns:
        A row for each edge of which some study states the diagnosis: `EDGE`, `studies`,
        `mentioned`, `as_implied`, `share` with Wilson's 95% interval, and `verdict`:
        the whole interval lies above or below what the experts said, or is open.
    """
    # A study that says both has mentioned the sign, and settles nothing.
    is_mentioned = mentions["present"] != mentions["absent"]
    is_expected = mentions["present"].eq(mentions["expected"] == "present")
    counted = mentions.assign(
        mentioned=is_mentioned, as_implied=is_mentioned & is_expected
    )
    edges = counted.groupby(EDGE, as_index=False).agg(
        studies=("study_id", "size"),
        mentioned=("mentioned", "sum"),
        as_implied=("as_implied", "sum"),
    )
    edges = edges[edges["mentioned"] > 0].reset_index(drop=True)
    edges["share"] = edges["as_implied"] / edges["mentioned"]
    intervals = [
        binomtest(agreeing, mentioned).proportion_ci(method="wilson")
        for agreeing, mentioned in zip(
            edges["as_implied"].tolist(), edges["mentioned"].tolist(), strict=True
        )
    ]
    edges["low"] = [interval.low for interval in intervals]
    edges["high"] = [interval.high for interval in intervals]
    # A few studies have a wide interval, in which the experts' 0.8 may still lie.
    edges["verdict"] = "open"
    edges.loc[edges["low"] > KEPT_ABOVE, "verdict"] = "above"
    edges.loc[edges["high"] < KEPT_ABOVE, "verdict"] = "below"
    return edges


def _mentions(
    statements: Statements, parent: Row, child: Row, dictionary: PathwayDictionary
) -> Iterator[str]:
    """Yield what the stated rows say of a sub-finding."""
    for assertion, stated in statements.about(child):
        is_named = bool(dictionary.recognise(stated.row.name))
        only_shares_the_name = is_named and not diagnosis_of(stated.row, dictionary)
        if stated.row is parent or only_shares_the_name:
            continue
        if assertion.contradicts(stated):
            yield "absent"
        elif stated.present and _is_stated_at(stated, assertion):
            measurement = stated.row.measurement
            if not dictionary.contradictory(measurement, child.measurement):
                yield "present"


def _is_stated_at(stated: Assertion, implied: Assertion) -> bool:
    """Whether one location contains the other; without one it states none."""
    parts = set(anatomy().location(stated.location).parts)
    implied_parts = set(anatomy().location(implied.location).parts)
    return implied_parts <= parts or (bool(parts) and parts <= implied_parts)


def _presence_of(parent: Row, edge: SubFinding, dictionary: PathwayDictionary) -> Row:
    """Build the sub-finding as a presence where the pathway implies it."""
    parts: set[str] = set()
    is_symptom = dictionary.is_symptom(edge)
    inherits = edge.inherits or not parent.policy.withholds_children
    if inherits and not is_symptom:
        parts.update(parent.location_parts)
    if not is_symptom:
        parts.update(dictionary.vocabulary.location_parts(edge.location))
    attributes: dict[str, Any] = dict.fromkeys(ATTRIBUTE_NAMES, "")
    attributes |= edge.attributes
    in_order = tuple(sorted(parts))
    return replace(
        parent,
        finding_id=f"{parent.finding_id}/",
        ent=edge.ent,
        name=dictionary.vocabulary.finding(edge.ent),
        status="dp",
        sent="",
        location=", ".join(in_order),
        location_parts=in_order,
        source="expansion",
        **attributes,
    )


def mentions_of_home(home: Home, ranker: str) -> pd.DataFrame:
    """Find what the studies of all batches of a ranker say, each in its last batch."""
    mentions_by_batch = []
    for batch in home.registered():
        path = partition_path(home.tables, LUNGUAGE_PLUS_PLUS.name, ranker, batch.key)
        if not is_stored(LUNGUAGE_PLUS_PLUS, path):
            continue
        # Each batch was matched with the terms that were delivered with it.
        terms = read_table(TERMS, partition_path(home.tables, TERMS.name, batch.key))
        dictionary = load_dictionary(home.pathways_file, Vocabulary(terms))
        labels = load_label_list(dictionary)
        rows = read_table(LUNGUAGE_PLUS_PLUS, path)
        mentions_by_batch.append(mentions_of_edges(rows, dictionary, labels))
    if not mentions_by_batch:
        sys.exit(f"{home.root} has no results of ranker {ranker!r}: `lunguage run`.")
    mentions = pd.concat(mentions_by_batch, ignore_index=True)
    return mentions.drop_duplicates([*EDGE, "study_id"], keep="last")


def main(arguments: Sequence[str]) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("home", type=Path)
    options.add_argument("--ranker", default="panel")
    chosen = options.parse_args(arguments)
    edges = audit(mentions_of_home(Home(chosen.home), chosen.ranker))
    print(edges.drop(columns=["edge"]).round(2).to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1:])
