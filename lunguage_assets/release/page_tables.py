"""Tables as the report's page shows them: cells as text, an estimate with its interval in one cell, bars on
the axis that they need. The files of the release hold the numbers themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.wording import cell_text, is_numeric

LONG_CELL = 32
"""Characters from which a column holds sentences: it gets a width of its own, or each would be a tower."""

_DECIMALS = {
    **dict.fromkeys(("mu", "published_mu", "p", "another_reader", "people"), 2),
    **dict.fromkeys(
        ("prevalence", "mean_p", "p_mean", "p_sd", "p_min", "p_max", "win_rate"), 3
    ),
    **dict.fromkeys(
        (f"published_p_{part}" for part in ("mean", "sd", "min", "max")), 3
    ),
}
_BARS = {"labels": "prevalence", "ranking": "p", "pathway_audit": "share"}
"""Table -> the estimate that is drawn with its interval beside the first column."""
_PERCENT = "percent_"
_PUBLISHED = "published_"
"""Of a table with many columns the paper's value stands in the cell of ours, in square brackets."""
_MANY_COLUMNS = 12
_RARE = "prevalence"
"""The estimate whose axis ends where the highest interval does: to 1, rare findings would all look alike."""
_OPEN_INTERVALS = {"reader_low": ("another_reader", "reader_high")}
"""An interval without an estimate: its lower column -> name on the page, upper column."""


@dataclass(frozen=True)
class Bar:
    """An estimate and the ends of its interval, as shares (0 to 1) of the axis, and in words."""

    low: float
    middle: float
    high: float
    words: str


@dataclass(frozen=True)
class PageTable:
    """A table of the page.

    Args:
        columns: names of the columns.
        rows: text of every cell, row by row.
        numbers: columns that stand right-aligned.
        sentences: columns whose cells may be long.
        bars: a bar for each row, None where there is no estimate; empty for a table without bars.
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
        axis_end = _axis_end(frame[f"{estimate}_high"]) if estimate == _RARE else 1.0
        bars = _bars(frame, estimate, axis_end)
    shown = _without_empty_columns(frame)
    text_by_column: dict[str, list[str]] = {}
    numbers = set()
    for column in map(str, shown.columns):
        if _stands_beside_another(column, shown):
            continue
        heading, cells = _cells(column, shown)
        if _stands_beside_paper(column, shown):
            heading, cells = _beside_paper(
                heading, cells, shown[f"{_PUBLISHED}{column}"]
            )
        text_by_column[heading] = cells
        if is_numeric(shown[column]):
            numbers.add(heading)
    sentences = {
        heading
        for heading, cells in text_by_column.items()
        if heading not in numbers and max(map(len, cells), default=0) > LONG_CELL
    }
    return PageTable(
        columns=list(text_by_column),
        rows=[list(row) for row in zip(*text_by_column.values(), strict=True)],
        numbers=frozenset(numbers),
        sentences=frozenset(sentences),
        bars=bars,
        axis_end=axis_end,
    )


def _without_empty_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns such as published values, of which there may be none."""
    empty = [
        name
        for name in frame.columns
        if (frame[name].isna() | (frame[name] == "")).all()
    ]
    return frame.drop(columns=empty) if len(frame) else frame


def _stands_beside_another(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column is shown in another's cells: `mu_low` beside `mu`, `low` beside `value`, and
    `percent_total` beside `total`.
    """
    if column in _OPEN_INTERVALS:
        return False
    if column in [upper for _, upper in _OPEN_INTERVALS.values()]:
        return True
    if column in ("low", "high"):
        return "value" in frame.columns
    if column.startswith(_PUBLISHED):
        return _stands_beside_paper(column.removeprefix(_PUBLISHED), frame)
    if column.startswith(_PERCENT):
        return column.removeprefix(_PERCENT) in frame.columns
    estimate, _, end = column.rpartition("_")
    return end in ("low", "high") and estimate in frame.columns


def _stands_beside_paper(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column of a wide table has the paper's value in its cells."""
    is_wide = len(frame.columns) > _MANY_COLUMNS
    return (
        is_wide and column in frame.columns and f"{_PUBLISHED}{column}" in frame.columns
    )


def _beside_paper(
    heading: str, cells: list[str], published: pd.Series
) -> tuple[str, list[str]]:
    """Put the paper's values into the cells of ours: "0.43 [0.45]"."""
    column = f"{_PUBLISHED}{heading}"
    both = [
        cell if pd.isna(value) else f"{cell} [{_cell(column, value)}]"
        for cell, value in zip(cells, published, strict=True)
    ]
    return f"{heading} [paper]", both


def _cells(column: str, frame: pd.DataFrame) -> tuple[str, list[str]]:
    """The heading of a column and the text of its cells, an interval included."""
    if column in _OPEN_INTERVALS:
        heading, upper = _OPEN_INTERVALS[column]
        pairs = zip(frame[column], frame[upper], strict=True)
        cells = [
            "" if pd.isna(low) else f"{_cell(heading, low)} to {_cell(heading, high)}"
            for low, high in pairs
        ]
        return heading, cells
    if f"{_PERCENT}{column}" in frame.columns:
        pairs = zip(frame[column], frame[f"{_PERCENT}{column}"], strict=True)
        return column, [
            _cell(column, count) + (f" ({share:.1f}%)" if pd.notna(share) else "")
            for count, share in pairs
        ]
    ends = ("low", "high") if column == "value" else (f"{column}_low", f"{column}_high")
    if not set(ends) <= set(frame.columns):
        return column, [_cell(column, value) for value in frame[column]]
    cells = []
    for value, low, high in zip(
        frame[column], frame[ends[0]], frame[ends[1]], strict=True
    ):
        text = _cell(column, value)
        if pd.notna(low) and pd.notna(high):
            text += f" ({_cell(column, low)} to {_cell(column, high)})"
        cells.append(text)
    return column, cells


def _cell(column: str, value: Any) -> str:
    decimals = 1 if column.startswith(_PERCENT) else _DECIMALS.get(column)
    if decimals is None or not isinstance(value, float) or pd.isna(value):
        return cell_text(value)
    return f"{value:,.{decimals}f}"


def _axis_end(highs: pd.Series) -> float:
    """The next tenth above the highest interval."""
    highest = highs.max()
    if pd.isna(highest):
        return 1.0
    return min(1.0, max(0.1, math.ceil(round(float(highest) * 10, 6)) / 10))


def _bars(frame: pd.DataFrame, estimate: str, axis_end: float) -> list[Bar | None]:
    columns = (f"{estimate}_low", estimate, f"{estimate}_high")
    bars: list[Bar | None] = []
    for low, middle, high in zip(*(frame[column] for column in columns), strict=True):
        if pd.isna(middle):
            bars.append(None)
            continue
        words = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        bars.append(Bar(low / axis_end, middle / axis_end, high / axis_end, words))
    return bars
