"""What a person sees of a table in the Dagster UI: rows, examples, pictures.

Never a value of a restricted column: those hold report text. Figures of the release are
not here, but in `pictures` and `release`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import dagster as dg

from lunguage_assets.wording import literal

SHOWN = 20
"""Keys of rows that a check shows."""


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str
) -> dg.MarkdownMetadataValue:
    """Return a table for the UI.

    Args:
        header: names of the columns.
        rows: their values; no markup begins in them.
        otherwise: plain words where there are no rows.
    """
    lines = [
        " | ".join(literal(str(value).replace("|", " / ")) for value in row)
        for row in rows
    ]
    if not lines:
        return dg.MetadataValue.md(otherwise)
    lines = [" | ".join(header), "|".join(["---"] * len(header)), *lines]
    return dg.MetadataValue.md("\n".join(f"| {line} |" for line in lines))


def examples(keys: Iterable[object]) -> str:
    """Return the first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return (", ".join(listed[:SHOWN]) or "none") + more


def picture(png: bytes) -> dg.MarkdownMetadataValue:
    """Return a PNG that the UI shows inside the metadata."""
    encoded = base64.b64encode(png).decode()
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{encoded})")
