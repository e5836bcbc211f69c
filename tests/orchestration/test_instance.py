"""The instance of a home: its configuration, and what a killed process left."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg
import pytest

from lunguage_assets.locks import command_at_work, is_at_work
from lunguage_assets.orchestration import internals
from lunguage_assets.orchestration.instance import (
    OF_COMMAND,
    dagster_instance,
    prepare_to_serve,
)
from lunguage_assets.packaged_data import dagster_yaml
from lunguage_assets.ui.processes import environment_of_children
from lunguage_assets.workspace.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return Home(tmp_path / "home")


def test_an_edited_configuration_is_kept(home: Home) -> None:
    file = home.dagster / "dagster.yaml"
    prepare_to_serve(home)
    assert (home.dagster / "history" / "runs.db").exists(), (
        "before webserver and daemon open it at once"
    )
    assert file.read_bytes() == dagster_yaml().read_bytes()
    file.write_text("{}\n")
    prepare_to_serve(home)
    assert file.read_text() == "{}\n"


def test_processes_of_a_home_are_told_its_folder_and_secrecy(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_REDACT_USER_CODE_ERRORS", raising=False)
    variables = environment_of_children(home)
    assert variables["DAGSTER_HOME"] == str(home.dagster)
    assert variables["LUNGUAGE_HOME"] == str(home.root)
    assert variables["DAGSTER_REDACT_USER_CODE_ERRORS"] == "true"


@dg.op
def nothing() -> None: ...


@dg.job
def idle() -> None:
    nothing()


def test_runs_of_killed_processes_are_closed_and_no_other(home: Home) -> None:
    """A command's when none is alive; those of a UI before one is opened again."""

    def begun(**tags: str) -> str:
        status = dg.DagsterRunStatus.STARTED
        return str(instance.create_run_for_job(idle, status=status, tags=tags).run_id)

    def is_closed(run_id: str) -> bool:
        (run,) = instance.get_runs(dg.RunsFilter(run_ids=[run_id]))
        return run.status is dg.DagsterRunStatus.FAILURE

    with dagster_instance(home) as instance:
        assert not is_at_work(home.root)
        with command_at_work(home.root):
            assert is_at_work(home.root)
            of_command = begun(**OF_COMMAND)
            launched = begun()
            with dagster_instance(home):
                assert not is_closed(of_command), "its command is alive"
        with dagster_instance(home):
            assert is_closed(of_command)
            assert not is_closed(launched)
        prepare_to_serve(home)
        assert is_closed(launched)


def test_no_other_module_imports_what_is_private_in_dagster() -> None:
    private = re.compile(r"^\s*(?:from|import) dagster\._", re.MULTILINE)
    package = Path(internals.__file__).parents[1]
    imports = [
        file
        for file in package.rglob("*.py")
        if private.search(file.read_text(encoding="utf-8"))
    ]
    assert imports == [Path(internals.__file__)]
