"""Lays tables out for the report's page.

Cells are text, and an estimate has its interval in one cell. The files of a release
hold the numbers themselves; which tables a page has is in `report.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.wording import cell_text, is_numeric

LONG_CELL = 32
"""Characters from which a column gets a width of its own; its cells hold sentences, and
each would be a tower else.
"""
_DECIMALS = {
    **dict.fromkeys(("mu", "p"), 2),
    **dict.fromkeys(("prevalence", "mean_p", "win_rate"), 3),
    **dict.fromkeys(("p_mean", "p_sd", "p_min", "p_max"), 3),
}
"""Columns whose decimals are fixed, so that their points stand below each other."""
_PERCENT = "percent_"
_PUBLISHED = "published_"
_MANY_COLUMNS = 12
"""A table with more columns has the paper's value in the cell of ours."""


@dataclass(frozen=True)
class PageTable:
    """A table of the page.

    Attributes:
        columns: names of the columns.
        rows: text of every cell, row by row.
        numbers: columns that stand right-aligned.
        sentences: columns whose cells may be long.
    """

    columns: list[str]
    rows: list[list[str]]
    numbers: frozenset[str]
    sentences: frozenset[str]


def page_table(frame: pd.DataFrame) -> PageTable:
    """Lay a table out for the page, without columns that are all empty."""
    frame = _without_empty_columns(frame)
    columns = list(map(str, frame.columns))
    in_other_cells = {
        name
        for column in columns
        for name in _columns_in_the_cells_of(column, len(columns) > _MANY_COLUMNS)
    }
    rows = frame.to_dict("records")
    cells_by_heading: dict[str, list[str]] = {}
    numbers = set()
    for column in columns:
        if column in in_other_cells:
            continue
        heading = column
        if _PUBLISHED + column in in_other_cells.intersection(columns):
            heading = f"{column} [paper]"
        cells_by_heading[heading] = [_cell(column, row) for row in rows]
        if is_numeric(frame[column]):
            numbers.add(heading)
    sentences = {
        heading
        for heading, cells in cells_by_heading.items()
        if heading not in numbers and max(map(len, cells), default=0) > LONG_CELL
    }
    return PageTable(
        columns=list(cells_by_heading),
        rows=[list(row) for row in zip(*cells_by_heading.values(), strict=True)],
        numbers=frozenset(numbers),
        sentences=frozenset(sentences),
    )


def _without_empty_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns in which nothing stands.

    Published values stand beside the paper's own corpus only.
    """
    if frame.empty:
        return frame
    is_empty = [(frame[name].isna() | (frame[name] == "")).all() for name in frame]
    return frame.loc[:, [not empty for empty in is_empty]]


def _columns_in_the_cells_of(column: str, is_wide: bool) -> list[str]:
    """Name the columns whose values stand in the cells of a column."""
    ends = [f"{column}_low", f"{column}_high", _PERCENT + column]
    if column == "value":
        ends += ["low", "high"]
    if is_wide:
        ends.append(_PUBLISHED + column)
    return ends


def _cell(column: str, row: Any) -> str:
    """Write a value with what stands beside it.

    `1,200 (12.3%)`, `0.5 (0.4 to 0.6)`, `0.43 [0.45]`.
    """
    text = _number(column, row[column])
    ends = ("low", "high") if column == "value" else (f"{column}_low", f"{column}_high")
    low, high = (_number(column, row.get(end)) for end in ends)
    percent = _number(_PERCENT, row.get(_PERCENT + column))
    published = _number(column, row.get(_PUBLISHED + column))
    if low and high:
        text = f"{text} ({low} to {high})"
    if percent:
        text = f"{text} ({percent}%)"
    if published and len(row) > _MANY_COLUMNS:
        text = f"{text} [{published}]"
    return text


def _number(column: str, value: Any) -> str:
    decimals = 1 if column.startswith(_PERCENT) else None
    decimals = _DECIMALS.get(column.removeprefix(_PUBLISHED), decimals)
    if decimals is None or not isinstance(value, float) or pd.isna(value):
        return cell_text(value)
    return f"{value:,.{decimals}f}"
