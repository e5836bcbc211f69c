"""What `lunguage ui` starts, before anything is started."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from commands import lunguage

from lunguage_assets.orchestration.dagster_private import LOCATION
from lunguage_assets.orchestration.ui.processes import only_ui, workspace_file

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of this machine that something listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield int(listening.getsockname()[1])


def test_a_port_that_is_taken_is_said_in_one_line_and_nothing_is_made(taken: int, tmp_path: Path) -> None:
    done = lunguage(tmp_path / "home", "ui", "--port", str(taken))
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"port {taken} of 127.0.0.1 cannot be used" in line
    assert "--port" in line
    assert not (tmp_path / "home").exists()


def test_a_second_ui_of_a_home_says_that_one_is_open_and_where(tmp_path: Path) -> None:
    with only_ui(tmp_path / "home", "http://127.0.0.1:3000/ of process 7"):
        done = lunguage(tmp_path / "home", "ui", "--port", "3999")
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert "is open already, at http://127.0.0.1:3000/ of process 7" in line
    with only_ui(tmp_path / "home", "elsewhere"):
        assert (tmp_path / "home" / ".ui.lock").read_text() == "elsewhere"


def test_the_code_location_has_the_same_name_wherever_it_is_served(tmp_path: Path) -> None:
    """Runs, switches of sensors and re-executions are known by it."""
    served = workspace_file(tmp_path, str(tmp_path / "code"))
    for file in (served, ROOT / "deploy" / "workspace.yaml"):
        (location,) = yaml.safe_load(file.read_text())["load_from"]
        assert location["grpc_server"]["location_name"] == LOCATION
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"] == LOCATION
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    assert project["code_location_name"] == LOCATION
