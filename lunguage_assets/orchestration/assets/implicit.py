"""Group `implicit`: duplicates merged, diagnoses expanded, contradictions resolved.

It rests on docs/method/implicit.md.

Steps work on chunks of studies in several processes (`parallel`). How rows are merged,
expanded and resolved is not here, but in the package `implicit`.
"""

from collections.abc import Iterator
from functools import partial

import dagster as dg
import pandas as pd

from lunguage_assets.assertion.vocabulary import content_hash
from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import hash_of_files
from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.encoders import encoder_identity
from lunguage_assets.implicit.expansion.expand import (
    Expansion,
    expand,
    expansion_tools,
)
from lunguage_assets.implicit.merging.deduplicate import deduplicate, merging_tools
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import (
    Resolution,
    resolution_tools,
    resolve,
)
from lunguage_assets.orchestration.automation import batch_condition
from lunguage_assets.orchestration.checks import (
    check_specs,
    conflict_free,
    conflict_free_refused,
    expectations,
    none_set_aside,
)
from lunguage_assets.orchestration.io_manager import Result, stored, versioned
from lunguage_assets.orchestration.metadata import counts, table_outs
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors, redact_results
from lunguage_assets.packaged_data import resource
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.quality.quarantine import (
    Tables,
    invalid_upstream,
    valid_studies,
    without_invalid,
)
from lunguage_assets.quality.rules import (
    InvalidStudy,
    set_aside_frame,
    studies_of,
    without_studies,
)

GROUP = "implicit"

MERGE_OPTIONS = {"merge_threshold", "history", "mode"}
"""Options that merging reads: another one makes nothing stale."""


def implicit_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the assets of the group, upstream first.

    Args:
        configuration: of the home, whose settings are in the code versions.
        by: the partitions.
    """
    settings = configuration.settings.implicit
    # What a denial reaches, what restricts it and what refines a diagnosis stand among
    # the words of the assertion engine.
    statements = [
        hash_of_files(resource("labels.yaml"), resource("statements.yaml")),
        content_hash(),
    ]
    same_batch = dg.AssetIn(partition_mapping=by.same_batch)

    @dg.multi_asset(
        name="merge_duplicates",
        outs=table_outs(
            GROUP,
            versioned(
                "8",
                settings.model_dump(include=MERGE_OPTIONS),
                encoder_identity(settings),
                statements,
            ),
            "deduplicated_findings",
            condition=partial(batch_condition, configuration),
        ),
        ins={"findings": same_batch, "terms": same_batch},
        deps=["blacklist_file"],
        partitions_def=by.ranker_and_batch,
        check_specs=check_specs(
            "deduplicated_findings", by.ranker_and_batch, expectations
        ),
    )
    @redact_errors()
    def merge_duplicates(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        findings: pd.DataFrame,
        terms: pd.DataFrame,
        fitted_probabilities: pd.DataFrame,
    ) -> Result:
        """Merge duplicate findings of a study.

        Args:
            context: of the run.
            configuration: of the home.
            findings: of the batch.
            terms: of the batch.
            fitted_probabilities: of the batch, by the ranker.
        """
        tool_arguments = (
            configuration.settings.implicit,
            terms,
            configuration.home.root,
            configuration.home.blacklist_file,
        )
        # Processes load their own below. These say which encoder it is, and one that is
        # not there ends the step before any work.
        embedder, blacklist, settings, labels = merging_tools(*tool_arguments)

        inputs = {"findings": findings, "fitted_probabilities": fitted_probabilities}
        valid = without_invalid(inputs)
        fitted_findings = (valid["findings"], valid["fitted_probabilities"])
        if settings.encoder != "lexical":
            # A model is loaded once, and has cores of its own.
            merged = deduplicate(
                *fitted_findings, embedder, blacklist, settings, labels
            )
        else:
            chunks = map_studies(
                deduplicate,
                fitted_findings,
                merging_tools,
                *tool_arguments,
                processes=configuration.processes,
            )
            merged = joined(chunks)
        tables, invalid = _valid_studies(
            configuration,
            "deduplicated_findings",
            inputs,
            {"deduplicated_findings": merged},
        )
        merged = tables["deduplicated_findings"]
        metadata = {
            "encoder": embedder.identity,
            "merged": int((merged["disposition"] == "merged").sum()),
            "excluded": int((merged["disposition"] == "excluded").sum()),
        }
        checks = [expectations(configuration, "deduplicated_findings", merged)]
        return stored("deduplicated_findings", merged, metadata, checks, invalid)

    @dg.multi_asset(
        name="expand_diagnoses",
        outs=table_outs(
            GROUP,
            versioned("7", statements),
            "expansions",
            "pathway_matches",
            condition=partial(batch_condition, configuration),
        ),
        ins={"terms": same_batch},
        deps=["pathways_file"],
        partitions_def=by.ranker_and_batch,
        check_specs=check_specs("expansions", by.ranker_and_batch, expectations),
    )
    @redact_results
    def expand_diagnoses(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        terms: pd.DataFrame,
        deduplicated_findings: pd.DataFrame,
    ) -> Iterator[Result]:
        """Match findings to pathways and generate the sub-findings that they imply.

        Args:
            context: of the run.
            configuration: of the home.
            terms: of the batch.
            deduplicated_findings: of the batch, by the ranker.
        """

        chunks = map_studies(
            expand,
            (deduplicated_findings,),
            expansion_tools,
            configuration.home.pathways_file,
            terms,
            processes=configuration.processes,
        )
        tables, invalid = _valid_studies(
            configuration,
            "expansions",
            {"deduplicated_findings": deduplicated_findings},
            {
                "expansions": joined([chunk.expansions for chunk in chunks]),
                "pathway_matches": joined([chunk.matches for chunk in chunks]),
            },
        )
        expanded = tables["expansions"]
        matches = tables["pathway_matches"]
        matched = matches[matches["reason"] == "matched"]
        metadata = {
            "expanding": len(matched),
            "diagnoses": counts(matched["diagnosis"], "diagnosis"),
        }
        checks = [expectations(configuration, "expansions", expanded)]
        yield stored("pathway_matches", matches)
        yield stored("expansions", expanded, metadata, checks, invalid)

    @dg.multi_asset(
        name="resolve_contradictions",
        outs=table_outs(
            GROUP,
            versioned("7", statements),
            "lunguage_plus_plus",
            "resolution_log",
            "conflicts",
            "accounting",
            "set_aside",
            condition=partial(batch_condition, configuration),
        ),
        ins={
            "reports": same_batch,
            "rejected": same_batch,
            "terms": same_batch,
            "reference_ranking": dg.AssetIn(partition_mapping=by.same_ranker),
        },
        deps=["pathways_file"],
        partitions_def=by.ranker_and_batch,
        check_specs=check_specs(
            "lunguage_plus_plus",
            by.ranker_and_batch,
            conflict_free,
            none_set_aside,
            expectations,
            blocking=conflict_free,
        ),
    )
    def resolve_contradictions(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        reports: pd.DataFrame,
        rejected: pd.DataFrame,
        terms: pd.DataFrame,
        reference_ranking: pd.DataFrame,
        fitted_probabilities: pd.DataFrame,
        deduplicated_findings: pd.DataFrame,
        pathway_matches: pd.DataFrame,
        expansions: pd.DataFrame,
    ) -> Iterator[dg.AssetCheckResult | Result]:
        """Resolve every contradiction; a study that breaks a guarantee is set aside.

        Args:
            context: of the run.
            configuration: of the home.
            reports: of the batch.
            rejected: of the batch.
            terms: of the batch.
            reference_ranking: the ranker's.
            fitted_probabilities: of the batch, by the ranker.
            deduplicated_findings: of the batch, by the ranker.
            pathway_matches: of the batch, by the ranker.
            expansions: of the batch, by the ranker.
        """
        inputs = {
            "reports": reports,
            "rejected": rejected,
            "terms": terms,
            "fitted_probabilities": fitted_probabilities,
            "deduplicated_findings": deduplicated_findings,
            "pathway_matches": pathway_matches,
            "expansions": expansions,
        }
        # A batch without tentative findings has no fits.
        ranked = (
            fitted_probabilities if len(fitted_probabilities) else reference_ranking
        )
        ranking_version = str(ranked["ranking_version"].iloc[0])
        # A generator, because its check blocks: Dagster stores what an asset returns
        # before it looks whether a blocking check failed. So the check is yielded
        # first, and what fails it is never returned.
        with redact_errors():
            upstream = invalid_upstream(inputs)
            valid = without_invalid(inputs)
            tables = _resolved(configuration, ranking_version, valid, upstream)
            try:
                _, invalid = _valid_studies(
                    configuration, "lunguage_plus_plus", inputs, tables
                )
            except InvalidTable as error:
                yield conflict_free_refused(error)
                raise
            if invalid != upstream:
                studies = studies_of(invalid)
                valid = without_studies(valid, studies)
                tables = _accounted(valid, without_studies(tables, studies), invalid)
            guaranteed = conflict_free(configuration, valid, tables)
            yield guaranteed
            if not guaranteed.passed:
                raise InvalidTable(
                    "lunguage_plus_plus: a blocking check failed, nothing stored; its "
                    "note says why"
                )
            yield from _results(configuration, tables, invalid, ranking_version)

    return [merge_duplicates, expand_diagnoses, resolve_contradictions]


def _valid_studies(
    configuration: Configuration, step: str, inputs: Tables, tables: Tables
) -> tuple[Tables, list[InvalidStudy]]:
    """Leave out the studies that break a rule, as `valid_studies`."""
    return valid_studies(
        step,
        inputs,
        tables,
        strict=configuration.is_strict,
        delivered=inputs["reports"]["study_id"] if "reports" in inputs else (),
        processes=configuration.processes,
    )


def _resolved(
    configuration: Configuration,
    ranking_version: str,
    inputs: Tables,
    invalid: list[InvalidStudy],
) -> dict[str, pd.DataFrame]:
    """Resolve all studies, and account for their rows.

    Args:
        configuration: of the home.
        ranking_version: of the reference ranking.
        inputs: tables by name, without invalid studies.
        invalid: studies that earlier steps set aside.
    """
    chunks = map_studies(
        resolve,
        (
            inputs["deduplicated_findings"],
            inputs["pathway_matches"],
            inputs["expansions"],
        ),
        resolution_tools,
        inputs["terms"],
        ranking_version,
        configuration.home.pathways_file,
        processes=configuration.processes,
    )
    tables = {
        "lunguage_plus_plus": joined([chunk.rows for chunk in chunks]),
        "resolution_log": joined([chunk.log for chunk in chunks]),
        "conflicts": joined([chunk.conflicts for chunk in chunks]),
    }
    return _accounted(inputs, tables, invalid)


def _accounted(
    inputs: Tables, tables: Tables, invalid: list[InvalidStudy]
) -> dict[str, pd.DataFrame]:
    """Account for every delivered row; studies that are set aside are in no table."""
    accounts = account(
        inputs["reports"],
        inputs["rejected"],
        inputs["deduplicated_findings"],
        Expansion(inputs["pathway_matches"], inputs["expansions"]),
        Resolution(
            tables["lunguage_plus_plus"], tables["resolution_log"], tables["conflicts"]
        ),
        studies_of(invalid),
    )
    set_aside = set_aside_frame(invalid, inputs["reports"])
    return {**tables, "accounting": accounts, "set_aside": set_aside}


def _results(
    configuration: Configuration,
    tables: Tables,
    invalid: list[InvalidStudy],
    ranking_version: str,
) -> Iterator[Result]:
    """Yield the tables of a batch with the checks that only warn, side tables first.

    Args:
        configuration: of the home.
        tables: by name.
        invalid: studies that are not in them.
        ranking_version: shown in the UI.
    """
    rows = tables["lunguage_plus_plus"]
    totals = tables["accounting"].drop(columns=["study_id", "balanced"]).sum()
    metadata = {
        "generated": int((rows["source"] == "expansion").sum()),
        "contested": len(tables["conflicts"]),
        "ranking_version": ranking_version,
        **{str(name): int(total) for name, total in totals.items()},
    }
    checks = [
        none_set_aside(tables["set_aside"]),
        expectations(configuration, "lunguage_plus_plus", rows),
    ]
    for table in ("resolution_log", "conflicts", "accounting", "set_aside"):
        yield stored(table, tables[table])
    yield stored("lunguage_plus_plus", rows, metadata, checks, invalid)
