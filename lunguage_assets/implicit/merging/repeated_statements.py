"""Findings that a report states twice (implicit.md section 2).

It states them in findings and in impression, at a location and a narrower one, or by
another name of one diagnosis. No encoder decides here, but what the rows say
(`statements/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from lunguage_assets.implicit.merging.merge_constraints import Blacklist, wording_of
from lunguage_assets.implicit.merging.similar_findings import Pair, complete_link
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomy, lies_in

# Only their order counts: a pair at one location comes before one of one status.
_SAME_LOCATION = 0.5
_SAME_STATUS = 0.25

LocationParts = tuple[str, ...]


def repeated_across_sections(
    block: Sequence[Row], blacklist: Blacklist, labels: LabelList
) -> Iterator[list[Row]]:
    """Yield groups of rows of a block that state the same, in report order.

    A row at a wide location that repeats one of several others joins one of its own
    status, or none: "edema" does not say which of two it repeats.

    Args:
        block: rows that may be one.
        blacklist: pairs that keep rows apart, and with them numbers and directions.
        labels: what findings mean.
    """
    statements = [Statement(row, labels) for row in block]
    wordings = [wording_of(row, blacklist) for row in block]
    repeated: set[Pair] = set()
    for first, second in _pairs_with_a_subject(statements):
        is_separated = wordings[first].separated(wordings[second])
        if not is_separated and statements[first].repeats(statements[second]):
            repeated.add((first, second))
    unambiguous = _unambiguous(repeated)
    nearness: dict[Pair, float] = {}
    for first, second in repeated:
        has_same_status = block[first].status == block[second].status
        if has_same_status or unambiguous.issuperset((first, second)):
            parts = block[first].location_parts, block[second].location_parts
            is_one_location = is_same_location(*parts)
            nearness[first, second] = (
                _SAME_LOCATION * is_one_location + _SAME_STATUS * has_same_status
            )
    for positions in complete_link(len(block), nearness):
        yield [block[position] for position in positions]


def _unambiguous(repeated: set[Pair]) -> set[int]:
    """Find the rows whose partners all repeat each other, too."""
    partners_by_row: dict[int, set[int]] = {}
    for pair in repeated:
        for row in pair:
            partners_by_row.setdefault(row, set()).update(set(pair) - {row})
    return {
        row
        for row, partners in partners_by_row.items()
        if repeated.issuperset(combinations(sorted(partners), 2))
    }


def _pairs_with_a_subject(statements: Sequence[Statement]) -> list[Pair]:
    """List the pairs of statements that have a label or a name in common, sorted.

    Under one name only what stands in findings and in impression is one: pairs inside a
    section would be the square of a long report.
    """
    by_label: dict[int, list[int]] = {}
    by_name: dict[str, tuple[list[int], list[int]]] = {}
    for position, statement in enumerate(statements):
        for label in statement.meant:
            by_label.setdefault(label, []).append(position)
        row = statement.row
        if row.section in ("find", "impr"):
            sections = by_name.setdefault(row.name, ([], []))
            sections[row.section == "impr"].append(position)
    pairs: set[Pair] = set()
    for positions in by_label.values():
        pairs.update(combinations(positions, 2))
    for in_findings, in_impression in by_name.values():
        for first, second in product(in_findings, in_impression):
            pairs.add((min(first, second), max(first, second)))
    return sorted(pairs)


def row_with_location(survivor: Row, group: Sequence[Row]) -> Row:
    """Find the row whose location a survivor takes.

    The narrowest of a presence ("opacity at the left base" says more than "opacity"),
    the widest of a denial.
    """
    located = survivor
    for row in group:
        is_inside = lies_in(row.location_parts, located.location_parts)
        is_around = lies_in(located.location_parts, row.location_parts)
        is_preferred = is_inside if survivor.positive else is_around
        if is_preferred and is_inside != is_around:
            located = row
    return located


def is_same_location(first: LocationParts, second: LocationParts) -> bool:
    """Whether two locations lie in each other."""
    return lies_in(first, second) and lies_in(second, first)


class Statement:
    """A row with what it says: its name, and the diagnoses that it means.

    Unlike `contradictions.Statements` it leaves out kinds of a label: "nodule" does not
    repeat "hamartoma".

    Attributes:
        meant: of each label that the row means, whether it is said to be present, and
            at which location.
    """

    def __init__(self, row: Row, labels: LabelList) -> None:
        self.row = row
        reading = labels.read(row)
        self._diagnosis = reading.diagnosis
        self._refinements = reading.refinements
        self.meant: dict[int, tuple[bool, LocationParts]] = {}
        for meaning, is_label_present in reading.meanings:
            if labels.is_diagnosis(meaning.label) and meaning.reads != "kind":
                location = () if meaning.placeless else row.location_parts
                self.meant[meaning.label] = is_label_present, location
        meanings = labels.meanings(row.name, row.ent, self._diagnosis)
        self._is_general_denial = any(meaning.reads == "denial" for meaning in meanings)

    def repeats(self, statement: Statement) -> bool:
        """Whether both rows state the same."""
        row = statement.row
        has_same_status = self.row.status == row.status
        has_same_name = self.row.name == row.name
        # "Enlarged silhouette, possibly cardiomegaly": what explains a sign with doubt
        # does not repeat it.
        if not has_same_name and not has_same_status and self._is_explained_by(row):
            return False
        stands_twice = {self.row.section, row.section} == {"find", "impr"}
        # Denials are told apart by what they leave out.
        if not self.row.positive and not (stands_twice and has_same_status):
            return False
        if has_same_name:
            return stands_twice and self._repeats_by_name(row)
        # A sign may repeat the diagnosis that it means; another diagnosis does not.
        if self._diagnosis and statement._diagnosis:
            return False
        return self._repeats_by_label(statement, stands_twice)

    def _is_explained_by(self, row: Row) -> bool:
        in_one_sentence = (self.row.section, self.row.sent_idx) == (
            row.section,
            row.sent_idx,
        )
        is_evidence = self.row.finding_id in row.evidence
        return in_one_sentence or is_evidence or row.finding_id in self.row.evidence

    def _repeats_by_name(self, row: Row) -> bool:
        if self._is_general_denial:
            # "No acute abnormality" of the pleura is not the one of the bones.
            has_same_location = self.row.location_parts == row.location_parts
            return has_same_location and self.row.ent == row.ent
        return self._is_at_or_around(self.row.location_parts, row.location_parts)

    def _repeats_by_label(self, statement: Statement, stands_twice: bool) -> bool:
        """Whether both mean one label: "heart size is enlarged" and cardiomegaly."""
        if self._refinements != statement._refinements:
            return False
        # Only findings and impression repeat each other at a narrower location.
        agree = self._is_at_or_around if stands_twice else is_same_location
        for label in self.meant.keys() & statement.meant.keys():
            is_present, location = self.meant[label]
            is_other_present, other_location = statement.meant[label]
            if is_present == is_other_present and agree(location, other_location):
                return True
        return False

    def _is_at_or_around(self, first: LocationParts, second: LocationParts) -> bool:
        """Whether two locations are one, or one contains the other."""
        if is_same_location(first, second):
            return True
        # "No bilateral effusions" denies the left one, too; bilateral effusions are not
        # the one on the left.
        within = lies_in if self.row.positive else anatomy().covers
        return bool(within(first, second) or within(second, first))
