"""The sensor `landing`: every tick makes one pass over the landing folder and asks for a run of `ingest` per
new batch.

Which batches have been asked for is the sensor's cursor, a number in the record of landed deliveries. Dagster
keeps the cursor together with the runs it has begun to launch, and a run key says which batch a run is for:
killed between registering and launching, the next tick asks again, and no batch is asked for twice. Names of
files stay out of ticks, logs and tags, because they may name patients.
"""

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.home.home import Home
from lunguage_assets.landing.passes import Bounds, Outcome, land, quarantine_place, record_of
from lunguage_assets.landing.place import LandingPlace, landing_url
from lunguage_assets.landing.record import LandedBatch
from lunguage_assets.landing.waiting import Clock
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.settings import LandingSettings, load_settings

JOB = "ingest"
REQUESTS_PER_TICK = 100

HOW_TO_CONFIGURE = (
    "No landing folder is configured. Write into settings.toml in the home: [landing] and "
    'below it url = "/folder/or/fsspec-url" '
    "(or set LUNGUAGE_LANDING), and reload the code location."
)


def landing_sensor(home: Home, clock: Clock | None = None) -> dg.SensorDefinition:
    """The sensor for a home: running from the start when a landing folder is configured, else stopped."""
    settings = _settings(home)

    @dg.sensor(
        name="landing",
        job_name=JOB,
        minimum_interval_seconds=settings.interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING
        if landing_url(home, settings)
        else dg.DefaultSensorStatus.STOPPED,
        description="Registers complete deliveries of the landing folder as batches and has each ingested "
        "once (docs/landing.md).",
    )
    @plain_failures()
    def landing(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            present = load_settings(home.settings_file).landing
            url = landing_url(home, present)
            if url is None:
                return dg.SensorResult(skip_reason=HOW_TO_CONFIGURE)
            place = LandingPlace(url)
            outcome = land(home, place, Bounds(stable_s=present.stable_s), clock)
        except LunguageError as error:  # says itself what to do; a failed tick would hide the message
            context.log.error(str(error))
            return _result(home, context.cursor, str(error))
        _tell(context, outcome, place)
        return _result(home, context.cursor, summary(outcome))

    return landing


def _settings(home: Home) -> LandingSettings:
    try:
        return load_settings(home.settings_file).landing
    except (
        LunguageError
    ):  # told by whatever uses the settings, this sensor's ticks among it; the code location must load
        return LandingSettings()


def _result(home: Home, cursor: str | None, otherwise: str) -> dg.SensorResult:
    """Runs for all batches that have not been asked for, whatever came of this pass; without any, why."""
    record = record_of(home)
    try:
        identity, _, asked = (cursor or "").rpartition(":")
        batches = record.landed_after(int(asked) if identity == record.identity else 0, REQUESTS_PER_TICK)
        if not batches:
            return dg.SensorResult(skip_reason=otherwise, cursor=cursor)
        return dg.SensorResult(
            run_requests=[run_request(batch) for batch in batches],
            dynamic_partitions_requests=[REPORT_BATCH.build_add_request([batch.key for batch in batches])],
            cursor=f"{record.identity}:{batches[-1].landed}",
        )
    finally:
        record.close()


def run_request(batch: LandedBatch) -> dg.RunRequest:
    """The run that ingests a batch; its tags are counts."""
    return dg.RunRequest(
        # a batch that was removed and comes again has a new number
        run_key=f"{batch.key}-{batch.sha256[:16]}-{batch.landed}",
        partition_key=batch.key,
        tags={
            "lunguage/batch_sha256": batch.sha256[:16],
            "lunguage/studies": str(batch.studies),
            "lunguage/amended_studies": str(batch.amended),
            "lunguage/rows": str(batch.rows),
            "lunguage/rejected_rows": str(batch.rejected),
        },
    )


def summary(outcome: Outcome) -> str:
    """What a pass did, in numbers."""
    told = {
        "registered": len(outcome.registered),
        "skipped (content known)": len(outcome.skipped),
        "quarantined": len(outcome.quarantined),
        "waiting to be complete": len(outcome.waiting),
        "complete, for the next tick": outcome.left,
        "not usable and not to be moved": outcome.refused,
        "landed before": outcome.known,
        "of other kinds": len(outcome.others),
    }
    said = ", ".join(f"{count} {what}" for what, count in told.items() if count)
    return f"Landing folder: {said or 'nothing there'}."


def _tell(context: dg.SensorEvaluationContext, outcome: Outcome, place: LandingPlace) -> None:
    for batch in outcome.registered:
        context.log.info(
            f"batch {batch.key}: {batch.studies} studies ({batch.amended} of them amended), "
            f"{batch.rows} rows ({batch.rejected} rejected)"
        )
    for key in sorted(outcome.skipped.values()):
        context.log.info(f"skipped: same content as batch {key}")
    for reason in outcome.quarantined:
        context.log.warning(f"quarantined in {quarantine_place(place)}: {reason.without_names}")
    context.log.info(summary(outcome))
