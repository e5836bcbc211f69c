"""Group `release`: the bundle on disk, newest version of every study, guarantees asserted once more over the whole."""

from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
from upath import UPath

from lunguage_assets.orchestration.assets.implicit import refuse_violations
from lunguage_assets.orchestration.metadata import OWNERS, counts, plain_failures
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.release.bundle import TABLES_PER_BATCH, assemble, write_bundle
from lunguage_assets.store import PARTITIONED_BY, partition_path, read_table
from lunguage_assets.tables import REFERENCE_RANKING

GROUP = "release"
BUNDLE_OP = "write_release"  # an op must not have the name of a job


class ReleaseConfig(dg.Config):
    """Where the bundle goes."""

    out: str = ""
    """Folder under which `release/<ranker>/` is written; empty: the home."""


def release_assets(partitions: Partitions, tables_root: str) -> list[dg.AssetsDefinition]:
    def upstream(name: str) -> dg.AssetDep:
        ranked = "ranker" in PARTITIONED_BY[name]
        return dg.AssetDep(name, partition_mapping=partitions.ranker_only if ranked else partitions.all_batches)

    spec = dg.AssetSpec(
        "release",
        group_name=GROUP,
        owners=OWNERS,
        kinds={"csv", "parquet"},
        deps=[
            *(upstream(name) for name in TABLES_PER_BATCH),
            dg.AssetDep("reference_ranking", partition_mapping=dg.IdentityPartitionMapping()),
        ],
        description=(
            "Lunguage++ over all batches as files: the published CSV, the Parquet with provenance, the resolution log, the accounts and a "
            "summary. Of a study that came again, the newest version."
        ),
    )

    @dg.multi_asset(name=BUNDLE_OP, specs=[spec], partitions_def=partitions.of_dimensions("ranker"))
    def write_release(context: dg.AssetExecutionContext, home: HomeResource, config: ReleaseConfig) -> dg.MaterializeResult:
        ranker = context.partition_key
        folder = Path(config.out or home.root) / "release" / ranker
        with plain_failures():
            root = UPath(tables_root)
            ranking = read_table(REFERENCE_RANKING, partition_path(root, "reference_ranking", ranker))
            batches, missing = stored_batches(root, ranker, [batch.key for batch in home.home.registered()])
            released = assemble(ranker, ranking, batches, missing)
            refuse_violations(*(released.tables[name] for name in ("lunguage_plus_plus", "accounting", "reports")))
            summary = write_bundle(released, folder, home.home.pathways_file)
        return dg.MaterializeResult(
            metadata={
                "folder": dg.MetadataValue.path(str(folder)),
                "rows_out": summary["rows_out"],
                "reports": summary["reports"],
                "batches": ", ".join(summary["batches"]) or "none",
                "batches_not_included": ", ".join(summary["batches_not_included"]) or "none",
                "conflicts": counts(summary["conflicts"], "conflict"),
                "summary": dg.MetadataValue.json(summary),
            }
        )

    return [write_release]


def stored_batches(root: UPath, ranker: str, keys: list[str]) -> tuple[dict[str, dict[str, pd.DataFrame]], list[str]]:
    """Tables of every batch that is complete for the ranker, in registration order, and the keys of those that are not."""
    complete: dict[str, dict[str, Any]] = {}
    missing = []
    for key in keys:
        paths = {
            name: partition_path(root, name, *(ranker if dimension == "ranker" else key for dimension in PARTITIONED_BY[name]))
            for name in TABLES_PER_BATCH
        }
        if all(path.exists() for path in paths.values()):
            complete[key] = {name: read_table(TABLES_PER_BATCH[name], path) for name, path in paths.items()}
        else:
            missing.append(key)
    return complete, missing
