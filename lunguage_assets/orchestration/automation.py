"""What runs without a person: conditions on which a partition is requested and the sensor that requests it,
the nightly release, the landing folder, alerts. The conditions are Dagster's own, but one; the reference
scale is ignored, because following it may cost money.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.lineage.input_fingerprints import NOTHING
from lunguage_assets.lineage.recipes import RECIPES, STEP_OF, dimensions_of
from lunguage_assets.lineage.staleness import StalenessChecker
from lunguage_assets.orchestration.assets.edited_files import FILES
from lunguage_assets.orchestration.partitions import REPORT_BATCH, store_keys
from lunguage_assets.orchestration.redaction import plain_failures
from lunguage_assets.orchestration.runs.instance import is_at_work
from lunguage_assets.settings import AutomationSettings, LandingSettings
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import (
    QUARANTINE,
    PassReport,
    land,
    landing_folder,
    load_record,
)

SENSOR = "carry_batches_on"
AUTOMATED_STEPS = tuple(
    step for step in RECIPES if step in TABLES and TABLES[step].automated
)
"""Steps that a new batch goes through, upstream first."""

JOB_OF_KIND = {"findings": "ingest", "text": "read_reports"}
"""Kind of a batch -> the first job that it needs."""

SECONDS_PER_TICK = 20.0
"""After this time a pass begins no further delivery: Dagster waits 60 seconds for a tick."""
REQUESTS_PER_TICK = 100

HOW_TO_CONFIGURE = (
    "No landing folder is configured. Write into settings.toml in the home: [landing] and below it "
    'url = "/folder" (or set LUNGUAGE_LANDING), and reload the code location.'
)

WEBHOOK = "LUNGUAGE_ALERT_WEBHOOK"


class Ready(dg.AutomationCondition):
    """True for partitions that automation may request now: while no command of this home is at work, which
    carries its batches itself, and when everything is current that a run reads.
    """

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration

    @property
    def name(self) -> str:
        return "ready"

    def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:
        chosen = context.candidate_subset
        if chosen.is_empty or is_at_work(self._configuration.home.root):
            return dg.AutomationResult(context, context.get_empty_subset())
        step, now = context.key.path[-1], self._configuration.staleness()
        keys = chosen.expensively_compute_partition_keys()
        ready = {
            key
            for key in keys
            if is_ready(now, step, store_keys(key, RECIPES[step].dimensions))
        }
        return dg.AutomationResult(
            context, chosen.compute_intersection_with_partition_keys(ready)
        )


def is_ready(now: StalenessChecker, step: str, keys: tuple[str, ...]) -> bool:
    """Whether everything is current that the step, and those before it in the same run, read of others.
    Phrases are extracted by the configured extractor only, unless it took another one's place.
    """
    if step == "hedge_phrases":
        collected = [
            judge
            for judge in now.judges.active_judges
            if now.exists("hedge_vocabulary", judge)
        ]
        if keys[0] != now.judges.extractor or (collected and keys[0] not in collected):
            return False
    if step == "structured_findings" and keys[0] != now.judges.structurer:
        return False
    if step in ("structured_findings", "findings") and not now.is_text(keys[-1]):
        return (
            False  # findings are taken in by a person, a command or the landing sensor
        )
    is_scored = step == "fitted_probabilities" and now.scorer_of(*keys) != NOTHING
    if is_scored and not now.is_current("distilled_evaluation", keys[0]):
        return False
    return all(
        is_ready(now, STEP_OF[wanted.table], place)
        if dimensions_of(wanted.table) == RECIPES[step].dimensions
        else now.is_current(wanted.table, *place)
        for wanted, place in now.inputs(step, keys)
        if not wanted.on_request
    )


def condition(configuration: Configuration, table: str) -> dg.AutomationCondition:
    """When a step of a batch is requested: something that it reads is there anew, and all of it is."""
    automatic = dg.AutomationCondition
    # An edited file asks for nothing by itself: a person who is still editing would pay for every save.
    files = dg.AssetSelection.assets(*FILES)
    scale = dg.AssetSelection.assets("hedge_vocabulary", "reference_ranking")
    # a ranking that comes for the first time asks for no batch that was there before it
    ranking = dg.AssetSelection.assets("reference_ranking")
    unranked = automatic.any_deps_match(automatic.missing()).allow(ranking)
    unseen = (
        automatic.missing() & automatic.initial_evaluation()
    )  # taken in while nobody looked
    arrived = (
        automatic.newly_missing() | unseen
        if table == "hedge_phrases"
        else automatic.newly_missing()
    )
    news = (arrived | automatic.any_deps_updated().ignore(scale | files)).since(
        automatic.newly_requested() | automatic.newly_updated() | unranked
    )
    return (
        news
        & ~automatic.any_deps_missing().ignore(files)
        & ~automatic.any_deps_in_progress().ignore(files)
        & ~automatic.in_progress()
        & Ready(configuration)
    )


def automation_sensor(
    settings: AutomationSettings,
) -> dg.AutomationConditionSensorDefinition:
    """The sensor that requests what the conditions ask for, one run per partition."""
    return dg.AutomationConditionSensorDefinition(
        SENSOR,
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.RUNNING
        if settings.enabled
        else dg.DefaultSensorStatus.STOPPED,
        minimum_interval_seconds=settings.interval_s,
        emit_backfills=False,
        use_user_code_server=True,
        run_tags={"lunguage/launched_by": SENSOR},
        description="Carries every batch that is taken in on to lunguage_plus_plus, for the rankers that "
        "have a ranking. What failed is not tried again before something that it reads changes. It starts by "
        "itself with `enabled = true` under [automation] in settings.toml.",
    )


def nightly_schedule(
    rankers: Sequence[str], settings: AutomationSettings
) -> dg.ScheduleDefinition:
    """The schedule, running when automation is enabled; raises `ConfigurationError` for no cron line."""

    def nightly_release(
        context: dg.ScheduleEvaluationContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        yield from releases(
            configuration.staleness(), rankers, context.scheduled_execution_time
        )

    running, stopped = (
        dg.DefaultScheduleStatus.RUNNING,
        dg.DefaultScheduleStatus.STOPPED,
    )
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
    now: StalenessChecker, rankers: Sequence[str], at: datetime
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """The releases of a night, of rankers with a ranking and a finished batch; each has a key of its own, so
    a daemon that starts again in that night requests no second one.
    """
    ready = [
        one
        for one in rankers
        if now.exists("reference_ranking", one) and now.complete_batches(one)
    ]
    for ranker in ready:
        yield dg.RunRequest(run_key=f"{ranker} {at.isoformat()}", partition_key=ranker)
    if not ready:
        yield dg.SkipReason(
            "No ranker has a ranking and a finished batch yet. `lunguage run` makes them for a first batch."
        )


def landing_sensor(
    home: Home,
    settings: LandingSettings,
    jobs: "Sequence[dg.UnresolvedAssetJobDefinition]",
    clock: Callable[[], float] = time.time,
) -> dg.SensorDefinition:
    """The sensor `landing`: every tick makes one pass over the landing folder and asks for one run per new
    batch, of `jobs`. Its cursor is the number of the last batch that it asked for; after a kill the next tick
    asks again, under the same run key. Names of files stay out of ticks, logs and tags: they may name
    patients.
    """
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
        except (
            LunguageError
        ) as error:  # says itself what to do; a failed tick would hide the message
            context.log.error(str(error))
            return _requests(home, context.cursor, str(error))
        _tell(context, outcome, folder)
        return _requests(home, context.cursor, outcome.summary)

    return landing


def _requests(home: Home, cursor: str | None, otherwise: str) -> dg.SensorResult:
    """Runs for all batches that were not asked for, whatever came of this pass; without any, why."""
    asked = int(cursor) if cursor and cursor.isdecimal() else 0
    kinds = {
        batch.key: batch.kind for batch in home.registered()
    }  # an intended batch is not yet there
    landed = (
        (number, key, sha256)
        for key, (number, sha256) in load_record(home).batches.items()
    )
    new = sorted(one for one in landed if one[0] > asked and one[1] in kinds)[
        :REQUESTS_PER_TICK
    ]
    if not new:
        return dg.SensorResult(skip_reason=otherwise, cursor=cursor)
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                f"{key}-{sha256[:16]}-{number}",
                job_name=JOB_OF_KIND[kinds[key]],
                partition_key=key,
            )
            for number, key, sha256 in new
        ],
        dynamic_partitions_requests=[
            REPORT_BATCH.build_add_request([key for _, key, _ in new])
        ],
        cursor=str(new[-1][0]),
    )


def _tell(
    context: dg.SensorEvaluationContext, outcome: PassReport, folder: Path
) -> None:
    for state in ("registered", "skipped"):
        for told in outcome.of(state).values():
            context.log.info(f"{state}: {told}")
    if refused := outcome.of("quarantined"):
        context.log.warning(
            f"{len(refused)} quarantined: see REASON.txt in {folder / QUARANTINE}"
        )
    context.log.info(outcome.summary)


def alerts_sensor(environment: Mapping[str, str] = os.environ) -> dg.SensorDefinition:
    """The sensor `alerts`: tells people of a run that failed, by an incoming webhook (Slack's form); it runs
    from the start when one is configured. A message names job, steps and run, and nothing else: an error or a
    partition may name what belongs to patients.
    """
    running, stopped = dg.DefaultSensorStatus.RUNNING, dg.DefaultSensorStatus.STOPPED

    @dg.run_failure_sensor(
        description=f"Tells the webhook in ${WEBHOOK} of failed runs. Stopped from the start when it is not "
        "set.",
        default_status=running if environment.get(WEBHOOK) else stopped,
    )
    def alerts(context: dg.RunFailureSensorContext) -> None:
        steps = sorted(
            {
                event.step_key
                for event in context.get_step_failure_events()
                if event.step_key
            }
        )
        tell(
            alert_text(context.dagster_run.job_name, context.dagster_run.run_id, steps),
            environment,
        )

    return alerts


def alert_text(job: str, run_id: str, steps: Sequence[str]) -> str:
    """One line about a failed run."""
    at = f" at {', '.join(steps)}" if steps else ""
    return f"lunguage: a run of {job} failed{at}. Open /runs/{run_id} in the UI for the reason."


def tell(text: str, environment: Mapping[str, str]) -> None:
    """Send the text to the webhook, if there is one. Raises `ConfigurationError` when it was not taken; names
    the variable and the host, never the address, which is a secret.
    """
    if not (address := environment.get(WEBHOOK)):
        return
    parts = urlsplit(address)
    try:
        if parts.scheme != "https" and parts.hostname not in (
            "localhost",
            "127.0.0.1",
            "::1",
        ):
            raise ValueError("not https")
        with requests.Session() as session:
            again = Retry(
                3,
                backoff_factor=0.5,
                status_forcelist=(429, 502, 503, 504),
                allowed_methods=None,
            )
            session.mount(f"{parts.scheme}://", HTTPAdapter(max_retries=again))
            session.post(
                address, json={"text": text}, timeout=20, allow_redirects=False
            ).raise_for_status()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"an alert was not taken: ${WEBHOOK} ({parts.hostname or 'no host'}): {type(error).__name__}. "
            "docs/dagster.md: Alerts."
        ) from None
