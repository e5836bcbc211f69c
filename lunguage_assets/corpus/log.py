"""Collects rejections and notes while a delivery is read; their codes and words are in
`resources/reasons.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import pandas as pd
import yaml

from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import INTAKE_NOTES, REJECTED

_SHOWN = 80


@cache
def reasons() -> Mapping[str, Mapping[str, Any]]:
    """By code: `rejections`, with the expected form and the remedy, and `notes`, what was done."""
    read: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
        resource("reasons.yaml").read_text("utf-8")
    )
    return read


class IntakeLog:
    """Rows for `tables.REJECTED` and `tables.INTAKE_NOTES`."""

    def __init__(self) -> None:
        self._rejected: list[dict[str, object]] = []
        self._notes: list[dict[str, object]] = []

    @classmethod
    def of(cls, rejected: pd.DataFrame, notes: pd.DataFrame) -> Self:
        """A log that begins with what an earlier step rejected and noted."""
        log = cls()
        log._rejected = [
            {str(name): row[name] for name in row}
            for row in rejected.to_dict("records")
        ]
        for row in notes.drop(columns="number").to_dict("records"):
            row["line"] = None if row["line"] is pd.NA else row["line"]
            log._notes.append({str(name): row[name] for name in row})
        return log

    def reject(self, reason: str, file: str, line: int, **cells: str) -> None:
        """Record a row that is not used: `study_id`, `column`, what was `found` there, and its whole
        `content`, so that it can be corrected.
        """
        place: dict[str, object] = {
            "file": file,
            "line": line,
            "study_id": "",
            "column": "",
        }
        place |= {"found": "", "content": ""} | cells
        place |= {"found": str(place["found"])[:_SHOWN], "reason": reason}
        self._rejected.append(place | reasons()["rejections"][reason])

    def note(
        self, reason: str, file: str, *, line: int | None = None, **cells: str
    ) -> None:
        """Record a repaired or noteworthy value: `study_id`, `finding_id`, `column`, and what was `found`."""
        place: dict[str, object] = {
            "file": file,
            "line": line,
            "study_id": "",
            "finding_id": "",
        }
        place |= {"column": "", "found": ""} | cells
        place |= {
            "found": str(place["found"])[:_SHOWN],
            "reason": reason,
            "done": reasons()["notes"][reason],
        }
        self._notes.append(place)

    def extend(self, *others: IntakeLog) -> None:
        """Take over what others noted, in their order."""
        for one in others:
            self._notes += one._notes

    def rejected_frame(self) -> pd.DataFrame:
        """`tables.REJECTED`, by file and line."""
        return REJECTED.frame(
            sorted(self._rejected, key=lambda row: (str(row["file"]), row["line"]))
        )

    def notes_frame(self) -> pd.DataFrame:
        """`tables.INTAKE_NOTES`, in the order of their noting."""
        return INTAKE_NOTES.frame(
            [{"number": number, **row} for number, row in enumerate(self._notes)]
        )
