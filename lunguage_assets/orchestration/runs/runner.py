"""Making what is not current, through the persistent Dagster instance: one run per job and partition.

Runs are executed in this process, one after the other; in the UI they are runs like any other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

import dagster as dg
import duckdb
from sqlalchemy.exc import DBAPIError

from lunguage_assets.current.plan import STEPS_OF_JOB, Stage, Wanted, is_current, plan
from lunguage_assets.errors import LunguageError
from lunguage_assets.home.store import remove_abandoned_files
from lunguage_assets.orchestration.assets.release import BUNDLE_OP
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.dagster_private import runs_of_location
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.orchestration.partitions import REPORT_BATCH, forget_removed, partition_key
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.instance import close_abandoned_runs, command_at_work, executed_here
from lunguage_assets.orchestration.runs.prefetch import prefetch_comparisons

COMPARE = "compare"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

CheckResult = Literal["passed", "warned", "failed"]
"""Of a check that did not pass, `warned` when it only warns."""

Progress = Callable[[Stage, int, int], None]
"""Told before each stage: the stage, how many are done, how many there are, about."""


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


@dataclass
class RunSummary:
    """How many runs there were, and of each check its last result."""

    runs: int = 0
    results: dict[str, CheckResult] = field(default_factory=dict)
    """Check with its asset and partition -> its result."""
    because: dict[str, str] = field(default_factory=dict)
    """Check that says why it did not pass -> why."""

    def checks(self, result: CheckResult) -> list[str]:
        """Checks with this result, with asset and partition, and why where they say so."""
        return [name + self.because.get(name, "") for name, found in self.results.items() if found == result]

    def note(self, evaluation: dg.AssetCheckEvaluation, label: str) -> None:
        """Take down a check's result on the partition of this label."""
        warns = evaluation.severity is dg.AssetCheckSeverity.WARN
        name = f"{evaluation.asset_key.to_user_string()}: {evaluation.check_name} ({label})"
        self.results[name] = "passed" if evaluation.passed else "warned" if warns else "failed"
        self.because[name] = f": {evaluation.description}" if evaluation.description else ""


class Runner:
    """Plans and executes the runs for a home, in this process, one after the other."""

    def __init__(
        self, home: HomeResource, instance: dg.DagsterInstance, definitions: dg.Definitions | None = None
    ) -> None:
        self._home, self._instance, self._given = home, instance, definitions

    @cached_property
    def definitions(self) -> dg.Definitions:
        """Those given, else of the home; built for the first stage: a run with nothing to do needs none."""
        return self._given or build_defs(self._home)

    def run(
        self, wanted: Wanted, *, progress: Progress = lambda *_: None, stages: Sequence[Stage] | None = None
    ) -> RunSummary:
        """Make what is wanted and not current, or the `stages` that were planned already. One whose tables
        have come out current meanwhile is left out.

        Raises:
            RunFailed: a run failed; what was finished stays, and the same call goes on from there.
            KeyboardInterrupt: the process was asked to stop (Ctrl-C, a signal, the UI); likewise.
        """
        with command_at_work(self._home.home.root):
            self._prepare()
            stages, summary = plan(self._home.standings(), wanted) if stages is None else stages, RunSummary()
            prefetched = False
            for done, stage in enumerate(stages):
                progress(stage, done, len(stages))
                if done and self._is_current_by_now(stage, wanted):
                    continue
                if stage.job == COMPARE and not prefetched:
                    prefetched = True
                    self._prefetch(stages[done:], wanted)
                self._make(stage, summary, wanted)
        return summary

    def _prefetch(self, stages: Sequence[Stage], wanted: Wanted) -> None:
        """Ask the judges of the comparisons that come next, and are not current, at the same time."""
        comparing = takewhile(lambda stage: stage.job == COMPARE, stages)
        keys = [stage.keys[0] for stage in comparing if not self._is_current_by_now(stage, wanted)]
        prefetch_comparisons(self._home, keys)

    def analyse(self, ranker: str, *, progress: Progress = lambda *_: None) -> RunSummary:
        """Make the analyses of a ranker: agreement, robustness, validation. The ranking must be there.

        Raises:
            RunFailed: there is no ranking yet, or a run failed.
        """
        if not self._home.standings().exists("reference_ranking", ranker):
            raise RunFailed(
                f"there is no ranking of {ranker!r} in {self._home.root} to analyse. Run `lunguage run` "
                "first."
            )
        return self.run(Wanted(ranker), progress=progress, stages=[Stage("analyse", (ranker,))])

    def _prepare(self) -> None:
        """Clear away what a killed process left; bring partitions and catalog up to date: an upgrade may have
        changed a table's columns.
        """
        home = self._home.home
        close_abandoned_runs(self._instance)
        remove_abandoned_files(home.tables)
        self._instance.add_dynamic_partitions(REPORT_BATCH.name, [batch.key for batch in home.registered()])
        forget_removed(self._instance, home)
        try:
            build_catalog(home.tables, home.database)
        except duckdb.Error as error:  # it has read no row, so that it can quote none
            said = str(error).splitlines()[0]
            raise RunFailed(
                f"{home.database} cannot be written ({said}). Free space there, and run the same "
                "command again."
            ) from None

    def _make(self, stage: Stage, summary: RunSummary, wanted: Wanted) -> None:
        """Execute a stage; note in the summary what it came to."""
        config: dict[str, Any] = dict(QUIET)
        if stage.job == "release" and wanted.release is not None:
            config["ops"] = {BUNDLE_OP: {"config": {"out": str(wanted.release.parent.parent)}}}
        result = self._executed(stage, config)
        summary.runs += 1
        for evaluation in result.get_asset_check_evaluations():
            summary.note(evaluation, stage.label)
        if result.success:
            return
        run = self._instance.get_run_by_id(result.run_id)  # an interrupted run has failed at nothing
        cancelled = run is not None and run.status is dg.DagsterRunStatus.CANCELED
        if cancelled or any(map(_was_interrupted, result.all_events)):
            self._cancel(result.run_id)
            raise KeyboardInterrupt
        raise RunFailed(f"{stage.job} ({stage.label}): {_reason(result)} [Dagster run {result.run_id}]")

    def _is_current_by_now(self, stage: Stage, wanted: Wanted) -> bool:
        """A vocabulary that is collected again and comes out the same leaves comparisons, ranking and fits
        current; what was asked for is made all the same.
        """
        asked_for = ("build_vocabulary", "compare", "rank") if wanted.rebuild else ()
        if stage.job in (*asked_for, "analyse"):
            return False
        now = self._home.standings()
        return all(is_current(now, step, stage.keys, wanted) for step in STEPS_OF_JOB[stage.job])

    def _executed(self, stage: Stage, config: dict[str, Any]) -> dg.ExecuteInProcessResult:
        run_id = str(uuid.uuid4())
        try:
            with runs_of_location(self._instance, stage.job):
                return self.definitions.resolve_job_def(stage.job).execute_in_process(
                    run_config=config,
                    instance=self._instance,
                    partition_key=partition_key(stage.dimensions, stage.keys),
                    raise_on_error=False,
                    tags=executed_here(),
                    run_id=run_id,
                )
        # before the run has begun, Dagster does not take an interruption down
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
            self._cancel(run_id)
            raise KeyboardInterrupt from None
        except DBAPIError as error:  # its own message shows events; the database's does not
            raise RunFailed(
                f"{stage.job} ({stage.label}): Dagster's record of runs cannot be written ({error.orig}). "
                "Free disk space, or see that nothing else holds it, and run the same command again: what is "
                "finished is kept."
            ) from None

    def _cancel(self, run_id: str) -> None:
        """Record a run as cancelled."""
        run = self._instance.get_run_by_id(run_id)
        if run is not None and run.status is not dg.DagsterRunStatus.CANCELED:
            self._instance.report_run_canceling(run, message="The process was asked to stop.")
            self._instance.report_run_canceled(run, message="Interrupted. What was finished is stored.")


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    """Whether a step, or the setting up of a run, failed because its process was asked to stop."""
    failed = event.is_step_failure or event.is_job_failure
    error = getattr(event.event_specific_data, "error", None) if failed else None
    while error is not None:
        if error.cls_name in ("KeyboardInterrupt", "DagsterExecutionInterruptedError"):
            return True
        error = error.cause
    return False


def _reason(result: dg.ExecuteInProcessResult) -> str:
    """Why a run failed, on one line: the failure's own description, or the kind of the unexpected error."""
    for event in result.get_step_failure_events():
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
    return "the run failed"
