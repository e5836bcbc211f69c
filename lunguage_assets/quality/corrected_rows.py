"""Refuses a person's correction of a row that no batch has.

Rows of raw reports get new ids when they are read otherwise: nobody would notice that a
correction corrects nothing.
"""

from __future__ import annotations

import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_table, refuse_rows
from lunguage_assets.explicit.hedges import CORRECTION_COLUMNS
from lunguage_assets.tables import FINDINGS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.parquet_rows import read_study
from lunguage_assets.workspace.store import partition_path


def require_known_rows(home: Home, findings: pd.DataFrame) -> None:
    """Refuse a correction of a raw report's row that no batch has.

    Args:
        home: the home with the corrections file.
        findings: `FINDINGS` frame of a batch of raw reports.

    Raises:
        InputError: the study of a correction is in the batch, and no stored row has its
            id.
    """
    file = home.corrections_file
    if not file.exists():
        return
    corrections = edited_table(file, CORRECTION_COLUMNS)
    ids = corrections["finding_id"].str.strip()
    studies = ids.str.partition(":")[0]
    is_of_batch = studies.isin(findings["study_id"])
    is_known = ids.isin(findings["finding_id"])
    is_wrong = is_of_batch & ~is_known
    # An amended report may have fewer rows than the version that was corrected.
    for row in ids.index[is_wrong]:
        is_wrong[row] = not _is_stored(home, ids[row])
    refuse_rows(
        file,
        is_wrong,
        "finding_id",
        "an id that no row of the study has",
        "the finding id of a row, as the review queue has it "
        "(review/<judge>/<batch>.csv)",
        "Ids of raw reports number the rows of a study, from 0001. Copy the id anew, "
        "or delete the row.",
    )


def _is_stored(home: Home, finding_id: str) -> bool:
    """Whether a row of any batch has the id."""
    study = finding_id.partition(":")[0]
    for batch in home.registered():
        path = partition_path(home.tables, FINDINGS.name, batch.key)
        if not path.exists():
            continue
        with path.open("rb") as stream:
            rows = read_study(stream, study)
        if finding_id in rows.column("finding_id").to_pylist():
            return True
    return False
