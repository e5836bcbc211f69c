"""Group `release`: the bundle on disk, newest version of every study, guarantees asserted once more over the
whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
import pandas as pd
from dagster_duckdb import DuckDBResource
from upath import UPath

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import MethodError
from lunguage_assets.lineage.recipes import RECIPES, dimensions_of
from lunguage_assets.lineage.recipes import RELEASE as STEP
from lunguage_assets.lineage.staleness import StalenessChecker
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.metadata import column_schema, counts
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import plain_failures
from lunguage_assets.release.context import ANALYSES, Release
from lunguage_assets.release.newest import TABLES_PER_BATCH, NewestStudies
from lunguage_assets.release.provenance import read_origin
from lunguage_assets.release.write import write_bundle
from lunguage_assets.tables import HEDGE_VOCABULARY, RELEASE
from lunguage_assets.tables.explicit import DISTILLED_SCORER
from lunguage_assets.workspace.store import is_stored, partition_path, read_table

MEMORY = "1GB"
"""What DuckDB may take while a release is written."""

NAMED = 5
"""Batches that an error names."""


def release_asset(partitions: Partitions) -> dg.AssetsDefinition:
    """The release of each ranker."""
    spec = dg.AssetSpec(
        STEP,
        group_name="release",
        kinds={"csv", "parquet"},
        tags={"contains": "report-text"},
        metadata={"dagster/column_schema": column_schema(RELEASE)},
        code_version=RECIPES[STEP].code,
        deps=partitions.deps(STEP),
        description="Lunguage++ over all batches as a numbered version (docs/reports.md): a restricted part "
        "with the rows, an open part with ranking and pathways, and the report. The same content makes no "
        "new version. Of a study that came again, the newest delivery.",
    )

    @dg.multi_asset(
        name="write_release", specs=[spec], partitions_def=partitions.of(STEP)
    )
    def write_release(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> dg.MaterializeResult:
        ranker, root = context.partition_key, UPath(configuration.home.tables)
        with plain_failures():
            ranking, now = (
                stored_table(root, "reference_ranking", (ranker,)),
                configuration.staleness(verify=True),
            )
            made_of, complete = (
                now.made_of(STEP, (ranker,)),
                now.complete_batches(ranker),
            )
            refuse_stale(now, ranker)
            with newest_studies(configuration, ranker, now) as studies:
                missing = tuple(key for key in now.batches if key not in complete)
                written = write_bundle(
                    Release(
                        ranker,
                        ranking,
                        studies,
                        missing,
                        configuration.processes,
                        learnt_model(now, root, ranker),
                    ),
                    folder := now.releases / ranker,
                    read_origin(
                        configuration.home,
                        configuration.settings,
                        configuration.judges,
                        configuration.prompts,
                    ),
                    *stored_extras(root, ranker, configuration.judges.extractor),
                )
            record = now.note_release(ranker, made_of)
        summary = written.summary
        metadata = {
            "dagster/row_count": summary["rows_out"],
            "folder": dg.MetadataValue.path(str(folder)),
            "version": written.version,
            "is_new": written.is_new,
            "report": dg.MetadataValue.path(str(written.report)),
            "batches_not_included": ", ".join(summary["batches_not_included"])
            or "none",
            "conflicts": counts(summary["conflicts"], "conflict"),
            "summary": dg.MetadataValue.json(summary),
        }
        return dg.MaterializeResult(
            data_version=dg.DataVersion(record.version), metadata=metadata
        )

    return write_release


def refuse_stale(now: StalenessChecker, ranker: str) -> None:
    """Raise when a batch is stale: the release would name settings and files that are not its own."""
    complete = now.complete_batches(ranker)
    results = {batch: now.of("lunguage_plus_plus", ranker, batch) for batch in complete}
    stale = [
        f"{one} ({', '.join(of.because)})"
        for one, of in results.items()
        if of.state == "stale"
    ]
    if stale:
        more = f"; and {len(stale) - NAMED} more" if len(stale) > NAMED else ""
        raise MethodError(
            f"{len(stale)} of {len(complete)} batches of ranker {ranker!r} are stale: "
            f"{'; '.join(stale[:NAMED])}{more}. `lunguage run` makes such batches again. Ask `lunguage "
            "estimate` first when language models judge; or undo the change."
        )


def learnt_model(
    now: StalenessChecker, root: UPath, ranker: str
) -> dict[str, Any] | None:
    """The distilled model that placed findings of a ranker's batches, and of which; None where judges fitted
    all of them.
    """
    batches = [
        one
        for one in now.complete_batches(ranker)
        if not now.is_fitted_by_judges(ranker, one)
    ]
    if not batches:
        return None
    tried = stored_table(root, DISTILLED_SCORER.name, (ranker,))
    (used,) = tried[tried["is_used"]].drop(columns=["is_used"]).to_dict("records")
    return {"batches": batches, **used}


def stored_extras(
    root: UPath, ranker: str, extractor: str
) -> tuple[dict[str, pd.DataFrame], pd.Series]:
    """What a release shows when it is there: the ranker's analyses, and how often each hedging phrase was
    extracted.
    """
    analyses = {
        name: read_table(table, place)
        for name, table in ANALYSES.items()
        if is_stored(table, place := partition_path(root, name, ranker))
    }
    vocabulary, phrases = (
        partition_path(root, HEDGE_VOCABULARY.name, extractor),
        HEDGE_VOCABULARY.frame(),
    )
    if is_stored(HEDGE_VOCABULARY, vocabulary):
        phrases = read_table(HEDGE_VOCABULARY, vocabulary)
    return analyses, phrases.set_index("phrase")["n_examples"]


@contextmanager
def newest_studies(
    configuration: Configuration, ranker: str, now: StalenessChecker
) -> Iterator[NewestStudies]:
    """The newest delivery of every study over the complete batches of a ranker, by DuckDB with bounded
    memory. What does not fit is put beside the release: it may be report text.
    """
    root, spill = (
        UPath(configuration.home.tables),
        configuration.home.release / ranker / ".spill.tmp",
    )

    def path(table: str, batch: str) -> UPath:
        own = {"ranker": ranker, "report_batch": batch}
        return partition_path(
            root, table, *(own[dimension] for dimension in dimensions_of(table))
        )

    batches = {
        batch: {table: path(table, batch) for table in TABLES_PER_BATCH}
        for batch in now.complete_batches(ranker)
    }
    limits = {"memory_limit": MEMORY, "temp_directory": str(spill)}
    with DuckDBResource(
        database=":memory:", connection_config=limits
    ).get_connection() as connection:
        yield NewestStudies(connection, batches)
