"""What runs without a person: conditions, the sensor that follows them, releases.

The conditions are Dagster's own (https://docs.dagster.io, "Declarative automation"),
but `Ready`. The reference scale is ignored: following it may cost money. The landing
folder has a sensor of its own (`landing_sensor`).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.lineage.input_fingerprints import NOTHING
from lunguage_assets.lineage.recipes import RECIPES, STEP_OF, dimensions_of
from lunguage_assets.lineage.staleness import StalenessChecker
from lunguage_assets.orchestration.assets.edited_files import FILES
from lunguage_assets.orchestration.partitions import store_keys
from lunguage_assets.orchestration.runs.instance import is_at_work
from lunguage_assets.settings import AutomationSettings

SENSOR = "carry_batches_on"

Condition: TypeAlias = "dg.AutomationCondition[dg.AssetKey]"


class Ready(dg.AutomationCondition[dg.AssetKey]):
    """True for partitions that automation may request now.

    That is while no command of this home is at work, which takes its batches on itself,
    and when everything is current that a run would read.
    """

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration

    @property
    def name(self) -> str:
        return "ready"

    def evaluate(
        self, context: "dg.AutomationContext[dg.AssetKey]"
    ) -> "dg.AutomationResult[dg.AssetKey]":
        candidates = context.candidate_subset
        if candidates.is_empty or is_at_work(self._configuration.home.root):
            return dg.AutomationResult(context, context.get_empty_subset())
        step = context.key.path[-1]
        dimensions = RECIPES[step].dimensions
        # Whether inputs are current is not left to Dagster, which compares no versions
        # where a partition has a hundred inputs or more (docs/architecture.md).
        staleness = self._configuration.staleness()
        ready = {
            key
            for key in candidates.expensively_compute_partition_keys()
            if is_ready(staleness, step, store_keys(key, dimensions))
        }
        return dg.AutomationResult(
            context, candidates.compute_intersection_with_partition_keys(ready)
        )


def is_ready(staleness: StalenessChecker, step: str, keys: tuple[str, ...]) -> bool:
    """Tell whether everything is current that a run of a step would read.

    The run also makes the steps before it of the same partition.

    Args:
        staleness: what is current in the home now.
        step: that would be made.
        keys: of the partition, in the order of the store.
    """
    if not _is_automated(staleness, step, keys):
        return False
    # A distilled model that nobody has tested scores no report (docs/distilled.md).
    is_scored = step == "fitted_probabilities" and staleness.scorer_of(*keys) != NOTHING
    if is_scored and not staleness.is_current("distilled_evaluation", keys[0]):
        return False
    for step_input, input_keys in staleness.inputs(step, keys):
        # New phrases of a batch do not renew the vocabulary: every judge would be
        # asked again.
        if step_input.on_request:
            continue
        if dimensions_of(step_input.table) == RECIPES[step].dimensions:
            # Of the same partition: the run makes it first, if it isn't current.
            if not is_ready(staleness, STEP_OF[step_input.table], input_keys):
                return False
        elif not staleness.is_current(step_input.table, *input_keys):
            return False
    return True


def _is_automated(
    staleness: StalenessChecker, step: str, keys: tuple[str, ...]
) -> bool:
    """Tell whether automation makes this partition at all.

    It asks the configured judge and structurer, and no other one.
    """
    if step == "hedge_phrases":
        return _is_extractor(staleness, judge=keys[0])
    if step == "structured_findings" and keys[0] != staleness.judges.structurer:
        return False
    if step in ("structured_findings", "findings"):
        # Delivered findings are taken in by a person, a command or the landing sensor.
        return staleness.is_text(keys[-1])
    return True


def _is_extractor(staleness: StalenessChecker, judge: str) -> bool:
    """Tell whether a judge extracts phrases.

    It does not where it has just taken the place of another one, whose phrases the
    vocabulary still has.
    """
    if judge != staleness.judges.extractor:
        return False
    with_vocabulary = [
        active_judge
        for active_judge in staleness.judges.active_judges
        if staleness.exists("hedge_vocabulary", active_judge)
    ]
    return not with_vocabulary or judge in with_vocabulary


def step_condition(configuration: Configuration, step: str) -> Condition:
    """Return when a step of a batch is requested.

    That is when something that it reads has come anew, and all of it is there.
    """
    condition = dg.AutomationCondition
    # An edited file asks for nothing by itself: a person who is still editing would pay
    # for every save.
    files = dg.AssetSelection.assets(*FILES)
    scale = dg.AssetSelection.assets("hedge_vocabulary", "reference_ranking")
    # A ranking that comes for the first time asks for no batch that was there before.
    ranking = dg.AssetSelection.assets("reference_ranking")
    unranked = condition.any_deps_match(condition.missing()).allow(ranking)
    arrived = condition.newly_missing()
    if step == "hedge_phrases":
        # Batches that were taken in while the sensor was not running.
        arrived |= condition.missing() & condition.initial_evaluation()
    news = (arrived | condition.any_deps_updated().ignore(scale | files)).since(
        condition.newly_requested() | condition.newly_updated() | unranked
    )
    return (
        news
        & ~condition.any_deps_missing().ignore(files)
        & ~condition.any_deps_in_progress().ignore(files)
        & ~condition.in_progress()
        & Ready(configuration)
    )


def sensor_status(*, runs: bool) -> dg.DefaultSensorStatus:
    """Return whether a sensor runs before a person has started or stopped it."""
    return dg.DefaultSensorStatus.RUNNING if runs else dg.DefaultSensorStatus.STOPPED


def automation_sensor(
    settings: AutomationSettings,
) -> dg.AutomationConditionSensorDefinition:
    """Return the sensor that requests what the conditions ask for."""
    return dg.AutomationConditionSensorDefinition(
        SENSOR,
        target=dg.AssetSelection.all(),
        # It may spend money: a person switches it on.
        default_status=sensor_status(runs=settings.enabled),
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

    def nightly_release(
        context: dg.ScheduleEvaluationContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        yield from releases(
            configuration.staleness(), rankers, context.scheduled_execution_time
        )

    default_status = dg.DefaultScheduleStatus.STOPPED
    if settings.enabled:
        default_status = dg.DefaultScheduleStatus.RUNNING
    schedule = dg.schedule(
        job_name="release",
        cron_schedule=settings.nightly,
        execution_timezone=settings.time_zone,
        default_status=default_status,
        description="Writes the release of every ranker in use that has a finished "
        "batch. When nothing changed, it comes out byte for byte the same.",
    )
    try:
        return schedule(nightly_release)
    except dg.DagsterInvalidDefinitionError:
        raise ConfigurationError(
            f"settings, option automation.nightly: found {settings.nightly!r}; "
            "expected five fields of cron, such as '0 2 * * *'. Fix it or remove it."
        ) from None


def releases(
    staleness: StalenessChecker, rankers: Sequence[str], at: datetime
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Request the releases of a night, of rankers with a ranking and a finished batch.

    Each has a key of its own, so that a daemon which starts again in that night
    requests no second one.

    Args:
        staleness: what is there.
        rankers: that are in use.
        at: when the schedule was due.
    """
    ready = [
        ranker
        for ranker in rankers
        if staleness.exists("reference_ranking", ranker)
        and staleness.complete_batches(ranker)
    ]
    for ranker in ready:
        yield dg.RunRequest(run_key=f"{ranker} {at.isoformat()}", partition_key=ranker)
    if not ready:
        yield dg.SkipReason(
            "No ranker has a ranking and a finished batch yet. `lunguage run` makes "
            "them for a first batch."
        )
