"""Collects rejections and notes while a delivery is read.

Their codes and words are in `resources/reasons.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pandas as pd
from pydantic import RootModel

from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import INTAKE_NOTES, REJECTED
from lunguage_assets.tables.schema import Table

_LONGEST_FOUND = 80
"""Characters of a value that was found that are kept: it may be a text."""
_NOTHING = pd.DataFrame()
_WHOLE_FILE = pd.DataFrame(index=[0])


@cache
def reasons() -> dict[str, Any]:
    """Read the reasons by code.

    `rejections` have the expected form and the remedy, `notes` what was done; `columns`
    have the rejection of a cell that cannot be read.
    """
    return read_as(resource("reasons.yaml"), RootModel[dict[str, Any]]).root


class IntakeLog:
    """Rows for `tables.REJECTED` and `tables.INTAKE_NOTES`.

    Args:
        rejected: what an earlier step rejected, if there was one.
        notes: what it noted.
    """

    def __init__(
        self, rejected: pd.DataFrame = _NOTHING, notes: pd.DataFrame = _NOTHING
    ) -> None:
        self._rejected = [rejected]
        self._notes = [notes]

    def reject(self, rows: pd.DataFrame, **cells: Any) -> None:
        """Record rows that are not used.

        Args:
            rows: `reason` (a code of a rejection), and further columns of
                `tables.REJECTED`.
            cells: of these: `file`, `line` (1-based record in the file), `study_id`,
                the `column` that is wrong, what was `found` there, and the row's whole
                `content`, so that it can be corrected.
        """
        self._rejected.append(rows.assign(**cells))

    def note(
        self,
        reason: str | pd.Series,
        rows: pd.DataFrame = _WHOLE_FILE,
        **cells: Any,
    ) -> None:
        """Record repaired or noteworthy values.

        Args:
            reason: a code of a note, or one for each row.
            rows: with `file`; with the 1-based `line` in it, `study_id` and
                `finding_id` where they have them.
            cells: of these, and the `column` and what was `found` in it. Of a whole
                file they are all there is.
        """
        self._notes.append(rows.assign(reason=reason, **cells))

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
        return INTAKE_NOTES.frame(rows.assign(number=rows.index, done=done))


def _rows(table: Table, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put rows into a table's columns; what was not said is empty."""
    rows = pd.concat(frames, ignore_index=True).reindex(columns=table.names)
    texts = rows.astype(object).fillna("")
    found = texts["found"].str[:_LONGEST_FOUND]
    return texts.assign(found=found, line=rows["line"])
