"""The story of a study on a terminal, and as one HTML page that needs nothing else
(`resources/explain/study.html.j2`).
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.data_files import page_template
from lunguage_assets.release.explain.marks import COLOURS
from lunguage_assets.release.explain.story import IN_RESULT, Passage, StudyStory, counted

_INDENT = (0, 0, 1, 2)


def print_story(story: StudyStory, console: Console) -> None:
    """Print a study; the width of the console decides where lines break. Nothing in the text is taken for
    markup.
    """
    console.print(Text(f"study {story.study_id}: {counted(story.rows)}", style="bold"))
    console.print(Padding(_grid(story.remarks), _INDENT))
    for row in story.rows:
        number = f"idx {row.idx}" if row.idx is not None else row.fate
        colour = "bold green" if row.fate == IN_RESULT else "bold yellow"
        parts = (number, colour), "  ", (row.title, "bold"), "  ", (row.finding_id, "dim")
        console.print(Text.assemble(*parts))
        console.print(Padding(_grid(row.passages), _INDENT))


def _grid(passages: Sequence[Passage]) -> RenderableType:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for passage in passages:
        grid.add_row(Text(passage.heading), Group(*(Text(line) for line in passage.lines)))
    return grid


def story_page(story: StudyStory) -> str:
    """The page; whatever the report says is escaped. It loads nothing, and no browser may let it load
    anything.
    """
    return page_template("explain", "study.html.j2").render(
        story=story,
        counted=counted(story.rows),
        colours=COLOURS,
        interval=lambda p: f"{p[1]:.2f} ({p[0]:.2f} to {p[2]:.2f})",
    )
