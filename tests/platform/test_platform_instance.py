"""The instance of a home: its configuration is renewed unless a person edited it, and runs of killed
processes are noticed.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.instance.config import PoolGranularity
from dagster._core.launcher import WorkerStatus
from platform_support import environment

from lunguage_assets.data_files import dagster_yaml
from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.runs.instance import (
    close_abandoned_runs,
    configuration_of,
    dagster_instance,
    examination,
    prepare_dagster_home,
)
from lunguage_assets.orchestration.runs.launcher import LocalRunLauncher
from lunguage_assets.orchestration.runs.pools import JUDGES_POOL
from lunguage_assets.orchestration.runs.workers import (
    OWNER_TAG,
    PROCESS_TAG,
    is_gone,
    this_process,
    worker_of,
)

FIRST = """\
# Configuration of the Dagster instance. Dagster reads it only from $DAGSTER_HOME: the `lunguage` command puts it into
# $LUNGUAGE_HOME/dagster and points DAGSTER_HOME there, unless DAGSTER_HOME is already set. Storage is SQLite in that folder;
# deploy/ describes PostgreSQL.
telemetry:
  enabled: false

# No invitation to a newsletter when the UI is opened for the first time.
nux:
  enabled: false

concurrency:
  runs:
    max_concurrent_runs: 2

run_monitoring:
  enabled: false
"""
"""What an earlier version put into its homes."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home" / "dagster"))
    return Home(tmp_path / "home")


def test_a_configuration_that_nobody_edited_is_renewed_and_an_edited_one_is_kept_and_said(home: Home) -> None:
    file, packaged = home.dagster / "dagster.yaml", dagster_yaml().read_text()
    assert configuration_of(home) == "missing"
    home.dagster.mkdir(parents=True)
    file.write_text(FIRST)
    assert configuration_of(home) == "outdated"
    prepare_dagster_home(home)
    assert file.read_text() == packaged
    assert examination(home)[0][0] == "ok"
    file.write_text(packaged + "\n# mine\n")
    prepare_dagster_home(home)
    assert file.read_text().endswith("# mine\n")
    ((severity, message),) = examination(home)
    assert severity == "warning"
    assert str(file) in message


def test_a_copy_is_known_again_when_the_package_has_moved_on(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_dagster_home(home)
    newer = tmp_path / "newer.yaml"
    newer.write_text(dagster_yaml().read_text() + "# newer\n")
    monkeypatch.setattr("lunguage_assets.orchestration.runs.instance.dagster_yaml", lambda: newer)
    assert configuration_of(home) == "outdated"
    prepare_dagster_home(home)
    assert (home.dagster / "dagster.yaml").read_text() == newer.read_text()


def test_an_instance_elsewhere_is_left_alone(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "theirs"))
    prepare_dagster_home(home)
    assert not (home.dagster / "dagster.yaml").exists()
    assert configuration_of(home) == "elsewhere"


def test_the_packaged_configuration_queues_watches_and_retries_only_what_was_killed(home: Home) -> None:
    with dagster_instance(home) as instance:
        assert isinstance(instance.run_launcher, LocalRunLauncher)
        assert instance.run_monitoring_enabled
        assert instance.run_retries_enabled
        assert not instance.run_retries_retry_on_asset_or_op_failure
        pools = instance.get_concurrency_config().pool_config
        assert (pools.pool_granularity, pools.default_pool_limit) == (PoolGranularity.RUN, 1)


def test_every_op_that_asks_a_judge_is_in_the_pool_and_no_other(home: Home) -> None:
    from lunguage_assets.orchestration.build import build_defs

    definitions = build_defs(home)
    pooled = {
        asset.op.name
        for asset in definitions.resolve_asset_graph().assets_defs
        if JUDGES_POOL in asset.op.pools
    }
    assert pooled == {"hedge_phrases", "comparison_matches", "fitting"}
    assert {op.pool for op in definitions.resolve_job_def("everything").all_node_defs} == {JUDGES_POOL}


def gone() -> str:
    """A process of this machine that has ended."""
    code = "from lunguage_assets.orchestration.runs.workers import this_process; print(this_process())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


def test_a_process_is_known_by_machine_number_and_start() -> None:
    here = this_process()
    assert not is_gone(here)
    assert is_gone(gone())
    machine, pid, _ = here.split(":")
    assert is_gone(f"{machine}:{pid}:00000000-1"), "another process that has got the same number"
    assert not is_gone(f"elsewhere:{pid}:00000000-1"), "nothing is known of another machine"
    assert not is_gone(f"{machine}:{pid}"), "as older versions wrote it"


def test_abandoned_runs_are_closed_and_others_left(home: Home) -> None:
    @dg.op
    def nothing() -> None: ...

    @dg.job
    def idle() -> None:
        nothing()

    ended = gone()
    with dagster_instance(home) as instance:

        def run(status: dg.DagsterRunStatus, tags: dict[str, str]) -> str:
            return instance.create_run_for_job(idle, status=status, tags=tags).run_id

        started = dg.DagsterRunStatus.STARTED
        killed = run(started, {PROCESS_TAG: ended})
        unborn = run(dg.DagsterRunStatus.NOT_STARTED, {PROCESS_TAG: ended})
        living = run(started, {PROCESS_TAG: this_process()})
        elsewhere = run(started, {PROCESS_TAG: f"{socket.gethostname()}x:1:a"})
        unknown = run(started, {})
        tried_again = run(started, {PROCESS_TAG: ended, OWNER_TAG: killed})
        again = instance.get_run_by_id(tried_again)
        assert again is not None
        assert worker_of(instance, again) is None, (
            "a run that is tried again takes over the tags of the killed one"
        )
        found = instance.get_run_by_id(killed)
        assert found is not None
        health = instance.run_launcher.check_run_worker_health(found)
        assert health.status is WorkerStatus.FAILED
        assert close_abandoned_runs(instance) == 2
        states = {
            run_id: instance.get_run_by_id(run_id).status
            for run_id in (killed, unborn, living, elsewhere, unknown, tried_again)
        }  # type: ignore[union-attr]
    assert {run_id for run_id, status in states.items() if status is dg.DagsterRunStatus.FAILURE} == {
        killed,
        unborn,
    }


def test_doctor_says_how_the_instance_is_configured(tmp_path: Path, lunguage) -> None:
    home = tmp_path / "home"
    (home / "dagster").mkdir(parents=True)
    (home / "dagster" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    assert "DAGSTER_HOME" not in environment(home)
    said = lunguage(home, "doctor").stdout
    assert f"warning  {home / 'dagster' / 'dagster.yaml'} was edited" in said
