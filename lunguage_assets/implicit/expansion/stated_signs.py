"""Whether the report states a sub-finding already, under whatever name.

The rule is in implicit.md section 4, "Already stated". A sign is stated by its name, by
another wording that means the same, or by a member of its family; at a compatible
location, or as evidence of the diagnosis that implies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    diagnosis_of,
)
from lunguage_assets.implicit.rows import Row, priority, tokens
from lunguage_assets.implicit.statements.contradictions import is_present
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomy, lies_in


class StatedSigns:
    """The stated rows of one study, by name and by the labels that they mean."""

    def __init__(
        self, study: Sequence[Row], dictionary: PathwayDictionary, labels: LabelList
    ) -> None:
        self._study = study
        self._dictionary = dictionary
        self._labels = labels
        self._by_id = {row.finding_id: row for row in study}
        self._by_name: dict[tuple[str, str, bool], list[Row]] = {}
        """By name, currency and polarity."""
        self._by_label: dict[tuple[int, str], list[Row]] = {}
        """Rows that say that a label is present, by label and currency."""
        for row in study:
            # Merged rows count: the survivor may be worded otherwise.
            if row.disposition != "excluded":
                self._add(row)

    def _add(self, row: Row) -> None:
        # "Effusion" of the pericardium only shares its name with the pleural one.
        is_named = self._dictionary.recognise(row.name) is not None
        if not is_named or diagnosis_of(row, self._dictionary) is not None:
            for name in self._names_of(row):
                key = name, row.currency, row.positive
                self._by_name.setdefault(key, []).append(row)
        if is_present(row):
            for label in self._labels.present(row):
                self._by_label.setdefault((label, row.currency), []).append(row)

    def _names_of(self, row: Row) -> set[str]:
        if not row.policy.recognises_other_wordings:
            return {row.name}
        return {row.name, self._dictionary.vocabulary.finding(row.ent)}

    def stating(self, child: Row, edge: SubFinding, parent: Row) -> Row | None:
        """Find the strongest row that states a sub-finding; None without one.

        Args:
            child: the sub-finding.
            edge: that implies it.
            parent: whose diagnosis implies it.
        """
        return strongest(self._rows_stating(child, edge, parent), self._by_id)

    def _rows_stating(self, child: Row, edge: SubFinding, parent: Row) -> Iterator[Row]:
        # The paper compares names and locations, and nothing else.
        if not child.policy.recognises_other_wordings:
            return self._at_a_compatible_location(child)
        if self._dictionary.is_symptom(edge):
            return self._in_any_section(child)
        return self._in_any_wording(child, edge, parent)

    def _same_name(self, child: Row) -> Sequence[Row]:
        return self._by_name.get((child.name, child.currency, child.positive), ())

    def _at_a_compatible_location(self, child: Row) -> Iterator[Row]:
        location = frozenset(child.location_parts)
        for row in self._same_name(child):
            if self._dictionary.contradictory(row.measurement, child.measurement):
                continue
            if compatible_locations(frozenset(row.location_parts), location):
                yield row

    def _in_any_section(self, child: Row) -> Iterator[Row]:
        """Symptoms stand in the history."""
        for row in self._study:
            if row.name == child.name and row.positive == child.positive:
                yield row

    def _in_any_wording(
        self, child: Row, edge: SubFinding, parent: Row
    ) -> Iterator[Row]:
        is_diagnosis = bool(self._labels.read(child).diagnosis)
        for row in self._same_name(child):
            # "Edema" without a location states the one that the pathway locates.
            is_unlocated_diagnosis = is_diagnosis and not row.location_parts
            # What the report names as evidence is the sign, wherever it lies.
            is_located = (
                is_near(row, child)
                or gives_reason(row, parent)
                or is_unlocated_diagnosis
            )
            if is_located and self._has_defining_attributes(row, edge):
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
        meant = labels.present(child)
        # An "opacity" that is nodular means what "nodular opacity" does: a lung lesion.
        morphology = edge.attributes.get("morphology", "")
        wording = f"{morphology} {edge.ent}".strip()
        location = ", ".join((child.location, *child.location_parts))
        composed = labels.labels_of_wording(wording, location)
        parents_diagnosis = labels.read(parent).diagnosis
        for label in dict.fromkeys((*meant, *sorted(composed))):
            # Words that mean one thing say it all. An opacity may be of many kinds, so
            # that of a nodular one the report must say that it is nodular.
            suffices = label not in meant or labels.is_diagnosis(label)
            for row in self._by_label.get((label, child.currency), ()):
                # "Lung cancer" is a lung lesion, and not its own nodular opacity.
                diagnosis = labels.read(row).diagnosis
                if diagnosis and diagnosis == parents_diagnosis:
                    continue
                # "The heart is enlarged": what is said lies where the heart does.
                is_placeless = labels.present(row)[label]
                is_located = (
                    is_placeless or is_near(row, child) or gives_reason(row, parent)
                )
                if not is_located:
                    continue
                if suffices or self._has_defining_attributes(row, edge):
                    yield row

    def _has_defining_attributes(self, row: Row, edge: SubFinding) -> bool:
        """Whether a row is there now and has the attributes that define the sign."""
        measurement = edge.attributes.get("measurement", "")
        if self._dictionary.contradictory(row.measurement, measurement):
            return False
        # What has resolved shows nothing now.
        if is_present(row) != row.positive:
            return False
        for name, cell in edge.attributes.items():
            # "Enlarged" says what "increased" asks for.
            agrees = name == "measurement" and self._dictionary.agree(
                row.measurement, cell
            )
            if not agrees and not defines(getattr(row, name), cell):
                return False
        return True


def strongest(rows: Iterable[Row], by_id: Mapping[str, Row]) -> Row | None:
    """Find the preferred row; a merged row counts through its survivor."""
    # The survivor stays in the result, so that the link to it holds.
    survivors = (by_id[row.merged_into or row.finding_id] for row in rows)
    return min(survivors, key=priority, default=None)


def gives_reason(row: Row, parent: Row) -> bool:
    """Whether the report itself names the row as evidence of the parent."""
    return row.finding_id in parent.evidence or row.merged_into in parent.evidence


def is_near(row: Row, child: Row) -> bool:
    """Whether a row lies where a child does, around it, or inside it on the same sides.

    The name counts, too ("peribronchial opacity").
    """
    named = anatomy().location((row.ent,)).regions
    stated = (*row.location_parts, *sorted(named))
    implied = child.location_parts
    # "Opacity" does not state the one at the left base; the whole lung is no narrower.
    if not stated:
        return not anatomy().without_wholes(anatomy().location(implied))
    return bool(anatomy().covers(stated, implied) or lies_in(stated, implied))


def defines(cell: str, attribute: str) -> bool:
    """Whether a cell says all that an attribute of a pathway says.

    "Small nodular" says "nodular".
    """
    words: set[str] = set()
    for token in tokens(cell):
        words.update(possible_singulars(token))
    return words.issuperset(tokens(attribute))


def compatible_locations(stated: frozenset[str], implied: frozenset[str]) -> bool:
    """Whether one contains all parts of the other; a stated one may be wider."""
    # "Opacity" without a location does not state the one at the left base.
    return stated >= implied or bool(stated and stated <= implied)
