"""The story of a study: what became of each of its rows, in words; on a terminal, and as one HTML page that
needs nothing else (`resources/explain/study.html.j2`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.data_files import page_template
from lunguage_assets.release.explain.marks import COLOURS, MarkedPiece

IN_RESULT = "in the result"
_INDENT = (0, 0, 1, 2)
_IN_SHORT = ("hedges", "probability", "what became of it")


@dataclass(frozen=True)
class Passage:
    """One point of a row's story."""

    heading: str
    lines: tuple[str, ...]


def passages(told: Mapping[str, Iterable[str]]) -> tuple[Passage, ...]:
    """Lines by heading; a point without a line is none."""
    listed = (Passage(heading, tuple(lines)) for heading, lines in told.items())
    return tuple(passage for passage in listed if passage.lines)


@dataclass(frozen=True)
class RowStory:
    """One row: its number in the result (None when it is not there), its fate in a word or two, and its
    story.

    `tone` says how it is coloured (`marks.py`), `p` the probability and its interval: lower end, p, upper
    end. A row that was rejected on reading has neither.
    """

    finding_id: str
    idx: int | None
    title: str
    fate: str
    passages: tuple[Passage, ...]
    tone: str = ""
    p: tuple[float, float, float] | None = None

    @property
    def in_short(self) -> str:
        """What a person sees who points at the row's words."""
        told = (line for passage in self.passages if passage.heading in _IN_SHORT for line in passage.lines)
        return "\n".join(told)


@dataclass(frozen=True)
class StudyStory:
    """A study: what holds for all of it, its sentences with the words of its rows marked, then its rows,
    those of the result first, by number.
    """

    study_id: str
    remarks: tuple[Passage, ...]
    rows: tuple[RowStory, ...]
    text: tuple[MarkedPiece, ...] = ()


def counted(rows: Sequence[RowStory]) -> str:
    """`5 in the result, 2 merged, 1 rejected`"""
    fates = Counter(row.fate for row in rows)
    return ", ".join(f"{number} {fate}" for fate, number in fates.items()) or "no rows"


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
