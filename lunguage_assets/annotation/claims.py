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
from math import log2
from typing import NamedTuple

from lunguage_assets.annotation.method import StatedFinding
from lunguage_assets.annotation.significance import Significance
from lunguage_assets.implicit.statements.locations import anatomy

_SIZE = re.compile(r"([^,]*?)(mm|cm)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


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
        details: further words of the location ("seventh").
        extent: how much there is of it, on the scale of the file; None: unsaid.
        size: how often its millimetres are doubled (8 mm is 3.0); None: unsaid.
        course: what it did since before, on the scale of the file; None: unsaid.
    """

    concept: str
    present: bool
    p: float
    weight: float
    side: str
    regions: frozenset[str]
    details: frozenset[str]
    extent: float | None
    size: float | None
    course: float | None


def claims_of(
    stated: Iterable[StatedFinding], significance: Significance
) -> list[Claim]:
    """List the claims of a text, each once."""
    by_side = [
        claim for finding in stated for claim in _claims_by_side(finding, significance)
    ]
    claims: list[Claim] = []
    # The most exact first: "An opacity. A right basal opacity." is one claim.
    for claim in sorted(by_side, key=_vagueness):
        for number, exact in enumerate(claims):
            if _repeats(claim, exact):
                claims[number] = _joined(exact, claim)
                break
        else:
            claims.append(claim)
    # Effusions of both sides are missed by one error: together they weigh more than one
    # finding, and less than two.
    times = Counter((claim.concept, claim.present) for claim in claims)
    return [
        claim._replace(weight=claim.weight / times[claim.concept, claim.present] ** 0.5)
        for claim in claims
    ]


def measured_size(measurement: str) -> float | None:
    """Find the largest dimension of the first measured size in a cell, in doublings.

    The first is the present one: "2.3 cm, previously 1.8 cm".
    """
    size = _SIZE.search(measurement)
    if size is None:
        return None
    dimensions = [float(number) for number in _NUMBER.findall(size[1])]
    largest = max(dimensions, default=0.0)
    if size[2].lower() == "cm":
        largest *= 10.0
    return log2(largest) if largest else None


def _claims_by_side(finding: StatedFinding, significance: Significance) -> list[Claim]:
    """Make a claim for each side that a row names, or one without a side."""
    row = finding.row
    description = ", ".join(
        (row.measurement, row.morphology, row.distribution, row.severity, row.onset)
    )
    words = ", ".join((row.ent, description, row.placement, row.location))
    concept = significance.concept(finding.name, words)
    present = finding.present
    # "The heart is enlarged": the label says what it is.
    if concept is None and finding.label:
        concept = significance.concept(finding.label, words)
        present = finding.label_present
    name = concept or finding.name
    listed = significance.finding(name)
    extent = significance.extents.first_in(description)
    weight = significance.weight(name, row.cat, extent)
    # "The catheter has a fracture": the row is named after its device, and says nothing
    # of the patient.
    if finding.name != row.name:
        weight = 0.0
    # Free air has one place: whatever a report adds to it tells nothing.
    location = anatomy().location(() if listed.placeless else row.location_parts)
    # "In the left lung" is no narrower than "on the left".
    regions = location.regions.intersection(anatomy().without_wholes(location))
    claim = Claim(
        concept=name,
        present=present,
        p=finding.p(present),
        weight=weight,
        side="",
        # "Hilar fullness": the name says already where it is.
        regions=regions.difference(listed.at),
        details=location.details,
        extent=extent,
        size=measured_size(row.measurement),
        course=_course(finding, significance),
    )
    is_bilateral = len(location.sides) == 2
    # An edema is diffuse: of both sides it is no more than one without a side. A denial
    # is about all that its location contains, so it is not taken apart.
    if is_bilateral and (listed.diffuse or not present):
        return [claim]
    return [claim._replace(side=side) for side in sorted(location.sides) or [""]]


def _course(finding: StatedFinding, significance: Significance) -> float | None:
    """Read what a finding did since before; None: unsaid."""
    row = finding.row
    # "Not significantly increased" stands in the column of what did not change.
    if row.no_change:
        return 0.0
    words = f"{row.onset}, {row.worsened}, {row.improved}, {row.measurement}"
    return significance.courses.first_in(words)


def _vagueness(claim: Claim) -> tuple[bool, int, bool]:
    return not claim.side, -len(claim.regions), claim.size is None


def _repeats(claim: Claim, exact: Claim) -> bool:
    """Tell whether a claim says less exactly, or as exactly, what another one says."""
    # A denial is about all of its location, which a narrower one may not take away.
    if not claim.present or not exact.present:
        return claim == exact
    # A nodule of 5 mm and one of 12 mm are two.
    is_one_size = claim.size in (None, exact.size)
    return claim.concept == exact.concept and is_one_size and is_within(exact, claim)


def _joined(exact: Claim, repeat: Claim) -> Claim:
    """Keep the surest p, the narrowest location and all words of two claims."""
    return exact._replace(
        p=max(exact.p, repeat.p, key=lambda p: abs(p - 0.5)),
        weight=max(exact.weight, repeat.weight),
        # 0 is an extent, too: a trace.
        extent=repeat.extent if exact.extent is None else exact.extent,
        course=exact.course or repeat.course,
    )


def is_within(claim: Claim, wider: Claim) -> bool:
    """Tell whether the location of a claim is a part of another one's, or the same."""
    is_covered = regions_cover(wider.regions, claim.regions)
    return is_covered and wider.side in ("", claim.side)


def regions_cover(outer: frozenset[str], inner: frozenset[str]) -> bool:
    """Tell whether parts of the body contain others; no part contains every one."""
    if outer == inner or not outer:
        return True
    return bool(anatomy().covers(tuple(sorted(outer)), tuple(sorted(inner))))
