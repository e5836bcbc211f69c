"""Which statement of a report speaks against a row, and which rows are of one key: one rule for sub-findings,
conflicts and labels.

A denial speaks against a presence when its place contains the other's; no place contains every place. It
denies no more than it says: neither "no large effusion" nor "no other effusion" denies one that the report
states (`qualifiers.py`). Two
rows speak of the same when they have one name, or mean one diagnosis: a heart of normal size denies
cardiomegaly (`label_file.py`). What the report calls resolved is absent now. (implicit.md sections 4 and 5.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lunguage_assets.implicit.rows import PAPER, Row, attribute_values, claim_preference
from lunguage_assets.implicit.statements.label_file import REFINING, LabelList
from lunguage_assets.implicit.statements.places import anatomy, place_parts, says_resolved
from lunguage_assets.implicit.statements.qualifiers import qualifier_of

_REFINING_OF = attribute_values(REFINING)
Subject = str | int
"""A canonical name, or the number of a label that has a diagnosis."""


@dataclass(slots=True, eq=False)
class Assertion:
    """What a row says of one subject: present or absent, and at which place."""

    row: Row
    subject: Subject
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
    """The assertions of rows, by subject.

    Args:
        listed: labels and what findings mean of them.
    """

    def __init__(self, listed: LabelList) -> None:
        self._listed = listed
        self._of: dict[tuple[str, Subject], list[Assertion]] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Take in what stated rows say."""
        for row in rows:
            for assertion in self.of(row):
                self._of.setdefault((row.currency, assertion.subject), []).append(assertion)

    def of(self, row: Row) -> list[Assertion]:
        """What a row says: of its own name, and of the diagnoses that it means."""
        present, place = is_present(row), row.location_parts
        name = f"{row.name} of a device" if self._listed.is_of_device(row) else row.name
        found = [Assertion(row, name, present, place, frozenset())]
        diagnosis = self._listed.diagnosis(row)
        location = (row.location, *place)
        for meaning in self._listed.diagnosing(row.name, row.ent, diagnosis):
            if not meaning.holds_at(", ".join(location)):
                continue
            status = row.status if present == row.positive else row.status[0] + "n"
            reading = self._listed.read_as(meaning, status, f"{row.measurement}, {row.morphology}")
            if reading is not None:
                said = (status[1] == "p") == reading
                refining = (row.name, row.ent, location, _REFINING_OF(row))
                refinements = self._listed.refinements(diagnosis, *refining)
                where = () if meaning.placeless else place
                found.append(Assertion(row, meaning.label, said, where, refinements))
        return found

    def about(self, row: Row) -> Iterator[tuple[Assertion, Assertion]]:
        """Every assertion of a row, with every statement about the same subject."""
        for own in self.of(row):
            for said in self._of.get((row.currency, own.subject), ()):
                yield own, said

    def against(self, row: Row) -> Row | None:
        """The statement that speaks against a row most strongly; None without one."""
        found = {said.row.finding_id: said.row for own, said in self.about(row) if own.contradicts(said)}
        return min(found.values(), key=claim_preference, default=None)

    def contradictions(self) -> Iterator[tuple[Row, Row]]:
        """Pairs of rows that contradict each other, the denial first; by two subjects a pair comes twice."""
        for said in self._of.values():
            denials = [one for one in said if not one.present]
            for presence in (one for one in said if one.present):
                for denial in denials:
                    if denial.row is not presence.row and denial.contradicts(presence):
                        yield denial.row, presence.row


Key = tuple[str, str, tuple[str, ...], str]
"""Currency, canonical finding (never the diagnosis), place, and what restricts a denial; inside one study."""


def key_of(row: Row) -> Key:
    """The key of a row. The place is its anatomical parts, in mode `paper` its location set.

    A denial of a kind only ("no large effusion") has a key of its own: it disputes no statement.
    """
    parts = row.location_parts
    if row.mode != PAPER:
        qualifier = qualifier_of(row)
        return row.currency, row.name, place_parts(parts), qualifier.name if qualifier is not None else ""
    return row.currency, row.name, parts if len(parts) < 2 else tuple(sorted(parts)), ""


def grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Rows by key."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    return groups
