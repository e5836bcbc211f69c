"""Assembling the newest version of every study over all batches of a ranker, and writing the files a person takes away."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.files import replace_text, write_csv
from lunguage_assets.release.documents import write_documents
from lunguage_assets.release.published import published_frame
from lunguage_assets.release.summary import summarise
from lunguage_assets.store import write_table
from lunguage_assets.tables import (
    ACCOUNTING,
    CONFLICTS,
    FITTED_PROBABILITIES,
    LUNGUAGE_PLUS_PLUS,
    PATHWAY_MATCHES,
    REJECTED,
    RELEASE,
    REPORTS,
    RESOLUTION_LOG,
)

TABLES_PER_BATCH = {
    table.name: table
    for table in (REPORTS, REJECTED, FITTED_PROBABILITIES, PATHWAY_MATCHES, LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG, CONFLICTS, ACCOUNTING)
}
"""What the release needs of every batch."""


@dataclass(frozen=True)
class Release:
    """Tables over all batches, of each study only the newest version; `superseded` counts the older ones left out."""

    ranker: str
    ranking: pd.DataFrame
    batches: tuple[str, ...]
    missing_batches: tuple[str, ...]
    superseded: int
    tables: Mapping[str, pd.DataFrame]


def assemble(
    ranker: str, ranking: pd.DataFrame, batches: Mapping[str, Mapping[str, pd.DataFrame]], missing_batches: Sequence[str] = ()
) -> Release:
    """Combine batches, given oldest first; a study that came again is taken from its newest batch.

    Raises:
        MethodError: the batches were made with different rankings or in different modes, so their rows do not compare.
    """
    versions = {version for tables in batches.values() for version in tables["lunguage_plus_plus"]["ranking_version"]}
    if len(versions) > 1:
        raise MethodError(
            f"the batches of ranker {ranker!r} were fitted with {len(versions)} different rankings. "
            "Materialise fitted_probabilities and what follows for the stale batches, or run `lunguage run` again."
        )
    modes = {mode for tables in batches.values() for mode in tables["lunguage_plus_plus"]["mode"]}
    if len(modes) > 1:
        raise MethodError(
            f"the batches of ranker {ranker!r} were resolved in modes {sorted(modes)}. Run `lunguage run` again: it makes them alike."
        )
    newest: dict[str, str] = {}
    superseded = 0
    for key, tables in batches.items():
        studies = set(tables["accounting"]["study_id"])
        superseded += len({study for study in studies if study in newest} - {""})
        newest.update(dict.fromkeys(studies - {""}, key))

    def combined(name: str) -> pd.DataFrame:
        table = TABLES_PER_BATCH[name]
        parts = [
            tables[name].loc[[newest.get(study, key) == key for study in tables[name]["study_id"]]].assign(report_batch=key)
            for key, tables in batches.items()
        ]
        return pd.concat(parts, ignore_index=True) if parts else table.frame().assign(report_batch="")

    return Release(ranker, ranking, tuple(batches), tuple(missing_batches), superseded, {name: combined(name) for name in TABLES_PER_BATCH})


def write_bundle(release: Release, folder: Path, pathways: Path | None = None) -> dict[str, Any]:
    """Write the bundle, each file replaced as a whole, the summary last; returns the summary.

    Files: `Lunguage_plus_plus.csv` (the thirty published columns), `Lunguage_plus_plus.parquet` (with provenance), `resolution_log.csv`,
    `conflicts.csv`, `pathway_matches.csv`, `accounting.csv`, `rejected.csv`, the study-level labels and the
    paper's tables (see `documents.py`), `summary.json`. `pathways` is the dictionary that was used; None: the packaged one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = release.tables["lunguage_plus_plus"].sort_values(["subject_id", "sequence", "study_id", "idx"], kind="stable", ignore_index=True)
    judges = list(release.ranking["judges"].iloc[0])
    provenance = rows.assign(
        ranker=pd.Series(release.ranker, index=rows.index, dtype="str"),
        judges=pd.Series([judges] * len(rows), index=rows.index, dtype=object),
        ruler=pd.Series(str(release.ranking["ruler"].iloc[0]), index=rows.index, dtype="str"),
    ).astype({"report_batch": "str"})
    write_csv(published_frame(rows, release.tables["reports"]), folder / "Lunguage_plus_plus.csv")
    write_table(RELEASE, provenance[RELEASE.names], folder / "Lunguage_plus_plus.parquet")
    for name in ("resolution_log", "conflicts", "pathway_matches", "accounting", "rejected"):
        write_csv(_flat(release.tables[name]), folder / f"{name}.csv")
    write_documents(release.tables, folder, pathways)
    summary = summarise(release)
    replace_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
    return summary


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Lists joined by '; ', for a CSV."""
    lists = [name for name in frame.columns if frame[name].dtype == object]
    return frame.assign(**{name: ["; ".join(values) for values in frame[name]] for name in lists})
