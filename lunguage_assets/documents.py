"""Values as a person reads them: cells of tables, and text that Markdown shows as it is."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd


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
