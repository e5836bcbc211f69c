"""Groups `text` and `corpus`: raw reports become structured rows, a batch valid ones.

Reports are read, cut into sentences and structured; what cannot be used is kept with
its reason.

For batches that were delivered as findings the tables of texts are empty, and nothing
asks for them. Formats of deliveries are not here, but in the package `corpus`; how a
sentence becomes rows is in `structuring`.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.intake import (
    take_in,
    take_in_gold,
    take_in_structured,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.corpus.texts.receiving import (
    Received,
    receive,
    without_other_languages,
)
from lunguage_assets.judges.configuration import RADGRAPH, RADGRAPH_SECOND, RULES
from lunguage_assets.lineage.recipes import BATCH, RECIPES, STRUCTURER
from lunguage_assets.orchestration.assets.steps import (
    ConditionOf,
    Result,
    StepInputs,
    Tables,
    compute_valid_studies,
    materialize_result,
    read_inputs,
    step_deps,
)
from lunguage_assets.orchestration.checks import (
    check_specs,
    checks_of_answers,
    expectations,
    in_english,
    intake_accepted,
)
from lunguage_assets.orchestration.metadata import SHOWN, markdown, table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.quality.rules import studies_of, without_studies
from lunguage_assets.structuring.agreement import gold_rows
from lunguage_assets.structuring.agreement import (
    structuring_agreement as agreement_of_structurers,
)
from lunguage_assets.structuring.contract import Structurer
from lunguage_assets.structuring.cue_counts import cue_counts
from lunguage_assets.structuring.radgraph import RadGraphStructurer
from lunguage_assets.structuring.rows import (
    StructuredTables,
    read_reports,
    structured_reports,
)
from lunguage_assets.structuring.rules.structurer import rule_structurer
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.tables import TABLES


def text_assets(
    partitions: Partitions, condition: ConditionOf
) -> list[dg.AssetsDefinition]:
    """Return the assets of raw reports, upstream first.

    Args:
        partitions: of the judges in force.
        condition: when the sensor requests a step of a new batch.
    """
    answer_checks = checks_of_answers(partitions.judges)
    by_batch = partitions.by(BATCH)
    by_structurer_and_batch = partitions.by(STRUCTURER, BATCH)

    @dg.asset(
        **table_options("report_texts"),
        group_name="text",
        partitions_def=by_batch,
        deps=step_deps("report_texts", partitions),
    )
    @redact_errors()
    def report_texts(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Read the raw reports of a batch, and cut them into sentences."""
        inputs = read_inputs(context, configuration)
        batch = configuration.home.batch(*inputs.keys)
        tables = read_texts(configuration, batch.key)
        metadata = {
            "batch_sha256": batch.sha256,
            "studies": len(tables["report_texts"]),
        }
        return materialize_result(configuration, inputs, tables, metadata)

    @dg.asset(
        **table_options("structured_findings", partitions.judges),
        group_name="text",
        partitions_def=by_structurer_and_batch,
        deps=step_deps("structured_findings", partitions),
        check_specs=check_specs(
            "structured_findings",
            by_structurer_and_batch,
            expectations,
            *answer_checks,
            expectations_of="sentence_accounts",
        ),
        automation_condition=condition("structured_findings"),
    )
    @redact_errors()
    def structured_findings(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Read findings in the raw reports of a batch with one structurer."""
        inputs = read_inputs(context, configuration)
        key, batch = inputs.keys
        delivery = configuration.home.delivery(batch)
        terms = read_terms(delivery.vocabulary, IntakeLog())
        spending = Spending(context, configuration)
        structurer: Structurer
        if key in (RADGRAPH, RADGRAPH_SECOND):
            structurer = _radgraph_structurer(configuration, batch, terms, key)
        else:
            structurer = configuration.open_structurer(
                key, terms, spending.note, spending.bill
            )

        def structure(inputs: StepInputs) -> Tables:
            texts = inputs.tables["report_texts"]
            sentences = inputs.tables["report_sentences"]
            if key != RULES:
                # All reports at once: its limits say how many are in flight.
                structured = structured_reports(texts, sentences, structurer)
                return _without_invalid_findings(structured, inputs)
            # The rules ask nobody and keep a core busy: each core reads some reports.
            chunks = map_studies(
                structured_reports,
                (texts, sentences),
                rule_structurer,
                terms,
                configuration.home.assertion_file,
                processes=configuration.processes,
            )
            structured = StructuredTables(
                joined([chunk.structured_findings for chunk in chunks]),
                joined([chunk.sentence_accounts for chunk in chunks]),
                joined([chunk.refused_values for chunk in chunks]),
            )
            return _without_invalid_findings(structured, inputs)

        inputs, tables = compute_valid_studies(configuration, inputs, structure)
        rows = tables["structured_findings"]
        metadata = {
            "structurer": structurer.identity,
            "studies": len(inputs.tables["report_texts"]),
            "studies_with_findings": int(rows["study_id"].nunique()),
            **spending.metadata(),
        }
        return materialize_result(
            configuration,
            inputs,
            tables,
            metadata,
            [
                expectations(
                    configuration, "sentence_accounts", tables["sentence_accounts"]
                ),
                *(check(configuration, spending.asked) for check in answer_checks),
            ],
        )

    @dg.asset(
        **table_options("structuring_agreement"),
        group_name="text",
        partitions_def=by_batch,
        deps=step_deps("structuring_agreement", partitions),
    )
    @redact_errors()
    def structuring_agreement(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Compare the structurers of a batch, also with rows that people coded."""
        inputs = read_inputs(context, configuration)
        (batch,) = inputs.keys
        frames = inputs.partitions["structured_findings"]
        by_structurer = {structurer: frame for (structurer, _), frame in frames.items()}
        gold = None
        if configuration.home.gold_findings.exists():
            # The vocabulary of the batch names the rows.
            vocabulary = configuration.home.delivery(batch).vocabulary
            coded = take_in_gold(
                configuration.home.gold_findings,
                vocabulary,
                configuration.settings.corpus,
            )
            gold = gold_rows(coded)
        by_cue = cue_counts(by_structurer, gold)
        top_cues = by_cue.head(SHOWN)[["cue", "rows", "compared", "differing"]]
        top_cues = top_cues.replace({"cue": {"": "none"}})
        metadata = {
            "structurers": ", ".join(by_structurer) or "none",
            "gold_rows": 0 if gold is None else len(gold),
            "rows_by_cue": markdown(
                [*top_cues.columns], top_cues.itertuples(index=False), "none"
            ),
        }
        tables = {
            "structuring_agreement": agreement_of_structurers(by_structurer, gold),
            "cue_counts": by_cue,
        }
        return materialize_result(configuration, inputs, tables, metadata)

    return [report_texts, structured_findings, structuring_agreement]


def corpus_assets(
    partitions: Partitions, condition: ConditionOf
) -> list[dg.AssetsDefinition]:
    """Return the asset of validated findings.

    Args:
        partitions: of the judges in force.
        condition: when the sensor requests a step of a new batch.
    """
    by_batch = partitions.by(BATCH)

    @dg.asset(
        **table_options("findings"),
        group_name="corpus",
        partitions_def=by_batch,
        deps=step_deps("findings", partitions),
        check_specs=check_specs("findings", by_batch, intake_accepted, in_english),
        automation_condition=condition("findings"),
    )
    @redact_errors()
    def findings(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Validate the findings of a batch: delivered, or read in its raw reports."""
        inputs = read_inputs(context, configuration)
        batch = configuration.home.batch(*inputs.keys)
        metadata: dict[str, str | int] = {"batch_sha256": batch.sha256}

        def take_in_valid(inputs: StepInputs) -> Tables:
            tables = take_in_batch(configuration, inputs)
            return without_studies(tables, studies_of(inputs.invalid_studies))

        inputs, tables = compute_valid_studies(configuration, inputs, take_in_valid)
        accepted = tables["findings"]
        metadata["studies"] = int(accepted["study_id"].nunique())
        metadata["tentative"] = int(accepted["status"].isin(["tp", "tn"]).sum())
        return materialize_result(
            configuration,
            inputs,
            tables,
            metadata,
            [
                intake_accepted(configuration, tables["rejected"], tables["reports"]),
                in_english(tables["rejected"], tables["reports"]),
            ],
        )

    return [findings]


def _radgraph_structurer(
    configuration: Configuration, batch: str, terms: pd.DataFrame, key: str
) -> RadGraphStructurer:
    """Return the structurer that reads delivered RadGraph graphs, of one annotator."""
    graphs = {}
    for report in configuration.home.delivery(batch).raw_reports():
        graph = report.graph if key == RADGRAPH else report.second_graph
        if graph:
            graphs[study_of(report.study)] = graph
    return RadGraphStructurer(graphs, terms, key)


def _without_invalid_findings(
    structured: StructuredTables, inputs: StepInputs
) -> Tables:
    """Take the rows of invalid studies out, and say so in the accounts of sentences.

    The delivered texts keep all studies, so the structurer has read these ones too.
    """
    invalid = studies_of(inputs.invalid_studies)
    tables = without_studies(structured._asdict(), invalid)
    accounts = structured.sentence_accounts
    gave_findings = accounts["account"] == "findings"
    is_invalid = accounts["study_id"].isin(invalid) & gave_findings
    accounts.loc[is_invalid, "account"] = "unreadable"
    accounts.loc[is_invalid, "reason"] = "set aside"
    accounts.loc[is_invalid, "rows"] = 0
    return tables


def read_texts(configuration: Configuration, batch: str) -> Tables:
    """Read the raw reports of a batch; empty tables for one of findings."""
    if configuration.home.batch(batch).kind != "text":
        names = RECIPES["report_texts"].tables
        return {name: TABLES[name].frame() for name in names}
    received = receive(
        configuration.home.delivery(batch), configuration.settings.corpus
    )
    return vars(read_reports(received, configuration.processes))


def take_in_batch(configuration: Configuration, inputs: StepInputs) -> Tables:
    """Take in the findings of a batch: those delivered, or read in its raw reports."""
    (batch,) = inputs.keys
    delivery = configuration.home.delivery(batch)
    settings = configuration.settings.corpus
    if configuration.home.batch(batch).kind != "text":
        return vars(take_in(delivery, settings))
    received = Received(
        inputs.tables["report_texts"],
        inputs.tables["rejected_reports"],
        inputs.tables["reading_notes"],
        # What is odd about the vocabulary is already in reading_notes.
        read_terms(delivery.vocabulary, IntakeLog()),
    )
    # The rules read no other language; a language model may.
    if configuration.judges.structurer == RULES:
        received = without_other_languages(received, NOT_ENGLISH)
    intake = take_in_structured(
        received,
        inputs.tables["structured_findings"],
        settings,
        configuration.processes,
    )
    return vars(intake)
