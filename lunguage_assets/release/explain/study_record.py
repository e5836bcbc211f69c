"""Everything that is stored about one study, for one ranker: finding its newest version among the batches and
reading only its rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upath import UPath

from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.home.store import PARTITIONED_BY, is_stored, partition_path, read_table
from lunguage_assets.parquet import read_rows
from lunguage_assets.tables import ACCOUNTING, REFERENCE_RANKING, TABLES
from lunguage_assets.tables.schema import Table

TABLES_OF_A_STUDY = {
    name: TABLES[name]
    for name in (
        *("reports", "rejected", "intake_notes", "fitted_probabilities", "deduplicated_findings"),
        *("pathway_matches", "expansions", "conflicts", "resolution_log", "lunguage_plus_plus"),
        *("accounting", "set_aside"),
    )
}
"""What is read of a study."""

Record = Mapping[str, Any]
_BARE_ID = re.compile(r"\d+")


@dataclass(frozen=True)
class StudyRecord:
    """The stored rows of one study, as mappings by column, from the newest batch that delivered it.

    `ranking` has the judges, the ruler and the version of the current ranking. `older` are batches that
    delivered the study before, `unprocessed` those that have no result for the ranker, so that it is not
    known whether they deliver it again.
    """

    study_id: str
    ranker: str
    batch: str
    older: tuple[str, ...]
    unprocessed: tuple[str, ...]
    ranking: Record
    tables: Mapping[str, Sequence[Record]]


def read_study(root: UPath | Path, ranker: str, batches: Sequence[str], study_id: str) -> StudyRecord:
    """Read a study from the store.

    Args:
        root: folder of the tables.
        ranker: whose probabilities.
        batches: keys of the registered batches, oldest first.
        study_id: with its `s`, or the bare number.

    Raises:
        ConfigurationError: the ranker has no results, or no batch delivered the study; the message names what
            there is.
        InvalidTable: a partition was written under another schema.
    """
    study = f"s{study_id}" if _BARE_ID.fullmatch(study_id) else study_id
    complete = [batch for batch in batches if _is_complete(root, ranker, batch)]
    unprocessed = tuple(batch for batch in batches if batch not in complete)
    if not complete:
        raise ConfigurationError(
            f"ranker {ranker!r} has no result in {root}. Run `lunguage run` with this ranker first, or name "
            "another with --ranker."
        )
    accounts = {
        batch: _rows(ACCOUNTING, _path(root, ACCOUNTING.name, ranker, batch), study) for batch in complete
    }
    holding = [batch for batch, rows in accounts.items() if rows]
    if not holding:
        waiting = f"; without a result yet: {', '.join(unprocessed)}" if unprocessed else ""
        raise ConfigurationError(
            f"no batch delivered study {study!r}. Batches of ranker {ranker!r}: {', '.join(complete)}"
            f"{waiting}."
        )
    batch = holding[-1]
    ranking = read_table(REFERENCE_RANKING, partition_path(root, "reference_ranking", ranker))
    tables = {
        name: _rows(table, _path(root, name, ranker, batch), study)
        for name, table in TABLES_OF_A_STUDY.items()
    }
    known = ranking[["judges", "ruler", "ranking_version"]].head(1).to_dict("records")
    first = {str(name): value for record in known for name, value in record.items()}
    return StudyRecord(study, ranker, batch, tuple(holding[:-1]), unprocessed, first, tables)


def _path(root: UPath | Path, table: str, ranker: str, batch: str) -> UPath:
    return partition_path(
        root, table, *(ranker if dimension == "ranker" else batch for dimension in PARTITIONED_BY[table])
    )


def _is_complete(root: UPath | Path, ranker: str, batch: str) -> bool:
    return all(_path(root, name, ranker, batch).exists() for name in TABLES_OF_A_STUDY)


def _rows(table: Table, path: UPath, study: str) -> list[Record]:
    """The rows of a study in a partition, whose columns and types are asserted; missing values are None."""
    if not is_stored(table, path):
        raise InvalidTable(
            f"table {table.name}: a stored partition was written under another schema. Materialise it again."
        )
    with path.open("rb") as stream:
        rows: list[Record] = read_rows(stream, "study_id", {study}).to_pylist()
    return rows
