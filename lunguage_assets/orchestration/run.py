"""Make what is not current: one Dagster run per job and partition, in this process.

Which runs those are is the plan (`run_plan.py`). Runs that are launched in the UI or by
a sensor are Dagster's own.
"""

from __future__ import annotations

import ctypes
import gc
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import dagster as dg
import duckdb
import psutil
from sqlalchemy.exc import DBAPIError

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.current import Current
from lunguage_assets.orchestration.instance import (
    close_abandoned_runs,
    command_at_work,
    executed_here,
    runs_of_location,
)
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.orchestration.jobs import JOBS, REBUILT
from lunguage_assets.orchestration.partitions import (
    BATCH,
    forget_removed,
    partition_key,
)
from lunguage_assets.orchestration.resources import rescored_batches, scored_batches
from lunguage_assets.orchestration.run_plan import Stage, plan
from lunguage_assets.orchestration.sources import observe
from lunguage_assets.structuring.model.second_reader import CHANGED_ROWS, SENTENCES
from lunguage_assets.workspace.store import remove_abandoned_files

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration: a command shows its own progress, and no log of Dagster."""

MEMORY_TO_TRIM_BYTES = 1 << 30
"""What this process may hold before it looks what it can give back."""

Outcome = Literal["passed", "warned", "failed"]
"""Of a check; one that does not pass is `warned` when it only warns."""

Progress = Callable[[Stage, int, int], None]
"""Called before each stage: the stage, how many are done, how many there are."""


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


class CheckOutcome(NamedTuple):
    """What came of a check of one partition, and why it did not pass."""

    outcome: Outcome
    reason: str = ""


@dataclass
class RunSummary:
    """What came of a run.

    Attributes:
        outcomes: the last outcome of every check, by its name with asset and partition.
        read_again: how many sentences a second reader read, and rows it changed.
    """

    outcomes: dict[str, CheckOutcome] = field(default_factory=dict)
    read_again: Counter[str] = field(default_factory=Counter)

    def checks(self, outcome: Outcome) -> list[str]:
        """Return the checks with an outcome, and why where they say so."""
        return [
            name + check.reason
            for name, check in self.outcomes.items()
            if check.outcome == outcome
        ]

    def add(self, stage: Stage, evaluation: dg.AssetCheckEvaluation) -> None:
        """Note the evaluation of a check of a stage."""
        asset = evaluation.asset_key.to_user_string()
        partition = " x ".join(stage.keys)
        name = f"{asset}: {evaluation.check_name} ({partition})"
        if evaluation.passed:
            outcome: Outcome = "passed"
        elif evaluation.severity is dg.AssetCheckSeverity.WARN:
            outcome = "warned"
        else:
            outcome = "failed"
        reason = f": {evaluation.description}" if evaluation.description else ""
        self.outcomes[name] = CheckOutcome(outcome, reason)


class Runner:
    """Plans and executes the runs for a home.

    Args:
        configuration: of the home.
        instance: that keeps what was materialised.
        definitions: of the home; None: they are built.
    """

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance,
        definitions: dg.Definitions | None = None,
    ) -> None:
        self._configuration = configuration
        self._instance = instance
        self._definitions = definitions or build_defs(configuration)

    def current(self) -> Current:
        """Ask what is current now."""
        return Current(
            self._definitions.resolve_asset_graph(),
            self._instance,
            self._configuration.home,
            self._configuration.releases,
            partial(rescored_batches, self._configuration),
        )

    def plan(self, ranker: str, *, rebuild: bool = False) -> list[Stage]:
        """List the stages to a release of a ranker, after Dagster knows all changes."""
        self.prepare()
        fit_again: list[str] = []
        if self._configuration.fit == "panel":
            fit_again = scored_batches(self._configuration, ranker)
        return plan(
            self.current(),
            self._configuration.judges,
            ranker,
            rebuild=rebuild,
            fit_again=fit_again,
        )

    def prepare(self) -> None:
        """Tell Dagster which batches there are, and what changed outside of it."""
        home = self._configuration.home
        registered = [batch.key for batch in home.registered()]
        # Batches may have been registered where no Dagster was at hand.
        self._instance.add_dynamic_partitions(BATCH, registered)
        # Else the UI would offer to make tables of a batch that is gone.
        forget_removed(self._instance, home)
        observe(self._instance, self._configuration)

    def run(
        self,
        stages: Sequence[Stage],
        *,
        rebuild: bool = False,
        progress: Progress = lambda *_: None,
    ) -> RunSummary:
        """Make the stages of a plan.

        What was finished stays, whatever happens, and the same call goes on from there.

        Args:
            stages: in their order.
            rebuild: those of the reference scale are made although they are current.
            progress: called before each stage.

        Raises:
            RunFailed: a run failed.
            KeyboardInterrupt: the process was asked to stop.
        """
        with command_at_work(self._configuration.home.root):
            # A run that a kill left "started" would hold its place in the pool.
            close_abandoned_runs(self._instance)
            remove_abandoned_files(self._configuration.home.tables)
            self._build_catalog()
            summary = RunSummary()
            for done, stage in enumerate(stages):
                progress(stage, done, len(stages))
                is_rebuilt = rebuild and stage.job in REBUILT
                is_asked_for = is_rebuilt or bool(stage.because) or not done
                # What came before it may have come out the same.
                if not is_asked_for and self._is_current_by_now(stage):
                    continue
                self._make(stage, summary)
                _give_back_memory()
        return summary

    def _build_catalog(self) -> None:
        home = self._configuration.home
        try:
            build_catalog(home.tables, home.database)
        except duckdb.Error as error:
            # Its message quotes no report: it has read no row.
            first_line = str(error).splitlines()[0]
            raise RunFailed(
                f"{home.database} cannot be written ({first_line}). Free space there, "
                "and run the same command again."
            ) from None

    def _is_current_by_now(self, stage: Stage) -> bool:
        """Tell whether a stage that was planned need not be made any more.

        A vocabulary that is collected again and comes out the same leaves comparisons,
        ranking and fits current.
        """
        current = self.current()
        steps = JOBS[stage.job].steps
        return all(current.is_current(step, *stage.keys) for step in steps)

    def _make(self, stage: Stage, summary: RunSummary) -> None:
        result = self._executed(stage)
        for evaluation in result.get_asset_check_evaluations():
            summary.add(stage, evaluation)
        for event in result.get_asset_materialization_events():
            metadata = event.step_materialization_data.materialization.metadata
            for name in {SENTENCES, CHANGED_ROWS} & metadata.keys():
                count: Any = metadata[name].value
                summary.read_again[name] += count
        if result.success:
            return
        # An interrupted run has failed at nothing.
        run = self._instance.get_run_by_id(result.run_id)
        is_cancelled = run is not None and run.status is dg.DagsterRunStatus.CANCELED
        if is_cancelled or any(map(_was_interrupted, result.all_events)):
            self._cancel(result.run_id)
            raise KeyboardInterrupt
        raise RunFailed(f"{stage}: {_reason(result)} [Dagster run {result.run_id}]")

    def _executed(self, stage: Stage) -> dg.ExecuteInProcessResult:
        run_id = str(uuid.uuid4())
        job = self._definitions.resolve_job_def(stage.job)
        try:
            with runs_of_location(self._instance, stage.job):
                return job.execute_in_process(
                    run_config=QUIET,
                    instance=self._instance,
                    partition_key=partition_key(JOBS[stage.job].steps[0], stage.keys),
                    raise_on_error=False,
                    tags=executed_here(),
                    run_id=run_id,
                )
        # Before the run has begun, Dagster does not note an interruption itself.
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
            self._cancel(run_id)
            raise KeyboardInterrupt from None
        # Its own message shows events; that of the database does not.
        except DBAPIError as error:
            raise RunFailed(
                f"{stage}: Dagster's record of runs cannot be written ({error.orig}). "
                "Free disk space, or see that nothing else holds it, and run the same "
                "command again: what is finished is kept."
            ) from None

    def _cancel(self, run_id: str) -> None:
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.status is dg.DagsterRunStatus.CANCELED:
            return
        self._instance.report_run_canceling(
            run, message="The process was asked to stop."
        )
        self._instance.report_run_canceled(
            run, message="Interrupted. What was finished is stored."
        )


def _give_back_memory() -> None:
    """Clear away what finished stages left in cycles, and return what is free.

    Else the C library (glibc) keeps the memory of several batches.
    """
    if psutil.Process().memory_info().rss <= MEMORY_TO_TRIM_BYTES:
        return
    gc.collect()
    # Other C libraries have no `malloc_trim`.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    """Tell whether an event is a failure because the process was asked to stop."""
    if not (event.is_step_failure or event.is_job_failure):
        return False
    error = getattr(event.event_specific_data, "error", None)
    interruptions = ("KeyboardInterrupt", "DagsterExecutionInterruptedError")
    return any(cause.cls_name in interruptions for cause in _causes(error))


def _reason(result: dg.ExecuteInProcessResult) -> str:
    """Return why a run failed, on one line.

    It is the failure's own description, or the kind of the unexpected error.
    """
    for event in result.get_step_failure_events():
        failure = event.step_failure_data
        described = failure.user_failure_data
        if described is not None and described.description:
            return " ".join(described.description.split())
        causes = list(_causes(failure.error))
        if causes:
            return f"unexpected {causes[-1].cls_name}; the run's log has its place"
    return "the run failed"


def _causes(error: Any) -> Iterator[Any]:
    """Return an error as Dagster stores it and its causes, the deepest last."""
    while error is not None:
        yield error
        error = error.cause
