"""Refuses a person's correction of a row that no batch has.

Rows of raw reports get new ids when they are read otherwise: nobody would notice that a
correction corrects nothing.
"""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_table
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges import CORRECTION_COLUMNS
from lunguage_assets.tables import FINDINGS
from lunguage_assets.tables.columns import A_STATED_ROW
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
    if not home.corrections_file.exists():
        return
    studies = set(findings["study_id"])
    known_ids = set(findings["finding_id"])
    corrections = edited_table(home.corrections_file, CORRECTION_COLUMNS)
    number: Any
    for number, finding_id in corrections["finding_id"].str.strip().items():
        study = finding_id.partition(":")[0]
        if study not in studies or finding_id in known_ids:
            continue
        # An amended report may have fewer rows than the version that was corrected.
        if _is_stored(home, study, finding_id):
            continue
        # Any other text may be words of a report, and is not repeated.
        is_id = re.fullmatch(A_STATED_ROW, finding_id, re.ASCII)
        raise InputError(
            home.corrections_file.name,
            f"{finding_id if is_id else 'an id'} that no row of the study has",
            "the finding id of a row, as the review queue has it "
            "(review/<judge>/<batch>.csv)",
            "Ids of raw reports number the rows of a study, from 0001. Copy the id "
            "anew, or delete the row.",
            row=number,
            column="finding_id",
        )


def _is_stored(home: Home, study: str, finding_id: str) -> bool:
    """Whether a row of any batch has the id."""
    for batch in home.registered():
        path = partition_path(home.tables, FINDINGS.name, batch.key)
        if not path.exists():
            continue
        with path.open("rb") as stream:
            rows = read_study(stream, study)
        if finding_id in rows.column("finding_id").to_pylist():
            return True
    return False
