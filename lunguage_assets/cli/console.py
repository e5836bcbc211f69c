"""Printing tables. What is in them is the business of each command."""

from __future__ import annotations

import click
import pandas as pd


def print_table(frame: pd.DataFrame) -> None:
    """Print the rows of a frame, numbers with three decimals; of none nothing."""
    if frame.empty:
        return
    named = frame.set_axis(frame.columns.str.replace("_", " "), axis=1)
    text = named.to_string(index=False, na_rep="", float_format="{:.3f}".format)
    click.echo(f"{text}\n")
