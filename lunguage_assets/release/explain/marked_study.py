"""The sentences from which a study's rows were read, marked up as `lunguage read` marks a report.

A delivered row says its sentence and its words, not where they stand: they are looked for in the sentence.
Words that are not there (a finding that a sentence only means) are not marked. Sentences without a row are
not stored beside the rows, so they are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lunguage_assets.release.explain.explain_wording import SECTIONS, shown
from lunguage_assets.release.explain.marks import (
    FINDING,
    OUT,
    PAST,
    PHRASE,
    MarkedPiece,
    Piece,
    ReadSentence,
    ReadSpan,
    nearest,
    pieces,
    tone_of,
)
from lunguage_assets.release.explain.story import RowStory
from lunguage_assets.release.explain.study_record import Record, StudyRecord
from lunguage_assets.tables import ATTRIBUTES

_DETAILS = ("location", *ATTRIBUTES)


def tone_of_row(row: Record, fate: str) -> str:
    """Removed rows are struck through, history is past; a merged row keeps its colour."""
    return {"removed": OUT, "discarded": OUT, "excluded": PAST}.get(fate, tone_of(row["status"]))


def marked_study(record: StudyRecord, rows: Mapping[str, RowStory]) -> tuple[MarkedPiece, ...]:
    """The study's sentences by section and number, each with its marks.

    Args:
        record: what is stored about the study.
        rows: of every stated row, by finding id.
    """
    stated = record.tables["deduplicated_findings"]
    phrases = {row["finding_id"]: row["phrases"] for row in record.tables["fitted_probabilities"]}
    text, sentences = _laid_out(stated)
    places = {(sentence.section, sentence.number): sentence for sentence in sentences}
    spans = [
        span
        for row in stated
        for span in _spans(row, phrases.get(row["finding_id"], ()), text, places[_place(row)])
    ]
    return tuple(_marked(piece, rows) for piece in pieces(text, spans, sentences))


def _place(row: Record) -> tuple[str, int]:
    return row["section"], row["sent_idx"]


def _laid_out(stated: Sequence[Record]) -> tuple[str, list[ReadSentence]]:
    """The sentences below the headings of their sections, and where each stands."""
    said = {_place(row): shown(row["sent"]).strip() for row in stated}
    text, sentences = "", []
    for section, heading in SECTIONS.items():
        numbers = sorted(number for of, number in said if of == section)
        if numbers:
            text += f"{chr(10) * 2 if text else ''}{heading.upper()}\n"
        for number in numbers:
            text += "" if text.endswith("\n") else " "
            begin = len(text)
            text += said[section, number]
            sentences.append(ReadSentence(section, number, begin, len(text), "findings", ""))
    return text, sentences


def _spans(row: Record, phrases: Sequence[str], text: str, sentence: ReadSentence) -> list[ReadSpan]:
    """Where the row's words stand in its sentence; the finding that is nearest to its place."""
    own, begin, end = row["finding_id"], sentence.begin, sentence.end
    details = [
        (name, *place)
        for name in _DETAILS
        for part in str(row[name] or "").split(",")
        if part.strip()
        for place in nearest(shown(part), text, begin, end, begin)
    ]
    near = next((place for name, place, _ in details if name == "location"), begin)
    finding = [("ent", *place) for place in nearest(shown(row["ent"]), text, begin, end, near)]
    near = finding[0][1] if finding else begin
    hedges = [
        (PHRASE, *place) for phrase in phrases for place in nearest(shown(phrase), text, begin, end, near)
    ]
    return [ReadSpan(own, *span) for span in (*finding, *hedges, *details)]


def _marked(piece: Piece, rows: Mapping[str, RowStory]) -> MarkedPiece:
    read = [rows[own] for own in piece.rows]
    if not read:
        return MarkedPiece(piece.text, piece.kind)
    why = (
        "\n\n".join(f"{row.title}\n{row.in_short}" for row in read)
        if piece.kind == FINDING
        else "; ".join(f"{piece.kind} of {row.title}" for row in read)
    )
    numbers = tuple(row.idx for row in read if row.idx is not None)
    return MarkedPiece(piece.text, piece.kind, read[0].tone, numbers, why)
