"""The run launcher of a home: Dagster's default, which also notices that a run's process was killed, and can
stop any run of this machine.

dagster.yaml names it. The default launcher cannot tell whether a process lives, so that a run whose process
was killed would count as running for ever; and it can stop only what a living code server started.
"""

from __future__ import annotations

import dagster as dg

from lunguage_assets.orchestration.dagster_private import CheckRunHealthResult, WorkerStatus
from lunguage_assets.orchestration.runs.workers import interrupt, is_gone, worker_of


class LocalRunLauncher(dg.DefaultRunLauncher):
    """Runs in processes of the code server, watched by their process numbers.

    Runs of the command line, which no code server started, are watched and stopped too. Of a process on
    another machine nothing can be told: it counts as running.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Asked by run monitoring about runs that have started."""
        process = worker_of(self._instance, run)
        if process is None or not is_gone(process):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        latest = self._instance.get_run_by_id(run.run_id)
        if latest is None or latest.is_finished:  # it ended between the two questions
            return CheckRunHealthResult(WorkerStatus.SUCCESS)
        return CheckRunHealthResult(
            WorkerStatus.FAILED, "The process of this run was killed. What it had finished is stored."
        )

    def terminate(self, run_id: str) -> bool:
        """Stop a run through its code server, or by interrupting its process where that is gone."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        process = worker_of(self._instance, run)
        if process is None:
            return bool(super().terminate(run_id))
        self._instance.report_run_canceling(run)
        if is_gone(process):
            self._instance.report_run_canceled(run, message="The process of this run was killed before.")
            return True
        return interrupt(process)
