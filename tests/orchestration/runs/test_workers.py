"""The process of a run: known again while it lives, when it has ended, and when its number is another's."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import dagster as dg
import psutil
import pytest

from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.dagster_private import WorkerStatus
from lunguage_assets.orchestration.runs.instance import close_abandoned_runs, dagster_instance
from lunguage_assets.orchestration.runs.workers import (
    OWNER_TAG,
    PROCESS_TAG,
    executed_here,
    interrupt,
    is_gone,
    this_process,
    worker_of,
)

HOST = socket.gethostname()


@dg.op
def nothing() -> None: ...


@dg.job
def idle() -> None:
    nothing()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        with dagster_instance(Home(tmp_path_factory.mktemp("kept") / "home")) as opened:
            yield opened


@pytest.fixture
def instance(kept: dg.DagsterInstance) -> Iterator[dg.DagsterInstance]:
    """The instance of a home, without any run."""
    yield kept
    for run in kept.get_runs():
        kept.delete_run(run.run_id)


@pytest.fixture
def another() -> Iterator[psutil.Process]:
    """A process that waits for a signal."""
    waiting = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        yield psutil.Process(waiting.pid)
    finally:
        waiting.kill()
        waiting.wait()


def name_of(process: psutil.Process) -> str:
    return f"{HOST}:{process.pid}:{process.create_time() - psutil.boot_time():.0f}"


def ended() -> str:
    """A process of this machine that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        return name_of(psutil.Process(process.pid))


def started(instance: dg.DagsterInstance, process: str = "", *, owned: bool = True, **status: object) -> str:
    """A run that a process executes; `owned`: its tags are its own and not taken over."""
    state = status.get("status", dg.DagsterRunStatus.STARTED)
    run_id = instance.create_run_for_job(idle, status=state).run_id
    if process:
        instance.add_run_tags(run_id, {PROCESS_TAG: process, OWNER_TAG: run_id if owned else "another"})
    return run_id


def run_of(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRun:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run


def test_a_process_is_known_by_machine_number_and_start(another: psutil.Process) -> None:
    here, there = this_process(), name_of(another)
    machine, pid, start = there.split(":")
    assert not is_gone(here)
    assert not is_gone(there)
    assert not is_gone(f"{machine}:{pid}:{int(start) + 1}"), "the start of the machine is known to a second"
    assert is_gone(ended())
    assert is_gone(f"{machine}:{pid}:{int(start) - 60}"), "another process that has got the same number"
    assert is_gone(f"{machine}:{pid}:00000000-1"), "one that another version has named"
    assert not is_gone(f"elsewhere:{pid}:1"), "nothing is known of another machine"


def test_a_process_that_was_killed_and_not_yet_cleared_away_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    name = name_of(psutil.Process(process.pid))
    process.kill()
    for _ in range(200):
        if psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    assert is_gone(name)
    process.wait()


def test_a_process_that_reuses_a_number_is_left_alone(another: psutil.Process) -> None:
    machine, pid, start = name_of(another).split(":")
    assert not interrupt(f"{machine}:{pid}:{int(start) - 60}")
    assert not interrupt(f"elsewhere:{pid}:{start}")
    assert another.is_running()
    assert interrupt(f"{machine}:{pid}:{start}")
    assert another.wait(30) in (-signal.SIGINT, 1)
    assert not interrupt(f"{machine}:{pid}:{start}")


def test_runs_of_killed_processes_are_closed_and_others_left(instance: dg.DagsterInstance) -> None:
    dead = ended()
    killed = started(instance, dead)
    unborn = started(instance, dead, status=dg.DagsterRunStatus.NOT_STARTED)
    left = [
        started(instance, this_process()),
        started(instance, f"{HOST}x:1:1"),
        started(instance),
        started(instance, dead, owned=False),
    ]
    health = instance.run_launcher.check_run_worker_health(run_of(instance, killed))
    assert health.status is WorkerStatus.FAILED
    assert close_abandoned_runs(instance) == 2
    assert {run_of(instance, run_id).status for run_id in (killed, unborn)} == {dg.DagsterRunStatus.FAILURE}
    assert {run_of(instance, run_id).status for run_id in left} == {dg.DagsterRunStatus.STARTED}


def test_a_run_that_is_tried_again_does_not_take_over_the_process_of_the_one_before(
    instance: dg.DagsterInstance,
) -> None:
    run_id = started(instance, ended(), owned=False)
    assert worker_of(instance, run_of(instance, run_id)) is None
    instance.add_run_tags(run_id, executed_here(run_id))
    assert worker_of(instance, run_of(instance, run_id)) == this_process()


def logged(instance: dg.DagsterInstance, process: psutil.Process) -> str:
    """A run of which only the log says who executes it, as of those that a code server starts."""
    done = idle.execute_in_process(instance=instance).run_id
    (entry, *_) = instance.all_logs(done, of_type=dg.DagsterEventType.ENGINE_EVENT)
    data = type(entry.get_dagster_event().engine_event_data).in_process(process.pid)
    run_id = started(instance)
    instance.report_engine_event("Started process for run.", run_of(instance, run_id), data)
    return run_id


def test_the_process_of_a_run_that_dagster_started_is_found_in_its_log(
    instance: dg.DagsterInstance, another: psutil.Process
) -> None:
    run_id = logged(instance, another)
    assert worker_of(instance, run_of(instance, run_id)) == name_of(another)
    assert run_of(instance, run_id).tags[PROCESS_TAG] == name_of(another)
    assert close_abandoned_runs(instance) == 0
    another.kill()
    another.wait(30)
    assert close_abandoned_runs(instance) == 1


def test_a_number_that_was_given_again_after_the_log_named_it_is_not_the_runs_process(
    instance: dg.DagsterInstance, another: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, later = logged(instance, another), another.create_time() + 3600
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: later)
    worker = worker_of(instance, run_of(instance, run_id))
    assert worker is not None
    assert is_gone(worker)
    assert not interrupt(worker)
    assert another.is_running()


def test_a_number_in_the_log_of_a_run_that_a_worker_elsewhere_executes_says_nothing_here(
    another: psutil.Process,
) -> None:
    """A Celery worker logs its number too; its launcher is none of Dagster's default."""
    with dg.DagsterInstance.ephemeral() as elsewhere:
        run_id = logged(elsewhere, another)
        another.kill()
        another.wait(30)
        assert worker_of(elsewhere, run_of(elsewhere, run_id)) is None
        assert close_abandoned_runs(elsewhere) == 0


def test_a_run_of_the_command_line_is_stopped_from_the_ui_and_one_that_was_killed_is_closed(
    instance: dg.DagsterInstance, another: psutil.Process
) -> None:
    living, dead = started(instance, name_of(another)), started(instance, ended())
    assert instance.run_launcher.terminate(living)
    assert another.wait(30) in (-signal.SIGINT, 1)
    assert run_of(instance, living).status is dg.DagsterRunStatus.CANCELING
    assert instance.run_launcher.terminate(dead)
    assert run_of(instance, dead).status is dg.DagsterRunStatus.CANCELED
