"""Group `implicit`: duplicates merged, diagnoses expanded, contradictions resolved.

It rests on docs/method/implicit.md.

Steps work on chunks of studies in several processes (`parallel`). How rows are merged,
expanded and resolved is not here, but in the package `implicit`.
"""

from collections.abc import Iterator
from functools import partial

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import InvalidTable
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
from lunguage_assets.lineage.recipes import BATCH
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
    conflict_free,
    conflict_free_refused,
    expectations,
    none_set_aside,
)
from lunguage_assets.orchestration.metadata import counts, table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.quality.rules import set_aside_frame, studies_of

GROUP = "implicit"


def implicit_assets(
    partitions: Partitions, condition: ConditionOf
) -> list[dg.AssetsDefinition]:
    """Return the assets of the group, upstream first.

    Args:
        partitions: of the judges in force.
        condition: when the sensor requests a step of a new batch.
    """
    by_ranker_and_batch = partitions.by("ranker", BATCH)

    @dg.asset(
        **table_options("deduplicated_findings"),
        group_name=GROUP,
        partitions_def=by_ranker_and_batch,
        deps=step_deps("deduplicated_findings", partitions),
        check_specs=check_specs(
            "deduplicated_findings", by_ranker_and_batch, expectations
        ),
        automation_condition=condition("deduplicated_findings"),
    )
    @redact_errors()
    def deduplicated_findings(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Merge duplicate findings of a study."""
        inputs = read_inputs(context, configuration)
        tool_arguments = (
            configuration.settings.implicit,
            inputs.tables["terms"],
            configuration.home.root,
            configuration.home.blacklist_file,
        )
        # Processes load their own below. These say which encoder it is, and one that is
        # not there ends the step before any work.
        embedder, blacklist, settings, labels = merging_tools(*tool_arguments)

        def merge(inputs: StepInputs) -> Tables:
            findings = inputs.tables["findings"]
            fitted = inputs.tables["fitted_probabilities"]
            if settings.encoder != "lexical":
                # A model is loaded once, and has cores of its own.
                merged = deduplicate(
                    findings, fitted, embedder, blacklist, settings, labels
                )
                return {"deduplicated_findings": merged}
            chunks = map_studies(
                deduplicate,
                (findings, fitted),
                merging_tools,
                *tool_arguments,
                processes=configuration.processes,
            )
            return {"deduplicated_findings": joined(chunks)}

        inputs, tables = compute_valid_studies(configuration, inputs, merge)
        merged = tables["deduplicated_findings"]
        metadata = {
            "encoder": embedder.identity,
            "merged": int((merged["disposition"] == "merged").sum()),
            "excluded": int((merged["disposition"] == "excluded").sum()),
        }
        return materialize_result(
            configuration,
            inputs,
            tables,
            metadata,
            [expectations(configuration, "deduplicated_findings", merged)],
        )

    @dg.asset(
        **table_options("expansions"),
        group_name=GROUP,
        partitions_def=by_ranker_and_batch,
        deps=step_deps("expansions", partitions),
        check_specs=check_specs("expansions", by_ranker_and_batch, expectations),
        automation_condition=condition("expansions"),
    )
    @redact_errors()
    def expansions(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Match findings to pathways and generate the sub-findings that they imply."""

        def expand_batch(inputs: StepInputs) -> Tables:
            chunks = map_studies(
                expand,
                (inputs.tables["deduplicated_findings"],),
                expansion_tools,
                configuration.home.pathways_file,
                inputs.tables["terms"],
                processes=configuration.processes,
            )
            return {
                "expansions": joined([chunk.expansions for chunk in chunks]),
                "pathway_matches": joined([chunk.matches for chunk in chunks]),
            }

        inputs, tables = compute_valid_studies(
            configuration, read_inputs(context, configuration), expand_batch
        )
        expanded = tables["expansions"]
        matches = tables["pathway_matches"]
        matched = matches[matches["reason"] == "matched"]
        generated = int((expanded["outcome"] == "generated").sum())
        metadata = {
            "expanding": len(matched),
            "generated": generated,
            "already_stated": len(expanded) - generated,
            "diagnoses": counts(matched["diagnosis"], "diagnosis"),
        }
        return materialize_result(
            configuration,
            inputs,
            tables,
            metadata,
            [expectations(configuration, "expansions", expanded)],
        )

    @dg.asset(
        **table_options("lunguage_plus_plus"),
        group_name=GROUP,
        partitions_def=by_ranker_and_batch,
        deps=step_deps("lunguage_plus_plus", partitions),
        check_specs=check_specs(
            "lunguage_plus_plus",
            by_ranker_and_batch,
            conflict_free,
            none_set_aside,
            expectations,
            blocking=conflict_free,
        ),
        automation_condition=condition("lunguage_plus_plus"),
    )
    def lunguage_plus_plus(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Iterator[dg.AssetCheckResult | Result]:
        """Resolve every contradiction; a study that breaks a guarantee is set aside."""
        # A generator, because its check blocks: Dagster stores what an asset returns
        # before it looks whether a blocking check failed. So the check is yielded
        # first, and what fails it is never returned.
        with redact_errors():
            try:
                inputs, tables = compute_valid_studies(
                    configuration,
                    read_inputs(context, configuration),
                    partial(_resolved, configuration),
                )
                result = _result_with_checks(configuration, inputs, tables)
            except InvalidTable as error:
                yield conflict_free_refused(error)
                raise
            guaranteed = conflict_free(configuration, tables)
            yield guaranteed
            if not guaranteed.passed:
                raise InvalidTable(
                    "lunguage_plus_plus: a blocking check failed, nothing stored; its "
                    "note says why"
                )
            yield result

    return [deduplicated_findings, expansions, lunguage_plus_plus]


def _resolved(configuration: Configuration, inputs: StepInputs) -> Tables:
    deduplicated = inputs.tables["deduplicated_findings"]
    expansion = Expansion(inputs.tables["pathway_matches"], inputs.tables["expansions"])
    chunks = map_studies(
        resolve,
        (deduplicated, *expansion),
        resolution_tools,
        inputs.tables["terms"],
        _ranking_version(inputs),
        configuration.home.pathways_file,
        configuration.home.blacklist_file,
        processes=configuration.processes,
    )
    resolution = Resolution(
        rows=joined([chunk.rows for chunk in chunks]),
        log=joined([chunk.log for chunk in chunks]),
        conflicts=joined([chunk.conflicts for chunk in chunks]),
    )
    reports = inputs.tables["reports"]
    accounts = account(
        reports,
        inputs.tables["rejected"],
        deduplicated,
        expansion,
        resolution,
        studies_of(inputs.invalid_studies),
    )
    return {
        "lunguage_plus_plus": resolution.rows,
        "resolution_log": resolution.log,
        "conflicts": resolution.conflicts,
        "accounting": accounts,
        "set_aside": set_aside_frame(inputs.invalid_studies, reports),
    }


def _result_with_checks(
    configuration: Configuration, inputs: StepInputs, tables: Tables
) -> Result:
    """Return the result of a batch with its checks that only warn."""
    rows = tables["lunguage_plus_plus"]
    totals = tables["accounting"].drop(columns=["study_id", "balanced"]).sum()
    metadata = {
        "generated": int((rows["source"] == "expansion").sum()),
        "contested": len(tables["conflicts"]),
        "ranking_version": _ranking_version(inputs),
        **{str(name): int(total) for name, total in totals.items()},
    }
    return materialize_result(
        configuration,
        inputs,
        tables,
        metadata,
        [
            none_set_aside(tables["set_aside"]),
            expectations(configuration, "lunguage_plus_plus", rows),
        ],
    )


def _ranking_version(inputs: StepInputs) -> str:
    """Return the version of the ranking that a batch was fitted into."""
    fitted = inputs.tables["fitted_probabilities"]
    # A batch without tentative findings has no fits.
    ranked = fitted if len(fitted) else inputs.tables["reference_ranking"]
    return str(ranked["ranking_version"].iloc[0])
