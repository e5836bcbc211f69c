"""Whether the report states a sub-finding already, under whatever name.

The rule is in implicit.md section 4, "Already stated". A sign is stated by its name, by
another wording that means the same, or by a member of its family; at a compatible
location, or as evidence of the diagnosis that implies it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.words import names_any
from lunguage_assets.implicit.rows import Row, priority
from lunguage_assets.implicit.statements.contradictions import is_present
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomy, lies_in


class StatedSigns:
    """The stated rows of one study, by name and by the labels that they mean."""

    def __init__(self, study: Sequence[Row], labels: LabelList) -> None:
        self._dictionary = labels.dictionary
        self._labels = labels
        self._study = study
        self._by_id = {row.finding_id: row for row in study}
        self._by_name: dict[tuple[str, str, bool], list[Row]] = defaultdict(list)
        """By name, currency and polarity."""
        self._by_label: dict[tuple[int, str], list[Row]] = defaultdict(list)
        """Rows that say that a label is present, by label and currency."""
        for row in study:
            # Merged rows count: the survivor may be worded otherwise.
            if row.disposition != "excluded":
                self._add(row)

    def _add(self, row: Row) -> None:
        name = self._labels.read(row).name
        self._by_name[name, row.currency, row.positive].append(row)
        if is_present(row):
            for label in self._labels.present(row):
                self._by_label[label, row.currency].append(row)

    def named(self, wording: str, currency: str, positive: bool) -> Sequence[Row]:
        """List the stated rows of a name.

        Args:
            wording: of the name.
            currency: of the rows.
            positive: whether they say that it is there.
        """
        name = self._dictionary.vocabulary.finding(wording)
        return self._by_name.get((name, currency, positive), ())

    def strongest(self, rows: Iterable[Row]) -> Row | None:
        """Find the preferred row; a merged row counts through its survivor."""
        # The survivor stays in the result, so that the link to it holds.
        survivors = (self._by_id[row.merged_into or row.finding_id] for row in rows)
        return min(survivors, key=priority, default=None)

    def stating(self, child: Row, edge: SubFinding, parent: Row) -> Row | None:
        """Find the strongest row that states a sub-finding; None without one.

        Args:
            child: the sub-finding.
            edge: that implies it.
            parent: whose diagnosis implies it.
        """
        if child.policy.recognises_other_wordings and self._dictionary.is_symptom(edge):
            # Symptoms stand in the history.
            facts = child.name, child.positive
            return self.strongest(
                row for row in self._study if (row.name, row.positive) == facts
            )
        if child.policy.recognises_other_wordings:
            return self.strongest(self._in_any_wording(child, edge, parent))
        # The paper compares names and locations, and nothing else.
        location = frozenset(child.location_parts)
        return self.strongest(
            row
            for row in self.named(edge.ent, child.currency, child.positive)
            if compatible_locations(frozenset(row.location_parts), location)
            and not self._dictionary.contradictory(row.measurement, child.measurement)
        )

    def _in_any_wording(
        self, child: Row, edge: SubFinding, parent: Row
    ) -> Iterator[Row]:
        for row in self.named(edge.ent, child.currency, child.positive):
            if _is_beside(row, child, parent) and self._shows(row, edge):
                yield row
        if child.positive:
            yield from self._meaning_the_same(child, edge, parent)

    def _meaning_the_same(
        self, child: Row, edge: SubFinding, parent: Row
    ) -> Iterator[Row]:
        """Yield the rows that mean a label which the child means.

        "Enlargement" of the heart means its increased size, "haziness" an opacity,
        "nodule" a nodular one. What names the parent itself does not state its signs.
        """
        labels = self._labels
        parents_diagnosis = labels.read(parent).diagnosis
        for label in labels.present(child):
            # Words that mean one thing say it all. An opacity may be of many kinds, so
            # that of a nodular one the report must say that it is nodular.
            suffices = labels.is_diagnosis(label)
            for row in self._by_label.get((label, child.currency), ()):
                # "Lung cancer" is a lung lesion, and not its own nodular opacity.
                if labels.read(row).diagnosis == parents_diagnosis:
                    continue
                # "The heart is enlarged": what is said lies where the heart does.
                is_placeless = labels.present(row)[label]
                is_located = is_placeless or _is_beside(row, child, parent)
                if is_located and (suffices or self._shows(row, edge)):
                    yield row

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
    if row.finding_id in parent.evidence or row.merged_into in parent.evidence:
        return True
    named = anatomy().location((row.ent,)).regions
    stated = (*row.location_parts, *sorted(named))
    implied = child.location_parts
    # "Opacity" does not state the one at the left base; the whole lung is no narrower.
    if not stated:
        return not anatomy().without_wholes(anatomy().location(implied))
    return bool(anatomy().covers(stated, implied) or lies_in(stated, implied))


def compatible_locations(stated: frozenset[str], implied: frozenset[str]) -> bool:
    """Whether one contains all parts of the other; a stated one may be wider."""
    # "Opacity" without a location does not state the one at the left base.
    return stated >= implied or bool(stated and stated <= implied)
