"""Group `text`: raw reports are read, cut into sentences, and structured. For batches that were delivered as
findings these tables are empty, and nothing asks for them.
"""

from collections.abc import Iterator

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.current.recipes import BATCH, STRUCTURER
from lunguage_assets.orchestration.assets.step import step_asset
from lunguage_assets.orchestration.metadata import Spending, counts
from lunguage_assets.orchestration.partitions import Partitions, store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.structuring.reading import ReportsRead, read_reports, sectioned_reports
from lunguage_assets.structuring.rows import StructuredRows

GROUP = "text"
MOST_FREQUENT = 20
AT_ONCE = 500
"""Reports that a structurer is given together."""


def reading(context: dg.AssetExecutionContext, home: HomeResource) -> Iterator[dg.Output]:
    """Read the raw reports of a batch, and cut them into sentences."""
    batch = home.home.batch(context.partition_key)
    read = (
        read_reports(receive(home.home.delivery(batch.key), home.settings.corpus))
        if batch.kind == "text"
        else ReportsRead.none()
    )
    yield dg.Output(
        read.report_texts,
        "report_texts",
        metadata={
            "batch_sha256": batch.sha256,
            "studies": len(read.report_texts),
            "views": counts(read.report_texts["view_source"], "views from"),
        },
    )
    yield dg.Output(
        read.report_sentences,
        "report_sentences",
        metadata={"sections": counts(read.report_sentences["section"], "section")},
    )
    yield dg.Output(
        read.rejected_reports,
        "rejected_reports",
        metadata={"reasons": counts(read.rejected_reports["reason"], "reason")},
    )
    yield dg.Output(
        read.reading_notes,
        "reading_notes",
        metadata={"reasons": counts(read.reading_notes["reason"], "reason")},
    )


def structuring(
    context: dg.AssetExecutionContext,
    home: HomeResource,
    report_texts: pd.DataFrame,
    report_sentences: pd.DataFrame,
) -> Iterator[dg.Output]:
    """Read findings in the raw reports of a batch with one structurer."""
    key, batch = store_keys(context.partition_key, (STRUCTURER, BATCH))
    spending = Spending(context)
    terms = read_terms(home.home.delivery(batch).vocabulary, IntakeLog())
    structurer = home.structurer(key, terms, spending.note)
    reports, rows = list(sectioned_reports(report_texts, report_sentences)), StructuredRows()
    for start in range(0, len(reports), AT_ONCE):
        chosen = reports[start : start + AT_ONCE]
        rows.add(chosen, structurer.structure(chosen))
    made = rows.tables()
    found = made.structured_findings
    yield dg.Output(
        found,
        "structured_findings",
        metadata={
            "structurer": structurer.identity,
            **spending.metadata(),
            "studies": len(reports),
            "studies_with_findings": int(found["study_id"].nunique()),
            "status": counts(found["status"], "status"),
            "findings": counts(found["normed_ent"], "finding", most=MOST_FREQUENT),
        },
    )
    yield dg.Output(
        made.sentence_accounts,
        "sentence_accounts",
        metadata={"accounts": counts(made.sentence_accounts["account"], "account")},
    )
    yield dg.Output(
        made.refused_values,
        "refused_values",
        metadata={"reasons": counts(made.refused_values["reason"], "reason")},
    )


def text_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """Reading and structuring."""
    return [
        step_asset("reading", reading, partitions, GROUP, kinds={"report_texts": {"text"}}),
        step_asset("structuring", structuring, partitions, GROUP),
    ]
