"""The instance of a home: its configuration is renewed unless a person edited it, and nothing is said by the
environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psutil
import pytest
from click.testing import CliRunner
from dagster._core.instance.config import PoolGranularity

from lunguage_assets.cli.main import commands
from lunguage_assets.data_files import dagster_yaml
from lunguage_assets.home.home import Corpus, Home
from lunguage_assets.orchestration.assets.table_asset import JUDGES_POOL
from lunguage_assets.orchestration.runs.instance import (
    PROCESS_TAG,
    close_abandoned_runs,
    configuration_of,
    dagster_instance,
    environment_of_children,
    examination,
    executed_here,
    prepare_dagster_home,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return Home(tmp_path / "home")


def test_a_configuration_that_nobody_edited_is_renewed_and_an_edited_one_is_kept_and_said(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.dagster / "dagster.yaml"
    assert configuration_of(home) == "missing"
    prepare_dagster_home(home)
    assert configuration_of(home) == "packaged"
    assert (home.dagster / "history" / "runs.db").exists(), "before webserver and daemon open it at once"
    assert file.read_text().startswith(dagster_yaml().read_text())
    newer = tmp_path / "newer.yaml"
    newer.write_text(dagster_yaml().read_text() + "# newer\n")
    monkeypatch.setattr("lunguage_assets.orchestration.runs.instance.dagster_yaml", lambda: newer)
    assert configuration_of(home) == "outdated"
    prepare_dagster_home(home)
    assert file.read_text().startswith(newer.read_text())
    assert examination(home)[0] == "ok"
    for edited in (file.read_text() + "\n# mine\n", file.read_text().replace("# newer", "# mine"), "{}\n"):
        file.write_text(edited)
        prepare_dagster_home(home)
        assert file.read_text() == edited
        severity, message = examination(home)
        assert severity == "warning"
        assert str(file) in message


def test_an_instance_elsewhere_is_left_alone(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "theirs"
    monkeypatch.setenv("DAGSTER_HOME", str(elsewhere))
    assert prepare_dagster_home(home) == elsewhere
    assert not (home.dagster / "dagster.yaml").exists()
    assert configuration_of(home) == "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    with dagster_instance(home) as instance:
        assert str(elsewhere) in str(instance.root_directory)


@pytest.mark.parametrize(
    ("corpus", "asked_for", "redacted"),
    [
        (Corpus("sample", "synthetic"), "", "false"),
        (Corpus("sample", "synthetic"), "true", "true"),
        (Corpus("mimic", "credentialed"), "false", "true"),
        (None, "", "true"),
    ],
)
def test_processes_that_serve_a_home_are_told_where_and_whether_messages_are_withheld(
    corpus: Corpus | None, asked_for: str, redacted: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_REDACT_USER_CODE_ERRORS", asked_for)
    if corpus is not None:
        home.claim(corpus)
    (home.dagster / "history").mkdir(parents=True)  # its databases are there
    given = environment_of_children(home)
    assert given["DAGSTER_HOME"] == str(home.dagster)
    assert given["LUNGUAGE_HOME"] == str(home.root)
    assert given["DAGSTER_REDACT_USER_CODE_ERRORS"] == redacted
    assert (home.dagster / "dagster.yaml").exists()


def test_the_packaged_configuration_queues_watches_retries_what_was_killed_and_leaves_the_environment_alone(
    home: Home,
) -> None:
    before = dict(os.environ)
    with dagster_instance(home) as instance:
        assert instance.root_directory == str(home.dagster)
        assert instance.run_monitoring_enabled
        assert instance.run_retries_enabled
        assert not instance.run_retries_retry_on_asset_or_op_failure
        pools = instance.get_concurrency_config().pool_config
        assert (pools.pool_granularity, pools.default_pool_limit) == (PoolGranularity.RUN, 1)
    assert dict(os.environ) == before


def test_every_op_that_asks_a_judge_is_in_the_pool_and_no_other(home: Home) -> None:
    from lunguage_assets.orchestration.build import build_defs
    from lunguage_assets.orchestration.resources import HomeResource

    definitions = build_defs(HomeResource(root=str(home.root)))
    pooled = {
        asset.op.name
        for asset in definitions.resolve_asset_graph().assets_defs
        if asset.is_executable and JUDGES_POOL in asset.op.pools
    }
    assert pooled == {
        "structured_findings",
        "hedge_phrases",
        "comparison_matches",
        "fitted_probabilities",
    }


def test_doctor_says_how_the_instance_is_configured(home: Home) -> None:
    home.dagster.mkdir(parents=True)
    (home.dagster / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    said = CliRunner().invoke(commands, ["doctor", "--home", str(home.root)]).output
    assert f"warning  {home.dagster / 'dagster.yaml'} was edited" in said


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


def status_after_a_look(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    close_abandoned_runs(instance)
    found = instance.get_run_by_id(run_id)
    assert found is not None
    return found.status


def test_a_run_of_a_command_is_closed_when_its_process_has_ended_and_not_before(home: Home) -> None:
    def run_of(*process: object) -> str:
        started = instance.create_run_for_job(idle, status=dg.DagsterRunStatus.STARTED).run_id
        named = ":".join(map(str, process or (started, host, pid, start)))
        instance.add_run_tags(started, {PROCESS_TAG: named.replace("SELF", started)})
        return started

    with dagster_instance(home) as instance:
        _, host, pid, start = executed_here("r")[PROCESS_TAG].split(":")
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as ended:
            pass
        left = [
            run_of("SELF", host, pid, start),
            run_of("SELF", host, pid, int(start) + 1),
            run_of("SELF", "elsewhere", ended.pid, start),
            run_of("another run, tried again", host, ended.pid, start),
        ]
        closed = [run_of("SELF", host, ended.pid, start), run_of("SELF", host, pid, int(start) - 60)]
        started, failed = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE
        assert [status_after_a_look(instance, run) for run in closed] == [failed, failed]
        assert {status_after_a_look(instance, run) for run in left} == {started}


def test_a_run_of_a_killed_code_server_is_closed_by_what_its_log_says(
    home: Home, another: psutil.Popen
) -> None:
    with dagster_instance(home) as instance:
        done = idle.execute_in_process(instance=instance).run_id
        (entry, *_) = instance.all_logs(done, of_type=dg.DagsterEventType.ENGINE_EVENT)
        data = type(entry.get_dagster_event().engine_event_data).in_process(another.pid)
        run = instance.create_run_for_job(idle, status=dg.DagsterRunStatus.STARTED)
        instance.report_engine_event("Started process for run.", run, data)
        assert status_after_a_look(instance, run.run_id) is dg.DagsterRunStatus.STARTED
        another.send_signal(signal.SIGKILL)  # a zombie, until it is waited for
        while another.status() != psutil.STATUS_ZOMBIE:
            pass
        assert status_after_a_look(instance, run.run_id) is dg.DagsterRunStatus.FAILURE
