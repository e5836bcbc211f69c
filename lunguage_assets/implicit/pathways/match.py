"""The pathway of a finding, or the reason for none (implicit.md section 3).

Precedence of the reasons, first that applies: the row takes no part (history section, merged); it is no
diagnosis; it is about a device; it is past; it is negative; the report calls it resolved; nothing is known of
its certainty; and only then what the pathways say (refinement, unknown view, view not covered).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lunguage_assets.corpus.vocabulary import plain
from lunguage_assets.implicit.pathways.pathways import MatchedPathway, PathwayDictionary
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, PAPER, Row, attribute_values
from lunguage_assets.implicit.statements.places import says_resolved
from lunguage_assets.tables import VIEWS

ABOUT_THE_EXAMINATION = frozenset({"comparison", "other_source", "assessment_limitations"})
"""Attributes about films and sources, not about the finding.

"Compared with the old film" does not make a fracture old.
"""

_NOT_TAKING_PART = {"excluded": "history section", "merged": "merged"}
_REFINING = attribute_values(tuple(name for name in ATTRIBUTE_NAMES if name not in ABOUT_THE_EXAMINATION))


@dataclass(slots=True)
class Match:
    """The answer for one row; the field names are the columns of PATHWAY_MATCHES."""

    finding_id: str
    study_id: str
    name: str
    diagnosis: str
    refinements: list[str]
    matched: MatchedPathway | None
    reason: str
    generated: bool

    @property
    def pathway_id(self) -> str:
        return self.matched.id if self.matched else ""

    @property
    def pathway(self) -> str:
        return self.matched.notation if self.matched else ""


def match(row: Row, dictionary: PathwayDictionary) -> Match:
    """The pathway of one row, with the reason; a row without a pathway never expands."""
    generated = row.source == "expansion"
    diagnosis = diagnosis_of(row, dictionary)
    if diagnosis is None:
        reason = _not_taking_part(row) or "not a diagnosis"
        return Match(row.finding_id, row.study_id, row.name, "", [], None, reason, generated)
    rule = dictionary.rules[diagnosis]
    wording = (row.name, plain(row.ent))
    location = (row.location, *row.location_parts)
    refinements = rule.stated(wording, location, _REFINING(row), dictionary.spelled_refinements(wording))
    pathway: MatchedPathway | None = None
    reason = (
        _not_taking_part(row)
        or ("device" if rule.names_device((*wording, *location)) else "")
        or _not_expanding(row)
    )
    if not reason:
        pathway, reason = dictionary.choose(diagnosis, refinements, study_views(row.view_information))
    return Match(row.finding_id, row.study_id, row.name, diagnosis, refinements, pathway, reason, generated)


def diagnosis_of(row: Row, dictionary: PathwayDictionary) -> str | None:
    """The diagnosis of a row; None without one, or when its place makes it another condition."""
    diagnosis = dictionary.recognise(row.name, row.ent)
    return None if diagnosis is None or is_elsewhere(row, diagnosis, dictionary) else diagnosis


def is_elsewhere(row: Row, diagnosis: str, dictionary: PathwayDictionary) -> bool:
    """Whether the row only shares its name with the diagnosis ("effusion", pericardial)."""
    return dictionary.rules[diagnosis].lies_elsewhere((row.location, *row.location_parts))


def only_shares_the_name(row: Row, dictionary: PathwayDictionary) -> bool:
    """Whether the row is another condition of a diagnosis' name.

    A pericardial "effusion" does not state the pleural effusion of an edema.
    """
    diagnosis = dictionary.recognise(row.name)
    return diagnosis is not None and is_elsewhere(row, diagnosis, dictionary)


def _not_taking_part(row: Row) -> str:
    return _NOT_TAKING_PART.get(row.disposition, "")


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
