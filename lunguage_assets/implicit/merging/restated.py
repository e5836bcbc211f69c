"""Rows that state the same thing again: in findings and impression, at a place and a narrower one, or by
another name of one diagnosis (implicit.md section 2).

Names, places and labels decide, no encoder: "effusion" and "left pleural effusion" are too far apart for one,
and left and right too near.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from lunguage_assets.implicit.merging.apart import Blacklist, wording_of
from lunguage_assets.implicit.merging.candidates import complete_link
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.places import anatomy

_TOLD_TWICE = {"find", "impr"}
_SAME_PLACE, _SAME_STATUS = 0.5, 0.25


def restated(block: Sequence[Row], blacklist: Blacklist, listed: LabelList) -> Iterator[list[Row]]:
    """Groups of rows of a block that state the same thing, in report order.

    A block is of one study, polarity and currency. In a group every row states the same as every other. A row
    at a wide place that repeats one of several others joins one of its own status, or none.
    """
    statements = [_Statement(row, listed) for row in block]
    wordings = [wording_of(row, blacklist) for row in block]
    again = {
        (a, b)
        for a, b in combinations(range(len(block)), 2)
        if statements[a].states_the_same(statements[b]) and not wordings[a].separated(wordings[b])
    }
    partners: dict[int, set[int]] = {}
    for a, b in again:
        partners.setdefault(a, set()).add(b)
        partners.setdefault(b, set()).add(a)
    one_thing = {
        number: all(pair in again for pair in combinations(sorted(others), 2))
        for number, others in partners.items()
    }
    near = {
        (a, b): statements[a].nearness(statements[b])
        for a, b in again
        if block[a].status == block[b].status or (one_thing[a] and one_thing[b])
    }
    for numbers in complete_link(len(block), near):
        yield [block[number] for number in numbers]


def place_of(survivor: Row, others: Sequence[Row]) -> Row:
    """The row whose place a survivor takes: the narrowest of a presence, the widest of a denial."""
    at = survivor
    for row in others:
        inner, outer = (row, at) if survivor.positive else (at, row)
        places = inner.location_parts, outer.location_parts
        if lies_in(*places) and not _alike(*places):
            at = row
    return at


def lies_in(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Whether a place lies in another one, and on no other sides: what is bilateral is not what is left."""
    sides, wide = anatomy().place(inner).sides, anatomy().place(outer).sides
    return bool(anatomy().covers(outer, inner)) and (not wide or wide == sides)


class _Statement:
    """A row with what it says: its name, and the diagnoses that it means by another one."""

    def __init__(self, row: Row, listed: LabelList) -> None:
        self.row = row
        self._diagnosis = listed.diagnosis(row)
        self._meant: dict[int, tuple[bool, frozenset[str], tuple[str, ...]]] = {}
        """By label: present, refinements, place."""
        for meaning, present in listed.read(row):
            if listed.is_diagnosis(meaning.label) and meaning.reads != "kind":
                parts = () if meaning.placeless else row.location_parts
                self._meant[meaning.label] = (present, listed.refinements_of(row), parts)
        meanings = listed.meanings(row.name, row.ent, self._diagnosis)
        self._concludes = any(meaning.reads == "denial" for meaning in meanings)

    def states_the_same(self, other: _Statement) -> bool:
        twice = {self.row.section, other.row.section} == _TOLD_TWICE
        if not self.row.positive and not (twice and self.row.status == other.row.status):
            return False
        if self.row.name == other.row.name:
            places = self.row.location_parts, other.row.location_parts
            alike = _alike(*places)
            if self._concludes:  # "no acute abnormality" of the pleura is not the one of the bones
                return twice and self.row.ent == other.row.ent and places[0] == places[1]
            return twice and (alike or self._nested(*places))
        if self._diagnosis and other._diagnosis:
            return False
        for label in self._meant.keys() & other._meant.keys():
            (present, refined, place), (there, also, where) = self._meant[label], other._meant[label]
            if (present, refined) == (there, also) and (
                _alike(place, where) or (twice and self._nested(place, where))
            ):
                return True
        return False

    def _nested(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        within = lies_in if self.row.positive else anatomy().covers
        return bool(within(one, other) or within(other, one))

    def nearness(self, other: _Statement) -> float:
        """The same place before a wider one, the same status before another."""
        same_place = _alike(self.row.location_parts, other.row.location_parts)
        return _SAME_PLACE * same_place + _SAME_STATUS * (self.row.status == other.row.status)


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return lies_in(one, other) and lies_in(other, one)
