"""The story of a study on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.release.explain.explain import IN_RESULT, Passage, StudyStory, counted

_INDENT = (0, 0, 1, 2)


def print_story(story: StudyStory, console: Console) -> None:
    """Print a study; the width of the console decides where lines break. Nothing in the text is taken for
    markup.
    """
    console.print(Text(f"study {story.study_id}: {counted(story.rows)}", style="bold"))
    console.print(Padding(_passages(story.remarks), _INDENT))
    for row in story.rows:
        number = f"idx {row.idx}" if row.idx is not None else row.fate
        line = Text.assemble(
            (number, "bold green" if row.fate == IN_RESULT else "bold yellow"),
            "  ",
            (row.title, "bold"),
            "  ",
        )
        line.append(row.finding_id, style="dim")
        console.print(line)
        console.print(Padding(_passages(row.passages), _INDENT))


def _passages(passages: Sequence[Passage]) -> RenderableType:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for passage in passages:
        grid.add_row(Text(passage.heading), Group(*(Text(line) for line in passage.lines)))
    return grid
