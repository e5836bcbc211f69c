"""Lays tables out for the report's page.

Cells are text, an estimate has its interval in one cell, and bars stand on the axis
that they need. The files of a release hold the numbers themselves; which tables a page
has is in `report.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.wording import cell_text, is_numeric

LONG_CELL = 32
"""Characters from which a column gets a width of its own; its cells hold sentences, and
each would be a tower else.
"""

_TWO_DECIMALS = ("mu", "published_mu", "p", "another_reader")
_THREE_DECIMALS = (
    "prevalence",
    "mean_p",
    "win_rate",
    "p_mean",
    "p_sd",
    "p_min",
    "p_max",
    "published_p_mean",
    "published_p_sd",
    "published_p_min",
    "published_p_max",
)
_DECIMALS = {**dict.fromkeys(_TWO_DECIMALS, 2), **dict.fromkeys(_THREE_DECIMALS, 3)}
"""Columns whose decimals are fixed, so that their points stand below each other."""

_BARS = {"labels": "prevalence", "ranking": "p"}
"""Table -> the estimate that is drawn with its interval beside the first column."""
_RARE_ESTIMATE = "prevalence"
"""The estimate whose axis ends where the highest interval does: on an axis to 1, rare
findings would all look alike.
"""
_PERCENT = "percent_"
_PUBLISHED = "published_"
_MANY_COLUMNS = 12
"""A table with more columns has the paper's value in the cell of ours."""


class _BareInterval(NamedTuple):
    """An interval without an estimate.

    Attributes:
        heading: of its column on the page.
        lower, upper: columns of its ends.
    """

    heading: str
    lower: str
    upper: str


_ANOTHER_READER = _BareInterval("another_reader", "reader_low", "reader_high")


@dataclass(frozen=True)
class Bar:
    """An estimate with its interval, in shares (0 to 1) of the axis and in words."""

    low: float
    middle: float
    high: float
    words: str


@dataclass(frozen=True)
class PageTable:
    """A table of the page.

    Attributes:
        columns: names of the columns.
        rows: text of every cell, row by row.
        numbers: columns that stand right-aligned.
        sentences: columns whose cells may be long.
        bars: a bar for each row, None where there is no estimate; empty for a table
            without bars.
        axis_end: the value at the right end of the bars' axis, which begins at 0.
    """

    columns: list[str]
    rows: list[list[str]]
    numbers: frozenset[str]
    sentences: frozenset[str]
    bars: list[Bar | None]
    axis_end: float


def page_table(name: str, frame: pd.DataFrame) -> PageTable:
    """Lay a table out for the page, without columns that are all empty.

    Args:
        name: the table's name, which decides whether bars are drawn and of what.
        frame: its rows, in their order.
    """
    estimate = _BARS.get(name, "")
    bars: list[Bar | None] = []
    axis_end = 1.0
    if estimate in frame.columns:
        if estimate == _RARE_ESTIMATE:
            axis_end = _axis_end(frame[f"{estimate}_high"])
        bars = _bars(frame, estimate, axis_end)
    # Published values stand beside the paper's own corpus only: elsewhere the columns
    # are empty.
    filled = _without_empty_columns(frame)
    cells_by_heading: dict[str, list[str]] = {}
    numbers = set()
    for column in map(str, filled.columns):
        if _is_in_another_cell(column, filled):
            continue
        heading = _heading(column, filled)
        cells_by_heading[heading] = _cells(column, filled)
        if is_numeric(filled[column]):
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
        bars=bars,
        axis_end=axis_end,
    )


def _without_empty_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns in which nothing stands, such as published values."""
    if frame.empty:
        return frame
    is_empty = [(frame[name].isna() | (frame[name] == "")).all() for name in frame]
    return frame.loc[:, [not empty for empty in is_empty]]


def _is_in_another_cell(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column's values stand in the cells of another column.

    `mu_low` stands in the cells of `mu`, `low` in those of `value`, `percent_total` in
    those of `total`.
    """
    # There is no estimate that `reader_low` and `reader_high` could stand beside: the
    # one column is both.
    if column == _ANOTHER_READER.lower:
        return False
    if column == _ANOTHER_READER.upper:
        return True
    if column in ("low", "high"):
        return "value" in frame.columns
    if column.startswith(_PUBLISHED):
        return _has_published_beside(column.removeprefix(_PUBLISHED), frame)
    if column.startswith(_PERCENT):
        return column.removeprefix(_PERCENT) in frame.columns
    estimate, _, end = column.rpartition("_")
    return end in ("low", "high") and estimate in frame.columns


def _has_published_beside(column: str, frame: pd.DataFrame) -> bool:
    """Whether the paper's value stands in a column's cells, to keep a table narrow."""
    if len(frame.columns) <= _MANY_COLUMNS or column not in frame.columns:
        return False
    return f"{_PUBLISHED}{column}" in frame.columns


def _heading(column: str, frame: pd.DataFrame) -> str:
    if column == _ANOTHER_READER.lower:
        return _ANOTHER_READER.heading
    if _has_published_beside(column, frame):
        return f"{column} [paper]"
    return column


def _cells(column: str, frame: pd.DataFrame) -> list[str]:
    """Write the cells of a column, with all that stands beside its values."""
    if column == _ANOTHER_READER.lower:
        return _bare_interval_cells(_ANOTHER_READER, frame)
    cells = _own_cells(column, frame)
    if _has_published_beside(column, frame):
        return _beside_published(cells, frame[f"{_PUBLISHED}{column}"])
    return cells


def _own_cells(column: str, frame: pd.DataFrame) -> list[str]:
    """Write values with their percent or interval.

    `1,200 (12.3%)`, `0.5 (0.4 to 0.6)`.
    """
    if f"{_PERCENT}{column}" in frame.columns:
        return _cells_with_percent(column, frame)
    lower = f"{column}_low"
    upper = f"{column}_high"
    if column == "value":
        lower = "low"
        upper = "high"
    if lower in frame.columns and upper in frame.columns:
        return _cells_with_interval(column, frame[[column, lower, upper]])
    return [_number_or_text(column, value) for value in frame[column]]


def _bare_interval_cells(interval: _BareInterval, frame: pd.DataFrame) -> list[str]:
    cells = []
    ends = zip(frame[interval.lower], frame[interval.upper], strict=True)
    for low, high in ends:
        lower = _number_or_text(interval.heading, low)
        upper = _number_or_text(interval.heading, high)
        cells.append("" if pd.isna(low) else f"{lower} to {upper}")
    return cells


def _cells_with_percent(column: str, frame: pd.DataFrame) -> list[str]:
    cells = []
    counts = zip(frame[column], frame[f"{_PERCENT}{column}"], strict=True)
    for count, percent in counts:
        text = _number_or_text(column, count)
        cells.append(text if pd.isna(percent) else f"{text} ({percent:.1f}%)")
    return cells


def _cells_with_interval(column: str, estimates: pd.DataFrame) -> list[str]:
    """Write estimates with the ends of their intervals.

    Args:
        column: of the estimate.
        estimates: columns of the estimate, its lower and its upper end.
    """
    cells = []
    for value, low, high in estimates.itertuples(index=False, name=None):
        text = _number_or_text(column, value)
        if pd.notna(low) and pd.notna(high):
            lower = _number_or_text(column, low)
            upper = _number_or_text(column, high)
            text = f"{text} ({lower} to {upper})"
        cells.append(text)
    return cells


def _beside_published(cells: list[str], published: pd.Series) -> list[str]:
    """Put the paper's values into the cells of ours: `0.43 [0.45]`."""
    return [
        cell
        if pd.isna(value)
        else f"{cell} [{_number_or_text(str(published.name), value)}]"
        for cell, value in zip(cells, published, strict=True)
    ]


def _number_or_text(column: str, value: Any) -> str:
    decimals = 1 if column.startswith(_PERCENT) else _DECIMALS.get(column)
    if decimals is None or not isinstance(value, float) or pd.isna(value):
        return cell_text(value)
    return f"{value:,.{decimals}f}"


def _axis_end(upper_ends: pd.Series) -> float:
    """Find the next tenth above the highest interval."""
    highest = upper_ends.max()
    if pd.isna(highest):
        return 1.0
    # Rounded first: 0.3 * 10 is a little more than 3.
    tenths = math.ceil(round(float(highest) * 10, 6))
    return min(1.0, max(0.1, tenths / 10))


def _bars(frame: pd.DataFrame, estimate: str, axis_end: float) -> list[Bar | None]:
    columns = frame[[f"{estimate}_low", estimate, f"{estimate}_high"]]
    bars: list[Bar | None] = []
    for low, middle, high in columns.itertuples(index=False, name=None):
        if pd.isna(middle):
            bars.append(None)
            continue
        words = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        bars.append(Bar(low / axis_end, middle / axis_end, high / axis_end, words))
    return bars
