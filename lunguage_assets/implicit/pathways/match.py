"""The pathway of a finding, or the reason for none (implicit.md section 3).

Precedence of the reasons, first that applies: the row takes no part (history section, merged); it is no
diagnosis; it is about a device; it is past; it is negative; the report calls it resolved; nothing is known of
its certainty; and only then what the pathways say (refinement, unknown view, view not covered).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from lunguage_assets.corpus.vocabulary import plain
from lunguage_assets.implicit.pathways.pathways import MatchedPathway, PathwayDictionary
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, PAPER, Row
from lunguage_assets.implicit.statements.places import says_resolved
from lunguage_assets.tables import VIEWS

_ABOUT_THE_EXAMINATION = {"comparison", "other_source", "assessment_limitations"}
"""Attributes about films and sources: "compared with the old film" does not make a fracture old."""

_REFINING = attrgetter(*[name for name in ATTRIBUTE_NAMES if name not in _ABOUT_THE_EXAMINATION])


class Match(NamedTuple):
    """The answer for one row: its diagnosis with refinements, and a pathway or the reason for none."""

    row: Row
    reason: str
    diagnosis: str = ""
    refinements: Sequence[str] = ()
    matched: MatchedPathway | None = None

    def record(self) -> dict[str, object]:
        """The answer as a row of PATHWAY_MATCHES."""
        return {
            "finding_id": self.row.finding_id,
            "study_id": self.row.study_id,
            "name": self.row.name,
            "diagnosis": self.diagnosis,
            "refinements": self.refinements,
            "pathway_id": self.matched.id if self.matched else "",
            "pathway": self.matched.notation if self.matched else "",
            "reason": self.reason,
            "generated": self.row.source == "expansion",
        }


def match(row: Row, dictionary: PathwayDictionary) -> Match:
    """The pathway of one row, with the reason; a row without a pathway never expands."""
    diagnosis = diagnosis_of(row, dictionary)
    if diagnosis is None:
        return Match(row, _not_taking_part(row) or "not a diagnosis")
    location = row.location, *row.location_parts
    refinements = dictionary.refinements(diagnosis, row.name, row.ent, location, _REFINING(row))
    device = "device" if is_of_device(row, diagnosis, dictionary) else ""
    if reason := _not_taking_part(row) or device or _not_expanding(row):
        return Match(row, reason, diagnosis, refinements)
    pathway, reason = dictionary.choose(diagnosis, refinements, study_views(row.view_information))
    return Match(row, reason, diagnosis, refinements, pathway)


def diagnosis_of(row: Row, dictionary: PathwayDictionary) -> str | None:
    """The diagnosis of a row; None without one, or when its place makes it another condition."""
    diagnosis = dictionary.recognise(row.name, row.ent)
    return None if diagnosis is None or is_elsewhere(row, diagnosis, dictionary) else diagnosis


def is_elsewhere(row: Row, diagnosis: str, dictionary: PathwayDictionary) -> bool:
    """Whether the row only shares its name with the diagnosis ("effusion", pericardial)."""
    return dictionary.rules[diagnosis].elsewhere.in_any((row.location, *row.location_parts))


def is_of_device(row: Row, diagnosis: str, dictionary: PathwayDictionary) -> bool:
    """Whether a device has the diagnosis ("fracture" of a lead), and not the patient."""
    cells = row.name, plain(row.ent), row.location, *row.location_parts
    return dictionary.rules[diagnosis].devices.in_any(cells)


def only_shares_the_name(row: Row, dictionary: PathwayDictionary) -> bool:
    """Whether the row is another condition: a pericardial "effusion" states no pleural one."""
    diagnosis = dictionary.recognise(row.name)
    return diagnosis is not None and is_elsewhere(row, diagnosis, dictionary)


def _not_taking_part(row: Row) -> str:
    return {"excluded": "history section", "merged": "merged"}.get(row.disposition, "")


def _not_expanding(row: Row) -> str:
    if row.currency != "current dx":
        return "past diagnosis"
    if not row.positive:
        return "negative"
    if row.mode != PAPER and says_resolved(row.improved):
        return "resolved"
    return "no information on certainty" if row.p_source == "none" else ""


@lru_cache(maxsize=1024)
def study_views(view_information: str) -> frozenset[str]:
    """The set of known views; anything else in the cell is unknown."""
    return frozenset(VIEWS) & frozenset(view.strip().lower() for view in view_information.split(","))
