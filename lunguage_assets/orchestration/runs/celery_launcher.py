"""Whole runs as Celery tasks, and telling which of them are still alive.

A run, not a step, is what goes to a worker: its steps follow each other in one process, as they do without
Celery. Only deploy/dagster.yaml names this launcher; nothing else imports this module, which needs the extra
"scale".
"""

from __future__ import annotations

import time
from typing import Any

from celery import Celery
from celery.result import AsyncResult
from dagster import DagsterRun
from dagster_celery.config import TASK_RESUME_JOB_NAME
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG
from typing_extensions import override

from lunguage_assets.orchestration.dagster_private import (
    CheckRunHealthResult,
    ResumeRunContext,
    WorkerStatus,
    resume_arguments,
)

CELERY_SETTINGS: dict[str, Any] = {
    "accept_content": ["json"],
    "broker_connection_retry_on_startup": True,
    "result_expires": 30 * 24 * 3600,
    # A run leaves the queue when it starts, and waits there, not with a busy worker, until then. Redis
    # would hand a run that is acknowledged at its end to a second worker after an hour (its visibility
    # timeout), also while the first is alive.
    "task_acks_late": False,
    "worker_disable_prefetch": True,
    "worker_prefetch_multiplier": 1,
    "worker_max_tasks_per_child": 50,
    "worker_send_task_events": False,
}
"""Settings of Celery that launcher and workers share."""

ANSWER_WITHIN_S = 3.0
ASKED_TIMES = 3
"""A worker that gives no sign of life in so many questions, each waiting so long, is taken for dead."""


class WatchedCeleryLauncher(CeleryRunLauncher):
    """`CeleryRunLauncher` that asks the workers themselves who has a run.

    Celery's own record says "started" for ever when a worker is killed, so Dagster's run monitoring would
    wait for ever. Here a run that neither a worker nor the queue has counts as lost; monitoring then resumes
    it, and it goes to the next free worker.
    """

    def __init__(self, *, config_source: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(config_source={**CELERY_SETTINGS, **(config_source or {})}, **options)

    @override
    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        latest = self._instance.get_run_by_id(run.run_id)
        task = latest.tags.get(DAGSTER_CELERY_TASK_ID_TAG) if latest is not None else None
        if task is None:  # a run of the command line, of which nothing can be told from here
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        if is_waiting(self.celery, task) or is_at_work(self.celery, task):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        latest = self._instance.get_run_by_id(run.run_id)
        if latest is None or latest.is_finished:  # it ended while the workers were asked
            return CheckRunHealthResult(WorkerStatus.SUCCESS)
        return CheckRunHealthResult(
            WorkerStatus.FAILED, "No worker has this run any more: its worker was killed, lost or restarted."
        )

    @override
    def resume_run(self, context: ResumeRunContext) -> None:
        """Put a lost run into the queue again. The inherited method gives an argument that no task takes."""
        run = context.dagster_run
        given = {"resume_job_args_packed": resume_arguments(self._instance, run)}
        task = self.celery.signature(TASK_RESUME_JOB_NAME, kwargs=given, immutable=True)
        self._launch_celery_task_run(run=run, task_signature=task, routing_key=TASK_RESUME_JOB_NAME)

    @override
    def terminate(self, run_id: str) -> bool:
        """Stop a run that a worker has or that waits for one; Ctrl-C stops one of the command line."""
        run = self._instance.get_run_by_id(run_id)
        return run is not None and DAGSTER_CELERY_TASK_ID_TAG in run.tags and super().terminate(run_id)


def is_waiting(app: Celery, task: str) -> bool:
    """Whether the task is still in the queue, where no worker has taken it."""
    with app.connection_for_read() as connection:
        channel = connection.default_channel
        queues = [
            channel._q_for_pri(queue.name, step)
            for queue in app.conf.task_queues
            for step in channel.priority_steps
        ]
        return any(
            task.encode() in entry for queue in queues for entry in channel.client.lrange(queue, 0, -1)
        )


def is_at_work(app: Celery, task: str) -> bool:
    """Whether a worker says that it has the task; asked again while none answers: it may be busy."""
    for attempt in range(ASKED_TIMES):
        if attempt:
            time.sleep(ANSWER_WITHIN_S / ASKED_TIMES)
        result = AsyncResult(task, app=app)
        if result.ready():
            return False
        worker = result.info.get("hostname") if isinstance(result.info, dict) else None
        question = app.control.inspect(
            destination=[worker] if worker else None, timeout=ANSWER_WITHIN_S, limit=1 if worker else None
        )
        answers = question.query_task([task]) or {}
        if any(task in known for known in answers.values()):
            return True
        if worker in answers:
            return False
    return False
