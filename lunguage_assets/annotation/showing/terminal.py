"""A report on a terminal: its text marked up, the findings with their reasons, what contradicts."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.annotation.showing.marks import (
    ABSENT,
    DETAIL,
    FINDING,
    HEDGE,
    OPEN,
    OUT,
    OUTSIDE,
    PAST,
    PRESENT,
    SILENT,
)
from lunguage_assets.annotation.showing.shown import ShownReport, ShownRow

_TONES = {PRESENT: "bold red", OPEN: "bold yellow", ABSENT: "blue", PAST: "dim underline", OUT: "strike dim"}
_KINDS = {HEDGE: "italic yellow", DETAIL: "underline", SILENT: "dim", OUTSIDE: "dim"}


def print_report(report: ShownReport, console: Console) -> None:
    """Print a report; nothing in it is taken for markup, and no control character reaches the terminal."""
    console.print(Text(report.study_id, style="bold"), Text(f"views: {report.views or 'not known'}", "dim"))
    for remark in report.remarks:
        console.print(Text(remark, style="yellow"))
    console.print(Padding(_text(report), (1, 2)))
    console.print(_legend())
    if report.rows:
        console.print(Padding(_findings(report), (1, 0, 0, 0)))
    elif not report.is_set_aside:
        console.print(Text("No finding is stated.", style="bold"))
    for heading, body in (("contradicts", _contradictions(report)), ("labels", _labels(report))):
        if body.plain:
            part = Group(Text(heading, style="bold cyan"), Padding(body, (0, 2)))
            console.print(Padding(part, (1, 0, 0, 0)))


def _text(report: ShownReport) -> Text:
    rows = report.by_id
    text = Text()
    for piece in report.pieces:
        style = _KINDS.get(piece.kind, "")
        if piece.kind == FINDING:
            style = _TONES[rows[piece.rows[0]].tone]
        text.append(_printable(piece.text), style)
    return text


def _legend() -> Text:
    words = ("present", "with doubt", "absent or normal", "past", "removed", "hedge", "place")
    styles = (*(_TONES[tone] for tone in (PRESENT, OPEN, ABSENT, PAST, OUT)), _KINDS[HEDGE], _KINDS[DETAIL])
    return Text("  ").join(map(Text, words, styles))


def _findings(report: ShownReport) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="dim")
    table.add_column("", justify="right", style="dim")
    table.add_column("finding", ratio=3, overflow="fold")
    table.add_column("", no_wrap=True)
    table.add_column("p (interval)", no_wrap=True)
    table.add_column("why", ratio=4, overflow="fold", style="dim")
    for row, depth in _in_order(report.rows, 0):
        title = Text("  " * depth + ("↳ " if depth else "") + _line(row.title), _TONES[row.tone])
        why = Text(_line("; ".join(filter(None, (row.where, *row.lines)))))
        table.add_row(str(row.number), title, row.claim, row.believed, why)
    return table


def _in_order(rows: tuple[ShownRow, ...], depth: int) -> Iterator[tuple[ShownRow, int]]:
    for row in rows:
        yield row, depth
        yield from _in_order(row.implied, depth + 1)


def _contradictions(report: ShownReport) -> Text:
    lines = []
    for found in report.contradictions:
        sides = _line(f"{' against '.join(found.sides)}. {found.rule}")
        lines.append(Text.assemble((_line(found.title), "bold"), ": ", sides))
    return Text("\n").join(lines)


def _labels(report: ShownReport) -> Text:
    return Text(", ".join(f"{label}{' ' if p else ''}{p} ({source})" for label, source, p in report.labels))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _line(text: str) -> str:
    return _printable(text).replace("\n", " ")
