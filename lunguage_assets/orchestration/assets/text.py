"""Group `text`: raw reports are read, cut into sentences, and structured. For batches that were delivered as
findings these tables are empty, and nothing asks for them.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.delivery import CorpusDeclaration, Delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.current.recipes import BATCH, STRUCTURER
from lunguage_assets.judges.configuration import RULES
from lunguage_assets.orchestration.assets.step import step_asset
from lunguage_assets.orchestration.metadata import Spending, counts, rows_table
from lunguage_assets.orchestration.partitions import Partitions, partition_frames, store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.structuring.agreement import gold_rows
from lunguage_assets.structuring.agreement import structuring_agreement as agreement_of_structurers
from lunguage_assets.structuring.reading import ReportsRead, read_reports, sectioned_reports
from lunguage_assets.structuring.rows import StructuredRows

GROUP = "text"
MOST_FREQUENT = 20
AT_ONCE = 500
"""Reports that the offline structurer is given together. A language model gets all: they may wait together at
its provider's batch endpoint.
"""

_MEASURES = ("rows", "first", "second", "agreed", "precision", "recall", "f1", "kappa")


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
    at_once = AT_ONCE if key == RULES else max(1, len(reports))
    for start in range(0, len(reports), at_once):
        chosen = reports[start : start + at_once]
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


def structuring_agreement(
    context: dg.AssetExecutionContext, home: HomeResource, structured_findings: Any
) -> Iterator[dg.Output]:
    """Hold the structurers of a batch against each other, and against rows that people coded."""
    batch = context.partition_key
    keys = list(context.asset_partition_keys_for_input("structured_findings"))
    read = {
        store_keys(key, (STRUCTURER, BATCH))[0]: frame
        for key, frame in partition_frames(structured_findings, keys).items()
    }
    ordered = {key: read[key] for key in home.judges.structurers if key in read}
    gold = _gold(home, batch)
    frame = agreement_of_structurers(ordered, gold)
    found = frame[frame["field"] == "finding"]
    yield dg.Output(
        frame,
        "structuring_agreement",
        metadata={
            "structurers": ", ".join(ordered) or "none",
            "gold_rows": 0 if gold is None else len(gold),
            "findings": rows_table(found, ["structurer_1", "structurer_2", *_MEASURES]),
            "agreement": rows_table(frame, ["structurer_1", "structurer_2", "field", *_MEASURES]),
        },
    )


def _gold(home: HomeResource, batch: str) -> pd.DataFrame | None:
    """Rows of `gold_findings.csv`, named by the batch's vocabulary; None: there is no such file."""
    file = home.home.gold_findings
    if not file.exists():
        return None
    vocabulary = home.home.delivery(batch).vocabulary
    delivery = Delivery(home.home.root, file, vocabulary, None, None, CorpusDeclaration())
    return gold_rows(take_in(delivery, home.settings.corpus).findings)


def text_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """Reading, structuring, and on request the agreement of structurers."""
    return [
        step_asset("reading", reading, partitions, GROUP, kinds={"report_texts": {"text"}}),
        step_asset("structuring", structuring, partitions, GROUP),
        step_asset("structuring_agreement", structuring_agreement, partitions, GROUP),
    ]
