"""Group `implicit`: duplicates merged, diagnoses expanded, contradictions resolved.

It rests on docs/method/implicit.md.

Steps work on chunks of studies in several processes (`parallel`). How rows are merged,
expanded and resolved is not here, but in the package `implicit`.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.assertion.vocabulary import content_hash
from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.edited_files import hash_of_files
from lunguage_assets.implicit.encoders import make_embedder
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.deduplicate import deduplicate, merging_tools
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.statements.label_file import study_tools
from lunguage_assets.orchestration.checks import conflict_free
from lunguage_assets.orchestration.outputs import (
    StepResult,
    table_asset,
    versioned,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.packaged_data import resource
from lunguage_assets.parallel import joined, joined_tables, map_studies
from lunguage_assets.quality.quarantine import invalid_upstream, valid_studies
from lunguage_assets.quality.rules import (
    InvalidStudy,
    Tables,
    set_aside_frame,
    studies_of,
    without_studies,
)
from lunguage_assets.settings import MERGE_OPTIONS
from lunguage_assets.tables import TERMS

GROUP = "implicit"

RESOLVED_FROM = (
    "reports",
    "rejected",
    "terms",
    "reference_ranking",
    "fitted_probabilities",
    "deduplicated_findings",
    "pathway_matches",
    "expansions",
)
"""Tables that resolution reads."""


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
    encoder = make_embedder(settings, Vocabulary(TERMS.frame()))

    @table_asset(
        configuration,
        GROUP,
        versioned("9", merge_options, encoder.identity, statements),
        by.ranker_and_batch,
        "deduplicated_findings",
        deps=["blacklist_file"],
        automated=True,
    )
    def merge_duplicates(
        configuration: ConfigurationResource,
        findings: pd.DataFrame,
        terms: pd.DataFrame,
        fitted_probabilities: pd.DataFrame,
    ) -> StepResult:
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
        embedder, *lists = merging_tools(*tool_arguments)
        fitted_findings = (findings, fitted_probabilities)
        if options.encoder != "lexical":
            # A model is loaded once, and has cores of its own.
            merged = deduplicate(*fitted_findings, embedder, *lists)
        else:
            chunks = map_studies(
                deduplicate,
                fitted_findings,
                merging_tools,
                *tool_arguments,
                processes=configuration.processes,
            )
            merged = joined(chunks)
        metadata = {"encoder": embedder.identity}
        return StepResult({"deduplicated_findings": merged}, metadata)

    @table_asset(
        configuration,
        GROUP,
        versioned("8", statements),
        by.ranker_and_batch,
        "expansions",
        "pathway_matches",
        deps=["pathways_file"],
        automated=True,
    )
    def expand_diagnoses(
        configuration: ConfigurationResource,
        terms: pd.DataFrame,
        deduplicated_findings: pd.DataFrame,
    ) -> StepResult:
        """Match findings to pathways and generate the sub-findings that they imply.

        Args:
            configuration: of the home.
            terms: of the batch.
            deduplicated_findings: of the batch, by the ranker.
        """
        chunks = map_studies(
            expand,
            (deduplicated_findings,),
            study_tools,
            configuration.home.pathways_file,
            terms,
            processes=configuration.processes,
        )
        expanded = joined_tables(chunks)
        return StepResult(
            {"expansions": expanded.expansions, "pathway_matches": expanded.matches}
        )

    @table_asset(
        configuration,
        GROUP,
        versioned("8", statements),
        by.ranker_and_batch,
        "lunguage_plus_plus",
        "resolution_log",
        "conflicts",
        "accounting",
        "set_aside",
        ins={table: dg.AssetIn() for table in RESOLVED_FROM},
        deps=["pathways_file"],
        checks=[conflict_free],
        automated=True,
    )
    def resolve_contradictions(
        configuration: ConfigurationResource, **inputs: pd.DataFrame
    ) -> StepResult:
        """Resolve every contradiction; a study that breaks a guarantee is set aside.

        Args:
            configuration: of the home.
            inputs: the tables of `RESOLVED_FROM`.
        """
        # A batch without tentative findings has no fits.
        ranked = inputs["fitted_probabilities"]
        if ranked.empty:
            ranked = inputs["reference_ranking"]
        chunks = map_studies(
            resolve,
            (
                inputs["deduplicated_findings"],
                inputs["pathway_matches"],
                inputs["expansions"],
            ),
            study_tools,
            configuration.home.pathways_file,
            inputs["terms"],
            str(ranked["ranking_version"].iloc[0]),
            processes=configuration.processes,
        )
        resolution = joined_tables(chunks)
        resolved = {
            "lunguage_plus_plus": resolution.rows,
            "resolution_log": resolution.log,
            "conflicts": resolution.conflicts,
        }
        delivered = inputs["reports"]["study_id"]
        tables = _accounted(inputs, resolved, invalid_upstream(inputs))
        tables, invalid = valid_studies(
            "lunguage_plus_plus", inputs, tables, configuration, delivered
        )
        valid: Tables = inputs
        if invalid:
            # A study that is set aside is in no table, and in the accounts.
            valid = without_studies(inputs, studies_of(invalid))
            tables = _accounted(valid, tables, invalid)
        # Without one these very tables have just been looked at.
        broken: list[InvalidStudy] | None = None if invalid else []
        check = conflict_free(configuration, {**valid, **tables}, broken)
        implied = (tables["lunguage_plus_plus"]["source"] == "expansion").sum()
        metadata = {"implied": int(implied), "conflicts": len(tables["conflicts"])}
        return StepResult(tables, metadata, checks=[check], invalid=invalid)

    return [merge_duplicates, expand_diagnoses, resolve_contradictions]


def _accounted(inputs: Tables, tables: Tables, invalid: list[InvalidStudy]) -> Tables:
    """Account for every delivered row; studies that are set aside are in no table."""
    accounts = account({**inputs, **tables}, studies_of(invalid))
    set_aside = set_aside_frame(invalid, inputs["reports"])
    return {**tables, "accounting": accounts, "set_aside": set_aside}
