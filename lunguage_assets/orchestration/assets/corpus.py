"""Groups `text` and `corpus`: raw reports become structured rows, a batch valid ones.

Reports are read, cut into sentences and structured; what cannot be used is kept with
its reason. A batch that was delivered as findings has no tables of texts.

Formats of deliveries are not here, but in the package `corpus`; how a sentence becomes
rows is in `structuring`.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.intake import take_in, take_in_gold, take_in_structured
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import (
    Received,
    receive,
    without_other_languages,
)
from lunguage_assets.edited_files import hash_of_files
from lunguage_assets.errors import MethodError
from lunguage_assets.judges.configuration import RULES
from lunguage_assets.orchestration.automation import batch_condition
from lunguage_assets.orchestration.checks import (
    answers_usable,
    check_specs,
    expectations,
    in_english,
    intake_accepted,
)
from lunguage_assets.orchestration.io_manager import Result, stored, versioned
from lunguage_assets.orchestration.jobs import not_there, pool_of_judges
from lunguage_assets.orchestration.metadata import table_outs
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors, redact_results
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.packaged_data import resource
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.quality.quarantine import Tables, valid_studies
from lunguage_assets.quality.rules import studies_of
from lunguage_assets.structuring.agreement import (
    structuring_agreement as agreement_of_structurers,
)
from lunguage_assets.structuring.model.second_reader import SecondReader
from lunguage_assets.structuring.rows import (
    StructuredTables,
    read_reports,
    structured_reports,
)
from lunguage_assets.structuring.rules.structurer import rule_structurer
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.structuring.text.report import identity as text_rules

MAY_BE_MISSING = {"allow_missing_partitions": True}
"""Of an input: a batch of findings has no texts, and not every structurer reads."""


def text_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the assets of raw reports, upstream first.

    Args:
        configuration: of the home, whose settings are in the code versions.
        by: the partitions.
    """
    texts_version = versioned("5", text_rules())
    structured_version = "2"
    pool = pool_of_judges(configuration.judges)
    # There only where somebody is asked.
    checks_of_answers = [answers_usable] if pool else []
    settings = configuration.settings

    @dg.multi_asset(
        name="read_texts",
        outs=table_outs(
            "text",
            texts_version,
            "report_texts",
            "report_sentences",
            "rejected_reports",
            "reading_notes",
        ),
        partitions_def=by.batch,
        deps=["deliveries"],
    )
    @redact_results
    def read_texts(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Iterator[Result]:
        """Read the raw reports of a batch, and cut them into sentences."""
        batch = configuration.home.batch(context.partition_key)
        received = receive(
            configuration.home.delivery(batch.key), configuration.settings.corpus
        )
        tables = read_reports(received, configuration.processes)._asdict()
        metadata = {
            "batch_sha256": batch.sha256,
            "studies": len(tables["report_texts"]),
        }
        yield stored("report_sentences", tables["report_sentences"])
        yield stored("rejected_reports", tables["rejected_reports"])
        yield stored("reading_notes", tables["reading_notes"])
        yield stored("report_texts", tables["report_texts"], metadata)

    @dg.multi_asset(
        name="structure_reports",
        outs=table_outs(
            "text",
            structured_version,
            "structured_findings",
            "sentence_accounts",
            "refused_values",
            asks_judges=True,
            condition=partial(batch_condition, configuration),
        ),
        ins={
            "report_texts": dg.AssetIn(partition_mapping=by.same_batch),
            "report_sentences": dg.AssetIn(partition_mapping=by.same_batch),
        },
        deps=[
            dg.AssetDep("structurers", partition_mapping=by.same_structurer),
            dg.AssetDep("deliveries", partition_mapping=by.same_batch),
        ],
        partitions_def=by.structurer_and_batch,
        pool=pool,
        check_specs=check_specs(
            "structured_findings",
            by.structurer_and_batch,
            expectations,
            *checks_of_answers,
            expectations_of="sentence_accounts",
        ),
    )
    @redact_results
    def structure_reports(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        report_texts: pd.DataFrame,
        report_sentences: pd.DataFrame,
    ) -> Iterator[Result]:
        """Read findings in the raw reports of a batch with one structurer.

        Args:
            context: of the run.
            configuration: of the home.
            report_texts: of the batch.
            report_sentences: of the batch.
        """
        keys = context.partition_key.keys_by_dimension
        key = keys["structurer"]
        delivery = configuration.home.delivery(keys["report_batch"])
        terms = read_terms(delivery.vocabulary, IntakeLog())
        spending = Spending(context)
        structurer = configuration.open_structurer(key, terms, spending.note)

        if key == RULES:
            # The rules ask nobody and keep a core busy: each core reads some reports.
            chunks = map_studies(
                structured_reports,
                (report_texts, report_sentences),
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
            if isinstance(structurer, SecondReader):
                structured = structurer.read_again(
                    structured, report_texts, report_sentences
                )
        else:
            # All reports at once: its limits say how many are in flight.
            structured = structured_reports(report_texts, report_sentences, structurer)
        tables, invalid = valid_studies(
            "structured_findings",
            {"report_texts": report_texts, "report_sentences": report_sentences},
            structured._asdict(),
            strict=configuration.is_strict,
            processes=configuration.processes,
        )
        rows = tables["structured_findings"]
        accounts = _accounts_of_all(structured.sentence_accounts, studies_of(invalid))
        metadata = {
            "structurer": structurer.identity,
            "studies": len(report_texts),
            "studies_with_findings": int(rows["study_id"].nunique()),
            **spending.metadata(),
        }
        if isinstance(structurer, SecondReader):
            metadata |= structurer.metadata
        checks = [expectations(configuration, "sentence_accounts", accounts)]
        for check in checks_of_answers:
            checks.append(check(configuration, spending.asked))
        yield stored("sentence_accounts", accounts)
        yield stored("refused_values", tables["refused_values"])
        yield stored("structured_findings", rows, metadata, checks, invalid)

    @dg.multi_asset(
        name="compare_structurers",
        outs=table_outs(
            "text",
            versioned("3", settings.corpus.default_view),
            "structuring_agreement",
        ),
        ins={
            "structured_findings": dg.AssetIn(
                partition_mapping=by.same_batch,
                metadata=MAY_BE_MISSING,
                dagster_type=dg.Any,
            )
        },
        deps=["gold_findings_file"],
        partitions_def=by.batch,
    )
    @redact_errors()
    def compare_structurers(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        structured_findings: pd.DataFrame | dict[str, pd.DataFrame] | None,
    ) -> Result:
        """Compare the structurers of a batch, also with rows that people coded.

        Args:
            context: of the run.
            configuration: of the home.
            structured_findings: of the batch, by structurer; None: nobody has read
                it.
        """
        by_structurer = _by_structurer(configuration, structured_findings)
        gold = None
        if configuration.home.gold_findings.exists():
            # The vocabulary of the batch names the rows.
            delivery = configuration.home.delivery(context.partition_key)
            coded = take_in_gold(
                configuration.home.gold_findings,
                delivery.vocabulary,
                configuration.settings.corpus,
            )
            gold = coded.rename(columns={"name": "normed_ent"})
        metadata = {
            "structurers": ", ".join(by_structurer) or "none",
            "gold_rows": 0 if gold is None else len(gold),
        }
        return stored(
            "structuring_agreement",
            agreement_of_structurers(by_structurer, gold),
            metadata,
        )

    return [read_texts, structure_reports, compare_structurers]


def corpus_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the asset of validated findings, with its side tables.

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
    of_texts = dg.AssetIn(metadata=MAY_BE_MISSING, dagster_type=dg.Any)

    @dg.multi_asset(
        name="take_in_findings",
        outs=table_outs(
            "corpus",
            findings_version,
            "findings",
            "reports",
            "rejected",
            "intake_notes",
            "terms",
            condition=partial(batch_condition, configuration),
        ),
        ins={
            "report_texts": of_texts,
            "rejected_reports": of_texts,
            "reading_notes": of_texts,
            "structured_findings": dg.AssetIn(
                partition_mapping=by.same_batch,
                metadata=MAY_BE_MISSING,
                dagster_type=dg.Any,
            ),
        },
        deps=["deliveries"],
        partitions_def=by.batch,
        check_specs=check_specs("findings", by.batch, intake_accepted, in_english),
    )
    @redact_results
    def take_in_findings(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        report_texts: pd.DataFrame | None,
        rejected_reports: pd.DataFrame | None,
        reading_notes: pd.DataFrame | None,
        structured_findings: pd.DataFrame | dict[str, pd.DataFrame] | None,
    ) -> Iterator[Result]:
        """Validate the findings of a batch: delivered, or read in its raw reports.

        Args:
            context: of the run.
            configuration: of the home.
            report_texts: of the batch; None: findings were delivered.
            rejected_reports: as `report_texts`.
            reading_notes: as `report_texts`.
            structured_findings: of the batch, by structurer.
        """
        batch = configuration.home.batch(context.partition_key)
        inputs: dict[str, pd.DataFrame] = {}
        if batch.kind == "text":
            by_structurer = _by_structurer(configuration, structured_findings)
            structurer = configuration.judges.structurer
            read = {
                "report_texts": report_texts,
                "rejected_reports": rejected_reports,
                "reading_notes": reading_notes,
                "structured_findings": by_structurer.get(structurer),
            }
            inputs = _require_made(read, batch.key)

        tables, invalid = valid_studies(
            "findings",
            inputs,
            _take_in_batch(configuration, batch.key, inputs),
            strict=configuration.is_strict,
            processes=configuration.processes,
        )
        accepted = tables["findings"]
        metadata = {
            "batch_sha256": batch.sha256,
            "studies": int(accepted["study_id"].nunique()),
            "tentative": int(accepted["status"].isin(["tp", "tn"]).sum()),
        }
        rejected = tables["rejected"]
        reports = tables["reports"]
        checks = [
            intake_accepted(configuration, rejected, reports),
            in_english(rejected, reports),
        ]
        yield stored("reports", reports)
        yield stored("rejected", rejected)
        yield stored("intake_notes", tables["intake_notes"])
        yield stored("terms", tables["terms"])
        yield stored("findings", accepted, metadata, checks, invalid)

    return [take_in_findings]


def _by_structurer(
    configuration: Configuration,
    structured: pd.DataFrame | dict[str, pd.DataFrame] | None,
) -> dict[str, pd.DataFrame]:
    """Return a batch's rows by structurer; of one alone Dagster hands its frame."""
    if structured is None:
        return {}
    if isinstance(structured, pd.DataFrame):
        (structurer,) = configuration.judges.structurers
        return {structurer: structured}
    # Dagster joins the keys in alphabetical order: report_batch, structurer.
    by_structurer = {key.split("|")[1]: frame for key, frame in structured.items()}
    in_order = configuration.judges.structurers
    return {key: by_structurer[key] for key in in_order if key in by_structurer}


def _require_made(
    read: Mapping[str, pd.DataFrame | None], batch: str
) -> dict[str, pd.DataFrame]:
    """Refuse a batch of texts of which a table is not there yet."""
    made = {}
    for table, frame in read.items():
        if frame is None:
            raise MethodError(not_there(table, [batch]))
        made[table] = frame
    return made


def _accounts_of_all(accounts: pd.DataFrame, invalid: frozenset[str]) -> pd.DataFrame:
    """Say in the accounts of sentences that invalid studies gave no findings."""
    gave_findings = accounts["account"] == "findings"
    is_invalid = accounts["study_id"].isin(invalid) & gave_findings
    accounts.loc[is_invalid, ["account", "reason", "rows"]] = (
        "unreadable",
        "set aside",
        0,
    )
    return accounts


def _take_in_batch(
    configuration: Configuration, batch: str, tables: Mapping[str, pd.DataFrame]
) -> Tables:
    """Take in the findings of a batch: those delivered, or read in its raw reports."""
    delivery = configuration.home.delivery(batch)
    settings = configuration.settings.corpus
    if not tables:
        return vars(take_in(delivery, settings))
    received = Received(
        tables["report_texts"],
        tables["rejected_reports"],
        tables["reading_notes"],
        # What is odd about the vocabulary is already in reading_notes.
        read_terms(delivery.vocabulary, IntakeLog()),
    )
    # The rules read no other language; a language model may.
    if configuration.judges.structurer == RULES:
        received = without_other_languages(received, NOT_ENGLISH)
    intake = take_in_structured(received, tables["structured_findings"], settings)
    return vars(intake)
