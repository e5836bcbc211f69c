"""The sensor `landing`: every tick makes one pass over the landing folder and asks for one run per new batch:
of `ingest`, or of `read_reports` where raw reports were delivered.

Its cursor is the number of the last batch that it asked for; after a kill between registration and launch
the next tick asks again, under the same run key. Names of files stay out of ticks, logs and tags, because
they may name patients.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.home.home import Home
from lunguage_assets.landing import QUARANTINE, PassReport, land, landing_folder, load_record
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.settings import LandingSettings

JOB_OF_KIND = {"findings": "ingest", "text": "read_reports"}
"""Kind of a batch -> the first job that it needs."""

SECONDS_PER_TICK = 20.0
"""After this time a pass begins no further delivery: Dagster waits 60 seconds for a tick."""
REQUESTS_PER_TICK = 100

HOW_TO_CONFIGURE = (
    "No landing folder is configured. Write into settings.toml in the home: [landing] and below it "
    'url = "/folder" (or set LUNGUAGE_LANDING), and reload the code location.'
)


def landing_sensor(
    home: Home,
    settings: LandingSettings,
    jobs: "Sequence[dg.UnresolvedAssetJobDefinition]",
    clock: Callable[[], float] = time.time,
) -> dg.SensorDefinition:
    """The sensor, with the jobs of `JOB_OF_KIND`; it runs from the start when a folder is configured."""
    running, stopped = dg.DefaultSensorStatus.RUNNING, dg.DefaultSensorStatus.STOPPED

    @dg.sensor(
        jobs=jobs,
        minimum_interval_seconds=settings.interval_s,
        default_status=running if landing_folder(home, settings) else stopped,
        description="Registers complete deliveries of the landing folder as batches; one run reads each "
        "(docs/dagster.md).",
    )
    @plain_failures()
    def landing(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            if (folder := landing_folder(home, settings)) is None:
                return dg.SensorResult(skip_reason=HOW_TO_CONFIGURE)
            outcome = land(home, folder, settings.stable_s, SECONDS_PER_TICK, clock)
        except LunguageError as error:  # says itself what to do; a failed tick would hide the message
            context.log.error(str(error))
            return _requests(home, context.cursor, str(error))
        _tell(context, outcome, folder)
        return _requests(home, context.cursor, outcome.summary)

    return landing


def _requests(home: Home, cursor: str | None, otherwise: str) -> dg.SensorResult:
    """Runs for all batches that were not asked for, whatever came of this pass; without any, why. The tags of
    a run are counts.
    """
    asked = int(cursor) if cursor and cursor.isdecimal() else 0
    kinds = {batch.key: batch.kind for batch in home.registered()}  # an intended batch is not yet there
    new = [one for one in load_record(home).batches.values() if one.key in kinds and one.number > asked]
    new = sorted(new, key=lambda batch: batch.number)[:REQUESTS_PER_TICK]
    if not new:
        return dg.SensorResult(skip_reason=otherwise, cursor=cursor)
    requests = []
    for batch in new:
        counts = {"studies": batch.studies, "rows": batch.rows, "rejected_rows": batch.rejected}
        requests.append(
            dg.RunRequest(
                job_name=JOB_OF_KIND[kinds[batch.key]],
                run_key=f"{batch.key}-{batch.sha256[:16]}-{batch.number}",
                partition_key=batch.key,
                tags={f"lunguage/{name}": str(count) for name, count in counts.items()},
            )
        )
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[REPORT_BATCH.build_add_request([batch.key for batch in new])],
        cursor=str(new[-1].number),
    )


def _tell(context: dg.SensorEvaluationContext, outcome: PassReport, folder: Path) -> None:
    for batch in outcome.registered.values():
        context.log.info(f"batch {batch.key}: {batch.counts}")
    for key in sorted(outcome.skipped.values()):
        context.log.info(f"skipped: same content as batch {key}")
    for error in outcome.quarantined.values():
        context.log.warning(f"quarantined in {folder / QUARANTINE}: {error.of_file('a delivery')}")
    context.log.info(outcome.summary)
