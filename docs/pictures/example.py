"""Draws the picture of the README: one invented sentence, the findings it states, and what they imply.

`python docs/pictures/example.py` writes `example.svg` beside this file. Everything in it comes from
`lunguage_assets.read`, so a test holds the stored picture, and the rows of the README, against the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import lunguage_assets
from lunguage_assets.annotation.marks import DETAIL, FINDING, HEDGE, Piece
from lunguage_assets.annotation.shown import ABSENT, OPEN, PRESENT, ShownReport, ShownRow, shown_reports

SENTENCE = "Probable atelectasis at the left base, though pneumonia cannot be excluded; no pneumothorax."
PICTURE = Path(__file__).with_name("example.svg")

WIDTH, MARGIN, LINE = 900, 24, 34
LETTER = 9.2
"""Width of a letter of the sentence, which is set in letters of equal width."""
BAR_LEFT, BAR_WIDTH = 250, 260
P_LEFT, WHY_LEFT = 538, 716
TONES = {PRESENT: "#b4451f", OPEN: "#8a6100", ABSENT: "#24598f"}
STYLE = (
    'text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2937}'
    ".sentence{font:15px ui-monospace,Menlo,Consolas,monospace}.note{font-size:12px;fill:#6b7280}"
    ".stated{font-weight:600}"
)


def example() -> ShownReport:
    """What the program reads in the sentence."""
    (report,) = shown_reports(lunguage_assets.read(SENTENCE))
    return report


def in_order(rows: Sequence[ShownRow], depth: int = 0) -> Iterator[tuple[ShownRow, int]]:
    """Every row with its depth, what it implies below it."""
    for row in rows:
        yield row, depth
        yield from in_order(row.implied, depth + 1)


def words(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(text)}</text>'


def drawn_sentence(report: ShownReport, y: float) -> Iterator[str]:
    """The sentence, findings and hedges marked in the colour of their row."""
    x = float(MARGIN)
    for piece in report.pieces:
        width = LETTER * len(piece.text)
        if piece.kind in (FINDING, HEDGE, DETAIL):
            yield from mark(piece, report, x, y, width)
        if piece.text.strip():
            lead = LETTER * (len(piece.text) - len(piece.text.lstrip()))
            length = f' class="sentence" textLength="{LETTER * len(piece.text.strip()):g}"'
            yield words(x + lead, y, piece.text.strip(), length)
        x += width


def mark(piece: Piece, report: ShownReport, x: float, y: float, width: float) -> Iterator[str]:
    colour = TONES[report.by_id[piece.rows[0]].tone]
    if piece.kind == FINDING:
        yield (
            f'<rect x="{x - 2:g}" y="{y - 17:g}" width="{width + 4:g}" height="23" rx="4" fill="{colour}" '
            'fill-opacity="0.18"/>'
        )
    dashes = "" if piece.kind == HEDGE else ' stroke-dasharray="2 3" stroke-opacity="0.6"'
    if piece.kind in (HEDGE, DETAIL):
        yield f'<path d="M{x:g},{y + 5:g} h{width:g}" stroke="{colour}" stroke-width="2"{dashes}/>'


def drawn_row(row: ShownRow, depth: int, y: float) -> Iterator[str]:
    """Title, bar from 0 to 1 with interval and p (hollow where it is a bound), p in figures, words."""
    colour = TONES[row.tone]
    indent = MARGIN + 26 * depth
    if depth:
        yield f'<path d="M{indent - 16},{y - 20:g} v15 h11" fill="none" stroke="#9ca3af" stroke-width="1.5"/>'
    yield words(indent, y, row.title, "" if depth else ' class="stated"')
    at = [BAR_LEFT + BAR_WIDTH * p for p in (row.low, row.p, row.high)]
    yield f'<path d="M{BAR_LEFT},{y - 5:g} h{BAR_WIDTH}" stroke="#e5e7eb" stroke-width="6"/>'
    opacity = "0.35" if row.is_bound else "0.75"
    yield (
        f'<path d="M{at[0]:g},{y - 5:g} H{at[2]:g}" stroke="{colour}" stroke-width="6" '
        f'stroke-opacity="{opacity}"/>'
    )
    filling = "#fff" if row.is_bound else colour
    yield (
        f'<circle cx="{at[1]:g}" cy="{y - 5:g}" r="5.5" fill="{filling}" stroke="{colour}" stroke-width="2"/>'
    )
    yield words(P_LEFT, y, row.believed)
    said = f"“{row.phrase}”" if row.phrase else row.claim
    yield words(WHY_LEFT, y, "implied" if depth else said, ' class="note"' if depth else "")


def picture() -> str:
    """The whole picture as SVG."""
    report = example()
    rows = list(in_order(report.rows))
    top = 122
    height = top + LINE * len(rows) - 4
    parts = [
        *drawn_sentence(report, 44),
        words(MARGIN, 84, "finding", ' class="note"'),
        words(BAR_LEFT - 3, 84, "0", ' class="note"'),
        words(BAR_LEFT + BAR_WIDTH - 3, 84, "1", ' class="note"'),
        words(P_LEFT, 84, "p (95% interval)", ' class="note"'),
        words(WHY_LEFT, 84, "said as", ' class="note"'),
        *(part for n, (row, depth) in enumerate(rows) for part in drawn_row(row, depth, top + LINE * n)),
    ]
    label = f"Findings of the sentence: {SENTENCE}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{escape(label)}">'
    )
    ground = f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
