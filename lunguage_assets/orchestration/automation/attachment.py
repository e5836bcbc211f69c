"""What runs without a person: the conditions of the assets, and the sensor that acts on them.

A batch that is taken in (its `findings`) is carried to `lunguage_plus_plus` for the rankers in use. The
measuring stick is not made anew unless `[automation] rebuild` says so, and a new one makes no old batch be
fitted again: that may cost money. The conditions themselves are in `conditions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dagster as dg

from lunguage_assets.orchestration.assets.explicit import TABLES_OF_FIT
from lunguage_assets.orchestration.automation.conditions import (
    CARRIED,
    AmongTheNext,
    ExtractorInUse,
    InputsChanged,
    InputsCurrent,
    LeftToAutomation,
    MatchesChanged,
    RankerInUse,
    VocabularyChanged,
)
from lunguage_assets.orchestration.automation.schedules import release_freshness
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.settings import AutomationSettings

SENSOR = "carry_batches_on"


def conditions(partitions: Partitions, settings: AutomationSettings) -> Mapping[str, dg.AutomationCondition]:
    """Table -> when to make one of its partitions; tables that are not here are made on request or on a
    schedule.
    """
    unsound = dg.AutomationCondition.check_failed() | dg.AutomationCondition.execution_failed()
    # Not `all_deps_blocking_checks_passed`: it also waits for checks that were never evaluated. Both look at
    # a partition's own result, as long as the
    # check has partitions (tested).
    sound = ~dg.AutomationCondition.any_deps_match(
        dg.AutomationCondition.any_checks_match(unsound, blocking_only=True)
    )
    quiet = ~dg.AutomationCondition.any_deps_in_progress() & ~dg.AutomationCondition.in_progress()
    may_run = (
        InputsCurrent(partitions) & LeftToAutomation(partitions) & AmongTheNext(partitions) & sound & quiet
    )
    changed = InputsChanged(partitions)
    found: dict[str, dg.AutomationCondition] = {
        "hedge_phrases": ExtractorInUse(partitions) & changed & may_run
    }
    for table in CARRIED[1:]:
        if table in TABLES_OF_FIT:
            found[table] = RankerInUse(partitions) & changed & may_run
        else:
            found[table] = (
                changed | dg.AutomationCondition.any_deps_match(dg.AutomationCondition.will_be_requested())
            ) & may_run
    if settings.rebuild:
        found["comparison_matches"] = VocabularyChanged(partitions) & quiet
        found["reference_ranking"] = MatchesChanged(partitions) & quiet
    return found


def automated(
    assets: Sequence[dg.AssetsDefinition], partitions: Partitions, settings: AutomationSettings
) -> list[dg.AssetsDefinition]:
    """The assets, each with the condition under which its partitions are requested, and the release with the
    age at which it is late.
    """
    when = conditions(partitions, settings)
    late = release_freshness(settings) if settings.enabled else None

    def attach(spec: dg.AssetSpec) -> dg.AssetSpec:
        table = spec.key.path[-1]
        if table in when:
            return spec.replace_attributes(automation_condition=when[table])
        return dg.apply_freshness_policy(spec, late) if table == "release" and late is not None else spec

    return list(dg.map_asset_specs(attach, assets))


def automation_sensor(settings: AutomationSettings) -> dg.AutomationConditionSensorDefinition:
    """The sensor that requests what the conditions ask for: one run per partition, so that one that fails
    holds up no other.
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
            "have a ranking. A step that failed is not tried "
            "again before something that it reads changes. Starts by itself with `enabled = "
            "true` under [automation] in settings.toml."
        ),
    )
