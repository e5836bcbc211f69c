"""Group `corpus`: a delivered batch becomes validated rows; what cannot be used is kept with its reason."""

from collections.abc import Iterator

import dagster as dg

from lunguage_assets.corpus.intake import take_in
from lunguage_assets.orchestration.metadata import counts, plain_failures, table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource

GROUP = "corpus"
TABLES_OF_INTAKE = ("reports", "findings", "rejected", "intake_notes", "terms")


def corpus_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    @dg.multi_asset(
        name="intake",
        partitions_def=partitions.of("findings"),
        outs={
            name: dg.AssetOut(**table_options(name, GROUP, kinds={"csv"} if name == "findings" else None))
            for name in TABLES_OF_INTAKE
        },
    )
    def intake(context: dg.AssetExecutionContext, home: HomeResource) -> Iterator[dg.Output]:
        """Read and validate the registered files of a batch."""
        with plain_failures():
            batch = home.home.batch(context.partition_key)
            taken = take_in(home.home.delivery(batch.key), home.settings.corpus)
        source = {"batch_sha256": batch.sha256, "files": ", ".join(batch.files)}
        yield dg.Output(
            taken.reports,
            "reports",
            metadata={**source, "views": counts(taken.reports["view_source"], "views from")},
        )
        yield dg.Output(
            taken.findings,
            "findings",
            metadata={
                **source,
                "intake_settings": intake_settings(home),
                "studies": int(taken.findings["study_id"].nunique()),
                "tentative": int(taken.findings["status"].isin(["tp", "tn"]).sum()),
                "status": counts(taken.findings["status"], "status"),
                "masking": counts(taken.findings["mask_state"], "mask"),
            },
        )
        yield dg.Output(
            taken.rejected,
            "rejected",
            metadata={**source, "reasons": counts(taken.rejected["reason"], "reason")},
        )
        yield dg.Output(
            taken.intake_notes,
            "intake_notes",
            metadata={**source, "reasons": counts(taken.intake_notes["reason"], "reason")},
        )
        yield dg.Output(
            taken.terms,
            "terms",
            metadata={**source, "categories": counts(taken.terms["category"], "category")},
        )

    return [intake]


def intake_settings(home: HomeResource) -> str:
    """The settings with which deliveries are read; a batch that was read with others is stale."""
    return home.settings.corpus.model_dump_json()
