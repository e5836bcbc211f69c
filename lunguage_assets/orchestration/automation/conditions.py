"""What runs without a person: when a partition is requested, and the sensor that requests it.

A batch that is taken in is carried to `lunguage_plus_plus` for the rankers in use, those that have a
ranking. The conditions are Dagster's own. The reference scale is ignored, because following it may cost
money. Our one condition asks `current` whether a run would find everything that it reads, and keeps away from
what a command does.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from lunguage_assets.current.recipes import RECIPES, STEP_OF, dimensions_of
from lunguage_assets.current.standing import Standings
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
    Phrases are extracted by the configured extractor only; another judge's are made by a backfill, and so are
    those of an extractor that was exchanged.
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
    """Whether everything is current that the step, and those before it in the same run, read of others."""
    if step == "hedge_phrases" and not _extracts(now, keys[0]):
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


def _extracts(now: Standings, judge: str) -> bool:
    collected = [other for other in now.judges.active_judges if now.exists("hedge_vocabulary", other)]
    return judge == now.judges.extractor and (judge in collected or not collected)


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
