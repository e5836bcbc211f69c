"""Automation: a batch that came in is carried on to its result, and released at night.

Dagster's page is "Declarative automation" (https://docs.dagster.io). Nothing here makes
the reference scale: it asks every judge, and is made by a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import EDITED_FILES
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.current import complete_batches
from lunguage_assets.orchestration.instance import is_at_work
from lunguage_assets.orchestration.partitions import keys_of
from lunguage_assets.settings import AutomationSettings
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path

SENSOR = "carry_batches_on"

Condition: TypeAlias = "dg.AutomationCondition[dg.AssetKey]"

_SCALE = ("hedge_vocabulary", "reference_ranking")
_TAKEN_IN = tuple(
    name for name, table in TABLES.items() if table.partitioned_by == ("report_batch",)
)
_WHO_ANSWERS = ("judges", "panels", "structurers")


class MayBeRequested(dg.AutomationCondition[dg.AssetKey]):
    """True for partitions that automation may request now.

    That is while no command of this home is at work, which takes its batches on itself,
    and of those whom the judges file configures: no other judge or structurer is asked.
    """

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration

    @property
    def name(self) -> str:
        return "may_be_requested"

    def evaluate(
        self, context: dg.AutomationContext[dg.AssetKey]
    ) -> dg.AutomationResult[dg.AssetKey]:
        candidates = context.candidate_subset
        home = self._configuration.home
        if candidates.is_empty or is_at_work(home.root):
            return dg.AutomationResult(context, context.get_empty_subset())
        table = context.key.path[-1]
        requested = {
            key
            for key in candidates.expensively_compute_partition_keys()
            if self._is_automated(table, keys_of(table, key))
        }
        return dg.AutomationResult(
            context, candidates.compute_intersection_with_partition_keys(requested)
        )

    def _is_automated(self, table: str, keys: tuple[str, ...]) -> bool:
        judges = self._configuration.judges
        home = self._configuration.home
        if table == "hedge_phrases":
            return keys[0] == judges.extractor and self._has_own_vocabulary()
        dimensions = TABLES[table].partitioned_by
        if dimensions == ("structurer", "report_batch"):
            return keys[0] == judges.structurer and _is_text(home, keys[-1])
        if dimensions == ("report_batch",):
            # Delivered findings are taken in by a person, a command or the landing
            # sensor.
            return _is_text(home, keys[-1])
        return True

    def _has_own_vocabulary(self) -> bool:
        """Whether the vocabulary that is ranked is the extractor's, or there is none.

        An extractor that has just taken the place of another is asked for nothing: the
        ranking still has the other's phrases.
        """
        judges = self._configuration.judges
        tables = self._configuration.home.tables
        with_vocabulary = [
            judge
            for judge in judges.active_judges
            if partition_path(tables, "hedge_vocabulary", judge).exists()
        ]
        return not with_vocabulary or judges.extractor in with_vocabulary


def _is_text(home: Home, batch: str) -> bool:
    registered = {entry.key: entry.kind for entry in home.registered()}
    return registered.get(batch) == "text"


def batch_condition(configuration: Configuration, table: str) -> Condition:
    """Return when a table of a batch is requested.

    That is when something that it reads has come anew, and all of it is there.
    """
    condition = dg.AutomationCondition
    # An edited file asks for nothing by itself: a person who is still editing would pay
    # for every save.
    sources = dg.AssetSelection.assets(*EDITED_FILES, *_WHO_ANSWERS, "deliveries")
    scale = dg.AssetSelection.assets(*_SCALE)
    # A ranking that comes for the first time asks for no batch that was there before.
    ranking = dg.AssetSelection.assets("reference_ranking")
    unranked = condition.any_deps_match(condition.missing()).allow(ranking)
    arrived = condition.newly_missing()
    if table == "hedge_phrases":
        # Batches that were taken in while the sensor was not running.
        arrived |= condition.missing() & condition.initial_evaluation()
    passed_over = scale | sources
    if "ranker" in TABLES[table].partitioned_by:
        # A batch that is taken in again gets its phrases first, and fits after them.
        passed_over |= dg.AssetSelection.assets(*_TAKEN_IN)
    news = (arrived | condition.any_deps_updated().ignore(passed_over)).since(
        condition.newly_requested() | condition.newly_updated() | unranked
    )
    # A ranking of a vocabulary that has been renewed since: a fit would be refused.
    vocabulary = dg.AssetSelection.assets("hedge_vocabulary")
    renewed = condition.any_deps_match(condition.data_version_changed())
    outdated = renewed.allow(vocabulary).since(condition.newly_updated())
    # Of a batch of findings the texts are never there.
    optional: dg.AssetSelection = sources
    if table in ("findings", "reports", "rejected", "intake_notes", "terms"):
        optional |= dg.AssetSelection.assets(
            "report_texts", "rejected_reports", "reading_notes"
        )
    return (
        news
        & ~condition.any_deps_missing().ignore(optional)
        & ~condition.any_deps_in_progress().ignore(sources)
        & ~condition.in_progress()
        & ~condition.any_deps_match(outdated).allow(ranking)
        & MayBeRequested(configuration)
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
    """Return the schedule of releases, running when automation is enabled.

    Raises:
        ConfigurationError: the settings have no cron line.
    """

    try:

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
        def nightly_release(
            context: dg.ScheduleEvaluationContext,
            configuration: dg.ResourceParam[Configuration],
        ) -> Iterator[dg.RunRequest | dg.SkipReason]:
            at = context.scheduled_execution_time
            yield from releases(configuration.home, rankers, at)

    except dg.DagsterInvalidDefinitionError:
        raise ConfigurationError(
            f"settings, option automation.nightly: found {settings.nightly!r}; "
            "expected five fields of cron, such as '0 2 * * *'. Fix it or remove it."
        ) from None
    return nightly_release


def releases(
    home: Home, rankers: Sequence[str], at: datetime
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Request the releases of a night, of rankers with a ranking and a finished batch.

    Each has a key of its own, so that a daemon which starts again in that night
    requests no second one.

    Args:
        home: with the tables.
        rankers: that are in use.
        at: when the schedule was due.
    """
    ready = [
        ranker
        for ranker in rankers
        if partition_path(home.tables, "reference_ranking", ranker).exists()
        and complete_batches(home, ranker)
    ]
    for ranker in ready:
        yield dg.RunRequest(run_key=f"{ranker} {at.isoformat()}", partition_key=ranker)
    if not ready:
        yield dg.SkipReason(
            "No ranker has a ranking and a finished batch yet. `lunguage run` makes "
            "them for a first batch."
        )
