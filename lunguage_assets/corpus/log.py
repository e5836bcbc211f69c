"""Collects rejections and notes while a delivery is read.

Their codes and words are in `resources/reasons.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd
import yaml

from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import INTAKE_NOTES, REJECTED
from lunguage_assets.tables.schema import Table

_LONGEST_FOUND = 80
"""Characters of a value that was found that are kept: it may be a text."""
_NOTHING = pd.DataFrame()


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
        self, rejected: pd.DataFrame = _NOTHING, notes: pd.DataFrame = _NOTHING
    ) -> None:
        self._rejected: list[Any] = rejected.to_dict("records")
        self._notes: list[Any] = notes.to_dict("records")

    def reject(self, rows: pd.DataFrame, **cells: Any) -> None:
        """Record rows that are not used.

        Args:
            rows: `reason` (a code of a rejection), and further columns of
                `tables.REJECTED`.
            cells: of these: `file`, `line` (1-based record in the file), `study_id`,
                the `column` that is wrong, what was `found` there, and the row's whole
                `content`, so that it can be corrected.
        """
        self._rejected += rows.assign(**cells).to_dict("records")

    def note(self, reason: str, file: str, **cells: Any) -> None:
        """Record a repaired or noteworthy value.

        Args:
            reason: a code of a note.
            file: the name of the delivered file.
            cells: the 1-based `line` in it, where the note is not about the whole file,
                `study_id`, `finding_id`, `column`, and what was `found`.
        """
        self._notes.append({"reason": reason, "file": file, **cells})

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
        cells = rows.filter(["file", "line", "study_id", "finding_id"])
        found = rows[found_in] if found_in else ""
        notes = cells.assign(reason=reason, column=column, found=found)
        self._notes += notes.to_dict("records")

    def rejected_frame(self) -> pd.DataFrame:
        """Return `tables.REJECTED`, by file and line."""
        words = pd.DataFrame(reasons()["rejections"]).T
        rows = _rows(REJECTED, self._rejected).sort_values(["file", "line"])
        rows[words.columns] = words.loc[rows["reason"]].to_numpy()
        return REJECTED.frame(rows)

    def notes_frame(self) -> pd.DataFrame:
        """Return `tables.INTAKE_NOTES`, in the order of their noting."""
        rows = _rows(INTAKE_NOTES, self._notes)
        done = rows["reason"].map(reasons()["notes"])
        rows = rows.assign(number=rows.index, done=done)
        return INTAKE_NOTES.frame(rows)


def _rows(table: Table, rows: Sequence[Mapping[Any, Any]]) -> pd.DataFrame:
    """Put rows into a table's columns; what was not said is empty."""
    frame = pd.DataFrame(rows, columns=table.names, dtype=object)
    lines = frame["line"].astype("Int64")
    found = frame["found"].str[:_LONGEST_FOUND]
    return frame.assign(found=found).fillna("").assign(line=lines)
