"""The key of a row: a study has one row per key in the end (implicit.md section 5)."""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.implicit.rows import PAPER, Row
from lunguage_assets.implicit.statements.places import place_parts

Key = tuple[str, str, tuple[str, ...]]
"""Currency, canonical finding (never the diagnosis), place; inside one study."""


def key_of(row: Row) -> Key:
    """The key of a row. The place is its anatomical parts, in mode `paper` its location set."""
    parts = row.location_parts
    if row.mode != PAPER:
        return row.currency, row.name, place_parts(parts)
    return row.currency, row.name, parts if len(parts) < 2 else tuple(sorted(parts))


def grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Rows by key."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    return groups
