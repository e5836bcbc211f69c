"""The pathway of a finding, or the reason for none (implicit.md section 3).

Which diagnosis a wording names, and which pathway its refinements and views choose, the
dictionary knows (`pathways/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from lunguage_assets.implicit.pathways.edges import MatchedPathway
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    diagnosis_of,
    is_of_device,
)
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, Row
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.tables import VIEWS

_ABOUT_THE_EXAMINATION = {"comparison", "other_source", "assessment_limitations"}
"""About films and sources: "compared with the old film" makes no fracture old."""

_REFINING_OF = attrgetter(
    *[name for name in ATTRIBUTE_NAMES if name not in _ABOUT_THE_EXAMINATION]
)


class Match(NamedTuple):
    """The answer for one row: its diagnosis, and a pathway or the reason for none."""

    row: Row
    reason: str
    diagnosis: str = ""
    refinements: Sequence[str] = ()
    matched: MatchedPathway | None = None

    def record(self) -> dict[str, object]:
        """Write the answer as a row of PATHWAY_MATCHES."""
        record: dict[str, object] = {
            "finding_id": self.row.finding_id,
            "study_id": self.row.study_id,
            "name": self.row.name,
            "diagnosis": self.diagnosis,
            "refinements": self.refinements,
            "pathway_id": "",
            "pathway": "",
            "reason": self.reason,
            "generated": self.row.is_generated,
        }
        if self.matched is not None:
            record["pathway_id"] = self.matched.id
            record["pathway"] = self.matched.notation
        return record


def match(row: Row, dictionary: PathwayDictionary) -> Match:
    """Find the pathway of a row; a row without one never expands.

    Of several reasons for none the first is told: the row takes no part; it is no
    diagnosis; it is about a device; it does not expand as it is stated; and only then
    what the pathways say.
    """
    reason = reason_not_taking_part(row)
    diagnosis = diagnosis_of(row, dictionary)
    if diagnosis is None:
        return Match(row, reason or "not a diagnosis")
    refinements = dictionary.refinements(
        diagnosis,
        row.name,
        row.ent,
        (row.location, *row.location_parts),
        _REFINING_OF(row),
    )
    # "Fracture" of a lead.
    if not reason and is_of_device(row, diagnosis, dictionary):
        reason = "device"
    reason = reason or reason_not_expanding(row)
    if reason:
        return Match(row, reason, diagnosis, refinements)
    views = study_views(row.view_information)
    pathway, reason = dictionary.choose(diagnosis, refinements, views)
    return Match(row, reason, diagnosis, refinements, pathway)


def reason_not_taking_part(row: Row) -> str:
    """Name why a row has no part in the result; empty where it has one."""
    reasons = {"excluded": "history section", "merged": "merged"}
    return reasons.get(row.disposition, "")


def reason_not_expanding(row: Row) -> str:
    """Name why a diagnosis implies nothing as it is stated; empty where it does."""
    if row.currency != "current dx":
        return "past diagnosis"
    # "No pneumonia" says nothing of opacities: they have other causes.
    if not row.positive:
        return "negative"
    if row.policy.departs and says_resolved(row.improved):
        return "resolved"
    return "no information on certainty" if row.p_source == "none" else ""


@lru_cache(maxsize=1024)
def study_views(view_information: str) -> frozenset[str]:
    """Read the known views of a cell; anything else in it is unknown."""
    views = (view.strip().lower() for view in view_information.split(","))
    return frozenset(VIEWS) & frozenset(views)
