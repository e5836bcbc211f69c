"""Corrections whose ids are of before rows of raw reports were numbered inside their study.

Until the code of `findings` was raised to 4, the id of such a row ended in its number in the whole
batch: `s50000295:1202`, and not `s50000295:0012`. What an old id means, only the stored findings with
that id know, so a correction is translated before they are replaced. An id that no row has is refused:
nobody would notice that it corrects nothing.
"""

from __future__ import annotations

import fcntl
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import pandas as pd

from lunguage_assets.corpus.intake import row_of_a_study
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges.review import CORRECTION_COLUMNS
from lunguage_assets.files import edited_rows, sheet, write_private
from lunguage_assets.tables import FINDINGS
from lunguage_assets.tables.columns import A_STATED_ROW
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_record, read_rows

_NUMBERED_IN_THE_BATCH = ("1", "2", "3")
"""Versions of the code of `findings` by which a raw report's rows had their numbers in the batch."""

_NEW_ID = re.compile(r"s\d+:0\d{3}", re.ASCII)
"""An old id has no zero in front, so that what was translated is not translated again."""


def translate_corrections(home: Home, batch: str) -> int:
    """Give corrections of a batch of raw reports the ids that its rows get when they are read again.

    Call it before the stored findings of the batch are replaced. It changes nothing where there are none, or
    where their ids are new ones already. Of an amended study the newest batch that has the id decides.

    Returns:
        How many corrections have a new id.

    Raises:
        InputError: a correction's study was read here, and no row of it has or had that id; or the file
            cannot be used.
    """
    if not home.corrections_file.exists() or not _has_old_ids(home, batch):
        return 0
    with _one_writer(home):
        rows = [
            row for _, row in edited_rows(home.corrections_file, CORRECTION_COLUMNS)
        ]
        old = {
            number: own
            for number, row in enumerate(rows)
            if not _NEW_ID.fullmatch(own := row["finding_id"].strip())
        }
        studies = set(map(_study, old.values()))
        of_this_batch = studies & set(_stored(home, batch, studies)["study_id"])
        if not of_this_batch:
            return 0
        new_ids = _new_ids(home, of_this_batch)
        for number, own in old.items():
            if own in new_ids:
                rows[number]["finding_id"] = new_ids[own]
            elif _study(own) in of_this_batch and not _is_stored(home, own):
                raise _no_such_row(home, own, number + 1)
        columns = list(rows[0])
        cells = [columns, *([row[column] for column in columns] for row in rows)]
        write_private(home.corrections_file, sheet(cells).encode("utf-8"))
        return len(new_ids.keys() & set(old.values()))


def require_known_rows(home: Home, findings: pd.DataFrame) -> None:
    """Refuse a correction of a raw report's row that no batch has.

    Args:
        home: the home with the corrections file.
        findings: `FINDINGS` frame of a batch of raw reports.

    Raises:
        InputError: the study of a correction is in the batch, and no stored row has its id.
    """
    if not home.corrections_file.exists():
        return
    studies, known = set(findings["study_id"]), set(findings["finding_id"])
    for number, row in edited_rows(home.corrections_file, CORRECTION_COLUMNS):
        own = row["finding_id"].strip()
        # an amended report may have fewer rows than the version that was corrected
        if _study(own) in studies and own not in known and not _is_stored(home, own):
            raise _no_such_row(home, own, number)


def _new_ids(home: Home, studies: Collection[str]) -> Mapping[str, str]:
    """Old id of every row of these studies that is stored with it -> its new id."""
    new_ids: dict[str, str] = {}
    for batch in home.registered():  # the newest last: it decides
        if batch.kind == "text" and _has_old_ids(home, batch.key):
            rows = _stored(home, batch.key, studies).sort_values(["study_id", "row"])
            numbers = rows.groupby("study_id").cumcount() + 1
            for own, study, number in zip(
                rows["finding_id"], rows["study_id"], numbers, strict=True
            ):
                new_ids[own] = row_of_a_study(study, number)
    return new_ids


def _is_stored(home: Home, finding_id: str) -> bool:
    """Whether a row of any batch has the id."""
    studies = {_study(finding_id)}
    return any(
        finding_id in set(_stored(home, batch.key, studies)["finding_id"])
        for batch in home.registered()
    )


def _has_old_ids(home: Home, batch: str) -> bool:
    """Whether the stored findings of a batch of raw reports were numbered in the batch."""
    try:
        # Its record counts, although findings had fewer columns then.
        record = read_record(
            partition_path(home.tables, FINDINGS.name, batch).read_bytes()
        )
    except FileNotFoundError:
        return False
    return record is not None and record.made_of.code in _NUMBERED_IN_THE_BATCH


def _stored(home: Home, batch: str, studies: Collection[str]) -> pd.DataFrame:
    """Ids and numbers of the stored rows of these studies; without any where nothing is stored."""
    columns = ["finding_id", "study_id", "row"]
    try:
        with partition_path(home.tables, FINDINGS.name, batch).open("rb") as stream:
            rows: pd.DataFrame = read_rows(
                stream, "study_id", studies, columns
            ).to_pandas()
    except FileNotFoundError:
        rows = FINDINGS.frame()[columns]
    return rows


def _study(finding_id: str) -> str:
    return finding_id.strip().partition(":")[0]


def _no_such_row(home: Home, finding_id: str, number: int) -> InputError:
    is_an_id = re.fullmatch(
        A_STATED_ROW, finding_id, re.ASCII
    )  # else it may be words of a report
    found = f"{finding_id if is_an_id else 'an id'} that no row of the study has"
    expected = "the finding id of a row, as the review queue has it (review/<judge>/<batch>.csv)"
    remedy = "Ids of raw reports number the rows of a study, from 0001. Copy the id anew, or delete the row."
    return InputError(
        home.corrections_file.name,
        found,
        expected,
        remedy,
        row=number,
        column="finding_id",
    )


@contextmanager
def _one_writer(home: Home) -> Iterator[None]:
    """Batches may be read at the same time; each translates its own corrections."""
    with (home.root / ".corrections.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
