"""The pathway of a finding, or the reason for none (implicit.md section 3).

Which diagnosis a wording names, and which pathway its refinements and views choose, the
dictionary knows (`pathways/`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from lunguage_assets.corpus.vocabulary import plain
from lunguage_assets.implicit.pathways.pathway_file import Pathway
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, diagnosis_of
from lunguage_assets.implicit.pathways.words import names_any
from lunguage_assets.implicit.rows import CLINICAL_ATTRIBUTES, Row, cell_parts
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.tables import VIEWS

# Of the clinical attributes alone: "compared with the old film" makes no fracture old.
_REFINING_OF = attrgetter(*CLINICAL_ATTRIBUTES)


class Match(NamedTuple):
    """The pathway of one row, or None, and its row of PATHWAY_MATCHES."""

    pathway: Pathway | None
    record: dict[str, Any]


def match(row: Row, dictionary: PathwayDictionary) -> Match:
    """Find the pathway of a row; a row without one never expands."""
    diagnosis = diagnosis_of(row, dictionary)
    refinements = []
    if diagnosis:
        cells = (row.name, plain(row.ent), *_REFINING_OF(row))
        location = (row.location, *row.location_parts)
        refinements = [
            refinement.name
            for refinement in dictionary.diagnoses[diagnosis].refinements
            if names_any((*location, *cells), refinement.words)
            or names_any(location, refinement.locations)
        ]
    reason = _reason_not_expanding(row, diagnosis)
    pathway = None
    if not reason:
        # What else stands in the cell is unknown.
        views = frozenset(VIEWS).intersection(cell_parts(row.view_information.lower()))
        pathway, reason = dictionary.choose(diagnosis, refinements, views)
    record = {
        "finding_id": row.finding_id,
        "study_id": row.study_id,
        "name": row.name,
        "diagnosis": diagnosis,
        "refinements": refinements,
        "pathway_id": pathway.id if pathway else "",
        "pathway": pathway.notation if pathway else "",
        "reason": reason,
        "generated": row.is_generated,
    }
    return Match(pathway, record)


def _reason_not_expanding(row: Row, diagnosis: str) -> str:
    """Name the first reason why a row implies nothing as it is stated, if any."""
    if row.disposition == "merged":
        return "merged"
    if row.disposition == "excluded":
        return "history section"
    if not diagnosis:
        return "not a diagnosis"
    if row.currency != "current dx":
        return "past diagnosis"
    # "No pneumonia" says nothing of opacities: they have other causes.
    if not row.positive:
        return "negative"
    if row.policy.departs and says_resolved(row.improved):
        return "resolved"
    if row.p_source == "none":
        return "no information on certainty"
    return ""
