"""Reads what a run has stored of one study.

The tables of a study are those from which its rows can be explained (`explain.py`);
how tables lie on disk is the workspace's (`workspace/store.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from upath import UPath

from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.release.row_words import Record
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import A_ROW
from lunguage_assets.workspace.parquet_rows import read_rows
from lunguage_assets.workspace.store import is_stored, partition_path

TABLES_OF_A_STUDY = {name: table for name, table in TABLES.items() if table.explained}
"""What is read of a study."""


@dataclass(frozen=True)
class StudyRecord:
    """The stored rows of one study, from the newest batch that delivered it.

    Attributes:
        study_id: as this package writes it.
        ranker: whose results these are.
        batch: from which the rows come.
        older: batches that delivered the study before.
        unprocessed: batches without a result of the ranker: they may deliver it again.
        tables: rows by table.
    """

    study_id: str
    ranker: str
    batch: str
    older: Sequence[str]
    unprocessed: Sequence[str]
    tables: Mapping[str, Sequence[Record]]


def study_and_finding(name: str) -> tuple[str, str | None]:
    """Take the study from the id of one of its rows; None is the row of a study's id.

    No study as delivered looks like the id of a row (`s50000001:0012`).
    """
    if re.fullmatch(A_ROW, name, re.ASCII):
        return name.partition(":")[0], name
    return name, None


def read_study(
    root: UPath | Path, ranker: str, batches: Sequence[str], study_id: str
) -> StudyRecord:
    """Read the stored rows of a study.

    Args:
        root: folder of the stored tables.
        ranker: whose results are read.
        batches: keys of the registered ones, oldest first.
        study_id: here or as delivered, with or without an `s`.

    Raises:
        ConfigurationError: the ranker has no results, or no batch delivered the study.
        InvalidTable: a partition has another schema.
    """
    results = _Results(root, ranker)
    complete = [batch for batch in batches if results.is_complete(batch)]
    unprocessed = [batch for batch in batches if batch not in complete]
    if not complete:
        raise ConfigurationError(
            f"ranker {ranker!r} has no result in {root}. Run `lunguage run` with this "
            "ranker first, or name another with --ranker."
        )
    study = study_of(study_id)
    # A study may come again in a later batch, amended: the last delivery counts.
    delivering = [
        batch for batch in complete if results.rows("accounting", batch, study)
    ]
    if not delivering:
        waiting = ""
        if unprocessed:
            # The study may lie in a batch that is registered and was never run.
            waiting = f"; without a result yet: {', '.join(unprocessed)}"
        raise ConfigurationError(
            f"no batch delivered study {study_id!r}. Batches of ranker {ranker!r}: "
            f"{', '.join(complete)}{waiting}."
        )
    newest = delivering[-1]
    return StudyRecord(
        study_id=study,
        ranker=ranker,
        batch=newest,
        older=delivering[:-1],
        unprocessed=unprocessed,
        tables={name: results.rows(name, newest, study) for name in TABLES_OF_A_STUDY},
    )


@dataclass(frozen=True)
class _Results:
    """The stored tables of a ranker."""

    root: UPath | Path
    ranker: str

    def is_complete(self, batch: str) -> bool:
        """Whether every table of a batch is there."""
        return all(self._path(name, batch).exists() for name in TABLES_OF_A_STUDY)

    def rows(self, name: str, batch: str, study: str) -> list[Record]:
        """Read the rows of a study from a table of a batch."""
        path = self._path(name, batch)
        if not is_stored(TABLES_OF_A_STUDY[name], path):
            raise InvalidTable(
                f"table {name} of {batch}: of another schema. Materialise it again."
            )
        with path.open("rb") as stream:
            rows: list[Record] = read_rows(stream, "study_id", {study}).to_pylist()
        return rows

    def _path(self, name: str, batch: str) -> UPath:
        keys = {"ranker": self.ranker, "report_batch": batch}
        dimensions = TABLES_OF_A_STUDY[name].partitioned_by
        return partition_path(
            self.root, name, *(keys[dimension] for dimension in dimensions)
        )
