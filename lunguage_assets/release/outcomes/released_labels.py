"""The labels of the newest release of a ranker, and the hedging phrases of the rows that decided them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path
from lunguage_assets.parquet import read_columns, read_rows
from lunguage_assets.release.bundle.versions import LATEST, current_version
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.labels import CHEXPERT, LABELS

_COLUMNS = (
    "study_id", "label", "chexpert", "source", "p", "p_low", "p_high", "p_source", "p_is_bound", "status",
    "finding_id",
)  # fmt: skip
_FITTED = ("finding_id", "phrases", "p")


@dataclass(frozen=True)
class ReleasedLabels:
    """Some columns of LABELS, and the version that they are of; `statements` are the cells of CHEXPERT_LABELS
    as study_id, chexpert, answer (`ANSWERS`).
    """

    labels: pd.DataFrame
    statements: pd.DataFrame
    version: str


def released_labels(home: Home, ranker: str) -> ReleasedLabels:
    """The labels of the current release.

    Raises:
        ConfigurationError: there is no release of the ranker, or its labels have other columns.
    """
    version = current_version(home.release / ranker)
    if version is None:
        others = sorted(path.parent.name for path in home.release.glob(f"*/{LATEST}"))
        raise ConfigurationError(
            f"{home.root} has no release of ranker {ranker!r}; found releases of "
            f"{', '.join(others) or 'none'}. Run `lunguage run` with this ranker first, or name another with "
            "--ranker."
        )
    path = version / "restricted" / "labels.parquet"
    if not path.exists() or not pq.read_schema(path).remove_metadata().equals(LABELS.arrow):
        raise ConfigurationError(
            f"{path}: expected the labels of this version of the software, found none or other columns. Run "
            "`lunguage run` again: it writes a new version of the release."
        )
    labels: pd.DataFrame = read_columns(path, _COLUMNS).to_pandas()
    return ReleasedLabels(labels, _statements(path.with_name("labels_chexpert.csv")), version.name)


def _statements(path: Path) -> pd.DataFrame:
    wide = pd.read_csv(path)
    long = wide.melt("study_id", CHEXPERT, "chexpert", "answer")
    answer = long["answer"].map({1.0: "1", 0.0: "0", -1.0: "-1"}).fillna("blank")
    return long.assign(study_id="s" + long["study_id"].astype(str), answer=answer)


def fitted_of(home: Home, ranker: str, findings: Collection[str]) -> pd.DataFrame:
    """finding_id, phrases and p of these rows from the stored FITTED_PROBABILITIES; the newest batch wins."""
    found = []
    for batch in home.registered() if findings else ():
        path = partition_path(home.tables, FITTED_PROBABILITIES.name, ranker, batch.key)
        if path.exists():
            with path.open("rb") as stream:
                found.append(read_rows(stream, "finding_id", findings, _FITTED).to_pandas())
    if not found:
        return FITTED_PROBABILITIES.frame()[list(_FITTED)]
    newest: pd.DataFrame = pd.concat(found, ignore_index=True).drop_duplicates("finding_id", keep="last")
    return newest
