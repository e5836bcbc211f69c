"""What runs without a person: when a partition is requested, the sensor that requests it, and the schedule of
the nightly release.

A batch that is taken in is carried to `lunguage_plus_plus` for the rankers in use, those that have a
ranking. The conditions are Dagster's own. The reference scale is ignored, because following it may cost
money. Our one condition asks `current` whether a run would find everything that it reads, and keeps away from
what a command does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import dagster as dg

from lunguage_assets.current.recipes import RECIPES, STEP_OF, dimensions_of
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.partitions import store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.instance import is_at_work
from lunguage_assets.settings import AutomationSettings

SENSOR = "carry_batches_on"
CARRIED = (
    *("structured_findings", "findings", "hedge_phrases", "fitted_probabilities"),
    *("deduplicated_findings", "expansions", "lunguage_plus_plus"),
)
"""Steps that a new batch goes through, upstream first."""


class Ready(dg.AutomationCondition):
    """True for partitions that automation may request now.

    Not while a command of this home is at work: it carries its batches itself. Not before everything that a
    run reads is current: a run would fail, or answers would be paid for that another run asks for anew.
    """

    def __init__(self, home: HomeResource) -> None:
        super().__init__()
        self._home = home

    @property
    def name(self) -> str:
        return "ready"

    def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:
        chosen = context.candidate_subset
        if chosen.is_empty or is_at_work(self._home.root):
            return dg.AutomationResult(context, context.get_empty_subset())
        step, now = context.key.path[-1], self._home.standings()
        keys = chosen.expensively_compute_partition_keys()
        ready = {key for key in keys if is_ready(now, step, store_keys(key, RECIPES[step].dimensions))}
        return dg.AutomationResult(context, chosen.compute_intersection_with_partition_keys(ready))


def is_ready(now: Standings, step: str, keys: tuple[str, ...]) -> bool:
    """Whether everything is current that the step, and those before it in the same run, read of others.
    Phrases are extracted by the configured extractor only, unless it took another one's place.
    """
    if step == "hedge_phrases":
        collected = [judge for judge in now.judges.active_judges if now.exists("hedge_vocabulary", judge)]
        if keys[0] != now.judges.extractor or (collected and keys[0] not in collected):
            return False
    if step == "structured_findings" and keys[0] != now.judges.structurer:
        return False
    if step in ("structured_findings", "findings") and not now.is_text(keys[-1]):
        return False  # findings are taken in by a person, a command or the landing sensor
    return all(
        is_ready(now, STEP_OF[wanted.table], place)
        if dimensions_of(wanted.table) == RECIPES[step].dimensions
        else now.is_current(wanted.table, *place)
        for wanted, place in now.inputs(step, keys)
        if not wanted.on_request
    )


def condition(home: HomeResource, table: str) -> dg.AutomationCondition:
    """When a step of a batch is requested: something that it reads is there anew, and all of it is."""
    automatic = dg.AutomationCondition
    scale = dg.AssetSelection.assets("hedge_vocabulary", "reference_ranking")
    # a ranking that comes for the first time asks for no batch that was there before it
    ranking = dg.AssetSelection.assets("reference_ranking")
    unranked = automatic.any_deps_match(automatic.missing()).allow(ranking)
    unseen = automatic.missing() & automatic.initial_evaluation()  # taken in while nobody looked
    arrived = automatic.newly_missing() | unseen if table == "hedge_phrases" else automatic.newly_missing()
    news = (arrived | automatic.any_deps_updated().ignore(scale)).since(
        automatic.newly_requested() | automatic.newly_updated() | unranked
    )
    return (
        news
        & ~automatic.any_deps_missing()
        & ~automatic.any_deps_in_progress()
        & ~automatic.in_progress()
        & Ready(home)
    )


def automated(assets: Sequence[dg.AssetsDefinition], home: HomeResource) -> list[dg.AssetsDefinition]:
    """The assets, those that a batch is carried through with their condition."""

    def attach(spec: dg.AssetSpec) -> dg.AssetSpec:
        table = spec.key.path[-1]
        if table not in CARRIED:
            return spec
        return spec.replace_attributes(automation_condition=condition(home, table))

    return list(dg.map_asset_specs(attach, assets))


def automation_sensor(settings: AutomationSettings) -> dg.AutomationConditionSensorDefinition:
    """The sensor that requests what the conditions ask for, one run per partition: one that fails holds up
    no other.
    """
    return dg.AutomationConditionSensorDefinition(
        SENSOR,
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.RUNNING if settings.enabled else dg.DefaultSensorStatus.STOPPED,
        minimum_interval_seconds=settings.interval_s,
        emit_backfills=False,
        use_user_code_server=True,
        run_tags={"lunguage/launched_by": SENSOR},
        description="Carries every batch that is taken in on to lunguage_plus_plus, for the rankers that "
        "have a ranking. What failed is not tried again before something that it reads changes. It starts by "
        "itself with `enabled = true` under [automation] in settings.toml.",
    )


def nightly_schedule(rankers: Sequence[str], settings: AutomationSettings) -> dg.ScheduleDefinition:
    """The schedule; it runs by itself when automation is enabled.

    Raises:
        ConfigurationError: the cron line is none.
    """

    def nightly_release(
        context: dg.ScheduleEvaluationContext, home: HomeResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        yield from releases(home.standings(), rankers, context.scheduled_execution_time)

    running, stopped = dg.DefaultScheduleStatus.RUNNING, dg.DefaultScheduleStatus.STOPPED
    try:
        return dg.schedule(
            job_name="release",
            cron_schedule=settings.nightly,
            execution_timezone=settings.time_zone,
            default_status=running if settings.enabled else stopped,
            description="Writes the release of every ranker in use that has a finished batch. When nothing "
            "changed, it comes out byte for byte the same.",
        )(nightly_release)
    except dg.DagsterInvalidDefinitionError:
        raise ConfigurationError(
            f"settings, option automation.nightly: found {settings.nightly!r}; expected five fields of cron, "
            "such as '0 2 * * *'. Fix it or remove it."
        ) from None


def releases(now: Standings, rankers: Sequence[str], at: datetime) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """The releases of a night, of rankers with a ranking and a batch that was carried to its end.

    Each has a key of its own, so a daemon that starts again in that night requests no second one.
    """
    ready = [one for one in rankers if now.exists("reference_ranking", one) and now.complete_batches(one)]
    for ranker in ready:
        yield dg.RunRequest(run_key=f"{ranker} {at.isoformat()}", partition_key=ranker)
    if not ready:
        yield dg.SkipReason(
            "No ranker has a ranking and a finished batch yet. `lunguage run` makes them for a first batch."
        )
