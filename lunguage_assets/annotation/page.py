"""Reports on a terminal, as one HTML page, and as one JSON document.

The page is one file (`resources/read/page.html.j2`): it has no script, loads nothing,
and forbids browsers to. The terminal has the same (`terminal.txt.j2`). Whatever a
report says is escaped. The form of the document is in docs/read.md and keeps its
version. What is shown of a report is chosen in `shown.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from lunguage_assets.annotation.method import Frames
from lunguage_assets.annotation.shown import ShownReport, documents, shown_reports
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.row_words import printable

SCHEMA = "lunguage.read/2"
"""Raised when a key changes its meaning or goes; new keys do not raise it."""


_NO_MARKUP = str.maketrans("[\\", "⟦⧵")
"""What of a report's words may begin or end markup, and its stand-ins until it is read.

rich has an escape, which loses a backslash beside a bracket.
"""
_AS_WRITTEN = str.maketrans("⟦⧵", "[\\")


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
    page = read_page(shown_reports(frames))
    template = page_template("read", "notebook.html.j2")
    return template.render(page=page, counts=counts)


def json_document(frames: Frames) -> str:
    """Write the documents of reports, one line end at the end."""
    document = {"schema": SCHEMA, "reports": documents(frames)}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def print_report(report: ShownReport, console: Console) -> None:
    """Print a report.

    Nothing in it is taken for markup, and no control character reaches the terminal.
    """
    template = page_template("read", "terminal.txt.j2")
    marked_up = template.render(
        report=report, no_markup=_NO_MARKUP, width=console.width - 5
    )
    lines = map(printable, marked_up.split("\n"))
    text = Text.from_markup("\n".join(lines), emoji=False)
    text.plain = text.plain.translate(_AS_WRITTEN)
    console.print(text)
