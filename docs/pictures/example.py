"""Draws the picture of the README: one invented sentence, the findings it states, and
what they imply.

`python docs/pictures/example.py` writes `example.svg` beside this file. Everything in
it comes from `lunguage_assets.read`, so a test holds the stored picture, and the rows
of the README, against the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import lunguage_assets

SENTENCE = "Probable atelectasis at the left base, though pneumonia cannot be excluded; no pneumothorax."
PICTURE = Path(__file__).with_name("example.svg")

WIDTH, MARGIN, TOP, LINE = 900, 24, 122, 34
LETTER = 9.2
"""Width of a letter of the sentence, which is set in letters of equal width."""
BAR_LEFT, BAR_WIDTH = 250, 260
P_LEFT, WORDS_LEFT = 538, 716
COLOURS = {"dp": "#b4451f", "tp": "#8a6100", "tn": "#8a6100", "dn": "#24598f"}
STYLE = (
    'text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2937}'
    ".sentence{font:15px ui-monospace,Menlo,Consolas,monospace}.note{font-size:12px;fill:#6b7280}"
    ".stated{font-weight:600}"
)

Row = dict[str, Any]


def words(x: float, y: float, text: str, kind: str = "", more: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{named}{more}>{escape(text)}</text>'


def line(path: str, colour: str, width: float, more: str = "") -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{more}/>'


def in_order(
    rows: list[Row], parent: str | None = None, depth: int = 0
) -> Iterator[tuple[Row, int]]:
    """Every row with its depth, what it implies below it."""
    for row in rows:
        if row["parent_id"] == parent:
            yield row, depth
            yield from in_order(rows, row["finding_id"], depth + 1)


def drawn_sentence(rows: list[Row], spans: list[Row], y: float) -> Iterator[str]:
    """The sentence: findings marked and hedges underlined in the colour of their row,
    places dotted.
    """
    status = {row["finding_id"]: row["status"] for row in rows}
    for span in spans:
        colour = COLOURS[status[span["finding_id"]]]
        x, width = (
            MARGIN + LETTER * span["begin"],
            LETTER * (span["end"] - span["begin"]),
        )
        if span["column"] == "ent":
            yield (
                f'<rect x="{x - 2:g}" y="{y - 17:g}" width="{width + 4:g}" height="23" rx="4" '
                f'fill="{colour}" fill-opacity="0.18"/>'
            )
        else:
            dots = (
                ""
                if span["column"] == "phrase"
                else ' stroke-dasharray="2 3" stroke-opacity="0.6"'
            )
            yield line(f"M{x:g},{y + 5:g} h{width:g}", colour, 2, dots)
    yield words(
        MARGIN, y, SENTENCE, "sentence", f' textLength="{LETTER * len(SENTENCE):g}"'
    )


def drawn_row(row: Row, depth: int, y: float) -> Iterator[str]:
    """Name and place, bar from 0 to 1 with interval and p (hollow where it is a bound),
    figures, words.
    """
    colour, bound = COLOURS[row["status"]], row["prob_is_bound"]
    x = MARGIN + 26 * depth
    if depth:
        yield line(f"M{x - 16},{y - 20:g} v15 h11", "#9ca3af", 1.5)
    yield words(
        x,
        y,
        ", ".join(filter(None, (row["name"], row["location"]))),
        "" if depth else "stated",
    )
    low, at, high = (
        BAR_LEFT + BAR_WIDTH * row[column] for column in ("p_low", "prob", "p_high")
    )
    yield line(f"M{BAR_LEFT},{y - 5:g} h{BAR_WIDTH}", "#e5e7eb", 6)
    yield line(
        f"M{low:g},{y - 5:g} H{high:g}",
        colour,
        6,
        f' stroke-opacity="{0.35 if bound else 0.75}"',
    )
    yield (
        f'<circle cx="{at:g}" cy="{y - 5:g}" r="5.5" fill="{"#fff" if bound else colour}" '
        f'stroke="{colour}" stroke-width="2"/>'
    )
    yield words(P_LEFT, y, believed(row))
    definite = {"dp": "present", "dn": "absent"}.get(row["status"], "")
    said = f"“{'; '.join(row['phrases'])}”" if row["phrases"] else definite
    yield (
        words(WORDS_LEFT, y, "implied", "note") if depth else words(WORDS_LEFT, y, said)
    )


def believed(row: Row) -> str:
    """p with its interval; a bound says that it is one."""
    if row["p_low"] == row["p_high"]:
        return f"{row['prob']:.0f}"
    at_least = "≥ " if row["prob_is_bound"] else ""
    return f"{at_least}{row['prob']:.2f} ({row['p_low']:.2f} to {row['p_high']:.2f})"


def picture() -> str:
    """The whole picture as SVG."""
    annotation = lunguage_assets.read(SENTENCE)
    findings = annotation.findings.astype(object).where(
        annotation.findings.notna(), None
    )
    rows = [
        {str(name): value for name, value in row.items()}
        for row in findings.to_dict("records")
    ]
    spans = [
        {str(name): value for name, value in row.items()}
        for row in annotation.spans.to_dict("records")
    ]
    height = TOP + LINE * len(rows) - 4
    heads = (
        (MARGIN, "finding"),
        (BAR_LEFT - 3, "0"),
        (BAR_LEFT + BAR_WIDTH - 3, "1"),
        (P_LEFT, "p (95% interval)"),
        (WORDS_LEFT, "said as"),
    )
    label = escape(f"Findings of the sentence: {SENTENCE}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img" aria-label="{label}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
            *drawn_sentence(rows, spans, 44),
            *(words(x, 84, head, "note") for x, head in heads),
            *(
                part
                for number, (row, depth) in enumerate(in_order(rows))
                for part in drawn_row(row, depth, TOP + LINE * number)
            ),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
