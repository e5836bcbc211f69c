"""Tables as a person reads them: Markdown, and cells as text."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd


def markdown_table(frame: pd.DataFrame) -> str:
    """A frame as a Markdown table: numbers to the right, at most three decimals, missing values empty; cells
    are shown as they are.
    """
    shown = [str(name).replace("_", " ") for name in frame.columns]
    marks = ["---:" if is_numeric(frame[name]) else "---" for name in frame.columns]
    rows = ([literal(cell_text(value)) for value in values] for values in frame.itertuples(index=False))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (shown, marks, *rows))


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers only."""
    if values.dtype == object:
        there = [value for value in values.tolist() if value is not None]
        return bool(there) and all(isinstance(value, int | float) for value in there)
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def cell_text(value: Any) -> str:
    """A value as a reader of a table sees it: thousands apart, at most three decimals, nothing for a missing
    value.
    """
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def shown_phrase(phrase: str, most: int = 6) -> str:
    """A hedging phrase, or its number of words where it is longer than any hedge: it may be a sentence of a
    report.
    """
    words = len(phrase.split())
    return phrase if words <= most else f"(a phrase of {words} words)"


def literal(text: str) -> str:
    """Text that Markdown shows as it is, on one line: no tag, link, picture or column begins in it."""
    return re.sub(r"([\\`<\[\]|])", r"\\\1", " ".join(text.split()))
