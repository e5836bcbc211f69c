"""What a text claims of its findings, so that two texts compare (docs/score.md).

A claim is about one finding on one side. What is said of both sides is two claims, so
that "bilateral effusions" and "a left and a right effusion" are the same. What repeats
another claim of its text goes.
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
_MISPLACED = "misplaced "
_UNIT = re.compile(r"(mm|cm)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MM_BY_UNIT = {"mm": 1.0, "cm": 10.0}


class Claim(NamedTuple):
    """What a text says of a finding at a place.

    Args:
        concept: the finding, by its name in resources/significance.yaml where it is
            listed.
        present: whether the text says that it is there, however surely.
        p: the probability that it is there.
        weight: how much the finding matters.
        side: "left", "right", or empty: the text names none.
        regions: parts of the body, as `Anatomy` names them.
        details: further words of the place.
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
    """The claims of a text, each once.

    Args:
        stated: what its rows say.
        significance: how much findings matter.

    Returns:
        Findings that are there, then those that are not.
    """
    claims = [claim for finding in stated for claim in _by_side(finding, significance)]
    present = _without_repeats([claim for claim in claims if claim.present])
    absent = dict.fromkeys(claim for claim in claims if not claim.present)
    return (*_shared_weights(present), *absent)


def measured_mm(measurement: str) -> float | None:
    """The largest dimension of the first measured size in a cell, in millimetres.

    The first is the present one: "2.3 cm, previously 1.8 cm".
    """
    unit = _UNIT.search(measurement)
    if unit is None:
        return None
    # "multiple, 2.1 x 1.4 cm": what stands before a comma is another value.
    before = measurement[: unit.start()].rpartition(",")[2]
    numbers = [float(number) for number in _NUMBER.findall(before)]
    return max(numbers) * _MM_BY_UNIT[unit.group().lower()] if numbers else None


def _by_side(finding: StatedFinding, significance: Significance) -> list[Claim]:
    """Make a claim for each side that a row names, or one without a side."""
    row = finding.row
    description = ", ".join((row.morphology, row.distribution, row.severity, row.onset))
    concept, present = _concept(finding, significance)
    place = anatomy().location(
        () if significance.is_placeless(concept) else row.location_parts
    )
    # "In the left lung" is no narrower than "on the left".
    narrow_parts = anatomy().without_wholes(place)
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
        regions=place.regions.intersection(narrow_parts)
        - significance.regions_of_name(concept),
        details=place.details,
        extent=extent,
        size_mm=measured_mm(row.measurement),
        courses=_courses(finding, significance),
        marks=significance.marks_in(description),
    )
    sides = sorted(place.sides)
    if not sides or (len(sides) == 2 and significance.is_diffuse(concept)):
        return [claim]
    # A denial is about all that its place contains: it is not taken apart.
    if not present:
        return [claim._replace(side=sides[0] if len(sides) == 1 else "")]
    return [claim._replace(side=side) for side in sides]


def _weight(
    finding: StatedFinding,
    concept: str,
    words: str,
    extent: float | None,
    significance: Significance,
) -> float:
    """How much a row matters: a device only where it is not in its place."""
    row = finding.row
    if row.cat == _DEVICE:
        return significance.misplaced_weight if concept.startswith(_MISPLACED) else 0.0
    # "The catheter has a fracture": the row is named after its device, and says nothing
    # of the patient.
    if finding.name != row.name:
        return 0.0
    return significance.weight(concept, row.cat, words, extent)


def _concept(finding: StatedFinding, significance: Significance) -> tuple[str, bool]:
    """The finding that a row is about, and whether it says that it is there."""
    row = finding.row
    if row.cat == _DEVICE:
        place = ", ".join(row.location_parts)
        if significance.is_misplaced(finding.name, row.placement, place):
            return _MISPLACED + finding.name, finding.present
        return finding.name, finding.present
    listed = significance.concept(finding.name)
    if listed is not None:
        return listed, finding.present
    # "The heart is enlarged": the label says what it is.
    label = significance.concept(finding.label) if finding.label else None
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
    courses: set[Course] = set(
        significance.courses_in(f"{row.onset}, {row.measurement}")
    )
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
    """Claims of one finding at one place as one.

    The surest p, the nearest place, all words.
    """
    kept: list[Claim] = []
    for claim in sorted(claims, key=_most_said_first):
        for number, other in enumerate(kept):
            if _repeats(claim, other):
                kept[number] = _joined(other, claim)
                break
        else:
            kept.append(claim)
    return kept


def _most_said_first(claim: Claim) -> tuple[bool, int, bool]:
    return not claim.side, -len(claim.regions), claim.size_mm is None


def _repeats(claim: Claim, other: Claim) -> bool:
    """Whether a claim says less exactly, or as exactly, what another one says."""
    if claim.concept != other.concept or claim.side not in ("", other.side):
        return False
    if claim.size_mm and other.size_mm:
        larger = max(claim.size_mm, other.size_mm)
        if larger > LIKE_SIZES * min(claim.size_mm, other.size_mm):
            return False
    return regions_cover(claim.regions, other.regions) or regions_cover(
        other.regions, claim.regions
    )


def _joined(other: Claim, claim: Claim) -> Claim:
    surest = max(other.p, claim.p, key=lambda p: abs(p - 0.5))
    return other._replace(
        p=surest,
        weight=max(other.weight, claim.weight),
        extent=other.extent if other.extent is not None else claim.extent,
        size_mm=other.size_mm or claim.size_mm,
        courses=other.courses | claim.courses,
        marks=other.marks | claim.marks,
    )


def regions_cover(outer: frozenset[str], inner: frozenset[str]) -> bool:
    """Whether parts of the body contain others; no part contains every one."""
    if outer == inner or not outer:
        return True
    return bool(anatomy().covers(tuple(sorted(outer)), tuple(sorted(inner))))


def _shared_weights(claims: list[Claim]) -> list[Claim]:
    """Weights of claims of which several are about one finding.

    Together they weigh more than one, and less than as many findings (effusions of both
    sides are missed by one error).
    """
    count_by_concept = Counter(claim.concept for claim in claims)
    return [
        claim._replace(weight=claim.weight / count_by_concept[claim.concept] ** 0.5)
        for claim in claims
    ]
