"""Collects rejections and notes while a delivery is read; their codes and words are in
`resources/reasons.yaml`.
"""

from __future__ import annotations

from functools import cache
from typing import Self

import pandas as pd
from pydantic import BaseModel, ConfigDict

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.tables import INTAKE_NOTES, REJECTED

_SHOWN = 80


class Reason(BaseModel):
    """The expected form of a rejected record, and the remedy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expected: str
    remedy: str


class Reasons(BaseModel):
    """`resources/reasons.yaml`: by code, why a record is rejected, or what was noticed and done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rejections: dict[str, Reason]
    notes: dict[str, str]


@cache
def reasons() -> Reasons:
    """The one list of codes."""
    return read_as(resource("reasons.yaml"), Reasons)


class IntakeLog:
    """Rows for `tables.REJECTED` and `tables.INTAKE_NOTES`."""

    def __init__(self) -> None:
        self._rejected: list[dict[str, object]] = []
        self._notes: list[dict[str, object]] = []

    @classmethod
    def of(cls, rejected: pd.DataFrame, notes: pd.DataFrame) -> Self:
        """A log that begins with what an earlier step rejected and noted."""
        log = cls()
        log._rejected = _rows(rejected)
        log._notes = [
            {**row, "line": None if row["line"] is pd.NA else row["line"]}
            for row in _rows(notes.drop(columns="number"))
        ]
        return log

    def reject(
        self,
        reason: str,
        file: str,
        line: int,
        *,
        column: str = "",
        found: str = "",
        study_id: str = "",
        content: str = "",
    ) -> None:
        """Record a row that is not used; `content` is the whole row, so that it can be corrected."""
        place = {"file": file, "line": line, "study_id": study_id, "column": column, "found": found[:_SHOWN]}
        self._rejected.append(
            place | reasons().rejections[reason].model_dump() | {"reason": reason, "content": content}
        )

    def note(
        self,
        reason: str,
        file: str,
        *,
        line: int | None = None,
        study_id: str = "",
        finding_id: str = "",
        column: str = "",
        found: str = "",
    ) -> None:
        """Record a repaired or noteworthy value."""
        self._notes.append(
            {
                "file": file,
                "line": line,
                "study_id": study_id,
                "finding_id": finding_id,
                "column": column,
                "reason": reason,
                "found": found[:_SHOWN],
                "done": reasons().notes[reason],
            }
        )

    def rejected_frame(self) -> pd.DataFrame:
        return REJECTED.frame(sorted(self._rejected, key=lambda row: (str(row["file"]), row["line"])))

    def notes_frame(self) -> pd.DataFrame:
        return INTAKE_NOTES.frame([{"number": number, **row} for number, row in enumerate(self._notes)])


def _rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
