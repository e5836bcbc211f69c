"""Draws the picture of docs/people.md: p of the chain against people's numbers, for 19
phrases.

`python docs/pictures/people.py` writes `people.svg` beside this file, from the output
of `benchmarks/people.py` on all comparisons; a test holds the stored picture against
the program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.settings import ExplicitSettings

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from people import PeopleSet

PICTURE = Path(__file__).with_name("people.svg")

WIDTH = 900
MARGIN = 24
TOP = 92
LINE = 26
AXIS_LEFT = 220
AXIS_WIDTH = 520
FIGURES_LEFT = 766
CHAIN = "#0072B2"
PEOPLE = "#D55E00"
STYLE = (
    'text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2937}'
    ".note{font-size:12px;fill:#6b7280}.anchor{font-weight:600}"
)

Row = dict[str, Any]


def horizontal(p: float) -> float:
    """Where a probability lies on the axis, in pixels."""
    return AXIS_LEFT + AXIS_WIDTH * p


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{x:g}" y="{y:g}"{named} text-anchor="{anchor}">{escape(text)}</text>'
    )


def line(
    x: float,
    y: float,
    end: float,
    colour: str,
    width: float,
    opacity: float = 1.0,
) -> str:
    return (
        f'<path d="M{x:.1f},{y:g} H{end:.1f}" stroke="{colour}" stroke-width="{width:g}" '
        f'stroke-opacity="{opacity:g}"/>'
    )


def dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:g}" r="5" fill="{CHAIN}"/>'


def diamond(x: float, y: float) -> str:
    return f'<path d="M{x:.1f},{y - 6:g} l6,6 l-6,6 l-6,-6 z" fill="#fff" stroke="{PEOPLE}" stroke-width="2"/>'


def told(row: Row) -> str:
    """A phrase with both numbers, as the picture's hidden title and the test have
    it.
    """
    return f"{row['phrase']}: people {row['people']:.2f}, chain {row['p']:.2f}"


def drawn_axis(bottom: float) -> Iterator[str]:
    """Grid lines at every fifth of the probability, with their number."""
    for fifth in range(6):
        p = fifth / 5.0
        x = horizontal(p)
        yield f'<path d="M{x:g},{TOP - 18} V{bottom:g}" stroke="#e5e7eb"/>'
        yield words(x, TOP - 26, f"{p:.1f}", "note", "middle")


def drawn_row(row: Row, y: float) -> Iterator[str]:
    """One phrase: the middle 80% of people and their mean, the chain's interval and p,
    both numbers.
    """
    yield f"<g><title>{escape(told(row))}</title>"
    kind = "anchor" if row["is_anchor"] else ""
    yield words(AXIS_LEFT - 20, y + 5, row["phrase"], kind, "end")
    yield line(horizontal(row["p10"]), y, horizontal(row["p90"]), PEOPLE, 12, 0.18)
    yield line(horizontal(row["p_low"]), y, horizontal(row["p_high"]), CHAIN, 3)
    yield diamond(horizontal(row["people"]), y)
    yield dot(horizontal(row["p"]), y)
    yield words(FIGURES_LEFT, y + 5, f"{row['people']:.2f}")
    yield words(FIGURES_LEFT + 56, y + 5, f"{row['p']:.2f}")
    yield "</g>"


def drawn_legend() -> Iterator[str]:
    """What the marks mean, above the axis."""
    y = 30
    yield diamond(MARGIN + 8, y)
    yield words(MARGIN + 22, y + 5, "people's mean number")
    yield line(MARGIN + 184, y, MARGIN + 214, PEOPLE, 12, 0.18)
    yield words(MARGIN + 222, y + 5, "the middle 80% of them")
    yield dot(MARGIN + 410, y)
    yield line(MARGIN + 396, y, MARGIN + 424, CHAIN, 3)
    yield words(MARGIN + 432, y + 5, "p of the chain, 95% interval")
    yield words(MARGIN + 640, y + 5, "bold: an anchor", "anchor")


def picture(phrases: pd.DataFrame) -> str:
    """The whole picture as SVG.

    Args:
        phrases: of a `ChainResult`, with p10 and p90 of people.
    """
    rows: list[Row] = [
        {str(k): v for k, v in row.items()} for row in phrases.to_dict("records")
    ]
    height = TOP + LINE * len(rows) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="p of the chain against people\'s numbers, phrase by '
        'phrase">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
        *drawn_legend(),
        *drawn_axis(height - 12),
        words(FIGURES_LEFT, TOP - 26, "people", "note"),
        words(FIGURES_LEFT + 56, TOP - 26, "chain", "note"),
    ]
    for number, row in enumerate(rows):
        parts += drawn_row(row, TOP + LINE * number)
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    people = PeopleSet.read()
    result = people.result(people.ranking(people.matches, ExplicitSettings()))
    spread = people.numbers[["phrase", "p10", "p90"]]
    PICTURE.write_text(
        picture(result.phrases.merge(spread, on="phrase")), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
