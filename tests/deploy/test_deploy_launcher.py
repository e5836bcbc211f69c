"""What the launcher concludes about a run from what its worker, the queue and Celery's records say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dagster_celery", reason="needs the extra 'scale'")

import dagster as dg
from celery import Celery
from celery.backends.base import Backend
from dagster._core.launcher import WorkerStatus
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

from lunguage_assets.orchestration.runs import celery_launcher
from lunguage_assets.orchestration.runs.celery_launcher import CELERY_SETTINGS, WatchedCeleryLauncher

TASK = "task-1"


@dataclass
class Surroundings:
    """A queue, workers and records as a test wants them."""

    queued: list[str] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    workers: dict[str, list[str]] = field(default_factory=dict)
    """Worker -> tasks it has; a worker that is not here gives no answer."""
    asked: list[list[str] | None] = field(default_factory=list)

    def inspect(self, destination: list[str] | None, **_: Any) -> SimpleNamespace:
        self.asked.append(destination)
        answering = {
            name: tasks for name, tasks in self.workers.items() if destination is None or name in destination
        }
        return SimpleNamespace(
            query_task=lambda ids: {
                name: {t: ["active", {}] for t in tasks if t in ids} for name, tasks in answering.items()
            }
        )

    @contextmanager
    def connection(self) -> Iterator[SimpleNamespace]:
        entries = [json.dumps({"headers": {"id": task}}).encode() for task in self.queued]
        client = SimpleNamespace(lrange=lambda name, *_: entries if name == "dagster" else [])
        yield SimpleNamespace(
            default_channel=SimpleNamespace(
                client=client,
                priority_steps=[0, 3],
                _q_for_pri=lambda queue, step: f"{queue}\x06\x16{step}" if step else queue,
            )
        )


@pytest.fixture
def around(monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    found = Surroundings()
    monkeypatch.setattr(celery_launcher, "ANSWER_WITHIN_S", 0.0)
    monkeypatch.setattr(
        Backend,
        "get_task_meta",
        lambda _self, _task, **_: {"status": "PENDING", "result": None, **found.record},
    )
    monkeypatch.setattr(Celery, "connection_for_read", lambda _self: found.connection())
    monkeypatch.setattr("celery.app.control.Control.inspect", property(lambda _self: found.inspect))
    return found


@dg.op
def nothing() -> None: ...


@dg.job
def empty() -> None:
    nothing()


def health(
    status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED, *, launched: bool = True
) -> tuple[WorkerStatus, str]:
    """What the launcher says of a run in an instance of its own."""
    with dg.DagsterInstance.ephemeral() as instance:
        launcher = WatchedCeleryLauncher(
            default_queue="dagster", broker="memory://", backend="cache+memory://"
        )
        launcher.register_instance(instance)
        run = instance.create_run_for_job(
            empty, status=status, tags={DAGSTER_CELERY_TASK_ID_TAG: TASK} if launched else {}
        )
        result = launcher.check_run_worker_health(run)
        return result.status, result.msg or ""


STARTED_ON_ONE = {"status": "STARTED", "result": {"hostname": "celery@one", "pid": 7}}


def test_a_run_whose_worker_says_it_has_it_is_running(around: Surroundings) -> None:
    around.record, around.workers = STARTED_ON_ONE, {"celery@one": [TASK], "celery@two": []}
    assert health()[0] is WorkerStatus.RUNNING
    assert around.asked == [["celery@one"]], "only the worker that started it is asked"


def test_a_run_whose_worker_is_silent_is_lost_after_several_questions(around: Surroundings) -> None:
    around.record, around.workers = STARTED_ON_ONE, {"celery@two": []}
    status, message = health()
    assert status is WorkerStatus.FAILED
    assert "killed, lost or restarted" in message
    assert len(around.asked) == celery_launcher.ASKED_TIMES


def test_a_worker_that_came_back_under_its_old_name_without_the_run_has_lost_it(around: Surroundings) -> None:
    around.record, around.workers = STARTED_ON_ONE, {"celery@one": ["task-of-another-run"]}
    assert health()[0] is WorkerStatus.FAILED
    assert len(around.asked) == 1, "it has answered; there is nothing to wait for"


def test_a_resumed_run_that_waits_in_the_queue_is_not_lost(around: Surroundings) -> None:
    around.queued, around.workers = ["task-of-another-run", TASK], {"celery@one": []}
    assert health()[0] is WorkerStatus.RUNNING


def test_a_run_that_neither_queue_nor_worker_has_is_lost(around: Surroundings) -> None:
    around.queued, around.workers = ["task-of-another-run"], {"celery@one": []}
    assert health()[0] is WorkerStatus.FAILED


@pytest.mark.parametrize("ended", ["SUCCESS", "FAILURE", "REVOKED"])
def test_a_run_whose_task_has_ended_without_ending_the_run_is_lost(around: Surroundings, ended: str) -> None:
    around.record = {"status": ended, "result": None}
    assert health()[0] is WorkerStatus.FAILED


def test_a_run_that_ended_while_its_worker_was_asked_is_left_alone(around: Surroundings) -> None:
    around.record = {"status": "SUCCESS", "result": 0}
    assert health(dg.DagsterRunStatus.SUCCESS)[0] is WorkerStatus.SUCCESS


def test_a_run_of_the_command_line_is_neither_judged_nor_stopped(around: Surroundings) -> None:
    assert health(launched=False)[0] is WorkerStatus.RUNNING
    with dg.DagsterInstance.ephemeral() as instance:
        launcher = WatchedCeleryLauncher(
            default_queue="dagster", broker="memory://", backend="cache+memory://"
        )
        launcher.register_instance(instance)
        run = instance.create_run_for_job(empty, status=dg.DagsterRunStatus.STARTED)
        assert launcher.terminate(run.run_id) is False


def test_a_long_run_is_never_handed_to_a_second_worker_by_the_broker() -> None:
    assert CELERY_SETTINGS["task_acks_late"] is False
    assert CELERY_SETTINGS["worker_disable_prefetch"] is True
