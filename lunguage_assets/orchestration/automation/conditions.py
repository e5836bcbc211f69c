"""What runs without a person: when a partition is requested, and the sensor that requests it.

A batch that is taken in is carried to `lunguage_plus_plus` for the rankers in use, those that have a ranking.
The conditions are Dagster's own. What must not trigger anything is ignored: the measuring stick and what a
person edits, because following them may cost money. Our one condition keeps away from what somebody else
does.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from lunguage_assets.current.recipes import RECIPES, RELEASE
from lunguage_assets.orchestration.assets import edited
from lunguage_assets.orchestration.automation.schedules import release_freshness
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.runs.command_lock import is_at_work
from lunguage_assets.settings import AutomationSettings

SENSOR = "carry_batches_on"
CARRIED = ("extraction", "fitting", "merging", "expansion", "resolution")
"""Steps that a new batch goes through, upstream first."""


class NobodyElse(dg.AutomationCondition):
    """True for partitions that automation may request.

    Not while a command of this home is at work: it carries its batches itself. Phrases are extracted by the
    configured extractor only; another judge's are made by a backfill.
    """

    def __init__(self, home: str, extractor: str) -> None:
        super().__init__()
        self._home, self._extractor = home, extractor

    @property
    def name(self) -> str:
        return "nobody_else"

    def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:
        chosen = context.candidate_subset
        if chosen.is_empty or is_at_work(self._home):
            return dg.AutomationResult(context, context.get_empty_subset())
        if context.key == dg.AssetKey("hedge_phrases"):
            keys = chosen.expensively_compute_partition_keys()
            own = {key for key in keys if str(key).split("|")[0] == self._extractor}
            chosen = chosen.compute_intersection_with_partition_keys(own)
        return dg.AutomationResult(context, chosen)


def condition(home: str, extractor: str) -> dg.AutomationCondition:
    """When a step of a batch is requested: something that it reads is there anew, and all of it is sound."""
    automatic = dg.AutomationCondition
    stick = dg.AssetSelection.assets("hedge_vocabulary", "reference_ranking")
    by_hand = dg.AssetSelection.groups(edited.GROUP)
    news = (
        automatic.newly_missing()
        | (automatic.missing() & automatic.initial_evaluation())  # what came while nobody looked
        | automatic.any_deps_updated().ignore(stick | by_hand)
    ).since(automatic.newly_requested() | automatic.newly_updated())
    unsound = automatic.any_checks_match(
        automatic.check_failed() | automatic.execution_failed(), blocking_only=True
    )
    return (
        news
        & ~automatic.any_deps_missing().ignore(by_hand)
        & ~automatic.any_deps_in_progress()
        & ~automatic.in_progress()
        & ~automatic.any_deps_match(unsound)
        & NobodyElse(home, extractor)
    )


def rebuilding(home: str, extractor: str) -> dg.AutomationCondition:
    """When comparisons and ranking follow a new vocabulary without a person: opt-in, may cost money."""
    automatic = dg.AutomationCondition
    return (
        automatic.any_deps_updated().since(automatic.newly_requested() | automatic.newly_updated())
        & ~automatic.missing()
        & ~automatic.any_deps_missing()
        & ~automatic.any_deps_in_progress()
        & ~automatic.in_progress()
        & NobodyElse(home, extractor)
    )


def automated(
    assets: Sequence[dg.AssetsDefinition], partitions: Partitions, settings: AutomationSettings, home: str
) -> list[dg.AssetsDefinition]:
    """The assets, those that a batch is carried through with their condition."""
    carried = {table for step in CARRIED for table in RECIPES[step].tables}
    late = release_freshness(settings) if settings.enabled else None
    rebuilt = {"comparison_matches", "reference_ranking"} if settings.rebuild else set()

    def attach(spec: dg.AssetSpec) -> dg.AssetSpec:
        table = spec.key.path[-1]
        if table in carried:
            return spec.replace_attributes(automation_condition=condition(home, partitions.extractor))
        if table == RELEASE and late is not None:
            return dg.apply_freshness_policy(spec, late)
        if table in rebuilt:
            return spec.replace_attributes(automation_condition=rebuilding(home, partitions.extractor))
        return spec

    return list(dg.map_asset_specs(attach, assets))


def automation_sensor(settings: AutomationSettings) -> dg.AutomationConditionSensorDefinition:
    """The sensor that requests what the conditions ask for: one run per partition, so that one that fails
    holds
    up no other.
    """
    return dg.AutomationConditionSensorDefinition(
        SENSOR,
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.RUNNING if settings.enabled else dg.DefaultSensorStatus.STOPPED,
        minimum_interval_seconds=settings.interval_s,
        emit_backfills=False,
        use_user_code_server=True,
        run_tags={"lunguage/launched_by": SENSOR},
        description=(
            "Carries every batch that is taken in on to lunguage_plus_plus, for the rankers that "
            "have a ranking."
            " A step that failed is not tried again before something that it reads changes."
            " Starts by itself with `enabled = true` under [automation] in settings.toml."
        ),
    )
