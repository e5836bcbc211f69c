"""Group `implicit`: duplicates merged, diagnoses matched to pathways and expanded, contradictions
resolved.
"""

from collections.abc import Sequence

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.implicit.expansion.expand import Expansion, expand, expansion_tools
from lunguage_assets.implicit.merging.deduplicate import deduplicate, merging_tools
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import (
    Resolution,
    resolution_tools,
    resolve,
)
from lunguage_assets.lineage.staleness import Keys
from lunguage_assets.orchestration.assets.table_asset import Result, table_asset
from lunguage_assets.orchestration.metadata import counts
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.quality.rules import InvalidStudy, set_aside_frame, studies_of


@table_asset("implicit")
def deduplicated_findings(
    configuration: Configuration,
    keys: Keys,
    findings: pd.DataFrame,
    terms: pd.DataFrame,
    fitted_probabilities: pd.DataFrame,
) -> Result:
    """Merge duplicate findings of a study."""
    settings, given = configuration.settings.implicit, (findings, fitted_probabilities)
    made_of = (
        settings,
        terms,
        configuration.home.root,
        configuration.home.blacklist_file,
    )
    embedder, *_ = tools = merging_tools(*made_of)
    if settings.encoder == "lexical":
        at_once = configuration.processes
        frame = joined(
            map_studies(deduplicate, given, merging_tools, *made_of, processes=at_once)
        )
    else:  # a model is loaded once, and has cores of its own
        frame = deduplicate(*given, *tools)
    merged = {
        found: int((frame["disposition"] == found).sum())
        for found in ("merged", "excluded")
    }
    metadata = {"encoder": embedder.identity, **merged}
    return dg.MaterializeResult(value=frame, metadata=metadata)


@table_asset("implicit")
def expansions(
    configuration: Configuration,
    keys: Keys,
    terms: pd.DataFrame,
    deduplicated_findings: pd.DataFrame,
) -> Result:
    """Match every finding to a pathway and generate the sub-findings that it implies."""
    made_of, processes = (
        (configuration.home.pathways_file, terms),
        configuration.processes,
    )
    found = map_studies(
        expand, (deduplicated_findings,), expansion_tools, *made_of, processes=processes
    )
    matches, expanded = map(joined, zip(*found, strict=True))
    matched = matches[matches["reason"] == "matched"]
    generated = expanded[expanded["outcome"] == "generated"]
    metadata = {
        "expanding": len(matched),
        "generated": len(generated),
        "already_stated": len(expanded) - len(generated),
        "diagnoses": counts(matched["diagnosis"], "diagnosis"),
    }
    return dg.MaterializeResult(
        value={"expansions": expanded, "pathway_matches": matches}, metadata=metadata
    )


@table_asset("implicit")
def lunguage_plus_plus(
    configuration: Configuration,
    keys: Keys,
    reports: pd.DataFrame,
    rejected: pd.DataFrame,
    terms: pd.DataFrame,
    reference_ranking: pd.DataFrame,
    fitted_probabilities: pd.DataFrame,
    deduplicated_findings: pd.DataFrame,
    pathway_matches: pd.DataFrame,
    expansions: pd.DataFrame,
    set_aside: Sequence[InvalidStudy] = (),
) -> Result:
    """Resolve every contradiction; a study that breaks a guarantee is set aside."""
    ranked = fitted_probabilities if len(fitted_probabilities) else reference_ranking
    version = str(ranked["ranking_version"].iloc[0])  # a table has one
    expanded = Expansion(pathway_matches, expansions)
    given = (deduplicated_findings, pathway_matches, expansions)
    made_of = (
        terms,
        version,
        configuration.home.pathways_file,
        configuration.home.blacklist_file,
    )
    found = map_studies(
        resolve, given, resolution_tools, *made_of, processes=configuration.processes
    )
    resolved = rows, log, conflicts = Resolution(*map(joined, zip(*found, strict=True)))
    accounts = account(
        reports,
        rejected,
        deduplicated_findings,
        expanded,
        resolved,
        studies_of(set_aside),
    )
    totals = accounts.drop(columns=["study_id", "balanced"]).sum()
    metadata = {
        "generated": int((rows["source"] == "expansion").sum()),
        "contested": len(conflicts),
        "ranking_version": version,
        **{str(name): int(total) for name, total in totals.items()},
    }
    value = {
        "lunguage_plus_plus": rows,
        "resolution_log": log,
        "conflicts": conflicts,
        "accounting": accounts,
        "set_aside": set_aside_frame(set_aside, reports),
    }
    return dg.MaterializeResult(value=value, metadata=metadata)
