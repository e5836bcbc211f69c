"""Words values as a person reads them: on pages, in the UI and in terminals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from lunguage_assets.errors import printable

_READ_BY_MARKDOWN = re.compile(r"[\\`<\[\]|*&~]|(?<!\w)_|_(?!\w)")
"""Characters that Markdown takes for markup; an underscore inside a word is none."""
KEYS_SHOWN = 20
"""Keys of rows that a check shows."""
_LONGEST_HEDGE = 6
"""Words of a phrase that is no sentence."""


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers only."""
    # Looked up in the values: a column of numbers with gaps holds objects.
    kind = pd.api.types.infer_dtype(values)
    return kind in ("integer", "floating", "mixed-integer-float")


def cell_text(value: Any) -> str:
    """Word a value of a table: thousands apart, three decimals, "" for nothing."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def shown_phrase(phrase: str) -> str:
    """Show a hedging phrase; of one longer than any hedge only its length.

    Such a phrase may be a sentence of a report.
    """
    words = len(phrase.split())
    return phrase if words <= _LONGEST_HEDGE else f"(a phrase of {words} words)"


def literal(text: str) -> str:
    """Write text that Markdown shows as it is, on one line.

    No tag, link, picture, column or emphasis begins in it, and no control character is
    left for a terminal.
    """
    one_line = printable(" ".join(text.split()))
    return _READ_BY_MARKDOWN.sub(r"\\\g<0>", one_line)


def examples(keys: Iterable[object]) -> str:
    """Return the first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - KEYS_SHOWN} more" if len(listed) > KEYS_SHOWN else ""
    return (", ".join(listed[:KEYS_SHOWN]) or "none") + more
