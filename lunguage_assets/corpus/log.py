"""Collects rejections and notes while a delivery is read.

Their codes and words are in `resources/reasons.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import pandas as pd
import yaml

from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import INTAKE_NOTES, REJECTED

_LONGEST_FOUND = 80
"""Characters of a value that was found that are kept: it may be a text."""


@cache
def reasons() -> Mapping[str, Mapping[str, Any]]:
    """Read the reasons by code.

    `rejections` have the expected form and the remedy, `notes` what was done.
    """
    text = resource("reasons.yaml").read_text("utf-8")
    by_code: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)
    return by_code


class IntakeLog:
    """Rows for `tables.REJECTED` and `tables.INTAKE_NOTES`."""

    def __init__(self) -> None:
        """Begin without a row."""
        self._rejected: list[dict[str, object]] = []
        self._notes: list[dict[str, object]] = []

    @classmethod
    def of(cls, rejected: pd.DataFrame, notes: pd.DataFrame) -> Self:
        """Begin a log with what an earlier step rejected and noted."""
        log = cls()
        for row in rejected.to_dict("records"):
            log._rejected.append({str(name): value for name, value in row.items()})
        # Notes are numbered anew.
        for row in notes.drop(columns="number").to_dict("records"):
            note = {str(name): value for name, value in row.items()}
            # A note about a whole file has no line, and a frame's word for that is NA.
            if note["line"] is pd.NA:
                note["line"] = None
            log._notes.append(note)
        return log

    def reject(self, reason: str, file: str, line: int, **cells: str) -> None:
        """Record a row that is not used.

        Args:
            reason: a code of a rejection.
            file: the name of the delivered file.
            line: 1-based record in the file.
            cells: `study_id`, `column`, what was `found` there, and the row's whole
                `content`, so that it can be corrected.
        """
        row: dict[str, object] = {
            "file": file,
            "line": line,
            "study_id": "",
            "column": "",
            "found": "",
            "content": "",
        }
        row |= cells
        row["found"] = cells.get("found", "")[:_LONGEST_FOUND]
        row["reason"] = reason
        row |= reasons()["rejections"][reason]
        self._rejected.append(row)

    def note(
        self, reason: str, file: str, *, line: int | None = None, **cells: str
    ) -> None:
        """Record a repaired or noteworthy value.

        Args:
            reason: a code of a note.
            file: the name of the delivered file.
            line: 1-based record in the file; None: the note is about the whole file.
            cells: `study_id`, `finding_id`, `column`, and what was `found`.
        """
        row: dict[str, object] = {
            "file": file,
            "line": line,
            "study_id": "",
            "finding_id": "",
            "column": "",
            "found": "",
        }
        row |= cells
        row["found"] = cells.get("found", "")[:_LONGEST_FOUND]
        row["reason"] = reason
        row["done"] = reasons()["notes"][reason]
        self._notes.append(row)

    def extend(self, *logs: IntakeLog) -> None:
        """Take over what others noted, in their order."""
        for log in logs:
            self._notes += log._notes

    def rejected_frame(self) -> pd.DataFrame:
        """Return `tables.REJECTED`, by file and line."""
        rows = sorted(self._rejected, key=lambda row: (str(row["file"]), row["line"]))
        return REJECTED.frame(rows)

    def notes_frame(self) -> pd.DataFrame:
        """Return `tables.INTAKE_NOTES`, in the order of their noting."""
        return INTAKE_NOTES.frame(
            [{"number": number, **row} for number, row in enumerate(self._notes)]
        )
