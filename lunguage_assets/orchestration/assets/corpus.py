"""Groups `text` and `corpus`: raw reports become structured rows, a batch valid ones.

Reports are read, cut into sentences and structured; what cannot be used is kept with
its reason. A batch that was delivered as findings has no tables of texts.

Formats of deliveries are not here, but in the package `corpus`; how a sentence becomes
rows is in `structuring`.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.intake import take_in, take_in_structured
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import (
    Received,
    receive,
    without_other_languages,
)
from lunguage_assets.edited_files import hash_of_files
from lunguage_assets.judges.configuration import RULES
from lunguage_assets.orchestration.checks import intake_accepted
from lunguage_assets.orchestration.outputs import (
    StepResult,
    table_asset,
    versioned,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.packaged_data import resource
from lunguage_assets.quality.quarantine import valid_studies
from lunguage_assets.quality.rules import studies_of
from lunguage_assets.structuring.batch import structured_batch
from lunguage_assets.structuring.rows import read_reports
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.structuring.text.report import identity as text_rules
from lunguage_assets.workspace.store import stored_table

_TEXT_TABLES = ("report_texts", "rejected_reports", "reading_notes")


def corpus_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the assets of raw reports and of validated findings, upstream first.

    Args:
        configuration: of the home, whose settings are in the code versions.
        by: the partitions.
    """
    findings_version = versioned(
        "4",
        configuration.settings.corpus.default_view,
        configuration.judges.structurer,
        hash_of_files(resource("terms.yaml")),
    )

    @table_asset(
        configuration,
        "text",
        versioned("5", text_rules()),
        by.batch,
        "report_texts",
        "report_sentences",
        "rejected_reports",
        "reading_notes",
        deps=["deliveries"],
    )
    def read_texts(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
    ) -> StepResult:
        """Read the raw reports of a batch, and cut them into sentences."""
        delivery = configuration.home.delivery(context.partition_key)
        received = receive(delivery)
        return StepResult(read_reports(received, configuration.processes)._asdict())

    @table_asset(
        configuration,
        "text",
        "2",
        by.structurer_and_batch,
        "structured_findings",
        "sentence_accounts",
        "refused_values",
        deps=["structurers", "deliveries"],
        asks_judges=True,
        automated=True,
    )
    def structure_reports(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        report_texts: pd.DataFrame,
        report_sentences: pd.DataFrame,
    ) -> StepResult:
        """Read findings in the raw reports of a batch with one structurer.

        Args:
            context: of the run.
            configuration: of the home.
            report_texts: of the batch.
            report_sentences: of the batch.
        """
        home = configuration.home
        keys = context.partition_key.keys_by_dimension
        delivery = home.delivery(keys["report_batch"])
        reports = {"report_texts": report_texts, "report_sentences": report_sentences}
        structured, metadata = structured_batch(
            keys["structurer"],
            **reports,
            terms=read_terms(delivery.vocabulary, IntakeLog()),
            judges=configuration.judges,
            open_context=configuration.judge_context,
            own_cues=home.assertion_file,
            processes=configuration.processes,
        )
        tables, invalid = valid_studies(
            "structured_findings",
            reports,
            structured._asdict(),
            configuration,
        )
        accounts = structured.sentence_accounts
        is_invalid = accounts["study_id"].isin(studies_of(invalid))
        columns = ["account", "reason", "rows"]
        accounts.loc[is_invalid, columns] = "unreadable", "set aside", 0
        return StepResult(
            {**tables, "sentence_accounts": accounts}, metadata, invalid=invalid
        )

    @table_asset(
        configuration,
        "corpus",
        findings_version,
        by.batch,
        "findings",
        "reports",
        "rejected",
        "intake_notes",
        "terms",
        # A batch of findings has none but the delivery: they are read below.
        deps=["deliveries", *_TEXT_TABLES, "structured_findings"],
        checks=[intake_accepted],
        automated=True,
    )
    def take_in_findings(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
    ) -> StepResult:
        """Validate the findings of a batch: delivered, or read in its raw reports."""
        batch = context.partition_key
        home = configuration.home
        delivery = home.delivery(batch)
        settings = configuration.settings.corpus
        structurer = configuration.judges.structurer
        inputs: dict[str, pd.DataFrame] = {}
        if delivery.kind == "text":
            inputs = {table: stored_table(home, table, batch) for table in _TEXT_TABLES}
            # What is odd about the vocabulary is already in reading_notes.
            terms = read_terms(delivery.vocabulary, IntakeLog())
            received = Received._make([*inputs.values(), terms])
            rows = stored_table(home, "structured_findings", batch, structurer)
            inputs["structured_findings"] = rows
            # The rules read no other language; a language model may.
            if structurer == RULES:
                received = without_other_languages(received, NOT_ENGLISH)
            taken_in = take_in_structured(received, rows, settings)
        else:
            taken_in = take_in(delivery, settings)
        tables, invalid = valid_studies(
            "findings", inputs, vars(taken_in), configuration
        )
        accepted = intake_accepted(configuration, tables["rejected"], tables["reports"])
        return StepResult(tables, checks=[accepted], invalid=invalid)

    return [read_texts, structure_reports, take_in_findings]
