"""The story of a study: what became of each of its rows, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lunguage_assets.release.explain.marks import MarkedPiece

IN_RESULT = "in the result"
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
