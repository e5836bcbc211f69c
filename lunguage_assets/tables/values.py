"""Reads the values of a frame as Python has them, row by row.

A frame keeps texts as Arrow does: to iterate over such a column, or to ask pandas for
mappings, takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd


def column_values(frame: pd.DataFrame, name: str) -> list[Any]:
    """Read a column as Python values: None where it is missing, lists as tuples."""
    column = frame[name]
    values: list[Any] = column.tolist()
    if column.dtype == object and values and isinstance(values[0], (list, np.ndarray)):
        return list(map(tuple, values))
    if column.hasnans:
        return column.astype(object).where(column.notna(), None).tolist()
    return values


def values_of(frame: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Read the values of several columns, row by row."""
    return zip(*(column_values(frame, name) for name in names), strict=True)
