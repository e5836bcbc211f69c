"""A raw report as it was delivered, whatever the layout it came in; nothing is judged or mended yet."""

from __future__ import annotations

from dataclasses import dataclass, field

LARGEST = 1_000_000
"""Bytes of the largest text that can be one report; of a larger one only a little more is read."""


@dataclass(frozen=True, slots=True)
class RawReport:
    """One delivered record.

    Args:
        file: the delivered file; for a folder or a package the path inside it.
        line: 1-based record in the file; 1 for a file of one report.
        study: the study's id as delivered; empty when there is none.
        patient: the patient's id as delivered; empty when there is none.
        taken_at: date, or date and time, as delivered; empty when unknown.
        views: codes of projections as delivered; empty when unknown.
        procedure: name of the examination as delivered, which may name projections.
        content: bytes of the text; those of a table are UTF-8 unless the table is not.
        broken: reason code when the record itself could not be read (`corpus.reasons.REJECTIONS`).
    """

    file: str
    line: int
    study: str
    patient: str = ""
    taken_at: str = ""
    views: str = ""
    procedure: str = ""
    content: bytes = field(default=b"", repr=False)
    broken: str = ""
