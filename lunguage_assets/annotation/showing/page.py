"""Reports as one HTML page that needs nothing else; the page is `resources/read/page.html.j2`.

Whatever a report says is escaped. The page has no script, loads nothing, and no browser may let it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lunguage_assets.annotation.showing.shown import ShownReport, ShownRow
from lunguage_assets.data_files import page_template
from lunguage_assets.release.explain.marks import COLOURS, FINDING, OUTSIDE, SILENT, MarkedPiece, Piece

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""Content security policy of a page that only shows."""


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
    return page_template("read", "page.html.j2").render(
        reports=shown,
        asks=asked is not None,
        given=form.report,
        views=form.views,
        problem=form.problem,
        colours=COLOURS,
        policy=policy,
    )


def _marked(report: ShownReport) -> Iterator[MarkedPiece]:
    rows = report.by_id
    for piece in report.pieces:
        read = [rows[own] for own in piece.rows]
        yield MarkedPiece(
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
