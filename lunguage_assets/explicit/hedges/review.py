"""What a person decides about hedging phrases: a queue and a file of corrections.

Section 1 of docs/method/explicit.md. Only what is in the corrections file counts as
reviewed. Which pairs are put into the queue is decided in `phrases.py`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges.phrases import normal_phrase

CORRECTION_COLUMNS = ("finding_id", "phrases")


def load_corrections(path: Path) -> dict[str, list[str]]:
    """Read the phrases that a person gave to findings, by finding id.

    Args:
        path: CSV with `CORRECTION_COLUMNS`, phrases separated by ';'; it need not
            exist.

    Returns:
        Phrases in normal form.

    Raises:
        InputError: a missing column, a row with too few or too many values, an empty or
            repeated finding id.
    """
    corrections: dict[str, list[str]] = {}
    if not path.exists():
        return corrections
    for row_number, cells in edited_rows(path, CORRECTION_COLUMNS):
        finding_id = cells["finding_id"].strip()
        if not finding_id or finding_id in corrections:
            problem = "the finding id of an earlier row" if finding_id else "nothing"
            raise InputError(
                path.name,
                problem,
                "every finding id once",
                "Fix or delete the row.",
                row=row_number,
                column="finding_id",
            )
        # An empty cell is a correction, too: nothing hedges the finding.
        phrases = dict.fromkeys(map(normal_phrase, cells["phrases"].split(";")))
        corrections[finding_id] = [phrase for phrase in phrases if phrase]
    return corrections


def review_queue(hedges: pd.DataFrame) -> pd.DataFrame:
    """List the pairs that a person should look at; every column is text.

    Copy finding_id and the right phrases (separated by ';', empty for none) into the
    corrections file.
    """
    rows = hedges[hedges["needs_review"].to_numpy(dtype=bool)]
    queue = rows[["finding_id", "study_id", "ent", "sent", "phrases", "review_reason"]]
    queue = queue.rename(columns={"ent": "finding", "sent": "sentence"})
    queue = queue.assign(phrases=rows["phrases"].map(";".join))
    return queue.astype("str").reset_index(drop=True)
