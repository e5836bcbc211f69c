"""A raw report as it was delivered, whatever the layout it came in, and ids of studies and patients from
whatever a hospital calls them.

Numbers of up to 18 digits stay themselves, filled up to eight. Any other id stands as a number of 17 digits
that follows from the id alone, so that it is the same in every delivery.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from lunguage_assets.corpus import columns

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
        broken: reason code when the record itself could not be read (resources/reasons.yaml).
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


_LOWEST = 10**16


def study_of(written: str) -> str:
    """'s' and 8 to 18 digits for an id as delivered, which is not empty."""
    return columns.study_id(written) or f"s{_number('study', written)}"


def patient_of(written: str) -> str:
    """'p' and 8 to 18 digits for an id as delivered, which is not empty."""
    return columns.subject_id(written) or f"p{_number('patient', written)}"


def own_patient_of(study_id: str) -> str:
    """The patient of a study of whom nothing is known: nobody else's, whatever their ids."""
    return f"p{_number('patient of study', study_id)}"


def is_number(written: str) -> bool:
    """Whether the id is kept as it is, but for zeros in front."""
    return columns.study_id(written) is not None or columns.subject_id(written) is not None


def _number(kind: str, written: str) -> int:
    digest = hashlib.sha256(f"{kind}\0{written.strip()}".encode("utf-8", "backslashreplace")).digest()
    return _LOWEST + int.from_bytes(digest[:8], "big") % (9 * _LOWEST)
