"""Reports as one HTML page that needs nothing else; the page is `resources/read/page.html.j2`.

Whatever a report says is escaped. The page has no script, loads nothing, and no browser may let it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lunguage_assets.annotation.showing.marks import FINDING, OUTSIDE, SILENT, Piece
from lunguage_assets.annotation.showing.shown import ABSENT, OPEN, PRESENT, ShownReport, ShownRow
from lunguage_assets.data_files import resource

if TYPE_CHECKING:
    from jinja2 import Template

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""Content security policy of a page that only shows."""

_COLOURS = {PRESENT: "#b4451f", OPEN: "#8a6100", ABSENT: "#24598f"}


@dataclass(frozen=True, slots=True)
class _Marked:
    """A piece of text as the page draws it."""

    text: str
    kind: str
    tone: str
    numbers: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Asked:
    """The form of a page that takes a report: what was given, and what was wrong with it."""

    report: str = ""
    views: str = ""
    problem: str = ""


def read_page(reports: Sequence[ShownReport], asked: Asked | None = None, policy: str = POLICY) -> str:
    """The page of some reports; with `asked` it has a form that posts the next one to `/`."""
    form = asked or Asked()
    shown = [
        {
            "study_id": report.study_id,
            "views": report.views,
            "remarks": report.remarks,
            "marked": list(_marked(report)),
            "rows": report.rows,
            "rows_in_order": [row for row in report.by_id.values() if row.number and not row.is_left_out],
            "contradictions": report.contradictions,
            "left_out": report.left_out,
            "labels": report.labels,
        }
        for report in reports
    ]
    return _template().render(
        reports=shown,
        asks=asked is not None,
        given=form.report,
        views=form.views,
        problem=form.problem,
        colours=_COLOURS,
        policy=policy,
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(resource("read", "page.html.j2").read_text(encoding="utf-8"))


def _marked(report: ShownReport) -> Iterator[_Marked]:
    rows = report.by_id
    for piece in report.pieces:
        read = [rows[own] for own in piece.rows]
        yield _Marked(
            piece.text,
            piece.kind,
            read[0].tone if read else "",
            tuple(row.number for row in read if row.number),
            _why(piece, read),
        )


def _why(piece: Piece, rows: Sequence[ShownRow]) -> str:
    if piece.kind == FINDING:
        return "\n\n".join(row.reason for row in rows)
    if rows:
        return "; ".join(f"{piece.kind} of {row.title}" for row in rows)
    if piece.kind in (SILENT, OUTSIDE) and piece.sentence is not None and piece.text.strip():
        account, reason = piece.sentence.account, piece.sentence.reason
        return f"{account}: {reason}" if reason else account
    return ""
