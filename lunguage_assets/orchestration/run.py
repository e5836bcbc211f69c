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
from typing import Any, Literal

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
from lunguage_assets.orchestration.resources import scored_batches
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


class RunSummary:
    """What came of a run.

    Attributes:
        outcomes: the last evaluation of every check, by its name with asset and
            partition.
        read_again: how many sentences a second reader read, and rows it changed.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, dg.AssetCheckEvaluation] = {}
        self.read_again: Counter[str] = Counter()

    def checks(self, outcome: Outcome) -> list[str]:
        """Return the checks with an outcome, and why where they say so."""
        lines = []
        for name, evaluation in self.outcomes.items():
            if outcome == _outcome(evaluation):
                reason = evaluation.description or ""
                lines.append(f"{name}: {reason}".removesuffix(": "))
        return lines

    def add(self, stage: Stage, result: dg.ExecuteInProcessResult) -> None:
        """Note the checks of a stage, and what a second reader did in it."""
        for evaluation in result.get_asset_check_evaluations():
            asset = evaluation.asset_key.to_user_string()
            partition = " x ".join(stage.keys)
            name = f"{asset}: {evaluation.check_name} ({partition})"
            self.outcomes[name] = evaluation
        for event in result.get_asset_materialization_events():
            metadata = event.materialization.metadata
            for name in {SENTENCES, CHANGED_ROWS} & metadata.keys():
                count: Any = metadata[name].value
                self.read_again[name] += count


def _outcome(evaluation: dg.AssetCheckEvaluation) -> Outcome:
    if evaluation.passed:
        return "passed"
    if evaluation.severity is dg.AssetCheckSeverity.WARN:
        return "warned"
    return "failed"


class Runner:
    """Plans and executes the runs for a home.

    Args:
        configuration: of the home.
        instance: that keeps what was materialised.
    """

    def __init__(
        self, configuration: Configuration, instance: dg.DagsterInstance
    ) -> None:
        self._configuration = configuration
        self._home = configuration.home
        self._instance = instance
        self._definitions = build_defs(configuration)

    def current(self) -> Current:
        """Ask what is current now."""
        graph = self._definitions.resolve_asset_graph()
        return Current(self._configuration, self._instance, graph)

    def plan(self, ranker: str, *, rebuild: bool = False) -> list[Stage]:
        """List the stages to a release of a ranker, after Dagster knows all changes."""
        self.prepare()
        fit_again: list[str] = []
        if self._configuration.fit == "panel":
            fit_again = scored_batches(self._configuration, ranker)
        return plan(
            self._configuration,
            self.current(),
            ranker,
            rebuild=rebuild,
            fit_again=fit_again,
        )

    def prepare(self) -> None:
        """Tell Dagster which batches there are, and what changed outside of it."""
        registered = [batch.key for batch in self._home.registered()]
        # Batches may have been registered where no Dagster was at hand.
        self._instance.add_dynamic_partitions(BATCH, registered)
        # Else the UI would offer to make tables of a batch that is gone.
        forget_removed(self._instance, self._home)
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
        with command_at_work(self._home.root):
            # A run that a kill left "started" would hold its place in the pool.
            close_abandoned_runs(self._instance)
            remove_abandoned_files(self._home.tables)
            self._build_catalog()
            summary = RunSummary()
            for done, stage in enumerate(stages):
                progress(stage, done, len(stages))
                is_rebuilt = rebuild and stage.job in REBUILT
                is_asked_for = is_rebuilt or bool(stage.because) or not done
                # What came before it may have come out the same: a vocabulary that is
                # collected again leaves comparisons, ranking and fits current.
                if is_asked_for or not self._is_current(stage):
                    self._make(stage, summary)
                    _give_back_memory()
        return summary

    def _build_catalog(self) -> None:
        try:
            build_catalog(self._home.tables, self._home.database)
        except duckdb.Error as error:
            # Its message quotes no report: it has read no row.
            first_line = str(error).splitlines()[0]
            raise RunFailed(
                f"{self._home.database} cannot be written ({first_line}). Free space "
                "there, and run the same command again."
            ) from None

    def _is_current(self, stage: Stage) -> bool:
        current = self.current()
        steps = JOBS[stage.job].steps
        return all(current.is_current(step, *stage.keys) for step in steps)

    def _make(self, stage: Stage, summary: RunSummary) -> None:
        result = self._executed(stage)
        summary.add(stage, result)
        if result.success:
            return
        # An interrupted run has failed at nothing.
        kinds = [*_kinds_of_errors(result)]
        if {"KeyboardInterrupt", "DagsterExecutionInterruptedError"} & {*kinds}:
            self._cancel(result.run_id)
            raise KeyboardInterrupt
        reason = "the run failed"
        if kinds:
            reason = f"unexpected {kinds[-1]}; the run's log has its place"
        for event in result.get_step_failure_events():
            described = event.step_failure_data.user_failure_data
            if described is not None and described.description:
                reason = " ".join(described.description.split())
        raise RunFailed(f"{stage}: {reason} [Dagster run {result.run_id}]")

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
        if run is not None and run.status is not dg.DagsterRunStatus.CANCELED:
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


def _kinds_of_errors(result: dg.ExecuteInProcessResult) -> Iterator[str]:
    """Yield the kinds of the errors of a failed run, causes after what they caused."""
    for event in result.all_events:
        if event.is_step_failure or event.is_job_failure or event.is_failure:
            error = getattr(event.event_specific_data, "error", None)
            while error is not None:
                yield str(error.cls_name)
                error = error.cause
