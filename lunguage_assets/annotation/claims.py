"""What a text claims of its findings, so that two texts compare (docs/score.md).

A claim is about one finding on one side. What is said of both sides is two claims, so
that "bilateral effusions" and "a left and a right effusion" are the same. What repeats
another claim of its text goes. What a difference of two claims costs is in
`scoring.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from lunguage_assets.annotation.method import StatedFinding
from lunguage_assets.annotation.significance import Course, Significance
from lunguage_assets.implicit.statements.locations import anatomy

LIKE_SIZES = 1.2
"""Two measured sizes of one finding that differ by less than this factor are one
measurement.
"""

_DEVICE = "OTH"
"""The category of devices and operations."""
_MISPLACED = "misplaced "
_UNIT = re.compile(r"(mm|cm)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MM_BY_UNIT = {"mm": 1.0, "cm": 10.0}


class Claim(NamedTuple):
    """What a text says of a finding at a location.

    Args:
        concept: the finding, by its name in resources/significance.yaml where it is
            listed.
        present: whether the text says that it is there, however surely.
        p: the probability that it is there.
        weight: how much the finding matters.
        side: "left", "right", or empty: the text names none.
        regions: parts of the body, as `Anatomy` names them.
        details: further words of the location.
        extent: how much there is of it; None: unsaid.
        size_mm: its measured size; None: none.
        courses: what it did since before.
        marks: words that make it another finding.
    """

    concept: str
    present: bool
    p: float
    weight: float
    side: str
    regions: frozenset[str]
    details: frozenset[str]
    extent: float | None
    size_mm: float | None
    courses: frozenset[Course]
    marks: frozenset[str]


def claims_of(
    stated: Iterable[StatedFinding], significance: Significance
) -> tuple[Claim, ...]:
    """List the claims of a text, each once.

    Args:
        stated: what its rows say.
        significance: how much findings matter.

    Returns:
        Findings that are there, then those that are not.
    """
    present: list[Claim] = []
    # A mapping keeps the order, and each denial once.
    absent: dict[Claim, None] = {}
    for finding in stated:
        for claim in _claims_by_side(finding, significance):
            if claim.present:
                present.append(claim)
            else:
                absent[claim] = None
    present = _without_repeats(present)
    # Effusions of both sides are missed by one error: together they weigh more than one
    # finding, and less than two.
    count_by_concept = Counter(claim.concept for claim in present)
    weighted = [
        claim._replace(weight=claim.weight / count_by_concept[claim.concept] ** 0.5)
        for claim in present
    ]
    return (*weighted, *absent)


def measured_mm(measurement: str) -> float | None:
    """Find the largest dimension of the first measured size in a cell, in millimetres.

    The first is the present one: "2.3 cm, previously 1.8 cm".
    """
    unit = _UNIT.search(measurement)
    if unit is None:
        return None
    # "multiple, 2.1 x 1.4 cm": what stands before a comma is another value.
    size = measurement[: unit.start()].rpartition(",")[2]
    dimensions = [float(number) for number in _NUMBER.findall(size)]
    if not dimensions:
        return None
    return max(dimensions) * _MM_BY_UNIT[unit.group().lower()]


def _claims_by_side(finding: StatedFinding, significance: Significance) -> list[Claim]:
    """Make a claim for each side that a row names, or one without a side."""
    row = finding.row
    description = ", ".join((row.morphology, row.distribution, row.severity, row.onset))
    concept, present = _concept(finding, significance)
    listed = significance.finding(concept)
    # Free air has one place: whatever a report adds to it tells nothing.
    location_parts = () if listed.placeless else row.location_parts
    location = anatomy().location(location_parts)
    # "In the left lung" is no narrower than "on the left".
    regions = location.regions.intersection(anatomy().without_wholes(location))
    extent = significance.extent(
        f"{row.measurement}, {row.severity}, {row.distribution}"
    )
    words = f"{row.ent}, {row.measurement}, {description}"
    claim = Claim(
        concept=concept,
        present=present,
        p=finding.p(present),
        weight=_weight(finding, concept, words, extent, significance),
        side="",
        # "Hilar fullness": the name says already where it is.
        regions=regions.difference(listed.at),
        details=location.details,
        extent=extent,
        size_mm=measured_mm(row.measurement),
        courses=_courses(finding, significance),
        marks=significance.marks_in(description),
    )
    sides = sorted(location.sides)
    is_bilateral = len(sides) == 2
    # An edema is diffuse: of both sides it is no more than one without a side. A denial
    # is about all that its location contains, so it is not taken apart.
    if not sides or (is_bilateral and (listed.diffuse or not present)):
        return [claim]
    return [claim._replace(side=side) for side in sides]


def _weight(
    finding: StatedFinding,
    concept: str,
    words: str,
    extent: float | None,
    significance: Significance,
) -> float:
    """Weigh a row: a device counts only where it is not in its place."""
    row = finding.row
    if row.cat == _DEVICE:
        is_misplaced = concept.startswith(_MISPLACED)
        return significance.misplaced_weight if is_misplaced else 0.0
    # "The catheter has a fracture": the row is named after its device, and says nothing
    # of the patient.
    if finding.name != row.name:
        return 0.0
    return significance.weight(concept, row.cat, words, extent)


def _concept(finding: StatedFinding, significance: Significance) -> tuple[str, bool]:
    """Name the finding that a row is about, and tell whether it says it is there."""
    row = finding.row
    if row.cat == _DEVICE:
        location = ", ".join(row.location_parts)
        if significance.is_misplaced(finding.name, row.placement, location):
            return _MISPLACED + finding.name, finding.present
        return finding.name, finding.present
    listed = significance.concept(finding.name)
    if listed is not None:
        return listed, finding.present
    # "The heart is enlarged": the label says what it is.
    label = significance.concept(finding.label)
    if label is not None:
        return label, finding.label_present
    if finding.present:
        words = ", ".join(
            (row.measurement, row.morphology, row.distribution, row.location)
        )
        structure = significance.of_structure(finding.name, words)
        if structure is not None:
            return structure, True
    return finding.name, finding.present


def _courses(finding: StatedFinding, significance: Significance) -> frozenset[Course]:
    """Read what a finding did since before, off the columns of its row."""
    row = finding.row
    words = f"{row.onset}, {row.measurement}"
    courses: set[Course] = set(significance.courses_in(words))
    if row.worsened:
        courses.add("worsened")
    if row.improved:
        courses.add("improved")
    if row.no_change:
        courses.add("unchanged")
    # "Not significantly increased": the column knows the denial, the word does not.
    if row.no_change and not row.worsened:
        courses.discard("worsened")
    return frozenset(courses)


def _without_repeats(claims: list[Claim]) -> list[Claim]:
    """Join claims about one finding at one location.

    Of them the surest p, the narrowest location and all words are kept: "An opacity. A
    right basal opacity, unchanged." is one claim.
    """
    kept: list[Claim] = []
    for claim in sorted(claims, key=_most_exact_first):
        for number, exact in enumerate(kept):
            if _repeats(claim, exact):
                kept[number] = _joined(exact, claim)
                break
        else:
            kept.append(claim)
    return kept


def _most_exact_first(claim: Claim) -> tuple[bool, int, bool]:
    return not claim.side, -len(claim.regions), claim.size_mm is None


def _repeats(claim: Claim, exact: Claim) -> bool:
    """Tell whether a claim says less exactly, or as exactly, what another one says."""
    if claim.concept != exact.concept or claim.side not in ("", exact.side):
        return False
    if claim.size_mm and exact.size_mm:
        smaller, larger = sorted((claim.size_mm, exact.size_mm))
        # A nodule of 5 mm and one of 12 mm are two.
        if larger > LIKE_SIZES * smaller:
            return False
    return is_one_region(claim.regions, exact.regions)


def _joined(exact: Claim, repeat: Claim) -> Claim:
    surest_p = max(exact.p, repeat.p, key=lambda p: abs(p - 0.5))
    # 0 is an extent, too: a trace.
    extent = exact.extent
    if extent is None:
        extent = repeat.extent
    return exact._replace(
        p=surest_p,
        weight=max(exact.weight, repeat.weight),
        extent=extent,
        size_mm=exact.size_mm or repeat.size_mm,
        courses=exact.courses | repeat.courses,
        marks=exact.marks | repeat.marks,
    )


def is_one_region(first: frozenset[str], second: frozenset[str]) -> bool:
    """Tell whether one of two locations contains the other."""
    return regions_cover(first, second) or regions_cover(second, first)


def regions_cover(outer: frozenset[str], inner: frozenset[str]) -> bool:
    """Tell whether parts of the body contain others; no part contains every one."""
    if outer == inner or not outer:
        return True
    return bool(anatomy().covers(tuple(sorted(outer)), tuple(sorted(inner))))
