"""Reports on a terminal, as one HTML page, and as one JSON document.

The page is one file (`resources/read/page.html.j2`): it has no script, loads nothing,
and forbids browsers to. Whatever a report says is escaped. The form of the document is
in docs/read.md and keeps its version. What is shown of a report is chosen in
`shown.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.annotation.method import Frames
from lunguage_assets.annotation.shown import ShownReport, documents, shown_reports
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.row_words import printable

SCHEMA = "lunguage.read/2"
"""Raised when a key changes its meaning or goes; new keys do not raise it."""

_STYLES = {
    "present": "bold red",
    "open": "bold yellow",
    "absent": "blue",
    "part": "cyan",
    "past": "dim underline",
    "out": "strike dim",
    "hedge": "italic yellow",
    "detail": "underline",
    "silent": "dim",
}
"""Of a row's tone, or of a kind of pieces."""
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Numbers of sentences are raised, so that they do not look like the text's own."""


class ReportForm(NamedTuple):
    """The form of a page that takes a report.

    Args:
        report: the text that was posted.
        views: the views that were posted.
        problem: what was wrong with them; empty: nothing.
        downloads: names of files that can be downloaded.
    """

    report: str = ""
    views: str = ""
    problem: str = ""
    downloads: Sequence[str] = ()


def read_page(reports: Sequence[ShownReport], form: ReportForm | None = None) -> str:
    """Write the page of some reports.

    Args:
        reports: in the order of the page.
        form: posts the next report to `/`; None: the page only shows.
    """
    return page_template("read", "page.html.j2").render(reports=reports, form=form)


def notebook_frame(frames: Frames, counts: str) -> str:
    """Write the page of some reports in a frame of its own, with `counts` below it."""
    page = escape(read_page(shown_reports(frames)))
    # In a frame the page's styles leave the notebook alone; `sandbox` forbids it
    # scripts and forms.
    style = "width: 100%; height: 34rem; border: 0"
    frame = f'<iframe sandbox srcdoc="{page}" style="{style}"></iframe>'
    return f"{frame}<p>{escape(counts)}</p>"


def json_document(frames: Frames) -> str:
    """Write the documents of reports, one line end at the end."""
    document = {"schema": SCHEMA, "reports": documents(frames)}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


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
    console.print(Padding(_marked_text(report), (1, 2)))
    if report.rows:
        console.print(Padding(_table_of_findings(report), (1, 0, 0, 0)))
    elif report.is_read:
        console.print(Text("No finding is stated.", style="bold"))
    contradictions = [": ".join(sides) for sides in report.contradictions]
    print_list("contradicts", contradictions, console)
    left_out = [f"{row.title} {row.claim}; {row.why}" for row in report.left_out]
    print_list("left out", left_out, console)
    labels = [
        f"{label.name} {label.p} ({label.claim})".replace("  ", " ")
        for label in report.labels
    ]
    print_list("labels", [", ".join(labels)], console)


def print_list(heading: str, lines: Sequence[str], console: Console) -> None:
    """Print lines below a heading; without words nothing.

    Args:
        heading: of the list.
        lines: may hold anything: control characters become blanks.
        console: to print on.
    """
    if any(lines):
        console.print(Padding(Text(heading, style="bold cyan"), (1, 0, 0, 0)))
        console.print(Padding(Text("\n".join(map(printable, lines))), (0, 2)))


def _marked_text(report: ShownReport) -> Text:
    """Mark the pieces of the text, each sentence with its number."""
    text = Text()
    for piece in report.pieces:
        if piece.sentence:
            text.append(str(piece.sentence).translate(_RAISED), "dim")
        name = piece.kind
        if name == "finding":
            # Rows that share a piece have it in the colour of the first.
            name = piece.rows[0].tone
        lines = map(printable, piece.text.split("\n"))
        text.append("\n".join(lines), _STYLES.get(name, ""))
    return text


def _table_of_findings(report: ShownReport) -> RichTable:
    table = RichTable(
        Column(justify="right", style="dim"),
        Column("finding", ratio=3, overflow="fold"),
        Column(max_width=14),
        Column("p (interval)", no_wrap=True),
        Column("why", ratio=4, overflow="fold", style="dim"),
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for row in report.rows:
        # What a finding implies stands below it, one step to the right.
        arrow = "  " * row.depth + "↳ " * bool(row.depth)
        table.add_row(
            str(row.number),
            Text(arrow + printable(row.title), _STYLES[row.tone]),
            row.claim,
            row.believed,
            Text(printable(row.why)),
        )
    return table
