"""Small tables and lists in what a check says.

Nothing here looks at data. Report text never comes in: keys, counts, codes, names of findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg

from lunguage_assets.documents import literal

EXAMPLES = 20
"""Keys of failing rows that a report shows."""


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = "nothing"
) -> dg.MetadataValue:
    """A table for the UI; without rows, the plain words `otherwise`."""
    lines = [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    if not lines:
        return dg.MetadataValue.md(otherwise)
    return dg.MetadataValue.md("\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines]))


def examples(keys: Iterable[object]) -> str:
    """The first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - EXAMPLES} more" if len(listed) > EXAMPLES else ""
    return ", ".join(listed[:EXAMPLES]) + more if listed else "none"


def _cell(value: object) -> str:
    return literal(str(value).replace("|", " / "))
