"""A frame as a table of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.documents import cell_text, is_numeric


@dataclass(frozen=True)
class ReportTable:
    """A table as text; `numeric` columns stand to the right.

    `bars`: of every row the lower end, the value and the upper end of what is drawn from 0 to 1 beside the
    first column, None where it has no value; empty for a table without bars.
    """

    title: str
    caption: str
    source: str
    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    bars: tuple[tuple[float, float, float] | None, ...] = ()


def report_table(
    title: str,
    caption: str,
    source: str,
    frame: pd.DataFrame,
    decimals: Mapping[str, int] | None = None,
    bar: tuple[str, str, str] | None = None,
) -> ReportTable:
    """A frame as text; a column is numeric when nothing in it is a word.

    `bar` names the columns that are drawn: lower end, value, upper end.
    """
    fixed = decimals or {}
    columns = [
        [_cell(value, fixed.get(str(name))) for value in frame[name].tolist()] for name in frame.columns
    ]
    numeric = tuple(is_numeric(frame[name]) for name in frame.columns)
    headings = tuple(str(name).replace("_", " ") for name in frame.columns)
    rows = tuple(zip(*columns, strict=True))
    return ReportTable(title, caption, source, headings, numeric, rows, _bars(frame, bar) if bar else ())


def _bars(frame: pd.DataFrame, names: tuple[str, str, str]) -> tuple[tuple[float, float, float] | None, ...]:
    values = zip(*(frame[name].tolist() for name in names), strict=True)
    return tuple(None if pd.isna(p) else (float(low), float(p), float(high)) for low, p, high in values)


def _cell(value: Any, decimals: int | None) -> str:
    if decimals is not None and isinstance(value, float) and value == value:
        return f"{value:,.{decimals}f}"
    return cell_text(value)
