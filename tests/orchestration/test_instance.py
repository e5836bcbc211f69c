"""The instance of a home: its configuration, and what a killed process left."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psutil
import pytest

from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.orchestration import internals
from lunguage_assets.orchestration.instance import (
    HOST_TAG,
    PROCESS_TAG,
    close_abandoned_runs,
    command_at_work,
    dagster_instance,
    environment_of_children,
    executed_here,
    is_at_work,
)
from lunguage_assets.packaged_data import dagster_yaml
from lunguage_assets.workspace.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return Home(tmp_path / "home")


def test_an_edited_configuration_is_kept(home: Home) -> None:
    file = home.dagster / "dagster.yaml"
    environment_of_children(home)
    assert (home.dagster / "history" / "runs.db").exists(), (
        "before webserver and daemon open it at once"
    )
    assert file.read_bytes() == dagster_yaml().read_bytes()
    file.write_text("{}\n")
    environment_of_children(home)
    assert file.read_text() == "{}\n"


def test_processes_of_a_home_are_told_its_folder_and_secrecy(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_REDACT_USER_CODE_ERRORS", "false")
    home.claim(Corpus("mimic", "credentialed"))
    variables = environment_of_children(home)
    assert variables["DAGSTER_HOME"] == str(home.dagster)
    assert variables["LUNGUAGE_HOME"] == str(home.root)
    assert variables["DAGSTER_REDACT_USER_CODE_ERRORS"] == "true"


@dg.op
def nothing() -> None: ...


@dg.job
def idle() -> None:
    nothing()


@pytest.fixture
def another() -> Iterator[psutil.Popen]:
    """A process that waits for a signal."""
    waiting = psutil.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    yield waiting
    waiting.kill()
    waiting.wait()


def status_after_a_look(
    instance: dg.DagsterInstance, run_id: str
) -> dg.DagsterRunStatus:
    close_abandoned_runs(instance)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_whose_process_has_ended_is_closed_and_no_other(
    home: Home, another: psutil.Popen
) -> None:
    """The log names the process of a code server; of a command also a tag does, from
    the first.
    """
    with dagster_instance(home) as instance:
        done = idle.execute_in_process(instance=instance).run_id
        (entry, *_) = instance.all_logs(done, of_type=dg.DagsterEventType.ENGINE_EVENT)

        def begun(**tags: str) -> str:
            run = instance.create_run_for_job(
                idle, status=dg.DagsterRunStatus.STARTED, tags=tags
            )
            data = type(entry.get_dagster_event().engine_event_data).in_process(
                another.pid
            )
            instance.report_engine_event("Started process for run.", run, data)
            return str(run.run_id)

        on_this_machine = begun()
        elsewhere = begun(**{HOST_TAG: "elsewhere"})
        tags = {**executed_here(), PROCESS_TAG: str(another.pid)}
        waiting = dg.DagsterRunStatus.NOT_STARTED
        hardly_begun = instance.create_run_for_job(
            idle, status=waiting, tags=tags
        ).run_id
        unknown = instance.create_run_for_job(
            idle, status=dg.DagsterRunStatus.STARTED
        ).run_id
        assert (
            status_after_a_look(instance, on_this_machine)
            is dg.DagsterRunStatus.STARTED
        )
        assert status_after_a_look(instance, hardly_begun) is waiting
        another.send_signal(signal.SIGKILL)  # a zombie, until it is waited for
        while another.status() != psutil.STATUS_ZOMBIE:
            pass
        for ended in (on_this_machine, hardly_begun):
            assert status_after_a_look(instance, ended) is dg.DagsterRunStatus.FAILURE
        for run_id in (elsewhere, unknown):
            assert status_after_a_look(instance, run_id) is dg.DagsterRunStatus.STARTED


def test_no_other_module_imports_what_is_private_in_dagster() -> None:
    private = re.compile(r"^\s*(?:from|import) dagster\._", re.MULTILINE)
    package = Path(internals.__file__).parents[1]
    imports = [
        file
        for file in package.rglob("*.py")
        if private.search(file.read_text(encoding="utf-8"))
    ]
    assert imports == [Path(internals.__file__)]


def test_a_command_at_work_is_seen(home: Home) -> None:
    home.create()
    assert not is_at_work(home.root)
    with command_at_work(home.root):
        assert is_at_work(home.root)
