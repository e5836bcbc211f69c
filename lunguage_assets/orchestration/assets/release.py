"""Group `release`: the release of a ranker over all its batches (docs/reports.md).

It is a numbered version on disk, with the newest delivery of every study.

What stands in a release, and the guarantees that are asserted once more over the
whole, are not here, but in the package `release`.
"""

from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
from dagster_duckdb import DuckDBResource

from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import hash_of_files
from lunguage_assets.errors import MethodError
from lunguage_assets.orchestration.checks import as_sealed
from lunguage_assets.orchestration.current import Current, version_of_inputs
from lunguage_assets.orchestration.outputs import (
    check_spec,
    column_schema,
    versioned,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.packaged_data import resource
from lunguage_assets.release.context import ANALYSES
from lunguage_assets.release.write import write_release_of
from lunguage_assets.tables import RELEASE
from lunguage_assets.wording import examples
from lunguage_assets.workspace.store import complete_batches
from lunguage_assets.workspace.versions import report_of

GROUP = "release"

MEMORY = "1GB"
"""What DuckDB may take while a release is written."""


def release_assets(
    configuration: Configuration, by: Partitions, asset_graph: Callable[[], Any]
) -> list[dg.AssetsDefinition]:
    """Return the assets that write the release of each ranker.

    Args:
        configuration: of the home, whose settings are in the code versions.
        by: the partitions.
        asset_graph: returns Dagster's, of all assets of the home.
    """

    @dg.asset(
        group_name=GROUP,
        partitions_def=by.ranker,
        code_version="1",
        deps=[
            "lunguage_plus_plus",
            dg.AssetDep("findings", partition_mapping=dg.AllPartitionMapping()),
            *ANALYSES,
        ],
    )
    @redact_errors()
    def release_inputs(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
    ) -> dg.MaterializeResult[None]:
        """Hash the versions of everything that a release reads; no row is read.

        Dagster compares no versions across an edge of a hundred partitions: the release
        rests on this asset, whose version is the hash of theirs.
        """
        ranker = context.partition_key
        version = version_of_inputs(context.instance, configuration.home, ranker)
        return dg.MaterializeResult(data_version=dg.DataVersion(version))

    release = dg.AssetSpec(
        "release",
        group_name=GROUP,
        kinds={"csv", "parquet"},
        tags={"contains": "report-text"},
        metadata={"dagster/column_schema": column_schema(RELEASE)},
        code_version=versioned(
            "12", hash_of_files(resource("labels.yaml"), resource("statements.yaml"))
        ),
        deps=["release_inputs", "reference_ranking"],
        description="Lunguage++ over all batches as a numbered version "
        "(docs/reports.md): a restricted part with the rows, an open part with "
        "ranking and pathways, and the report. The same content makes no new version. "
        "Of a study that came again, the newest delivery.",
    )

    @dg.multi_asset(
        # A job has the name of the asset already.
        name="write_release",
        specs=[release],
        partitions_def=by.ranker,
        check_specs=[check_spec(as_sealed, "release", by.ranker)],
    )
    @redact_errors()
    def write_release(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]
        """Write the bundle of a ranker over all its batches."""
        ranker = context.partition_key
        complete = complete_batches(configuration.home, ranker)
        current = Current(configuration, context.instance, asset_graph())
        _refuse_stale(current, ranker, complete)
        # DuckDB reads the newest delivery of every study with bounded memory. What does
        # not fit is written into the home, which is as private as the reports: it may
        # be report text. Of a killed release `remove_abandoned_files` clears it away.
        spilled = TemporaryDirectory(
            prefix=".spill-", suffix=".tmp", dir=configuration.home.root
        )
        database = DuckDBResource(
            database=":memory:",
            connection_config={"memory_limit": MEMORY, "temp_directory": spilled.name},
        )
        with spilled, database.get_connection() as connection:
            version = write_release_of(configuration, ranker, complete, connection)
        summary = version.summary
        # A batch that is not finished holds up no release; the release says so.
        left_out = ", ".join(summary["batches_not_included"])
        metadata = {
            "dagster/row_count": summary["rows_out"],
            "version": version.version,
            "report": dg.MetadataValue.path(str(report_of(version.folder))),
            "batches_not_included": left_out or "none",
            "summary": dg.MetadataValue.json(summary),
        }
        return dg.MaterializeResult(
            metadata=metadata,
            check_results=[as_sealed(configuration.releases / ranker)],
        )

    return [release_inputs, write_release]


def _refuse_stale(current: Current, ranker: str, complete: Sequence[str]) -> None:
    """Refuse a release of stale batches.

    It would name settings and files that are not those of its rows.

    Raises:
        MethodError: names the first of them.
    """
    stale = [
        batch
        for batch in complete
        if current.reasons_of("ingest", batch)
        or current.reasons_of("refit", ranker, batch)
    ]
    if stale:
        raise MethodError(
            f"{len(stale)} of {len(complete)} batches of ranker {ranker!r} are stale: "
            f"{examples(stale)}. `lunguage status` says why, and `lunguage "
            "run` makes them again. Ask `lunguage estimate` first when language models "
            "judge; or undo the change."
        )
