"""Automation: a batch that came in is carried on to its result, and released at night.

Dagster's page is "Declarative automation" (https://docs.dagster.io). Nothing here makes
the reference scale: it asks every judge, and is made by a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.locks import is_at_work
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.settings import AutomationSettings
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import complete_batches

SENSOR = "carry_batches_on"

Condition: TypeAlias = "dg.AutomationCondition[dg.AssetKey]"


class MayBeRequested(dg.AutomationCondition[dg.AssetKey]):
    """True for partitions that automation may request now.

    That is while no command of this home is at work, which takes its batches on itself.

    Args:
        home: its folder.
        configured: keys that a partition must have: the judge or structurer of the
            judges file, because no other one is asked.
    """

    def __init__(self, home: Path, configured: Iterable[str]) -> None:
        super().__init__()
        self._home = home
        self._configured = frozenset(configured)

    def evaluate(
        self, context: dg.AutomationContext[dg.AssetKey]
    ) -> dg.AutomationResult[dg.AssetKey]:
        candidates = context.candidate_subset
        requested = set()
        if not is_at_work(self._home):
            requested = {
                partition
                for partition in candidates.expensively_compute_partition_keys()
                if self._configured.issubset(partition.split("|"))
            }
        return dg.AutomationResult(
            context, candidates.compute_intersection_with_partition_keys(requested)
        )


def batch_condition(configuration: Configuration, table: str) -> Condition:
    """Return when a table of a batch is requested.

    That is when something that it reads has come anew, and all of it is there.
    """
    condition = dg.AutomationCondition
    # An edited file asks for nothing by itself: a person who is still editing would pay
    # for every save.
    sources = dg.AssetSelection.groups("sources", include_sources=True)
    # A ranking that comes for the first time asks for no batch that was there before.
    ranking = dg.AssetSelection.assets("reference_ranking")
    unranked = condition.any_deps_match(condition.missing()).allow(ranking)
    arrived = condition.newly_missing()
    if table == "hedge_phrases":
        # Batches that were taken in while the sensor was not running.
        arrived |= condition.missing() & condition.initial_evaluation()
    scale = dg.AssetSelection.assets("hedge_vocabulary", "reference_ranking")
    passed_over = sources | scale
    dimensions = TABLES[table].partitioned_by
    if "ranker" in dimensions:
        # A batch that is taken in again gets its phrases first, and fits after them.
        passed_over |= dg.AssetSelection.groups("corpus")
    judges = configuration.judges
    configured = {"judge": judges.extractor, "structurer": judges.structurer}
    keys = [
        configured[dimension] for dimension in dimensions if dimension in configured
    ]
    news = (arrived | condition.any_deps_updated().ignore(passed_over)).since(
        condition.newly_requested() | condition.newly_updated() | unranked
    )
    # Of a batch of findings the texts are never there: it is taken in by a person, a
    # command or the landing sensor.
    return (
        news
        & ~condition.any_deps_missing().ignore(sources)
        & ~condition.any_deps_in_progress().ignore(sources)
        & ~condition.in_progress()
        & MayBeRequested(configuration.home.root, keys)
    )


def automation_sensor(
    settings: AutomationSettings,
) -> dg.AutomationConditionSensorDefinition:
    """Return the sensor that requests what the conditions ask for."""
    return dg.AutomationConditionSensorDefinition(
        SENSOR,
        target=dg.AssetSelection.all(),
        # It may spend money: a person switches it on.
        default_status=dg.DefaultSensorStatus[
            "RUNNING" if settings.enabled else "STOPPED"
        ],
        minimum_interval_seconds=settings.interval_s,
        # A backfill would wait for the daemon's next look, half a minute away.
        emit_backfills=False,
        use_user_code_server=True,
        run_tags={"lunguage/launched_by": SENSOR},
        description="Carries every batch that is taken in on to lunguage_plus_plus, "
        "for the rankers that have a ranking. What failed is not tried again before "
        "something that it reads changes. It starts by itself with `enabled = true` "
        "under [automation] in settings.toml.",
    )


def nightly_schedule(
    rankers: Sequence[str], settings: AutomationSettings
) -> dg.ScheduleDefinition:
    """Return the schedule of releases, running when automation is enabled."""

    @dg.schedule(
        job_name="release",
        cron_schedule=settings.nightly,
        execution_timezone=str(settings.time_zone),
        default_status=dg.DefaultScheduleStatus[
            "RUNNING" if settings.enabled else "STOPPED"
        ],
        description="Writes the release of every ranker in use that has a finished "
        "batch. When nothing changed, it comes out byte for byte the same.",
    )
    def nightly_release(configuration: ConfigurationResource) -> list[dg.RunRequest]:
        return [
            dg.RunRequest(partition_key=ranker)
            for ranker in rankers
            if complete_batches(configuration.home, ranker)
        ]

    return nightly_release
