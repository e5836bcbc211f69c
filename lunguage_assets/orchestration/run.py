"""Make what is not current: one Dagster run per job and partition, in this process.

Which runs those are is the plan (`run_plan.py`). Runs that are launched in the UI or by
a sensor are Dagster's own.
"""

from __future__ import annotations

import ctypes
import gc
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import duckdb
import psutil

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.current import Current
from lunguage_assets.orchestration.instance import (
    OF_COMMAND,
    command_at_work,
    runs_of_location,
)
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.orchestration.partitions import (
    BATCH,
    partition_key,
)
from lunguage_assets.orchestration.run_plan import Stage, plan
from lunguage_assets.orchestration.sources import observe
from lunguage_assets.structuring.model.second_reader import CHANGED_ROWS, SENTENCES
from lunguage_assets.workspace.store import remove_abandoned_files

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration: a command shows its own progress, and no log of Dagster."""

MEMORY_TO_TRIM_BYTES = 1 << 30
"""What this process may hold before it looks what it can give back."""

Progress = Callable[[Stage, int, int], None]
"""Called before each stage: the stage, how many are done, how many there are."""


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


@dataclass
class RunSummary:
    """What came of a run.

    Attributes:
        passed: how many checks passed.
        warned: those that did not, and only warn: what they say.
        failed: what the others say.
        read_again: how many sentences a second reader read, and rows it changed.
    """

    passed: int = 0
    warned: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    read_again: Counter[str] = field(default_factory=Counter)

    def add(self, stage: Stage, result: dg.ExecuteInProcessResult) -> None:
        """Note the checks of a stage, and what a second reader did in it."""
        for check in result.get_asset_check_evaluations():
            asset = check.asset_key.to_user_string()
            name = f"{asset}: {check.check_name} ({stage.partition})"
            line = f"{name}: {check.description or ''}".removesuffix(": ")
            if check.passed:
                self.passed += 1
            elif check.severity is dg.AssetCheckSeverity.WARN:
                self.warned.append(line)
            else:
                self.failed.append(line)
        for event in result.get_asset_materialization_events():
            metadata = event.materialization.metadata
            for name in {SENTENCES, CHANGED_ROWS} & metadata.keys():
                count: Any = metadata[name].value
                self.read_again[name] += count


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
        return plan(self._configuration, self.current(), ranker, rebuild=rebuild)

    def prepare(self) -> None:
        """Tell Dagster which batches there are, and what changed outside of it."""
        registered = [batch.key for batch in self._home.registered()]
        # Batches may have been registered where no Dagster was at hand.
        self._instance.add_dynamic_partitions(BATCH, registered)
        observe(self._instance, self._configuration)

    def run(
        self,
        stages: Sequence[Stage],
        progress: Progress = lambda *_: None,
    ) -> RunSummary:
        """Make the stages of a plan.

        What was finished stays, whatever happens, and the same call goes on from there.

        Args:
            stages: in their order.
            progress: called before each stage.

        Raises:
            RunFailed: a run failed.
            KeyboardInterrupt: the process was asked to stop.
        """
        summary = RunSummary()
        with command_at_work(self._instance, self._home.root):
            remove_abandoned_files(self._home.tables)
            self._build_catalog()
            for done, stage in enumerate(stages):
                progress(stage, done, len(stages))
                # What came before it may have come out the same: a vocabulary that is
                # collected again leaves comparisons, ranking and fits current.
                if stage.because or stage.reasons(self.current()):
                    summary.add(stage, self._make(stage))
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

    def _make(self, stage: Stage) -> dg.ExecuteInProcessResult:
        run_id = str(uuid.uuid4())
        job = self._definitions.resolve_job_def(stage.job)
        try:
            with runs_of_location(self._instance, stage.job):
                return job.execute_in_process(
                    run_config=QUIET,
                    instance=self._instance,
                    partition_key=partition_key(JOBS[stage.job].steps[0], stage.keys),
                    tags=OF_COMMAND,
                    run_id=run_id,
                )
        except dg.Failure as failure:
            reason = " ".join((failure.description or "").split())
            raise RunFailed(f"{stage}: {reason} [Dagster run {run_id}]") from None
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
            # Before the run has begun, Dagster does not note an interruption itself.
            self._cancel(run_id)
            raise KeyboardInterrupt from None

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
