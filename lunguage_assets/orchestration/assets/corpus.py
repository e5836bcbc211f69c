"""Group `corpus`: a delivered batch becomes validated rows; what cannot be used is kept with its reason."""

from collections.abc import Iterator

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.findings.structured import take_in_structured
from lunguage_assets.corpus.intake import Intake, take_in
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.orchestration.assets.step import step_asset
from lunguage_assets.orchestration.metadata import counts
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource

GROUP = "corpus"


def intake(
    context: dg.AssetExecutionContext,
    home: HomeResource,
    report_texts: pd.DataFrame | None = None,
    rejected_reports: pd.DataFrame | None = None,
    reading_notes: pd.DataFrame | None = None,
    structured_findings: pd.DataFrame | None = None,
) -> Iterator[dg.Output]:
    """Read and validate the registered files of a batch, or take in what was read in its raw reports."""
    batch = home.home.batch(context.partition_key)
    delivery, settings = home.home.delivery(batch.key), home.settings.corpus
    if (
        report_texts is None
        or rejected_reports is None
        or reading_notes is None
        or structured_findings is None
    ):
        taken: Intake = take_in(delivery, settings)
    else:
        terms = read_terms(delivery.vocabulary, IntakeLog())  # what is odd about it is in reading_notes
        received = Received(report_texts, rejected_reports, reading_notes, terms)
        taken = take_in_structured(received, structured_findings, settings)
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
