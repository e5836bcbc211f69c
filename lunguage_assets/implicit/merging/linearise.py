"""The phrase by which a finding is compared, in a fixed order, lower case (implicit.md section 2)."""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.implicit.rows import CLINICAL_ATTRIBUTES, Row, attribute_values
from lunguage_assets.implicit.words import collapsed

_SAID = attribute_values(("ent", "location", *CLINICAL_ATTRIBUTES))


def linearise(finding: str, location: str, attributes: Iterable[str]) -> str:
    """Finding, location and clinical attributes as one phrase.

    Non-empty parts are joined by blanks, in lower case, with single blanks.
    """
    return collapsed(" ".join(part for part in (finding, location, *attributes) if part))


def linearised(row: Row) -> str:
    """The phrase of a row, as the report words it."""
    finding, location, *attributes = _SAID(row)
    return linearise(finding, location, attributes)
