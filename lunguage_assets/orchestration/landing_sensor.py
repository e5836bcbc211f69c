"""The sensor `landing`: every tick requests a run for each new batch (docs/dagster.md).

A tick makes one pass over the landing folder, which registers complete deliveries.
What a pass does with a delivery is not here, but in `workspace.landing`. Names of files
stay out of ticks, logs and tags: they may name patients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.automation import sensor_status
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.settings import LandingSettings
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landed_delivery import QUARANTINE
from lunguage_assets.workspace.landing import (
    PassReport,
    land,
    landing_folder,
    load_record,
)

JOB_OF_KIND: Mapping[str, str] = {"findings": "ingest", "text": "read_reports"}
"""Kind of a batch -> the first job that it needs."""

SECONDS_PER_TICK = 20.0
"""After this time a pass begins no further delivery: Dagster waits 60 seconds for a
tick.
"""

REQUESTS_PER_TICK = 100

HOW_TO_CONFIGURE = (
    "No landing folder is configured. Write into settings.toml in the home: [landing] "
    'and below it url = "/folder" (or set LUNGUAGE_LANDING), and reload the code '
    "location."
)


def landing_sensor(
    home: Home,
    settings: LandingSettings,
    jobs: Sequence[dg.UnresolvedAssetJobDefinition],
    clock: Callable[[], float] = time.time,
) -> dg.SensorDefinition:
    """Return the sensor; it runs from the start when there is a landing folder.

    Args:
        home: that registers the batches.
        settings: where deliveries are put, and how long they must have been still.
        jobs: the first jobs of batches (`JOB_OF_KIND`).
        clock: of the pass, in seconds since 1970.
    """
    has_folder = landing_folder(home, settings) is not None

    @dg.sensor(
        jobs=jobs,
        minimum_interval_seconds=settings.interval_s,
        default_status=sensor_status(runs=has_folder),
        description="Registers complete deliveries of the landing folder as batches; "
        "one run reads each (docs/dagster.md).",
    )
    @redact_errors()
    def landing(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            folder = landing_folder(home, settings)
            if folder is None:
                return dg.SensorResult(skip_reason=HOW_TO_CONFIGURE)
            report = land(home, folder, settings.stable_s, SECONDS_PER_TICK, clock)
        # It says itself what to do; a tick that fails would hide the message.
        except LunguageError as error:
            context.log.error(str(error))
            return request_runs(home, context.cursor, str(error))
        log_report(context, report, folder)
        return request_runs(home, context.cursor, report.summary)

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
    last_number = int(cursor) if cursor and cursor.isdecimal() else 0
    kind_by_batch = {batch.key: batch.kind for batch in home.registered()}
    # A batch in the record may be an intention: registered only by the next pass.
    new_batches = sorted(
        (number, key, sha256)
        for key, (number, sha256) in load_record(home).batches.items()
        if number > last_number and key in kind_by_batch
    )[:REQUESTS_PER_TICK]
    if not new_batches:
        return dg.SensorResult(skip_reason=skip_reason, cursor=cursor)
    run_requests = [
        dg.RunRequest(
            # With the number: a batch that was removed and delivered again is new.
            f"{key}-{sha256[:16]}-{number}",
            job_name=JOB_OF_KIND[kind_by_batch[key]],
            partition_key=key,
        )
        for number, key, sha256 in new_batches
    ]
    keys = [key for _, key, _ in new_batches]
    newest_number, _, _ = new_batches[-1]
    return dg.SensorResult(
        run_requests=run_requests,
        dynamic_partitions_requests=[REPORT_BATCH.build_add_request(keys)],
        cursor=str(newest_number),
    )


def log_report(
    context: dg.SensorEvaluationContext, report: PassReport, folder: Path
) -> None:
    """Log what a pass did, in numbers where a name may belong to a patient.

    Args:
        context: of the tick.
        report: of the pass.
        folder: the landing folder.
    """
    for registered in report.of("registered").values():
        context.log.info(f"registered: {registered}")
    for skipped in report.of("skipped").values():
        context.log.info(f"skipped: {skipped}")
    quarantined = len(report.of("quarantined"))
    if quarantined:
        context.log.warning(
            f"{quarantined} quarantined: see REASON.txt in {folder / QUARANTINE}"
        )
    context.log.info(report.summary)
