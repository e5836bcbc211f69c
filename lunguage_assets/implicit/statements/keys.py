"""The key of a row: a study has one row per key in the end (implicit.md section 5)."""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.implicit.rows import PAPER, Row
from lunguage_assets.implicit.statements.places import place_parts
from lunguage_assets.implicit.statements.qualifiers import qualifier_of

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
