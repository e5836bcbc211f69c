"""Which checks look together, and the jobs that look again at what is stored.

A table's checks run with the job that makes it, in one step per group. `quality_of_...` runs checks alone,
with all rules by Great Expectations: on request, and at night for what was made since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import dagster as dg

from lunguage_assets.current.plan import STEPS_OF_JOB
from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.orchestration.checks import (
    beliefs,
    corpus,
    drift,
    explicit,
    judges,
    ranker,
    tables,
    text,
)
from lunguage_assets.orchestration.checks.look import RULES_TAG, Check, looked_at_together
from lunguage_assets.orchestration.jobs import tables_of_job
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.settings import AutomationSettings

GROUPS: dict[str, tuple[str, ...]] = {
    f"check_{job}": tables_of_job(job) for job in STEPS_OF_JOB if job not in ("refit", "release")
}
"""Step -> tables that one job makes together, whose checks it makes."""

CHECKS: tuple[Check, ...] = (
    *(tables.expectations(table) for tables_of_step in GROUPS.values() for table in tables_of_step),
    *(
        found
        for module in (text, tables, corpus, explicit, judges, ranker, beliefs, drift)
        for found in vars(module).values()
        if isinstance(found, Check)
    ),
)
"""The rules of every table, and every check that a module of this folder declares."""

QUALITY: dict[str, tuple[str, ...]] = {
    "quality_of_batch": ("report_batch",),
    "quality_of_structuring": ("structurer", "report_batch"),
    "quality_of_phrases": ("judge", "report_batch"),
    "quality_of_judge": ("judge",),
    "quality_of_ranker": ("ranker",),
    "quality_of_result": ("ranker", "report_batch"),
}
"""Job -> partitions of the tables at which it looks."""

NEWEST = ".dagster/lunguage_newest"
"""Run tag of a nightly look: number of the event with which the newest table it looks at was made."""


def all_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """Every check that is not made by an asset itself."""
    alone = {dimensions: job for job, dimensions in QUALITY.items()}
    return [
        looked_at_together(
            step,
            alone[PARTITIONED_BY[made[0]]],
            made,
            [check for check in CHECKS if check.table in made],
            partitions,
        )
        for step, made in GROUPS.items()
    ]


def checks_of(job: str) -> list[dg.AssetCheckKey]:
    """The checks of the tables at which a job of `QUALITY` looks."""
    return [check.key for check in CHECKS if PARTITIONED_BY[check.table] == QUALITY[job]]


def quality_jobs(partitions: Partitions) -> list[dg.UnresolvedAssetJobDefinition]:
    """A job per kind of partition that only checks. Its partitions come from its configuration: Dagster gives
    a job without assets none.
    """
    return [
        dg.define_asset_job(
            job,
            selection=dg.AssetSelection.checks(*checks_of(job)),
            config=dg.PartitionedConfig(
                partitions_def=partitions.by_dimensions[dimensions],
                run_config_for_partition_key_fn=lambda _: {},
            ),
            tags=RULES_TAG,
            description=f"Look again at what is stored of one {' and '.join(dimensions)}: every check, all "
            "rules by Great Expectations. Makes no table.",
        )
        for job, dimensions in QUALITY.items()
    ]


def quality_schedules(settings: AutomationSettings) -> list[dg.ScheduleDefinition]:
    """At night, each job looks at what was made since its last nightly look, when automation is enabled."""
    status = dg.DefaultScheduleStatus
    return [
        dg.ScheduleDefinition(
            name=f"nightly_{job}",
            job_name=job,
            cron_schedule=settings.nightly,
            execution_timezone=settings.time_zone,
            default_status=status.RUNNING if settings.enabled else status.STOPPED,
            description=f"Runs `{job}` for every partition that was made since its last nightly look.",
            execution_fn=partial(_nightly, job),
        )
        for job in QUALITY
    ]


def _nightly(job: str, context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    yield from looks_due(context.instance, job, checks_of(job))


def looks_due(
    instance: dg.DagsterInstance, job: str, checks: Sequence[dg.AssetCheckKey]
) -> Iterator[dg.RunRequest]:
    """A run per partition of which something was made since the job's last nightly look: the checks of the
    tables that are there.
    """
    made: dict[str, dict[dg.AssetKey, int]] = {}
    for table in sorted({check.asset_key for check in checks}):
        moments = instance.get_latest_storage_id_by_partition(
            table, dg.DagsterEventType.ASSET_MATERIALIZATION
        )
        for partition, moment in moments.items():
            made.setdefault(partition, {})[table] = moment
    runs = instance.get_runs(dg.RunsFilter(job_name=job))
    looked_at = {(run.tags.get("dagster/partition"), run.tags.get(NEWEST)) for run in runs}
    for partition, moments_of in sorted(made.items()):
        newest = str(max(moments_of.values()))
        if (partition, newest) not in looked_at:
            yield dg.RunRequest(
                run_key=f"{job} {partition} {newest}",
                partition_key=partition,
                asset_check_keys=[check for check in checks if check.asset_key in moments_of],
                tags={NEWEST: newest},
            )
