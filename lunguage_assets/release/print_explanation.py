"""Prints the explanation of a study on a terminal, with rich.

Text of reports is never taken for rich's markup: everything is put into `Text`.
"""

from __future__ import annotations

from collections import Counter

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lunguage_assets.release.explain import (
    IN_RESULT,
    Passages,
    RowExplanation,
    StudyExplanation,
)


def print_explanation(explanation: StudyExplanation, console: Console) -> None:
    """Print a study: how many rows have which fate, its remarks, then every row."""
    rows_by_fate = Counter(row.fate for row in explanation.rows)
    counts = ", ".join(f"{count} {fate}" for fate, count in rows_by_fate.items())
    heading = f"study {explanation.study_id}: {counts or 'no rows'}"
    console.print(Text(heading, style="bold"))
    console.print(_grid(explanation.remarks))
    for row in explanation.rows:
        console.print(_heading(row))
        console.print(_grid(row.passages))


def _heading(row: RowExplanation) -> Text:
    number = row.fate if row.idx is None else f"idx {row.idx}"
    colour = "bold green" if row.fate == IN_RESULT else "bold yellow"
    return Text.assemble(
        (number, colour),
        "  ",
        (row.title, "bold"),
        "  ",
        (row.finding_id, "dim"),
    )


def _grid(passages: Passages) -> Padding:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for heading, lines in passages.items():
        # A heading without lines says nothing: most rows have no conflict.
        if lines:
            grid.add_row(Text(heading), Group(*map(Text, lines)))
    return Padding(grid, (0, 0, 1, 2))
