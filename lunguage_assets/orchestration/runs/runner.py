"""Making what is not current: one Dagster run per job and partition, in this process, one by one."""

from __future__ import annotations

import ctypes
import gc
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

import dagster as dg
import duckdb
import psutil
from sqlalchemy.exc import DBAPIError

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import LunguageError
from lunguage_assets.lineage.recipes import REBUILT, STEPS_OF_JOB
from lunguage_assets.lineage.staleness import Stage, plan
from lunguage_assets.orchestration.assets.edited_files import note_versions
from lunguage_assets.orchestration.assets.explicit import prefetch_comparisons
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.orchestration.partitions import (
    REPORT_BATCH,
    forget_removed,
    partition_key,
)
from lunguage_assets.orchestration.runs.instance import (
    close_abandoned_runs,
    command_at_work,
    executed_here,
    runs_of_location,
)
from lunguage_assets.workspace.store import remove_abandoned_files

COMPARE = "compare"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

MEMORY_TO_TRIM_BYTES = 1 << 30
"""Bytes that this process may hold before it looks what it can give back."""

CheckResult = Literal["passed", "warned", "failed"]
"""Of a check that did not pass, `warned` when it only warns."""

Progress = Callable[[Stage, int, int], None]
"""Told before each stage: the stage, how many are done, how many there are, about."""


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


@dataclass
class RunSummary:
    """What came of the checks: name with asset and partition -> its last result, and why it did not pass."""

    results: dict[str, tuple[CheckResult, str]] = field(default_factory=dict)

    def checks(self, result: CheckResult) -> list[str]:
        """Checks with this result, with asset and partition, and why where they say so."""
        return [
            name + why for name, (found, why) in self.results.items() if found == result
        ]


class Runner:
    """Plans and executes the runs for a home, in this process, one after the other."""

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance,
        definitions: dg.Definitions | None = None,
    ) -> None:
        self._configuration, self._instance, self._definitions = (
            configuration,
            instance,
            definitions or build_defs(configuration),
        )

    def run(
        self,
        ranker: str,
        *,
        rebuild: bool = False,
        stages: Sequence[Stage] | None = None,
        progress: Progress = lambda *_: None,
    ) -> RunSummary:
        """Make what a ranker's release needs and is not current, or the `stages` that were planned already;
        one whose tables have come out current meanwhile is left out. `rebuild` as in `plan`. Raises
        `RunFailed`, and `KeyboardInterrupt` when the process was asked to stop: what was finished stays, and
        the same call goes on from there.
        """
        with command_at_work(self._configuration.home.root):
            self._prepare()
            if stages is None:
                stages = plan(
                    self._configuration.staleness(verify=True), ranker, rebuild=rebuild
                )
            summary, prefetched = RunSummary(), False
            for done, stage in enumerate(stages):
                progress(stage, done, len(stages))
                if done and self._is_current_by_now(stage, rebuild):
                    continue
                if stage.job == COMPARE and not prefetched:
                    prefetched = True
                    comparing = takewhile(
                        lambda stage: stage.job == COMPARE, stages[done:]
                    )
                    to_come = [
                        one
                        for one in comparing
                        if not self._is_current_by_now(one, rebuild)
                    ]
                    prefetch_comparisons(
                        self._configuration, [one.keys[0] for one in to_come]
                    )
                self._make(stage, summary)
                _give_back_memory()
        return summary

    def _prepare(self) -> None:
        """Clear away what a killed process left; bring partitions and catalog up to date."""
        home = self._configuration.home
        close_abandoned_runs(self._instance)
        remove_abandoned_files(home.tables)
        self._instance.add_dynamic_partitions(
            REPORT_BATCH.name, [batch.key for batch in home.registered()]
        )
        forget_removed(self._instance, home)
        note_versions(self._instance, self._configuration)
        try:
            build_catalog(home.tables, home.database)
        except duckdb.Error as error:  # it has read no row, so that it can quote none
            said = str(error).splitlines()[0]
            raise RunFailed(
                f"{home.database} cannot be written ({said}). Free space there, and run the same "
                "command again."
            ) from None

    def _is_current_by_now(self, stage: Stage, rebuild: bool) -> bool:
        """A vocabulary that is collected again and comes out the same leaves comparisons, ranking and fits
        current; what was asked for is made all the same.
        """
        if stage.job == "analyse" or (rebuild and stage.job in REBUILT):
            return False
        now = self._configuration.staleness()
        return all(now.is_made(step, *stage.keys) for step in STEPS_OF_JOB[stage.job])

    def _make(self, stage: Stage, summary: RunSummary) -> None:
        result = self._executed(stage)
        for found in result.get_asset_check_evaluations():
            name = f"{found.asset_key.to_user_string()}: {found.check_name} ({' x '.join(stage.keys)})"
            missed: CheckResult = (
                "warned" if found.severity is dg.AssetCheckSeverity.WARN else "failed"
            )
            because = f": {found.description}" if found.description else ""
            summary.results[name] = "passed" if found.passed else missed, because
        if result.success:
            return
        run = self._instance.get_run_by_id(
            result.run_id
        )  # an interrupted run has failed at nothing
        cancelled = run is not None and run.status is dg.DagsterRunStatus.CANCELED
        if cancelled or any(map(_was_interrupted, result.all_events)):
            self._cancel(result.run_id)
            raise KeyboardInterrupt
        raise RunFailed(f"{stage}: {_reason(result)} [Dagster run {result.run_id}]")

    def _executed(self, stage: Stage) -> dg.ExecuteInProcessResult:
        run_id = str(uuid.uuid4())
        try:
            with runs_of_location(self._instance, stage.job):
                return self._definitions.resolve_job_def(stage.job).execute_in_process(
                    run_config=QUIET,
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
        except (
            DBAPIError
        ) as error:  # its own message shows events; the database's does not
            raise RunFailed(
                f"{stage}: Dagster's record of runs cannot be written ({error.orig}). "
                "Free disk space, or see that nothing else holds it, and run the same command again: what is "
                "finished is kept."
            ) from None

    def _cancel(self, run_id: str) -> None:
        run = self._instance.get_run_by_id(run_id)
        if run is not None and run.status is not dg.DagsterRunStatus.CANCELED:
            self._instance.report_run_canceling(
                run, message="The process was asked to stop."
            )
            self._instance.report_run_canceled(
                run, message="Interrupted. What was finished is stored."
            )


def _give_back_memory() -> None:
    """Clear away what finished stages left in cycles, and let the C library (glibc) return what is free: else
    this process holds several batches.
    """
    if psutil.Process().memory_info().rss > MEMORY_TO_TRIM_BYTES:
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


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
        if (
            failure.user_failure_data is not None
            and failure.user_failure_data.description
        ):
            return " ".join(failure.user_failure_data.description.split())
        error = failure.error
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None:
            return f"unexpected {error.cls_name}; the run's log has its place"
    return "the run failed"
