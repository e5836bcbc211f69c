"""Collects rejections and notes while a delivery is read.

Their codes and words are in `resources/reasons.yaml`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

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
    """Rows for `tables.REJECTED` and `tables.INTAKE_NOTES`.

    Args:
        rejected: what an earlier step rejected, if there was one.
        notes: what it noted.
    """

    def __init__(
        self, rejected: pd.DataFrame | None = None, notes: pd.DataFrame | None = None
    ) -> None:
        self._rejected: list[Any] = []
        self._notes: list[Any] = []
        if rejected is not None:
            self._rejected = rejected.to_dict("records")
        if notes is not None:
            # A note about a whole file has no line, and a frame's word for that is NA.
            lines = notes["line"].astype(object).where(notes["line"].notna(), None)
            self._notes = notes.assign(line=lines).to_dict("records")

    def reject(self, rows: pd.DataFrame) -> None:
        """Record rows that are not used.

        Args:
            rows: `file`, `line` (1-based record in the file), `study_id`, `reason` (a
                code of a rejection), the `column` that is wrong, what was `found`
                there, and the row's whole `content`, so that it can be corrected.
        """
        for row in rows.to_dict("records"):
            row["found"] = row["found"][:_LONGEST_FOUND]
            self._rejected.append(row | reasons()["rejections"][row["reason"]])

    def note(
        self, reason: str, file: str, *, line: Hashable = None, **cells: str
    ) -> None:
        """Record a repaired or noteworthy value.

        Args:
            reason: a code of a note.
            file: the name of the delivered file.
            line: 1-based record in the file; None: the note is about the whole file.
            cells: `study_id`, `finding_id`, `column`, and what was `found`.
        """
        row: dict[str, Any] = {**dict.fromkeys(INTAKE_NOTES.names, ""), **cells}
        row["found"] = row["found"][:_LONGEST_FOUND]
        done = reasons()["notes"][reason]
        self._notes.append(
            row | {"reason": reason, "file": file, "line": line, "done": done}
        )

    def note_rows(
        self, reason: str, rows: pd.DataFrame, column: str, found_in: str = ""
    ) -> None:
        """Note the same of many rows.

        Args:
            reason: a code of a note.
            rows: with `file`; with `line`, `study_id` and `finding_id` where they have
                them.
            column: that the notes are about.
            found_in: the column of the rows that has what was found; empty: nothing
                was.
        """
        for row in rows.to_dict("records"):
            self.note(
                reason,
                row["file"],
                line=row.get("line"),
                study_id=row.get("study_id", ""),
                finding_id=row.get("finding_id", ""),
                column=column,
                found=row.get(found_in, ""),
            )

    def rejected_frame(self) -> pd.DataFrame:
        """Return `tables.REJECTED`, by file and line."""
        rows = sorted(self._rejected, key=lambda row: (str(row["file"]), row["line"]))
        return REJECTED.frame(rows)

    def notes_frame(self) -> pd.DataFrame:
        """Return `tables.INTAKE_NOTES`, in the order of their noting."""
        return INTAKE_NOTES.frame(
            [{**row, "number": number} for number, row in enumerate(self._notes)]
        )
