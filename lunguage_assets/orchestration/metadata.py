"""What a person sees of a table in the Dagster UI: rows, examples, pictures.

Never a value of a restricted column: those hold report text. Figures of the release are
not here, but in `pictures` and `release`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import dagster as dg


def listing(rows: Iterable[Mapping[Any, Any]], otherwise: str) -> dg.MetadataValue[Any]:
    """Return a table for the UI, by columns; plain words where there are no rows."""
    records = [dg.TableRecord(row) for row in rows]
    if not records:
        return dg.MetadataValue.text(otherwise)
    return dg.MetadataValue.table(records)


def picture(png: bytes) -> dg.MarkdownMetadataValue:
    """Return a PNG that the UI shows inside the metadata."""
    encoded = base64.b64encode(png).decode()
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{encoded})")
