"""Reports on a terminal, as one HTML page, and as one JSON document.

The page needs nothing else (`resources/read/page.html.j2`). The form of the document is
in docs/read.md and keeps its version.

Whatever a report says is escaped. The page has no script, loads nothing, and no browser
may let it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.annotation.shown import ShownReport, by_report, shown_reports
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.row_words import printable

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
)
"""Content security policy of a page that only shows."""

SCHEMA = "lunguage.read/2"
"""Raised when a key changes its meaning or goes; new keys do not raise it."""

_TONES = {
    "present": "bold red",
    "open": "bold yellow",
    "absent": "blue",
    "part": "cyan",
    "past": "dim underline",
    "out": "strike dim",
}
_KINDS = {"hedge": "italic yellow", "detail": "underline", "silent": "dim"}
_LEGEND = {
    "present": _TONES["present"],
    "with doubt": _TONES["open"],
    "absent or normal": _TONES["absent"],
    "denied in part": _TONES["part"],
    "past": _TONES["past"],
    "removed": _TONES["out"],
    "hedge": _KINDS["hedge"],
    "place": _KINDS["detail"],
}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Numbers of sentences are raised.

Beside the text's own they must not look like them.
"""


@dataclass(frozen=True, slots=True)
class ReportForm:
    """The form of a page that takes a report.

    What was given, what was wrong with it, and names of files that can be downloaded.
    """

    report: str = ""
    views: str = ""
    problem: str = ""
    downloads: Sequence[str] = ()


def read_page(
    reports: Sequence[ShownReport], form: ReportForm | None = None, policy: str = POLICY
) -> str:
    """The page of some reports.

    With `form` it has a form that posts the next one to `/`.
    """
    return page_template("read", "page.html.j2").render(
        reports=reports, form=form, policy=policy
    )


def notebook_frame(annotation: Annotation, counts: str) -> str:
    """The page of some reports in a frame of its own, with `counts` of all below."""
    page = escape(read_page(shown_reports(annotation)))
    style = "width: 100%; height: 34rem; border: 0"
    frame = f'<iframe sandbox srcdoc="{page}" style="{style}"></iframe>'
    return f"{frame}<p>{escape(counts)}</p>"


def json_document(annotation: Annotation) -> str:
    """The document, one line end at its end: `{"schema": ..., "reports": [...]}`.

    Every report holds its own rows, in the order of the frames; a missing value is
    null. Labels that the report does not mention are left out.
    """
    reports: list[Any] = []
    for report, parts in by_report(annotation):
        rows: dict[str, list[Any]] = {name: [] for name in parts}
        for name, listed in parts.items():
            for row in listed:
                if row.get("source") != "unmentioned":
                    rows[name].append(
                        {key: value for key, value in row.items() if key != "study_id"}
                    )
        reports.append({**report, **rows})
    return (
        json.dumps(
            _plain({"schema": SCHEMA, "reports": reports}), ensure_ascii=False, indent=1
        )
        + "\n"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float) and value == value else None


def print_report(report: ShownReport, console: Console) -> None:
    """Print a report.

    Nothing in it is taken for markup, and no control character reaches the terminal.
    """
    console.print(
        Text(report.study_id, style="bold"),
        Text(f"views: {report.views or 'not known'}", "dim"),
    )
    for remark in report.remarks:
        console.print(Text(remark, style="yellow"))
    text = Text()
    for piece in report.pieces:
        tone = (
            _TONES[report.by_id[piece.rows[0]].tone] if piece.kind == "finding" else ""
        )
        if piece.sentence:
            text.append(str(piece.sentence).translate(_RAISED), "dim")
        lines = "\n".join(map(printable, piece.text.split("\n")))
        text.append(lines, tone or _KINDS.get(piece.kind, ""))
    console.print(Padding(text, (1, 2)))
    if console.is_terminal and not console.no_color:
        console.print(
            Text("  ").join(Text(words, style) for words, style in _LEGEND.items())
        )
    if report.rows:
        console.print(Padding(_findings(report), (1, 0, 0, 0)))
    elif report.is_read:
        console.print(Text("No finding is stated.", style="bold"))
    labels = (
        f"{one.name}{' ' if one.p else ''}{one.p} ({one.said})" for one in report.labels
    )
    contradictions = (
        printable(f"{title}: {said}") for title, said in report.contradictions
    )
    parts = {"contradicts": "\n".join(contradictions), "labels": ", ".join(labels)}
    for heading, body in parts.items():
        if body:
            console.print(Padding(Text(heading, style="bold cyan"), (1, 0, 0, 0)))
            console.print(Padding(Text(body), (0, 2)))


def _findings(report: ShownReport) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="dim")
    table.add_column("", justify="right", style="dim")
    table.add_column("finding", ratio=3, overflow="fold")
    table.add_column("", max_width=14)
    table.add_column("p (interval)", no_wrap=True)
    table.add_column("why", ratio=4, overflow="fold", style="dim")
    for row in report.rows:
        title = Text(
            "  " * row.depth + ("↳ " if row.depth else "") + printable(row.title),
            _TONES[row.tone],
        )
        why = Text(
            printable("; ".join(filter(None, (row.where, *row.lines, *row.cues))))
        )
        table.add_row(str(row.number), title, row.claim, row.believed, why)
    return table
