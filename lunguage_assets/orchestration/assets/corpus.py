"""Group `corpus`: a delivered batch becomes validated rows; what cannot be used is kept with its reason."""

from collections.abc import Iterator

import dagster as dg

from lunguage_assets.corpus.intake import take_in
from lunguage_assets.orchestration.assets.step import step_asset
from lunguage_assets.orchestration.metadata import counts
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource

GROUP = "corpus"


def intake(context: dg.AssetExecutionContext, home: HomeResource) -> Iterator[dg.Output]:
    """Read and validate the registered files of a batch."""
    batch = home.home.batch(context.partition_key)
    taken = take_in(home.home.delivery(batch.key), home.settings.corpus)
    source = {"batch_sha256": batch.sha256, "files": ", ".join(batch.files)}
    yield dg.Output(
        taken.findings,
        "findings",
        metadata={
            **source,
            "studies": int(taken.findings["study_id"].nunique()),
            "tentative": int(taken.findings["status"].isin(["tp", "tn"]).sum()),
            "status": counts(taken.findings["status"], "status"),
            "masking": counts(taken.findings["mask_state"], "mask"),
        },
    )
    yield dg.Output(
        taken.reports, "reports", metadata={"views": counts(taken.reports["view_source"], "views from")}
    )
    yield dg.Output(
        taken.rejected, "rejected", metadata={"reasons": counts(taken.rejected["reason"], "reason")}
    )
    yield dg.Output(
        taken.intake_notes,
        "intake_notes",
        metadata={"reasons": counts(taken.intake_notes["reason"], "reason")},
    )
    yield dg.Output(
        taken.terms, "terms", metadata={"categories": counts(taken.terms["category"], "category")}
    )


def corpus_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """Intake."""
    return [step_asset("intake", intake, partitions, GROUP, kinds={"findings": {"csv"}})]
