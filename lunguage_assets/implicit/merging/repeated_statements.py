"""Findings that a report states in findings and in impression (implicit.md section 2).

It states them at a location and a narrower one, or by another name of one diagnosis. No
encoder decides here, but what the rows say (`statements/`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, product

from lunguage_assets.implicit.merging.merge_constraints import Blacklist, wording_of
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import lies_in

LocationParts = tuple[str, ...]


def repeated_across_sections(
    block: Sequence[Row], blacklist: Blacklist, labels: LabelList
) -> Iterator[tuple[Row, Row]]:
    """Yield pairs of rows that state the same, the one of the findings first.

    Args:
        block: rows that may be one, in report order.
        blacklist: pairs that keep rows apart, and with them numbers and directions.
        labels: what findings mean.
    """
    observed = [row for row in block if row.section == "find"]
    concluded = [row for row in block if row.section == "impr"]
    pairs = [
        (first, second)
        for first, second in product(observed, concluded)
        if _repeats(first, second, labels)
        and not wording_of(first, blacklist).separated(wording_of(second, blacklist))
    ]
    number_of_partners = Counter(chain.from_iterable(pairs))
    taken: set[Row] = set()
    for first, second in pairs:
        is_only_pair = number_of_partners[first] == number_of_partners[second] == 1
        # "Edema" does not say which of two it repeats, unless it is as sure as one.
        is_clear = is_only_pair or first.status == second.status
        if is_clear and taken.isdisjoint((first, second)):
            taken.update((first, second))
            yield first, second


def _repeats(first: Row, second: Row, labels: LabelList) -> bool:
    """Whether two rows of one polarity state the same."""
    # Denials are told apart by what they leave out.
    if first.status != second.status and not first.positive:
        return False
    if first.name == second.name:
        return _are_nested(first.location_parts, second.location_parts)
    # "Heart size is enlarged" and cardiomegaly mean one label.
    meant = product(_diagnoses_meant(first, labels), _diagnoses_meant(second, labels))
    for (label, location), (other_label, other_location) in meant:
        if label == other_label and _are_nested(location, other_location):
            return True
    return False


def _diagnoses_meant(
    row: Row, labels: LabelList
) -> Iterator[tuple[tuple[int, bool], LocationParts]]:
    """Yield the labels that a row means, with whether they are present, and where.

    Of a family it says no more than that: a nodule is no mass, though both are lung
    lesions; nor does "nodule" repeat "hamartoma", a kind of it.
    """
    for meaning, is_label_present in labels.read(row).meanings:
        if labels.is_diagnosis(meaning.label) and meaning.entry.reads != "kind":
            location = meaning.entry.location_of(row.location_parts)
            yield (meaning.label, is_label_present), location


def _are_nested(first: LocationParts, second: LocationParts) -> bool:
    return lies_in(first, second) or lies_in(second, first)


def row_with_location(survivor: Row, merged: Row) -> Row:
    """Choose the row whose location a survivor takes.

    The narrower one of a presence ("opacity at the left base" says more than
    "opacity"), the wider one of a denial.
    """
    is_inside = lies_in(merged.location_parts, survivor.location_parts)
    is_around = lies_in(survivor.location_parts, merged.location_parts)
    if is_inside == is_around:
        return survivor
    return merged if is_inside == survivor.positive else survivor
