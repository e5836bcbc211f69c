"""Translates corrections whose ids are of before rows were numbered in their study.

Until the code of `findings` was raised to 4, the id of a raw report's row ended in its
number in the whole batch: `s50000295:1202`, and not `s50000295:0012`. What an old id
means, only the stored findings with that id know, so a correction is translated before
they are replaced. An id that no row has is refused: nobody would notice that it
corrects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import pandas as pd

from lunguage_assets.corpus.intake import row_of_a_study
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges.review import CORRECTION_COLUMNS
from lunguage_assets.files import write_private
from lunguage_assets.locks import exclusive_lock
from lunguage_assets.spreadsheets import edited_rows, sheet
from lunguage_assets.tables import FINDINGS
from lunguage_assets.tables.columns import A_STATED_ROW
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.parquet_rows import read_rows
from lunguage_assets.workspace.store import partition_path, read_record

_CODES_NUMBERING_IN_BATCH = ("1", "2", "3")
"""Versions of the code of `findings` by which rows had their numbers in the batch."""

_NEW_ID = re.compile(r"s\d+:0\d{3}", re.ASCII)
"""An old id has no zero in front, so that what was translated is not done again."""


def translate_corrections(home: Home, batch: str) -> int:
    """Give corrections of a batch the ids that its rows get when they are read again.

    Call it before the stored findings of the batch are replaced. It changes nothing
    where there are none, or where their ids are new ones already. Of an amended study
    the newest batch that has the id decides.

    Returns:
        How many corrections have a new id.

    Raises:
        InputError: a correction's study was read here, and no row of it has or had that
            id; or the file cannot be used.
    """
    if not home.corrections_file.exists() or not _has_old_ids(home, batch):
        return 0
    # Batches may be read at the same time; each translates its own corrections.
    with exclusive_lock(home.root / ".corrections.lock"):
        numbered = edited_rows(home.corrections_file, CORRECTION_COLUMNS)
        rows = [row for _, row in numbered]
        old_ids: dict[int, str] = {}
        for position, row in enumerate(rows):
            finding_id = row["finding_id"].strip()
            if not _NEW_ID.fullmatch(finding_id):
                old_ids[position] = finding_id
        corrected_studies = set(map(_study_of, old_ids.values()))
        stored = _stored_rows(home, batch, corrected_studies)
        # Corrections of other batches' studies are not this batch's to translate.
        studies = corrected_studies & set(stored["study_id"])
        if not studies:
            return 0
        new_id_by_old = _new_ids(home, studies)
        for position, old_id in old_ids.items():
            if old_id in new_id_by_old:
                rows[position]["finding_id"] = new_id_by_old[old_id]
            elif _study_of(old_id) in studies and not _is_stored(home, old_id):
                raise _no_such_row(home, old_id, position + 1)
        _write_corrections(home, rows)
        return len(new_id_by_old.keys() & set(old_ids.values()))


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
    for number, row in edited_rows(home.corrections_file, CORRECTION_COLUMNS):
        finding_id = row["finding_id"].strip()
        if _study_of(finding_id) not in studies or finding_id in known_ids:
            continue
        # An amended report may have fewer rows than the version that was corrected.
        if not _is_stored(home, finding_id):
            raise _no_such_row(home, finding_id, number)


def _write_corrections(home: Home, rows: list[dict[str, str]]) -> None:
    cells = [list(rows[0])]
    for row in rows:
        cells.append([row[column] for column in rows[0]])
    write_private(home.corrections_file, sheet(cells).encode("utf-8"))


def _new_ids(home: Home, studies: Collection[str]) -> Mapping[str, str]:
    """Find the new id of every row of some studies that is stored with an old one."""
    new_id_by_old: dict[str, str] = {}
    # The newest batch comes last: it decides.
    for batch in home.registered():
        if batch.kind != "text" or not _has_old_ids(home, batch.key):
            continue
        rows = _stored_rows(home, batch.key, studies).sort_values(["study_id", "row"])
        numbers = rows.groupby("study_id").cumcount() + 1
        for old_id, study, number in zip(
            rows["finding_id"], rows["study_id"], numbers, strict=True
        ):
            new_id_by_old[old_id] = row_of_a_study(study, number)
    return new_id_by_old


def _is_stored(home: Home, finding_id: str) -> bool:
    """Whether a row of any batch has the id."""
    studies = {_study_of(finding_id)}
    for batch in home.registered():
        stored = _stored_rows(home, batch.key, studies)
        if finding_id in set(stored["finding_id"]):
            return True
    return False


def _has_old_ids(home: Home, batch: str) -> bool:
    """Whether the stored findings of a batch of raw reports have old ids."""
    path = partition_path(home.tables, FINDINGS.name, batch)
    try:
        # Its record counts, although findings had fewer columns then.
        record = read_record(path.read_bytes())
    except FileNotFoundError:
        return False
    return record is not None and record.made_of.code in _CODES_NUMBERING_IN_BATCH


def _stored_rows(home: Home, batch: str, studies: Collection[str]) -> pd.DataFrame:
    """Read ids and numbers of the stored rows of some studies; perhaps none."""
    columns = ["finding_id", "study_id", "row"]
    path = partition_path(home.tables, FINDINGS.name, batch)
    try:
        with path.open("rb") as stream:
            rows = read_rows(stream, "study_id", studies, columns)
    except FileNotFoundError:
        return FINDINGS.frame()[columns]
    frame: pd.DataFrame = rows.to_pandas()
    return frame


def _study_of(finding_id: str) -> str:
    return finding_id.strip().partition(":")[0]


def _no_such_row(home: Home, finding_id: str, number: int) -> InputError:
    # Any other text may be words of a report, and is not repeated.
    is_id = re.fullmatch(A_STATED_ROW, finding_id, re.ASCII)
    return InputError(
        home.corrections_file.name,
        found=f"{finding_id if is_id else 'an id'} that no row of the study has",
        expected=(
            "the finding id of a row, as the review queue has it "
            "(review/<judge>/<batch>.csv)"
        ),
        remedy=(
            "Ids of raw reports number the rows of a study, from 0001. Copy the id "
            "anew, or delete the row."
        ),
        row=number,
        column="finding_id",
    )
