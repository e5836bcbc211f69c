"""Group `implicit`: duplicates merged, diagnoses matched to pathways and expanded, contradictions
resolved.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.data_files import resource
from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.encoders import encoder_identity, encoding_counts, make_embedder
from lunguage_assets.implicit.expansion.expand import Expansion, expand
from lunguage_assets.implicit.merging.blacklist import load_blacklist
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.pathways.pathway_tree import pathway_tree
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.resolution.accounting import account
from lunguage_assets.implicit.resolution.guarantees import refuse_violations
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.orchestration.metadata import (
    OWNERS,
    account_of,
    counts,
    picture,
    plain_failures,
    rows_table,
    table_options,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.pictures.pathway_pictures import pathway_picture
from lunguage_assets.tables import TERMS

GROUP = "implicit"
MOST_FREQUENT = 12
TABLES_OF_EXPANSION = ("pathway_matches", "expansions")
TABLES_OF_RESOLUTION = ("lunguage_plus_plus", "resolution_log", "conflicts", "accounting")


def implicit_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    of_batch = partitions.batch_only

    @dg.asset(
        **table_options("deduplicated_findings", GROUP),
        partitions_def=partitions.of("deduplicated_findings"),
        ins={
            "findings": dg.AssetIn(partition_mapping=of_batch),
            "terms": dg.AssetIn(partition_mapping=of_batch),
        },
    )
    def deduplicated_findings(
        home: HomeResource, findings: pd.DataFrame, terms: pd.DataFrame, fitted_probabilities: pd.DataFrame
    ) -> dg.Output[pd.DataFrame]:
        with plain_failures():
            settings = home.settings.implicit
            embedder = make_embedder(settings, Vocabulary.from_terms(terms), home.home.root)
            frame = deduplicate(
                findings, fitted_probabilities, embedder, load_blacklist(home.home.blacklist_file), settings
            )
        return dg.Output(
            frame,
            metadata={
                "merge_settings": merge_settings(home),
                "encoder": embedder.identity,
                **encoding_counts(embedder),
                "merge_threshold": settings.merge_threshold,
                **{found: int((frame["disposition"] == found).sum()) for found in ("merged", "excluded")},
                "disposition": counts(frame["disposition"], "disposition"),
                "p_source": counts(frame["p_source"], "source of p"),
            },
        )

    @dg.multi_asset(
        name="expansion",
        partitions_def=partitions.of("expansions"),
        ins={"terms": dg.AssetIn(partition_mapping=of_batch)},
        outs={name: dg.AssetOut(**table_options(name, GROUP)) for name in TABLES_OF_EXPANSION},
    )
    def expansion(
        home: HomeResource, terms: pd.DataFrame, deduplicated_findings: pd.DataFrame
    ) -> Iterator[dg.Output]:
        """Match every finding to a pathway and generate the sub-findings that it implies."""
        with plain_failures():
            vocabulary = Vocabulary.from_terms(terms)
            dictionary = load_dictionary(home.home.pathways_file, vocabulary)
            expanded = expand(deduplicated_findings, dictionary, vocabulary)
        matched = expanded.matches[expanded.matches["reason"] == "matched"]
        yield dg.Output(
            expanded.matches,
            "pathway_matches",
            metadata={
                "expanding": len(matched),
                "reasons": counts(expanded.matches["reason"], "reason"),
                "diagnoses": counts(matched["diagnosis"], "diagnosis"),
                "pathways": _trees(dictionary, sorted(set(matched["diagnosis"]))),
            },
        )
        generated = expanded.expansions[expanded.expansions["outcome"] == "generated"]
        yield dg.Output(
            expanded.expansions,
            "expansions",
            metadata={
                "generated": len(generated),
                "already_stated": len(expanded.expansions) - len(generated),
                "outcome": counts(expanded.expansions["outcome"], "outcome"),
                "sub_findings": counts(generated["name"], "generated sub-finding", most=MOST_FREQUENT),
            },
        )

    @dg.multi_asset(
        name="resolution",
        partitions_def=partitions.of("lunguage_plus_plus"),
        ins={name: dg.AssetIn(partition_mapping=of_batch) for name in ("reports", "rejected", "terms")}
        | {"reference_ranking": dg.AssetIn(partition_mapping=partitions.ranker_only)},
        outs={name: dg.AssetOut(**table_options(name, GROUP)) for name in TABLES_OF_RESOLUTION},
    )
    def resolution(
        context: dg.AssetExecutionContext,
        home: HomeResource,
        reports: pd.DataFrame,
        rejected: pd.DataFrame,
        terms: pd.DataFrame,
        reference_ranking: pd.DataFrame,
        deduplicated_findings: pd.DataFrame,
        pathway_matches: pd.DataFrame,
        expansions: pd.DataFrame,
        fitted_probabilities: pd.DataFrame,
    ) -> Iterator[dg.Output]:
        """Resolve every contradiction; nothing is stored unless the guarantees hold."""
        ranker = context.partition_key.split("|")[
            0
        ]  # a (ranker x report_batch) key, its dimensions in alphabetical order
        with plain_failures():
            version = _one_version(fitted_probabilities, reference_ranking)
            expanded = Expansion(pathway_matches, expansions)
            dictionary = load_dictionary(home.home.pathways_file, Vocabulary.from_terms(terms))
            resolved = resolve(deduplicated_findings, expanded, dictionary, ranking_version=version)
            accounts = account(reports, rejected, deduplicated_findings, expanded, resolved)
            refuse_violations(resolved.rows, accounts, reports)
        yield dg.Output(
            resolved.rows,
            "lunguage_plus_plus",
            metadata={
                "generated": int((resolved.rows["source"] == "expansion").sum()),
                "source": counts(resolved.rows["source"], "source"),
                "status": counts(resolved.rows["status"], "status"),
                "released_with": dg.MetadataValue.asset(dg.AssetKey("release")),
                "release_folder": dg.MetadataValue.path(str(home.home.release / ranker)),
                "ranking_version": version,
                "mode": str(resolved.rows["mode"].iloc[0])
                if len(resolved.rows)
                else home.settings.implicit.mode,
            },
        )
        yield dg.Output(
            resolved.log,
            "resolution_log",
            metadata={
                "events": counts(resolved.log["event"], "event"),
                "rules": counts(resolved.log["rule"], "rule"),
            },
        )
        yield dg.Output(
            resolved.conflicts,
            "conflicts",
            metadata={
                "contested": len(resolved.conflicts),
                "types": counts(
                    resolved.conflicts["conflict_type"] + ", " + resolved.conflicts["source"], "conflict"
                ),
            },
        )
        totals = _totals(accounts)
        yield dg.Output(
            accounts,
            "accounting",
            metadata={
                "unbalanced": int((~accounts["balanced"]).sum()),
                "account": account_of(totals, "what became of the rows"),
                **totals,
            },
        )

    @dg.asset(
        group_name=GROUP,
        owners=OWNERS,
        kinds={"yaml"},
        description="What the pathway file of this home says: checked, counted and drawn. Nothing is "
        "computed from this asset; expansions read the file.",
    )
    def pathways(home: HomeResource) -> dg.MaterializeResult:
        with plain_failures():
            dictionary = load_dictionary(home.home.pathways_file, Vocabulary.from_terms(TERMS.frame()))
        statistics = pd.DataFrame([asdict(entry) for entry in dictionary.statistics()])
        pictures = {
            diagnosis.replace(" ", "_"): picture(pathway_picture(dictionary, diagnosis))
            for diagnosis in dictionary.diagnoses
        }
        return dg.MaterializeResult(
            metadata={"structure": rows_table(statistics, list(statistics.columns)), **pictures}
        )

    return [deduplicated_findings, expansion, resolution, pathways]


def merge_settings(home: HomeResource) -> str:
    """The settings on which a batch's result depends besides its fits, the encoder, pathways and blacklist;
    results made with others are stale.
    """
    settings = home.settings.implicit
    chosen = (
        home.home.pathways_file or resource("pathways.yaml"),
        home.home.blacklist_file or resource("blacklist.yaml"),
    )
    files = " ".join(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()[:12]}" for file in chosen)
    return (
        f"{settings.model_dump_json(include={'merge_threshold', 'history', 'mode'})} "
        f"{encoder_identity(settings, home.home.root)} {files}"
    )


def _trees(dictionary: PathwayDictionary, diagnoses: list[str]) -> dg.MetadataValue:
    """The pathways of the diagnoses that matched, as trees; drawn as pictures they are in
    docs/pathways.md.
    """
    trees = ["\n".join(pathway_tree(dictionary, diagnosis).written()) for diagnosis in diagnoses]
    return dg.MetadataValue.md("\n\n".join(f"```\n{tree}\n```" for tree in trees) or "nothing matched")


def _one_version(fitted: pd.DataFrame, ranking: pd.DataFrame) -> str:
    """The ranking version of the fits; without tentative pairs, the current ranking's."""
    versions = set(fitted["ranking_version"]) or set(ranking["ranking_version"])
    if len(versions) != 1:
        raise InvalidTable(
            f"fitted_probabilities mixes ranking versions {sorted(versions)}. Materialise it again."
        )
    return str(versions.pop())


def _totals(accounts: pd.DataFrame) -> dict[str, int]:
    return {
        name: int(accounts[name].sum()) for name in accounts.columns if name not in ("study_id", "balanced")
    }
