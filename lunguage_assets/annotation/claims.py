"""What a text claims of its findings, so that two texts compare (docs/score.md).

A claim is about one finding on one side. What is said of both sides is two claims, so
that "bilateral effusions" and "a left and a right effusion" are the same. What a
difference of two claims costs is in `scoring.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from math import log2
from typing import NamedTuple

from lunguage_assets.annotation.method import packaged_labels
from lunguage_assets.annotation.significance import (
    concepts,
    first_in,
    packaged_significance,
)
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.contradictions import Statements
from lunguage_assets.implicit.statements.locations import anatomy

_SIZE = re.compile(r"(\d[^,]*?)(mm|cm)\b", re.IGNORECASE)
_MILLIMETRES = {"mm": 1.0, "cm": 10.0}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Claim(NamedTuple):
    """What a text says of a finding at a location.

    Args:
        concept: the finding, by its name in resources/significance.yaml where it is
            listed.
        present: whether the text says that it is there, however surely.
        p: the probability that it is there.
        weight: how much the finding matters.
        side: "left" or "right"; empty: the text names none.
        regions: parts of the body, as `Anatomy` names them, and further words
            ("seventh").
        extent: how much there is of it, on the scale of the file; None: unsaid.
        size: how often its millimetres are doubled (8 mm is 3.0); None: unsaid.
        course: what it did since before, on the scale of the file; None: unsaid.
    """

    concept: str
    present: bool
    p: float
    weight: float
    side: tuple[str, ...]
    regions: tuple[str, ...]
    extent: float | None
    size: float | None
    course: float | None

    def is_within(self, wider: Claim) -> bool:
        """Tell whether its location is a part of another claim's, or the same."""
        outer = (*wider.side, *wider.regions)
        return anatomy().covers(outer, (*self.side, *self.regions))


def claims_of(stated: Iterable[Row]) -> list[Claim]:
    """List the claims of a text, each once, by what it states."""
    claims = dict.fromkeys(chain.from_iterable(map(_claims_by_side, stated)))
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
    largest = max(map(float, _NUMBER.findall(size[1])))
    if not largest:
        return None
    return log2(largest * _MILLIMETRES[size[2].lower()])


def _claims_by_side(row: Row) -> Iterator[Claim]:
    """Make a claim for each side that a row names, or one without a side."""
    significance = packaged_significance()
    labels = packaged_labels()
    description = ", ".join(
        (row.measurement, row.morphology, row.distribution, row.severity, row.onset)
    )
    words = ", ".join((row.ent, description, row.placement, row.location))
    # "The heart is enlarged": its label says what it is.
    of_name, *of_labels = Statements(labels, ()).of(row)
    name = str(of_name.subject)
    present = of_name.present
    concept = first_in(concepts().get(name, {}), words)
    if concept is None and of_labels:
        label_name = labels.names[int(of_labels[0].subject)]
        concept = first_in(concepts().get(label_name, {}), words)
        present = of_labels[0].present
    concept = concept or name
    listed = significance.finding(concept, row.cat)
    extent = first_in(significance.extents, description)
    # Free air has one place, and an edema is everywhere: whatever a report adds to it
    # tells nothing.
    location = anatomy().location(row.location_parts * (not listed.placeless))
    # "In the left lung" is no narrower than "on the left", and "hilar fullness" says
    # already where it is.
    regions = location.regions.difference(anatomy().wholes, listed.at)
    sides: list[tuple[str, ...]] = [(side,) for side in sorted(location.sides)]
    # A denial is about all that its location contains, so it is not taken apart.
    if not present and len(sides) == 2:
        sides = []
    # "Not significantly increased" stands in the column of what did not change.
    changes = f"{row.onset}, {row.worsened}, {row.improved}, {row.measurement}"
    course = 0.0 if row.no_change else first_in(significance.courses, changes)
    for side in sides or [()]:
        yield Claim(
            concept=concept,
            present=present,
            p=row.prob if present == row.positive else 1.0 - row.prob,
            weight=significance.weight(listed, extent),
            side=side,
            regions=tuple(sorted(regions | location.details)),
            extent=extent,
            size=measured_size(row.measurement),
            course=course,
        )
