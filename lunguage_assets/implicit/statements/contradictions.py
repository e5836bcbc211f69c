"""Which statement of a report speaks against a row, and which rows are of one key: one rule for sub-findings,
conflicts and labels (implicit.md sections 2, 4 and 5).

A denial speaks against a presence when its place contains the other's; no place contains every place. Two
rows speak of the same when they have one name, or mean one diagnosis: a heart of normal size denies
cardiomegaly (`label_file.py`). What the report calls resolved is absent now. A denial denies no more than it
says: neither "no large effusion" nor "no other effusion" denies one that the report states. Which words
restrict what is denied, and how probable the finding is beside them, is data (`resources/statements.yaml`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import NamedTuple

from scipy.special import betaincinv

from lunguage_assets.assertion.axes import axes_of, has_axes
from lunguage_assets.assertion.restrictions import denials_of
from lunguage_assets.caches import ENTRIES
from lunguage_assets.implicit.rows import PAPER, Row, priority, rounded, tokens
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import (
    Qualifier,
    anatomical_parts,
    anatomy,
    says_resolved,
    statements_file,
)

QUALIFIER = "qualifier"
"""`p_source` of a denial that is restricted."""

_CELLS_OF = attrgetter("measurement", "morphology", "distribution", "severity", "onset")
_DEVICE = "OTH"

COURSE = "course"
"""Axis of what is only called unchanged: it contradicts no judgement."""

Key = tuple[str, str, tuple[str, ...], str]
"""Currency, canonical finding (never the diagnosis), place, and what restricts a denial or its axes,
inside one study.
"""


def qualifier_of(row: Row) -> Qualifier | None:
    """What restricts a denial to a kind of its finding; None of any other row, and in mode `paper`."""
    if (
        row.positive
        or row.mode == PAPER
        or row.cat == _DEVICE
        or says_resolved(row.improved)
    ):
        return None
    found = qualifying(row.name, row.ent, row.sent, _CELLS_OF(row))
    return found[0] if found is not None else None


@lru_cache(maxsize=ENTRIES)
def qualifying(
    name: str, ent: str, sentence: str, cells: tuple[str, ...]
) -> tuple[Qualifier, str] | None:
    """Find the qualifier of a denied finding and its word, the nearest to the finding first.

    Args:
        name: canonical name of the finding.
        ent: its words, as they stand in the sentence.
        sentence: that denies it.
        cells: of the row, whose words describe the finding wherever they stand.
    """
    if not _any_word().search(sentence):
        return None
    own_words = {*tokens(ent), *(word for cell in cells for word in tokens(cell))}
    for denial in denials_of(sentence, ent):
        for described in denial.words:
            word = described.word
            is_said_of_it = described.is_of_list or described.is_own
            for qualifier in _qualifiers_with(word, name):
                if word in own_words or (is_said_of_it and qualifier.lists):
                    return qualifier, word
    return None


def _qualifiers_with(word: str, name: str) -> Iterator[Qualifier]:
    """Yield the qualifiers that a word is of, where a finding of this name has them."""
    for qualifier in statements_file().qualifiers:
        if word not in qualifier.words:
            continue
        if not qualifier.of or qualifier.of.intersection(tokens(name)):
            yield qualifier


@cache
def _any_word() -> re.Pattern[str]:
    words = sorted({word for one in statements_file().qualifiers for word in one.words})
    return re.compile(
        r"\b(?:" + "|".join(map(re.escape, words)) + r")\b", re.IGNORECASE
    )


@cache
def belief_of(name: str) -> tuple[float, float, float]:
    """p, its lower and its upper end (95%, Jeffreys) of a finding of which only a kind is denied."""
    counts = next(one for one in statements_file().qualifiers if one.name == name)
    coded, other = counts.coded + 0.5, counts.denied - counts.coded + 0.5
    low, high = (
        rounded(float(betaincinv(coded, other, end))) for end in (0.025, 0.975)
    )
    return rounded(coded / (coded + other)), low, high


class Assertion(NamedTuple):
    """What a row says of a canonical name, or of a label (its number) that has a diagnosis, and where."""

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
        if _are_along_other_axes([denial.row], [presence.row]):
            return False
        qualifier = qualifier_of(denial.row)
        if qualifier is not None and not (
            qualifier.implied and presence.row.source == "expansion"
        ):
            return False
        return bool(anatomy().covers(denial.place, presence.place))


def is_present(row: Row) -> bool:
    """Whether a row says that its finding is there now; resolved means absent."""
    return row.positive and not says_resolved(row.improved)


class Statements:
    """The assertions of stated rows of one study, by subject."""

    def __init__(self, listed: LabelList, rows: Iterable[Row]) -> None:
        self._listed = listed
        self._about: dict[tuple[str, str | int], list[Assertion]] = {}
        for row in rows:
            for assertion in self.of(row):
                self._about.setdefault((row.currency, assertion.subject), []).append(
                    assertion
                )

    def of(self, row: Row) -> list[Assertion]:
        """What a row says: of its own name, and of the diagnoses that it means."""
        present, place = is_present(row), row.location_parts
        read = self._listed.read(
            row, row.status if present == row.positive else row.status[0] + "n"
        )
        name = f"{row.name} of a device" if read.of_device else row.name
        found = [Assertion(row, name, present, place, frozenset())]
        for meaning, there in read.meanings:
            if self._listed.labels[meaning.label].diagnoses:
                where = () if meaning.placeless else place
                found.append(
                    Assertion(row, meaning.label, there, where, read.refinements)
                )
        return found

    def about(self, row: Row) -> Iterator[tuple[Assertion, Assertion]]:
        """Every assertion of a row, with every statement about the same subject."""
        for own in self.of(row):
            for said in self._about.get((row.currency, own.subject), ()):
                yield own, said

    def against(self, row: Row) -> Row | None:
        """The statement that speaks against a row most strongly; None without one."""
        found = {
            said.row.finding_id: said.row
            for own, said in self.about(row)
            if own.contradicts(said)
        }
        return min(found.values(), key=priority, default=None)

    def contradictions(self) -> Iterator[tuple[Row, Row]]:
        """Pairs of rows that contradict each other, the denial first; by two subjects a pair comes twice."""
        for said in self._about.values():
            denials = [one for one in said if not one.present]
            for presence in (one for one in said if one.present):
                for denial in denials:
                    if denial.row is not presence.row and denial.contradicts(presence):
                        yield denial.row, presence.row


def axes_of_row(row: Row) -> frozenset[str]:
    """Find the axes along which a row describes a part of the body; of any other row, none."""
    if not has_axes(row.name):
        return frozenset()
    described = ", ".join((row.measurement, row.morphology, row.placement))
    if is_course_alone(row.status, row.no_change, described):
        return frozenset({COURSE})
    return axes_of(described)


def is_course_alone(status: str, no_change: str, *described: str) -> bool:
    """Whether a part of the body is called unchanged, and neither normal nor abnormal.

    Args:
        status: of the row.
        no_change: its cell.
        described: its cells that say how the part is.
    """
    return status[1] == "n" and bool(no_change) and not "".join(described).strip(", ")


def _are_along_other_axes(denials: Sequence[Row], presences: Sequence[Row]) -> bool:
    """Whether what is normal and what is abnormal of a part of the body have no axis in common.

    A row that names none ("the heart is normal") is said of all.
    """
    normal = [axes_of_row(row) for row in denials]
    abnormal = [axes_of_row(row) for row in presences]
    if not all(normal) or not all(abnormal):
        return False
    return frozenset[str]().union(*normal).isdisjoint(frozenset[str]().union(*abnormal))


def grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Rows by key: the place is its anatomical parts, in mode `paper` its location set.

    A denial of a kind only has a key of its own: it disputes no statement. So have the denials of a part of
    the body ("contour normal") beside presences along other axes ("enlarged").
    """
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        if row.mode == PAPER:
            key = row.currency, row.name, tuple(sorted(row.location_parts)), ""
        else:
            qualifier = qualifier_of(row)
            kind = qualifier.name if qualifier is not None else ""
            key = row.currency, row.name, anatomical_parts(row.location_parts), kind
        groups.setdefault(key, []).append(row)
    for key, members in list(groups.items()):
        denials = [row for row in members if not row.positive]
        presences = [row for row in members if row.positive]
        if denials and presences and _are_along_other_axes(denials, presences):
            axes = sorted(frozenset[str]().union(*map(axes_of_row, denials)))
            groups[key] = presences
            groups[*key[:3], " ".join(axes)] = denials
    return groups
