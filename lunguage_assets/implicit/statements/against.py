"""Which statement of a report speaks against a row, and which rows are of one key: one rule for sub-findings,
conflicts and labels (implicit.md sections 4 and 5).

A denial speaks against a presence when its place contains the other's; no place contains every place. It
denies no more than it says: neither "no large effusion" nor "no other effusion" denies one that the report
states (`qualifiers.py`). Two rows speak of the same when they have one name, or mean one diagnosis: a heart
of normal size denies cardiomegaly (`label_file.py`). What the report calls resolved is absent now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lunguage_assets.implicit.rows import PAPER, Row, claim_preference
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.places import anatomy, place_parts, says_resolved
from lunguage_assets.implicit.statements.qualifiers import qualifier_of

Key = tuple[str, str, tuple[str, ...], str]
"""Currency, canonical finding (never the diagnosis), place, and what restricts a denial; inside one study."""


class Assertion(NamedTuple):
    """What a row says of one subject, a canonical name or the number of a label that has a diagnosis: present
    or absent, and at which place.
    """

    row: Row
    subject: str | int
    present: bool
    place: tuple[str, ...]
    refinements: frozenset[str]

    def contradicts(self, other: Assertion) -> bool:
        """Whether one denies, at a place that contains it, what the other says is present."""
        if self.present == other.present:
            return False
        denial, presence = (other, self) if self.present else (self, other)
        if not denial.refinements <= presence.refinements:
            return False
        qualifier = qualifier_of(denial.row)
        if qualifier is not None and not (qualifier.implied and presence.row.source == "expansion"):
            return False
        return bool(anatomy().covers(denial.place, presence.place))


def is_present(row: Row) -> bool:
    """Whether a row says that its finding is there now; resolved means absent."""
    return row.positive and not says_resolved(row.improved)


class Statements:
    """The assertions of stated rows, by subject.

    Args:
        listed: labels and what findings mean of them.
        rows: of one study.
    """

    def __init__(self, listed: LabelList, rows: Iterable[Row]) -> None:
        self._listed = listed
        self._about: dict[tuple[str, str | int], list[Assertion]] = {}
        for row in rows:
            for assertion in self.of(row):
                self._about.setdefault((row.currency, assertion.subject), []).append(assertion)

    def of(self, row: Row) -> list[Assertion]:
        """What a row says: of its own name, and of the diagnoses that it means."""
        present, place = is_present(row), row.location_parts
        name = f"{row.name} of a device" if self._listed.is_of_device(row) else row.name
        found = [Assertion(row, name, present, place, frozenset())]
        status = row.status if present == row.positive else row.status[0] + "n"
        for meaning, there in self._listed.read(row, status):
            if self._listed.labels[meaning.label].diagnoses:
                where = () if meaning.placeless else place
                found.append(Assertion(row, meaning.label, there, where, self._listed.refinements_of(row)))
        return found

    def about(self, row: Row) -> Iterator[tuple[Assertion, Assertion]]:
        """Every assertion of a row, with every statement about the same subject."""
        for own in self.of(row):
            for said in self._about.get((row.currency, own.subject), ()):
                yield own, said

    def against(self, row: Row) -> Row | None:
        """The statement that speaks against a row most strongly; None without one."""
        found = {said.row.finding_id: said.row for own, said in self.about(row) if own.contradicts(said)}
        return min(found.values(), key=claim_preference, default=None)

    def contradictions(self) -> Iterator[tuple[Row, Row]]:
        """Pairs of rows that contradict each other, the denial first; by two subjects a pair comes twice."""
        for said in self._about.values():
            denials = [one for one in said if not one.present]
            for presence in (one for one in said if one.present):
                for denial in denials:
                    if denial.row is not presence.row and denial.contradicts(presence):
                        yield denial.row, presence.row


def grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Rows by key: the place is its anatomical parts, in mode `paper` its location set.

    A denial of a kind only ("no large effusion") has a key of its own: it disputes no statement.
    """
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        if row.mode == PAPER:
            key = row.currency, row.name, tuple(sorted(row.location_parts)), ""
        else:
            qualifier = qualifier_of(row)
            kind = qualifier.name if qualifier is not None else ""
            key = row.currency, row.name, place_parts(row.location_parts), kind
        groups.setdefault(key, []).append(row)
    return groups
