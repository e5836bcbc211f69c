"""Whether the report states a sub-finding already, under whatever name.

The rule is in implicit.md section 4, "Already stated". A sign is stated by its name, by
another wording that means the same, or by a member of its family; at a compatible
location, or as evidence of the diagnosis that implies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.words import names_any
from lunguage_assets.implicit.rows import Row, priority
from lunguage_assets.implicit.statements.contradictions import is_present
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomy, lies_in


class StatedSigns:
    """The stated rows of one study, among which a sub-finding may be."""

    def __init__(self, study: Sequence[Row], labels: LabelList) -> None:
        self._labels = labels
        self._dictionary = labels.dictionary
        self._by_id = {row.finding_id: row for row in study}

    @cached_property
    def _signs_by_id(self) -> dict[str, AbstractSet[Any]]:
        # Many studies expand nothing: what they state need not be read.
        return {key: self._labels.read(row).signs for key, row in self._by_id.items()}

    def stating(self, child: Row, edge: SubFinding, parent: Row) -> Row | None:
        """Find the strongest row that states a sub-finding; None without one.

        Args:
            child: the sub-finding.
            edge: that implies it.
            parent: whose diagnosis implies it.
        """
        signs = self._labels.read(child).signs
        survivors = [
            # A merged row counts through its survivor, so that the link to it holds.
            self._by_id[row.merged_into or row.finding_id]
            for row in self._by_id.values()
            if not signs.isdisjoint(self._signs_by_id[row.finding_id])
            and self._states(row, child, edge, parent)
        ]
        return min(survivors, key=priority, default=None)

    def _states(self, row: Row, child: Row, edge: SubFinding, parent: Row) -> bool:
        """Whether a row states a sub-finding: by its name, or in other words."""
        in_any_words = child.policy.recognises_other_wordings
        has_name = (row.name, row.positive) == (child.name, child.positive)
        if in_any_words and self._dictionary.is_symptom(edge):
            # Symptoms stand in the history.
            return has_name
        if row.disposition == "excluded" or row.currency != child.currency:
            return False
        # Merged rows count: the survivor may be worded otherwise.
        is_named = has_name and self._labels.read(row).name == child.name
        if not in_any_words:
            # The paper compares names and locations, and nothing else. A stated one may
            # be wider; "opacity" without one does not state that at the left base.
            stated = set(row.location_parts)
            implied = set(child.location_parts)
            return (
                is_named
                and (implied <= stated or set() < stated <= implied)
                and not self._dictionary.contradictory(
                    row.measurement, child.measurement
                )
            )
        if is_named and _is_beside(row, child, parent) and self._shows(row, edge):
            return True
        return self._means_the_same(row, child, edge, parent)

    def _means_the_same(
        self, row: Row, child: Row, edge: SubFinding, parent: Row
    ) -> bool:
        """Whether a row means a label which a sub-finding means.

        "Enlargement" of the heart means its increased size, "haziness" an opacity,
        "nodule" a nodular one. What names the parent itself does not state its signs:
        "lung cancer" is a lung lesion, and not its own nodular opacity.

        Args:
            row: that the report states.
            child: the sub-finding.
            edge: that implies it.
            parent: whose diagnosis implies it.
        """
        if not (child.positive and is_present(row)):
            return False
        reading = self._labels.read(row)
        shared = reading.present.keys() & self._labels.read(child).present.keys()
        if not shared or reading.diagnosis == self._labels.read(parent).diagnosis:
            return False
        for label in shared:
            # Words that mean one thing say it all. An opacity may be of many kinds, so
            # that of a nodular one the report must say that it is nodular.
            suffices = self._labels.is_diagnosis(label)
            # "The heart is enlarged": what is said lies where the heart does.
            is_located = reading.present[label] or _is_beside(row, child, parent)
            if is_located and (suffices or self._shows(row, edge)):
                return True
        return False

    def _shows(self, row: Row, edge: SubFinding) -> bool:
        """Whether a row is there now and has the attributes that define the sign."""
        measurement = edge.attributes.get("measurement", "")
        if self._dictionary.contradictory(row.measurement, measurement):
            return False
        # What has resolved shows nothing now.
        if is_present(row) != row.positive:
            return False
        for name, cell in edge.attributes.items():
            # "Enlarged" says what "increased" asks for.
            agrees = name == "measurement" and bool(row.measurement)
            # "Small nodular" says "nodular".
            if not agrees and not names_any([getattr(row, name)], (cell,)):
                return False
        return True


def _is_beside(row: Row, child: Row, parent: Row) -> bool:
    """Whether a row lies where a child does, around it, or inside it on the same sides.

    The name counts, too ("peribronchial opacity"). What the report names as evidence of
    the parent is the sign, wherever it lies.
    """
    if not {row.finding_id, row.merged_into}.isdisjoint(parent.evidence):
        return True
    named = anatomy().location((row.ent,)).regions
    stated = (*row.location_parts, *sorted(named))
    location = child.location_parts
    if stated and anatomy().covers(stated, location):
        return True
    # "Opacity" does not state the one at the left base; the whole lung is no narrower.
    return lies_in(stated, location)
