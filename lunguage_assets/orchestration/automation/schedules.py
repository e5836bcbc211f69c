"""The schedule of the nightly release. Times are in the configured time zone.

Dagster runs a schedule once per tick of its cron line: a time that a change to summer time leaves out runs
right after it, one that comes twice runs once.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

import dagster as dg

from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.settings import AutomationSettings


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


def releases(
    standings: Standings, rankers: Sequence[str], at: datetime
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """The releases of a night, of rankers with a ranking and a batch that was carried to its end.

    Each has a key of its own, so a daemon that starts again in that night requests no second one.
    """
    ready = [
        ranker
        for ranker in rankers
        if standings.exists("reference_ranking", ranker) and standings.complete_batches(ranker)
    ]
    for ranker in ready:
        yield dg.RunRequest(run_key=f"{ranker} {at.isoformat()}", partition_key=ranker)
    if not ready:
        yield dg.SkipReason(
            "No ranker has a ranking and a finished batch yet. `lunguage run` makes them for a first batch."
        )
