"""The sensor `landing`: every tick requests a run for each new batch (docs/dagster.md).

A tick makes one pass over the landing folder, which registers complete deliveries.
What a pass does with a delivery is not here, but in `workspace.landing`. Names of files
stay out of ticks, logs and tags: they may name patients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.settings import LandingSettings
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import (
    batches_landed_after,
    land,
    summary,
)

JOB_OF_KIND: Mapping[str, str] = {"findings": "ingest", "text": "read_reports"}
"""Kind of a batch -> the first job that it needs."""

SECONDS_PER_TICK = 20.0
"""After this time a pass begins no further delivery: Dagster waits 60 seconds for a
tick.
"""


def landing_sensor(
    home: Home,
    folder: Path,
    settings: LandingSettings,
    jobs: Sequence[dg.UnresolvedAssetJobDefinition],
) -> dg.SensorDefinition:
    """Return the sensor of a home that has a landing folder.

    Args:
        home: that registers the batches.
        folder: where deliveries are put.
        settings: how long they must have been still, and how often it looks.
        jobs: with those of `JOB_OF_KIND`.
    """

    @dg.sensor(
        jobs=jobs,
        minimum_interval_seconds=settings.interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Registers complete deliveries of the landing folder as batches; "
        "one run reads each (docs/dagster.md).",
    )
    @redact_errors()
    def landing(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            # In numbers alone: a name may be a patient's. A delivery that was moved
            # aside has its REASON.txt.
            message = summary(land(home, folder, settings.stable_s, SECONDS_PER_TICK))
        # It says itself what to do; a tick that fails would hide the message.
        except LunguageError as error:
            message = str(error)
        context.log.info(message)
        return request_runs(home, context.cursor, message)

    return landing


def request_runs(home: Home, cursor: str | None, skip_reason: str) -> dg.SensorResult:
    """Request a run for every batch of the landing folder that none was requested for.

    That includes batches of earlier passes: after a kill the next tick requests again,
    under the same run key, and Dagster launches one run for a key.

    Args:
        home: with the batches.
        cursor: number of the last batch that a run was requested for.
        skip_reason: shown where there is nothing to request.
    """
    batches = batches_landed_after(home, int(cursor or -1))
    if not batches:
        return dg.SensorResult(skip_reason=skip_reason, cursor=cursor)
    run_requests = [
        dg.RunRequest(
            # With the number: a batch that was removed and registered again is new.
            f"{batch.key}-{batch.number}",
            job_name=JOB_OF_KIND[batch.kind],
            partition_key=batch.key,
        )
        for batch in batches
    ]
    keys = [batch.key for batch in batches]
    return dg.SensorResult(
        run_requests=run_requests,
        dynamic_partitions_requests=[REPORT_BATCH.build_add_request(keys)],
        cursor=str(batches[-1].number),
    )
