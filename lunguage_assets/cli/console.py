"""Printing tables, and labels with values beside them.

What is in them is the business of each command.
"""

from __future__ import annotations

from collections.abc import Sequence

import click
import pandas as pd


def print_pairs(lines: Sequence[Sequence[str]]) -> None:
    """Print labels, and their values in a column beside them."""
    width = max(len(label) for label, _ in lines)
    for label, value in lines:
        click.echo(f"{label:<{width}}  {value}".rstrip())


def print_table(frame: pd.DataFrame) -> None:
    """Print the rows of a frame, numbers with three decimals; of none nothing."""
    if frame.empty:
        return
    named = frame.rename(columns=lambda name: str(name).replace("_", " "))
    text = named.to_string(index=False, na_rep="", float_format="{:.3f}".format)
    click.echo(f"{text}\n")
