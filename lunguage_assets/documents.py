"""Tables as a person reads them: Markdown, and cells as text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def markdown_table(
    frame: pd.DataFrame,
    headings: Mapping[str, str] | None = None,
    written: Callable[[str], str] = _escaped,
) -> str:
    """A frame as a Markdown table: numbers to the right, at most three decimals, missing values empty;
    `written` says how the text of a cell is written.
    """
    names = [str(name) for name in frame.columns]
    shown = [(headings or {}).get(name, name.replace("_", " ")) for name in names]
    numeric = [is_numeric(frame[name]) for name in names]
    lines = [_line(shown), _line(["---:" if right else "---" for right in numeric])]
    lines += [
        _line([written(cell_text(value)) for value in values])
        for values in frame.itertuples(index=False, name=None)
    ]
    return "\n".join(lines)


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers only, among them counts of which only a bound is said ("<5")."""
    if pd.api.types.is_numeric_dtype(values):
        return not pd.api.types.is_bool_dtype(values)
    counts = [value for value in values.tolist() if value is not None] if values.dtype == object else []
    return bool(counts) and all(
        isinstance(value, int | float) or (isinstance(value, str) and value.startswith("<"))
        for value in counts
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


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
