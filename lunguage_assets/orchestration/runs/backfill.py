"""What is to be made so that one judge has everything: planned run by run, and handed to a running daemon as
one Dagster backfill.

The judge's partitions are made, and what they read where it is missing; partitions of other judges and
rankers are left as they are.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence

import dagster as dg

from lunguage_assets.errors import ConfigurationError, LunguageError, MethodError
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.orchestration.dagster_private import (
    AssetGraphSubset,
    PartitionBackfill,
    partition_loading_context,
    silent_daemons,
)
from lunguage_assets.orchestration.inventory import Inventory
from lunguage_assets.orchestration.jobs import STAGES
from lunguage_assets.orchestration.runs.stages import Stage, on_batch

_NEEDED_DAEMONS = ("BACKFILL", "QUEUED_RUN_COORDINATOR")


class NoDaemon(LunguageError):
    """Nobody would take up what is queued."""


def plan_backfill(
    inventory: Inventory,
    judges: JudgesConfiguration,
    judge: str,
    batches: Sequence[str] = (),
    *,
    rebuild: bool = False,
    phrases: bool = True,
) -> list[Stage]:
    """The runs, in an order in which each finds what it reads; none for what is current, unless `rebuild`.

    The judge's phrases and vocabulary (left out without `phrases`: what follows reads the extractor's), its
    comparisons, its ranking, its fits, what follows from them, and its release. Before them what they read
    and nobody has made: a batch taken in, the extractor's phrases and vocabulary. A judge that is no ranker
    (an extractor outside the panel) ends with its comparisons.

    Raises:
        ConfigurationError: no such judge, or no such batch.
        MethodError: the vocabulary is there, but was made with other settings, and would have to be made anew
            for every judge.
    """
    _require_known(judges, judge)
    chosen = _chosen(inventory, batches)
    stages = _inputs(inventory, judges.extractor, chosen)
    if phrases and judge != judges.extractor:
        stages += _own_phrases(inventory, judge, chosen, rebuild)
    vocabulary = (
        None
        if _makes_vocabulary(stages, judges.extractor)
        else _vocabulary_version(inventory, judges.extractor)
    )
    plays = (
        rebuild
        or vocabulary is None
        or not inventory.is_current("comparison_matches", judge, [judge], vocabulary)
    )
    stages += [Stage("compare", judge)] if plays else []
    if judge not in judges.rankers:
        return stages
    ranks = plays or not inventory.is_current("reference_ranking", judge, [judge], vocabulary)
    stages += [Stage("rank", judge)] if ranks else []
    fitted = [key for key in chosen if ranks or rebuild or not inventory.is_fitted(judge, key)]
    for key in fitted:
        stages += to_the_result(inventory, judge, key, anew=ranks or rebuild)
    if ranks or fitted or not inventory.is_released(judge):
        stages.append(Stage("release", judge))
    return stages


def to_the_result(inventory: Inventory, ranker: str, batch: str, *, anew: bool = False) -> list[Stage]:
    """What a batch that is taken in and read still needs; with `anew` all of it. Fits that are current are
    kept, so that no judge is asked.
    """
    changed = inventory.outdated(ranker, batch)
    if not anew and inventory.first_step(ranker, batch) == "expand":
        return [on_batch("expand", "ranker", ranker, batch, changed)]
    return [on_batch("fit", "ranker", ranker, batch, changed), on_batch("expand", "ranker", ranker, batch)]


def _require_known(judges: JudgesConfiguration, judge: str) -> None:
    if judge in judges.active_judges:
        return
    if judge in judges.judges:
        raise ConfigurationError(
            f"judge {judge!r} takes no part in preset {judges.preset!r}. Add it to candidates = "
            f"[...] of [presets.{judges.preset}] in the judges"
            " file (it then ranks alone, and no result of the panel changes), or choose its preset."
        )
    raise ConfigurationError(
        f"judge {judge!r} is not known; expected one of {', '.join(judges.active_judges)}. Add "
        f"[judges.{judge}] to a copy of the judges file,"
        f" name it in candidates = [...] of [presets.{judges.preset}] there, and point "
        "$LUNGUAGE_JUDGES at the copy."
    )


def _chosen(inventory: Inventory, batches: Sequence[str]) -> list[str]:
    unknown = sorted(set(batches) - set(inventory.batches))
    if unknown or not inventory.batches:
        named = f"batch {unknown[0]!r} is not registered" if unknown else "no batch is registered"
        raise ConfigurationError(
            f"{named}; registered: {', '.join(inventory.batches) or 'none'}. `lunguage register "
            "--data DIR` registers one."
        )
    return [key for key in inventory.batches if not batches or key in batches]


def _inputs(inventory: Inventory, extractor: str, chosen: list[str]) -> list[Stage]:
    """What every judge reads, where it is missing. A vocabulary is collected from all batches, so that a
    missing one needs them all.
    """
    if inventory.is_stored("hedge_vocabulary", extractor):
        if not inventory.is_current("hedge_vocabulary", extractor, ()):
            raise MethodError(
                f"the hedge vocabulary of {extractor!r} was made with other settings or another "
                "extractor than the present ones, and every judge's"
                " results rest on it. Make it anew with `lunguage run --rebuild-ranking`, or "
                "restore the settings; then backfill."
            )
        return _read_batches(inventory, extractor, chosen)
    return [*_read_batches(inventory, extractor, inventory.batches), Stage("build_vocabulary", extractor)]


def _read_batches(inventory: Inventory, extractor: str, batches: list[str]) -> list[Stage]:
    stages = []
    for key in batches:
        if not inventory.is_taken_in(key):
            stages.append(Stage("ingest", key))
        if not inventory.has_phrases(extractor, key):
            stages.append(on_batch("extract_hedges", "judge", extractor, key))
    return stages


def _own_phrases(inventory: Inventory, judge: str, chosen: list[str], rebuild: bool) -> list[Stage]:
    extracted = [key for key in chosen if rebuild or not inventory.has_phrases(judge, key)]
    stages = [on_batch("extract_hedges", "judge", judge, key) for key in extracted]
    if extracted or not inventory.is_current("hedge_vocabulary", judge, ()):
        stages.append(Stage("build_vocabulary", judge))
    return stages


def _makes_vocabulary(stages: Sequence[Stage], extractor: str) -> bool:
    return Stage("build_vocabulary", extractor) in stages


def _vocabulary_version(inventory: Inventory, extractor: str) -> str | None:
    return inventory.noted("hedge_vocabulary", extractor).get("vocabulary_version")


def queue_backfill(
    definitions: dg.Definitions, instance: dg.DagsterInstance, stages: Sequence[Stage], title: str
) -> str:
    """Hand the partitions of these stages to the daemon as one Dagster backfill, which orders, queues,
    retries and can be cancelled; its id.

    Raises:
        NoDaemon: no daemon of this instance has given a sign of life lately.
    """
    require_daemon(instance)
    graph = definitions.resolve_asset_graph()
    keys: dict[dg.AssetKey, list[str]] = {}
    for stage in stages:
        for asset in STAGES[stage.job][1]:
            keys.setdefault(dg.AssetKey(asset), []).append(str(stage.key))
    backfill_id = uuid.uuid4().hex[:8]
    with partition_loading_context(dynamic_partitions_store=instance):
        subset = AssetGraphSubset(
            partitions_subsets_by_asset_key={
                asset: graph.get(asset).partitions_def.empty_subset().with_partition_keys(chosen)
                for asset, chosen in keys.items()
            }
        )
        instance.add_backfill(
            PartitionBackfill.from_asset_graph_subset(
                backfill_id=backfill_id,
                backfill_timestamp=time.time(),
                tags={},
                dynamic_partitions_store=instance,
                asset_graph_subset=subset,
                title=title,
                description=f"{sum(map(len, keys.values()))} partitions of {len(keys)} assets, asked for by "
                "`lunguage backfill`.",
                run_config=None,
            )
        )
    return backfill_id


def require_daemon(instance: dg.DagsterInstance) -> None:
    """Refuse when nobody would take up what is queued."""
    silent = silent_daemons(instance, _NEEDED_DAEMONS)
    if silent:
        raise NoDaemon(
            "no Dagster daemon works on this home "
            f"({', '.join(name.lower().replace('_', ' ') for name in silent)}: no sign of life "
            "lately)."
            " Start `lunguage ui` (or the service) and say this again, or leave out --queue to "
            "do the work here and now."
        )
