"""Reports as one HTML page that needs nothing else; the page is `resources/read/page.html.j2`.

Whatever a report says is escaped. The page has no script, loads nothing, and no browser may let it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lunguage_assets.annotation.showing.marks import COLOURS, FINDING, OUTSIDE, SILENT, MarkedPiece, Piece
from lunguage_assets.annotation.showing.shown import ShownReport, ShownRow
from lunguage_assets.data_files import page_template

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""Content security policy of a page that only shows."""


@dataclass(frozen=True, slots=True)
class ReportForm:
    """The form of a page that takes a report: what was given, and what was wrong with it."""

    report: str = ""
    views: str = ""
    problem: str = ""


def read_page(reports: Sequence[ShownReport], form: ReportForm | None = None, policy: str = POLICY) -> str:
    """The page of some reports; with `form` it has a form that posts the next one to `/`."""
    template = page_template("read", "page.html.j2")
    return template.render(reports=reports, pieces_of=_marked, form=form, colours=COLOURS, policy=policy)


def _marked(report: ShownReport) -> list[MarkedPiece]:
    rows = report.by_id
    marked = []
    for piece in report.pieces:
        read = [rows[own] for own in piece.rows]
        numbers = tuple(row.number for row in read if row.number)
        marked.append(
            MarkedPiece(piece.text, piece.kind, read[0].tone if read else "", numbers, _why(piece, read))
        )
    return marked


def _why(piece: Piece, rows: Sequence[ShownRow]) -> str:
    if piece.kind == FINDING:
        return "\n\n".join(row.reason for row in rows)
    if rows:
        return "; ".join(f"{piece.kind} of {row.title}" for row in rows)
    if piece.kind in (SILENT, OUTSIDE) and piece.sentence is not None and piece.text.strip():
        account, reason = piece.sentence.account, piece.sentence.reason
        return f"{account}: {reason}" if reason else account
    return ""
