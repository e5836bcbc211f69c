"""A frame as a table of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.documents import cell_text, is_numeric


@dataclass(frozen=True)
class ReportTable:
    """A table as text; `numeric` columns stand to the right."""

    title: str
    caption: str
    source: str
    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


def report_table(
    title: str, caption: str, source: str, frame: pd.DataFrame, decimals: Mapping[str, int] | None = None
) -> ReportTable:
    """A frame as text; a column is numeric when nothing in it is a word."""
    fixed = decimals or {}
    columns = [
        [_cell(value, fixed.get(str(name))) for value in frame[name].tolist()] for name in frame.columns
    ]
    numeric = tuple(is_numeric(frame[name]) for name in frame.columns)
    headings = tuple(str(name).replace("_", " ") for name in frame.columns)
    return ReportTable(title, caption, source, headings, numeric, tuple(zip(*columns, strict=True)))


def _cell(value: Any, decimals: int | None) -> str:
    if decimals is not None and isinstance(value, float) and value == value:
        return f"{value:,.{decimals}f}"
    return cell_text(value)
