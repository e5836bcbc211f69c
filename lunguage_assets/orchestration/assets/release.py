"""Group `release`: the release of a ranker over all its batches (docs/reports.md).

It is a numbered version on disk, with the newest delivery of every study.

What stands in a release, and the guarantees that are asserted once more over the
whole, are not here, but in the package `release`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
from dagster_duckdb import DuckDBResource
from upath import UPath

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import MethodError
from lunguage_assets.lineage.recipes import BATCH, RECIPES, dimensions_of
from lunguage_assets.lineage.recipes import RELEASE as STEP
from lunguage_assets.lineage.staleness import StalenessChecker
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.metadata import column_schema, counts
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.release.context import ANALYSES, Release
from lunguage_assets.release.newest import TABLES_PER_BATCH, NewestStudies
from lunguage_assets.release.provenance import read_origin
from lunguage_assets.release.write import write_bundle
from lunguage_assets.tables import HEDGE_VOCABULARY, RELEASE
from lunguage_assets.tables.explicit import DISTILLED_SCORER
from lunguage_assets.workspace.store import is_stored, partition_path, read_table
from lunguage_assets.workspace.versions import Written

MEMORY = "1GB"
"""What DuckDB may take while a release is written."""

NAMED = 5
"""Batches that an error names."""


def release_asset(partitions: Partitions) -> dg.AssetsDefinition:
    """Return the asset that writes the release of each ranker."""
    spec = dg.AssetSpec(
        STEP,
        group_name="release",
        kinds={"csv", "parquet"},
        tags={"contains": "report-text"},
        metadata={"dagster/column_schema": column_schema(RELEASE)},
        code_version=RECIPES[STEP].code,
        deps=partitions.deps(STEP),
        description="Lunguage++ over all batches as a numbered version "
        "(docs/reports.md): a restricted part with the rows, an open part with "
        "ranking and pathways, and the report. The same content makes no new version. "
        "Of a study that came again, the newest delivery.",
    )

    @dg.multi_asset(
        name="write_release", specs=[spec], partitions_def=partitions.by("ranker")
    )
    @redact_errors()
    def write_release(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> dg.MaterializeResult[None]:
        ranker = context.partition_key
        # A file that was changed in place keeps its record: rows are read, too.
        staleness = configuration.staleness(verify=True)
        # Before the release is written: what changes meanwhile makes it stale.
        made_of = staleness.made_of(STEP, (ranker,))
        refuse_stale(staleness, ranker)
        version = _write_release(configuration, staleness, ranker)
        record = staleness.note_release(ranker, made_of)
        summary = version.summary
        # A batch that is not finished holds up no release; the release says so.
        left_out = ", ".join(summary["batches_not_included"])
        metadata = {
            "dagster/row_count": summary["rows_out"],
            "folder": dg.MetadataValue.path(str(staleness.releases / ranker)),
            "version": version.version,
            "is_new": version.is_new,
            "report": dg.MetadataValue.path(str(version.report)),
            "batches_not_included": left_out or "none",
            "conflicts": counts(summary["conflicts"], "conflict"),
            "summary": dg.MetadataValue.json(summary),
        }
        return dg.MaterializeResult(
            data_version=dg.DataVersion(record.version), metadata=metadata
        )

    return write_release


def _write_release(
    configuration: Configuration, staleness: StalenessChecker, ranker: str
) -> Written:
    tables = UPath(configuration.home.tables)
    ranking = stored_table(tables, "reference_ranking", (ranker,))
    complete = staleness.complete_batches(ranker)
    missing = tuple(batch for batch in staleness.batches if batch not in complete)
    with newest_studies(configuration, ranker, staleness) as studies:
        release = Release(
            ranker,
            ranking,
            studies,
            missing,
            configuration.processes,
            distilled_model(staleness, tables, ranker),
        )
        return write_bundle(
            release,
            staleness.releases / ranker,
            read_origin(
                configuration.home,
                configuration.settings,
                configuration.judges,
                configuration.prompts,
            ),
            stored_analyses(tables, ranker),
            phrase_counts(tables, configuration.judges.extractor),
        )


def refuse_stale(staleness: StalenessChecker, ranker: str) -> None:
    """Refuse a release of stale batches.

    It would name settings and files that are not those of its rows.

    Raises:
        MethodError: names the first batches and why each is stale.
    """
    complete = staleness.complete_batches(ranker)
    stale = []
    for batch in complete:
        batch_state = staleness.of("lunguage_plus_plus", ranker, batch)
        if batch_state.state == "stale":
            stale.append(f"{batch} ({', '.join(batch_state.because)})")
    if not stale:
        return
    more = f"; and {len(stale) - NAMED} more" if len(stale) > NAMED else ""
    raise MethodError(
        f"{len(stale)} of {len(complete)} batches of ranker {ranker!r} are stale: "
        f"{'; '.join(stale[:NAMED])}{more}. `lunguage run` makes such batches again. "
        "Ask `lunguage estimate` first when language models judge; or undo the change."
    )


def distilled_model(
    staleness: StalenessChecker, tables: UPath, ranker: str
) -> dict[str, Any] | None:
    """Return the distilled model that scored batches of a ranker, and which ones.

    Args:
        staleness: which batches there are, and who fitted them.
        tables: where tables lie.
        ranker: of the release.

    Returns:
        What DISTILLED_SCORER says of it, and `batches`; None: judges fitted all.
    """
    batches = [
        batch
        for batch in staleness.complete_batches(ranker)
        if not staleness.is_fitted_by_judges(ranker, batch)
    ]
    if not batches:
        return None
    scorer = stored_table(tables, DISTILLED_SCORER.name, (ranker,))
    (row,) = scorer.head(1)[list(DISTILLED_SCORER.constant)].to_dict("records")
    return {"batches": batches, **{str(name): value for name, value in row.items()}}


def stored_analyses(tables: UPath, ranker: str) -> dict[str, pd.DataFrame]:
    """Return the analyses of a ranker that are there."""
    analyses = {}
    for name, table in ANALYSES.items():
        path = partition_path(tables, name, ranker)
        if is_stored(table, path):
            analyses[name] = read_table(table, path)
    return analyses


def phrase_counts(tables: UPath, extractor: str) -> pd.Series:
    """Return how often each hedging phrase was extracted, by phrase."""
    path = partition_path(tables, HEDGE_VOCABULARY.name, extractor)
    vocabulary = HEDGE_VOCABULARY.frame()
    if is_stored(HEDGE_VOCABULARY, path):
        vocabulary = read_table(HEDGE_VOCABULARY, path)
    return vocabulary.set_index("phrase")["n_examples"]


@contextmanager
def newest_studies(
    configuration: Configuration, ranker: str, staleness: StalenessChecker
) -> Iterator[NewestStudies]:
    """Query the newest delivery of every study over the complete batches of a ranker.

    DuckDB does it with bounded memory. What does not fit is written beside the release,
    whose folder is as private as the reports: it may be report text.

    Args:
        configuration: of the home with the tables.
        ranker: whose results are read.
        staleness: which batches are complete.
    """
    tables = UPath(configuration.home.tables)
    batches: dict[str, dict[str, UPath]] = {}
    for batch in staleness.complete_batches(ranker):
        keys = {"ranker": ranker, BATCH: batch}
        batches[batch] = {}
        for table in TABLES_PER_BATCH:
            # Some tables are of the batch alone, others of a ranker and a batch.
            table_keys = [keys[dimension] for dimension in dimensions_of(table)]
            batches[batch][table] = partition_path(tables, table, *table_keys)
    spill_folder: Path = configuration.home.release / ranker / ".spill.tmp"
    limits = {"memory_limit": MEMORY, "temp_directory": str(spill_folder)}
    duckdb = DuckDBResource(database=":memory:", connection_config=limits)
    with duckdb.get_connection() as connection:
        yield NewestStudies(connection, batches)
