"""Reads the values of a frame as Python has them, row by row.

A frame keeps texts as Arrow does: to iterate over such a column, or to ask pandas for
mappings, takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

Object = TypeVar("Object")


def column_values(frame: pd.DataFrame, name: str) -> list[Any]:
    """Read a column as Python values: None where it is missing, lists as tuples."""
    column = frame[name]
    if isinstance(column.dtype, pd.StringDtype):
        # A frame has them from Arrow, which reads them in half of pandas' time.
        texts: list[Any] = pa.array(column, from_pandas=True).to_pylist()
        return texts
    values: list[Any] = column.tolist()
    if column.dtype == object and values and isinstance(values[0], (list, np.ndarray)):
        return list(map(tuple, values))
    if column.hasnans:
        return column.astype(object).where(column.notna(), None).tolist()
    return values


def objects_of(frame: pd.DataFrame, kind: type[Object]) -> list[Object]:
    """Read the rows as objects of a dataclass, whose fields are columns.

    What is no column of the frame keeps its default.
    """
    # By position, which takes half the time that names do.
    columns = [
        repeat(field.default, len(frame))
        if field.default is not MISSING and field.name not in frame
        else column_values(frame, field.name)
        for field in fields(kind)  # type: ignore[arg-type]
    ]
    return list(map(kind, *columns))


def values_of(frame: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Read the values of several columns, row by row."""
    return zip(*(column_values(frame, name) for name in names), strict=True)
