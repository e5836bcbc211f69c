"""Printing tables, and labels with values beside them.

What is in them is the business of each command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click
import pandas as pd

from lunguage_assets.wording import is_numeric

WIDTH_OF_PIPES = 200
"""Columns of a table in a file or a pipe, which has no width of its own."""

LabelledLine = tuple[str, str]
"""A label, and the value that is printed beside it."""


def print_pairs(lines: Sequence[LabelledLine]) -> None:
    """Print labels, and their values in a column beside them."""
    width = max(len(label) for label, _ in lines)
    for label, value in lines:
        click.echo(f"{label:<{width}}  {value}".rstrip())


def print_table(frame: pd.DataFrame) -> None:
    """Print the rows of a frame as wide as the terminal, numbers with three decimals.

    Nothing is printed where there are none.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not len(frame):
        return
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    for name in map(str, frame.columns):
        table.add_column(
            name.replace("_", " "),
            justify="right" if is_numeric(frame[name]) else "left",
            overflow="fold",
        )
    for row in frame.astype(object).itertuples(index=False):
        # In plain text, rich would take a label such as "[b]all" for markup.
        table.add_row(*[Text(_cell_text(cell)) for cell in row])
    width = None if sys.stdout.isatty() else WIDTH_OF_PIPES
    Console(highlight=False, width=width).print(table)
    click.echo()


def _cell_text(cell: Any) -> str:
    if pd.isna(cell):
        return ""
    if isinstance(cell, float):
        return f"{cell:.3f}"
    return str(cell)
