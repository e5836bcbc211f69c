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
    expand,
    expansion_tools,
)
from lunguage_assets.implicit.merging.deduplicate import deduplicate, merging_tools
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import (
    resolution_tools,
    resolve,
)
from lunguage_assets.orchestration.automation import batch_condition
from lunguage_assets.orchestration.checks import (
    conflict_free,
    expectations,
    none_set_aside,
    not_conflict_free,
)
from lunguage_assets.orchestration.outputs import (
    Result,
    check_specs,
    stored,
    stored_valid,
    table_outs,
    versioned,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redacted
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
    merge_options = settings.model_dump(include=MERGE_OPTIONS)
    merging = versioned("9", merge_options, encoder_identity(settings), statements)
    outs = partial(table_outs, GROUP, condition=partial(batch_condition, configuration))

    @dg.multi_asset(
        name="merge_duplicates",
        outs=outs(merging, "deduplicated_findings"),
        deps=["blacklist_file"],
        partitions_def=by.ranker_and_batch,
        check_specs=check_specs(
            "deduplicated_findings", by.ranker_and_batch, expectations
        ),
    )
    @redacted
    def merge_duplicates(
        configuration: dg.ResourceParam[Configuration],
        findings: pd.DataFrame,
        terms: pd.DataFrame,
        fitted_probabilities: pd.DataFrame,
    ) -> Iterator[Result]:
        """Merge duplicate findings of a study.

        Args:
            configuration: of the home.
            findings: of the batch.
            terms: of the batch.
            fitted_probabilities: of the batch, by the ranker.
        """
        options = configuration.settings.implicit
        tool_arguments = (options, terms, configuration.home.blacklist_file)
        # Processes load their own below; one that is not there ends the step before any
        # work.
        tools = merging_tools(*tool_arguments)
        inputs = {"findings": findings, "fitted_probabilities": fitted_probabilities}
        valid = without_invalid(inputs)
        fitted_findings = (valid["findings"], valid["fitted_probabilities"])
        if options.encoder != "lexical":
            # A model is loaded once, and has cores of its own.
            merged = deduplicate(
                *fitted_findings,
                tools.embedder,
                tools.blacklist,
                tools.settings,
                tools.labels,
            )
        else:
            merged = joined(
                map_studies(
                    deduplicate,
                    fitted_findings,
                    merging_tools,
                    *tool_arguments,
                    processes=configuration.processes,
                )
            )
        yield from stored_valid(
            configuration,
            "deduplicated_findings",
            inputs,
            merged,
            {"encoder": tools.embedder.identity},
        )

    @dg.multi_asset(
        name="expand_diagnoses",
        outs=outs(versioned("8", statements), "expansions", "pathway_matches"),
        deps=["pathways_file"],
        partitions_def=by.ranker_and_batch,
        check_specs=check_specs("expansions", by.ranker_and_batch, expectations),
    )
    @redacted
    def expand_diagnoses(
        configuration: dg.ResourceParam[Configuration],
        terms: pd.DataFrame,
        deduplicated_findings: pd.DataFrame,
    ) -> Iterator[Result]:
        """Match findings to pathways and generate the sub-findings that they imply.

        Args:
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
        tables = {
            "expansions": joined([chunk.expansions for chunk in chunks]),
            "pathway_matches": joined([chunk.matches for chunk in chunks]),
        }
        inputs = {"deduplicated_findings": deduplicated_findings}
        yield from stored_valid(configuration, "expansions", inputs, tables)

    @dg.multi_asset(
        name="resolve_contradictions",
        outs=outs(
            versioned("8", statements),
            "lunguage_plus_plus",
            "resolution_log",
            "conflicts",
            "accounting",
            "set_aside",
        ),
        deps=["pathways_file"],
        partitions_def=by.ranker_and_batch,
        check_specs=[
            *check_specs(
                "lunguage_plus_plus", by.ranker_and_batch, conflict_free, blocking=True
            ),
            *check_specs(
                "lunguage_plus_plus", by.ranker_and_batch, none_set_aside, expectations
            ),
        ],
    )
    @redacted
    def resolve_contradictions(
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
        try:
            tables, invalid = _resolved(configuration, ranking_version, inputs)
            valid = without_studies(inputs, studies_of(invalid))
            check = conflict_free(configuration, valid, tables)
        except InvalidTable as error:
            check = not_conflict_free(str(error))
        # Dagster stores what an asset returns before it looks whether a blocking check
        # failed. So the check is yielded first, and what fails it is never returned.
        yield check
        if not check.passed:
            raise InvalidTable(f"lunguage_plus_plus: {check.metadata['note'].value}")
        set_aside = none_set_aside(tables["set_aside"])
        step = "lunguage_plus_plus"
        checks = [set_aside]
        yield from stored(configuration, step, tables, checks=checks, invalid=invalid)

    return [merge_duplicates, expand_diagnoses, resolve_contradictions]


def _resolved(
    configuration: Configuration, ranking_version: str, inputs: Tables
) -> tuple[dict[str, pd.DataFrame], list[InvalidStudy]]:
    """Resolve all studies, and account for their rows.

    Args:
        configuration: of the home.
        ranking_version: of the reference ranking.
        inputs: tables by name.

    Returns:
        The tables of the valid studies, and the studies that were set aside.

    Raises:
        InvalidTable: too many studies break a rule.
    """
    valid = without_invalid(inputs)
    chunks = map_studies(
        resolve,
        (
            valid["deduplicated_findings"],
            valid["pathway_matches"],
            valid["expansions"],
        ),
        resolution_tools,
        valid["terms"],
        ranking_version,
        configuration.home.pathways_file,
        processes=configuration.processes,
    )
    resolved = {
        "lunguage_plus_plus": joined([chunk.rows for chunk in chunks]),
        "resolution_log": joined([chunk.log for chunk in chunks]),
        "conflicts": joined([chunk.conflicts for chunk in chunks]),
    }
    upstream = invalid_upstream(inputs)
    tables = _accounted(valid, resolved, upstream)
    _, invalid = valid_studies(
        "lunguage_plus_plus",
        inputs,
        tables,
        strict=configuration.is_strict,
        delivered=inputs["reports"]["study_id"],
        processes=configuration.processes,
    )
    if invalid != upstream:
        studies = studies_of(invalid)
        valid = without_studies(valid, studies)
        tables = _accounted(valid, without_studies(tables, studies), invalid)
    return tables, invalid


def _accounted(
    inputs: Tables, tables: Tables, invalid: list[InvalidStudy]
) -> dict[str, pd.DataFrame]:
    """Account for every delivered row; studies that are set aside are in no table."""
    accounts = account({**inputs, **tables}, studies_of(invalid))
    set_aside = set_aside_frame(invalid, inputs["reports"])
    return {**tables, "accounting": accounts, "set_aside": set_aside}
