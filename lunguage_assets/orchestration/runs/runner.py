"""Materialising what a batch, or a judge, needs, through the persistent Dagster instance, one run per
partition.

Per-batch stages always run again (they are deterministic, and paid answers are never paid for twice); the
measuring stick is kept unless it is missing, was made with other settings or judges, or a rebuild is asked
for. Runs are executed in this process, one after the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import duckdb
from sqlalchemy.exc import DBAPIError

from lunguage_assets.errors import LunguageError
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import remove_abandoned_files
from lunguage_assets.interruption import noticing_signals
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.orchestration.assets.release import BUNDLE_OP
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.dagster_private import (
    REPOSITORY_LABEL_TAG,
    SINGLETON_REPOSITORY_NAME,
    ErrorSource,
)
from lunguage_assets.orchestration.inventory import Inventory
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.resources import judges_file
from lunguage_assets.orchestration.runs.backfill import plan_backfill, to_the_result
from lunguage_assets.orchestration.runs.instance import (
    close_abandoned_runs,
    dagster_instance,
    prepare_dagster_home,
)
from lunguage_assets.orchestration.runs.stages import Stage, on_batch
from lunguage_assets.orchestration.runs.workers import NO_RETRY, executed_here

__all__ = [
    "Outcome",
    "RunFailed",
    "RunInterrupted",
    "Runner",
    "Stage",
    "close_abandoned_runs",
    "dagster_instance",
    "prepare_dagster_home",
]

SHOWN_WITH_ITS_JOB = {REPOSITORY_LABEL_TAG: f"{SINGLETON_REPOSITORY_NAME}@lunguage_assets.definitions"}
"""Run tag by which the UI lists a run on its job's page: the code location as `lunguage ui` and
workspace.yaml name it.
"""

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

Progress = Callable[[Stage, int, int], None]
"""Told before each stage: the stage, how many are done, how many there are, about."""


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


class RunInterrupted(KeyboardInterrupt):
    """The process was asked to stop (Ctrl-C, a signal, the UI). What was finished is stored; the same call
    goes on from there.

    `cancelled` tells whether somebody had asked Dagster to end the very run that was executed.
    """

    def __init__(self, run_id: str, cancelled: bool) -> None:
        super().__init__()
        self.run_id, self.cancelled = run_id, cancelled


@dataclass
class Outcome:
    """What the runs reported: how many there were, and the checks. Of a check that was evaluated again, the
    last result counts.
    """

    runs: int = 0
    _checks: dict[str, str] = field(default_factory=dict)

    @property
    def checks_passed(self) -> int:
        """How many checks passed."""
        return sum(result == "passed" for result in self._checks.values())

    @property
    def checks_failed(self) -> list[str]:
        """Checks that failed, with asset and partition."""
        return [name for name, result in self._checks.items() if result == "failed"]

    @property
    def warnings(self) -> list[str]:
        """Checks that did not pass and only warn."""
        return [name for name, result in self._checks.items() if result == "warned"]

    def note(self, evaluation: dg.AssetCheckEvaluation, label: str) -> None:
        """Take down a check's result on the partition of this label."""
        warns = evaluation.severity is dg.AssetCheckSeverity.WARN
        name = f"{evaluation.asset_key.to_user_string()}: {evaluation.check_name} ({label})"
        self._checks[name] = "passed" if evaluation.passed else "warned" if warns else "failed"


class Runner:
    """Plans and executes the runs for a home.

    Args:
        home: where everything is.
        instance: the persistent one.
        judges: by default those of `$LUNGUAGE_JUDGES`.
        tags: put on every run.
        stopped: asked before every run; when it says so, `RunInterrupted` is raised.
    """

    def __init__(
        self,
        home: Home,
        instance: dg.DagsterInstance,
        judges: JudgesConfiguration | None = None,
        *,
        tags: Mapping[str, str] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._home, self._instance = home, instance
        self._judges = judges or load_judges(judges_file())
        self._definitions = build_defs(home, self._judges)
        self._tags = {**NO_RETRY, **SHOWN_WITH_ITS_JOB, **(tags or {})}
        self._stopped, self._asked_to_stop = stopped, False

    def register_partitions(self) -> None:
        """Make every registered batch a partition (again, should the instance be new)."""
        self._instance.add_dynamic_partitions(
            REPORT_BATCH.name, [batch.key for batch in self._home.registered()]
        )

    def inventory(self) -> Inventory:
        """What there is in the home now."""
        return Inventory(self._home, self._instance, self._judges)

    def run(
        self,
        ranker: str,
        batch: str | None = None,
        *,
        out: str = "",
        rebuild_ranking: bool = False,
        progress: Progress = lambda *_: None,
    ) -> Outcome:
        """Materialise everything that `release[ranker]` needs: for a batch, and for whatever other one is not
        finished.

        Raises:
            RunFailed: a run failed; what was finished stays, and the same call goes on from there.
            RunInterrupted: likewise.
        """
        self._prepare()
        outcome, extractor, done = Outcome(), self._judges.extractor, 0

        def execute(stages: list[Stage], more: int = 0) -> None:
            nonlocal done
            for position, stage in enumerate(stages):
                progress(stage, done, done + len(stages) - position + more)
                self._execute(stage, outcome, {"out": out} if stage.job == "release" else None)
                done += 1

        rest = 4  # fit, expand, release and, about, what the measuring stick still needs
        there, reading = self.inventory(), []
        for key in there.pending(ranker, batch):
            step, changed = (
                "ingest" if key == batch else there.first_step(ranker, key),
                there.outdated(ranker, key),
            )
            if step == "ingest":
                reading += [
                    Stage("ingest", key, changed),
                    on_batch("extract_hedges", "judge", extractor, key),
                ]
            elif step == "extract_hedges":
                reading.append(on_batch("extract_hedges", "judge", extractor, key, changed))
        execute(reading, rest)
        self._build_stick(ranker, extractor, rebuild_ranking, execute)
        there, finishing = self.inventory(), []  # a new ranking makes other batches pending too
        for key in there.pending(ranker, batch):
            finishing += to_the_result(there, ranker, key)
        execute(finishing, 1)
        execute([Stage("release", ranker)])
        return outcome

    def backfill(
        self,
        judge: str,
        batches: Sequence[str] = (),
        *,
        rebuild: bool = False,
        phrases: bool = True,
        progress: Progress = lambda *_: None,
    ) -> Outcome:
        """Materialise a judge's partitions for these batches, by default all, as far as they are not current;
        see `plan_backfill`.

        Raises:
            ConfigurationError: no such judge, or no such batch.
            MethodError: the vocabulary would have to be made anew, for every judge.
            RunFailed, RunInterrupted: as of `run`.
        """
        self._prepare()
        plan = plan_backfill(self.inventory(), self._judges, judge, batches, rebuild=rebuild, phrases=phrases)
        return self._execute_all(plan, progress)

    def analyse(self, ranker: str, *, progress: Progress = lambda *_: None) -> Outcome:
        """Materialise the analyses of a ranker: agreement, robustness, validation. The ranking must be there.

        Raises:
            RunFailed: there is no ranking yet, or a run failed.
        """
        close_abandoned_runs(self._instance)
        self.register_partitions()
        if not self.inventory().is_stored("reference_ranking", ranker):
            raise RunFailed(
                f"there is no ranking of {ranker!r} in {self._home.root} to analyse. Run "
                "`lunguage run` first."
            )
        outcome = self._execute_all([Stage("draw_pathways", ""), Stage("analyse", ranker)], progress)
        self._build_catalog()
        return outcome

    def _prepare(self) -> None:
        """Clear away what a killed process left, and bring partitions and the catalog up to date."""
        close_abandoned_runs(self._instance)
        remove_abandoned_files(self._home.tables)
        self.register_partitions()
        self._build_catalog()  # always: an upgrade may have changed a table's columns

    def _build_catalog(self) -> None:
        try:
            build_catalog(self._home.tables, self._home.database)
        except duckdb.Error as error:  # it has read no row, so that it can quote none
            said = str(error).splitlines()[0]
            raise RunFailed(
                f"{self._home.database} cannot be written ({said}). Free space there, and run the "
                "same command again."
            ) from None

    def _build_stick(
        self, ranker: str, extractor: str, rebuild: bool, execute: Callable[[list[Stage], int], None]
    ) -> None:
        """Vocabulary, comparisons and ranking, as far as they are missing or stale."""
        if rebuild or not self.inventory().is_current("hedge_vocabulary", extractor, ()):
            execute([Stage("build_vocabulary", extractor)], 4)
        inventory = self.inventory()
        vocabulary = inventory.noted("hedge_vocabulary", extractor).get("vocabulary_version")
        members = self._judges.members(ranker)
        replay = [
            key
            for key in members
            if rebuild or not inventory.is_current("comparison_matches", key, [key], vocabulary)
        ]
        execute([Stage("compare", key) for key in replay], 4)
        if replay or not inventory.is_current("reference_ranking", ranker, members, vocabulary):
            execute([Stage("rank", ranker)], 3)

    def _execute_all(self, stages: Sequence[Stage], progress: Progress) -> Outcome:
        outcome = Outcome()
        for done, stage in enumerate(stages):
            progress(stage, done, len(stages))
            self._execute(stage, outcome, None)
        return outcome

    def _execute(self, stage: Stage, outcome: Outcome, release_config: dict[str, str] | None) -> None:
        if self._asked_to_stop or self._stopped():
            raise RunInterrupted("", cancelled=not self._asked_to_stop)
        job = self._definitions.resolve_job_def(stage.job)
        config: dict[str, Any] = dict(QUIET)
        if release_config is not None:
            config["ops"] = {BUNDLE_OP: {"config": release_config}}
        with noticing_signals() as asked_to_stop:
            result = self._executed(job, config, stage)
            self._asked_to_stop = asked_to_stop()
        outcome.runs += 1
        if not result.success:
            self._require_uninterrupted(result)
        for evaluation in result.get_asset_check_evaluations():
            outcome.note(evaluation, stage.label)
        if not result.success:
            raise RunFailed(f"{stage.job} ({stage.label}): {_reason(result)} [Dagster run {result.run_id}]")

    def _executed(
        self, job: dg.JobDefinition, config: dict[str, Any], stage: Stage
    ) -> dg.ExecuteInProcessResult:
        run_id = str(uuid.uuid4())
        try:
            return job.execute_in_process(
                run_config=config,
                instance=self._instance,
                partition_key=stage.key,
                raise_on_error=False,
                tags=self._tags | executed_here(run_id),
                run_id=run_id,
            )
        except (
            dg.DagsterExecutionInterruptedError,
            KeyboardInterrupt,
        ):  # before the run has begun, Dagster does not take it down
            raise RunInterrupted(run_id, self._cancelled(run_id)) from None
        except DBAPIError as error:  # its own message shows events; the database's does not
            raise RunFailed(
                f"{stage.job} ({stage.label}): Dagster's record of runs cannot be written "
                f"({error.orig}). Free disk space, or see that nothing"
                " else holds it, and run the same command again: what is finished is kept."
            ) from None

    def _require_uninterrupted(self, result: dg.ExecuteInProcessResult) -> None:
        """An interrupted run counts as cancelled, whoever interrupted it: it has failed at nothing.

        Before the first step, while resources are set up, it leaves no trace but that this process was asked
        to stop.
        """
        run = self._instance.get_run_by_id(result.run_id)
        cancelled = run is not None and run.status is dg.DagsterRunStatus.CANCELED
        if cancelled or self._asked_to_stop or any(_was_interrupted(event) for event in result.all_events):
            raise RunInterrupted(result.run_id, self._cancelled(result.run_id))

    def _cancelled(self, run_id: str) -> bool:
        """Record a run as cancelled; whether somebody had asked Dagster for it."""
        run = self._instance.get_run_by_id(run_id)
        asked = run is not None and run.status in (
            dg.DagsterRunStatus.CANCELING,
            dg.DagsterRunStatus.CANCELED,
        )
        if run is not None and run.status is not dg.DagsterRunStatus.CANCELED:
            self._instance.report_run_canceling(run, message="The process was asked to stop.")
            self._instance.report_run_canceled(run, message="Interrupted. What was finished is stored.")
        return asked


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    return event.is_step_failure and event.step_failure_data.error_source is ErrorSource.INTERRUPT


def _reason(result: dg.ExecuteInProcessResult) -> str:
    """Why a run failed, on one line: the failure's own description, or the kind of the unexpected error."""
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            if failure.user_failure_data is not None and failure.user_failure_data.description:
                return " ".join(failure.user_failure_data.description.split())
            error = failure.error
            while error is not None and error.cause is not None:
                error = error.cause
            if error is not None and error.cls_name == "DagsterRedactedUserCodeError":
                return (
                    "an unexpected error, whose message is withheld because it may quote a report; "
                    "its place is in the run's log"
                )
            if error is not None:
                return f"unexpected {error.cls_name}; the full report is in the run's log"
    return (
        "a blocking check failed"
        if any(not e.passed for e in result.get_asset_check_evaluations())
        else "the run failed"
    )
