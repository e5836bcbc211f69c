"""`lunguage ui` on a finished home: the same runs, tables and checks, in a real
webserver, in a real browser, and materialising from there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from commands import lunguage
from headless_chromium import CHROMIUM, Page, chromium
from platform_support import environment, without_expectations
from served_home import free_port, wait_for

from lunguage_assets.orchestration.instance import LOCATION
from lunguage_assets.packaged_data import resource


class UI:
    """The webserver of a home, asked as the browser asks it."""

    def __init__(self, home: Path, port: int, output: Path, process: int) -> None:
        self.home = home
        self.process = psutil.Process(process)
        self.server = f"http://127.0.0.1:{port}"
        self._output = output

    @property
    def url(self) -> str:
        """As it was printed; without the token while the UI is starting."""
        address = re.search(rf"{self.server}/\S+(?=/\s)", self._output.read_text())
        return address[0] if address else self.server

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        request = {"query": query, "variables": variables}
        response = requests.post(f"{self.url}/graphql", json=request, timeout=60)
        response.raise_for_status()
        assert "errors" not in response.json(), response.json()["errors"]
        return dict(response.json()["data"])

    def processes(self) -> set[psutil.Process]:
        """All that it started and that are alive."""
        return set(filter(_is_alive, self.process.children(recursive=True)))


def _is_alive(process: psutil.Process) -> bool:
    """Neither ended, nor what Python keeps beside a process for itself."""
    with suppress(psutil.NoSuchProcess):  # a zombie is none either
        return "resource_tracker" not in " ".join(process.cmdline())
    return False


pytestmark = pytest.mark.lengthy

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""
TERMINATE = """
mutation Terminate($id: String!) {
  terminateRun(runId: $id) {
    __typename
  }
}
"""

SMALL_CHUNKS = """
from lunguage_assets import parallel

parallel.MIN_STUDIES_FOR_POOL = parallel.CHUNK = 1
"""
"""Each step of a run starts processes, however few the studies are."""

IN_THE_BACKGROUND = ["bash", "-c", 'trap "" INT; exec "$@"', "bash"]
"""As a script starts a command with `&`: what it starts ignores SIGINT, unless it says
otherwise itself.
"""


@pytest.fixture(scope="module")
def ui(five: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UI]:
    home = without_expectations(tmp_path_factory.mktemp("served") / "home")
    done = lunguage(home, "run", "--data", five, "--batch", "first", draws=True)
    assert done.returncode == 0, done.stderr
    port = free_port()
    log = (home.parent / "ui.log").open("w")
    program = [*IN_THE_BACKGROUND, sys.executable, "-m", "lunguage_assets.cli.main"]
    command = [*program, "ui", "--home", str(home), "--port", str(port)]
    (home.parent / "sitecustomize.py").write_text(SMALL_CHUNKS)
    variables = {**environment(home), "PYTHONPATH": str(home.parent)}
    process = subprocess.Popen(
        command, env=variables, stdout=log, stderr=log, start_new_session=True
    )
    served = UI(home, port, home.parent / "ui.log", process.pid)
    try:
        wait_for(
            lambda: bool(served.ask("{ version }")),
            300,
            "the webserver does not answer",
        )
        yield served
    finally:
        started = served.process.children(recursive=True)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)  # it ends, whoever has started it how
        log.close()
        outliving = psutil.wait_procs(started, timeout=10)[1]
        assert outliving == []


def test_the_ui_shows_the_runs_tables_and_checks_of_the_command_line(ui: UI) -> None:
    assets = ui.ask(
        "{ assetNodes { assetKey { path } "
        "assetMaterializations(limit: 1) { partition } } }"
    )["assetNodes"]
    node_by_asset = {node["assetKey"]["path"][-1]: node for node in assets}
    assert node_by_asset["lunguage_plus_plus"]["assetMaterializations"] == [
        {"partition": "panel|first"}
    ]
    assert node_by_asset["release"]["assetMaterializations"] == [{"partition": "panel"}]
    runs = ui.ask(
        "{ runsOrError { ... on Runs { results { status pipelineName } } } }"
    )["runsOrError"]["results"]
    assert {run["status"] for run in runs} == {"SUCCESS"}
    checks = ui.ask(
        """query Checks($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
             assetChecksOrError { ... on AssetChecks {
               checks { name blocking executionForLatestMaterialization { status } } } } } } }""",
        key={"path": ["lunguage_plus_plus"]},
    )["assetNodeOrError"]["assetChecksOrError"]["checks"]
    assert {
        (c["name"], c["blocking"], c["executionForLatestMaterialization"]["status"])
        for c in checks
    } >= {("conflict_free", True, "SUCCEEDED"), ("expectations", False, "SUCCEEDED")}


def _launch(ui: UI, *assets: str) -> str:
    """Launch assets of the job `expand` for the batch; return the id of the run."""
    params = {
        "selector": {
            "repositoryLocationName": LOCATION,
            "repositoryName": "__repository__",
            "pipelineName": "expand",
            "assetSelection": [{"path": [asset]} for asset in assets] or None,
        },
        "executionMetadata": {
            "tags": [{"key": "dagster/partition", "value": "panel|first"}]
        },
        "runConfigData": {},
        "mode": "default",
    }
    launched = ui.ask(LAUNCH, params=params)["launchPipelineExecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    return str(launched["run"]["runId"])


def _status_at_end(ui: UI, run_id: str) -> str:
    status = "query Run($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"

    def ended() -> str | None:
        run_status = str(ui.ask(status, id=run_id)["runOrError"]["status"])
        return run_status if run_status in {"SUCCESS", "FAILURE", "CANCELED"} else None

    return str(wait_for(ended, 180, "the run does not end"))


@pytest.mark.slow
def test_a_partition_can_be_materialised_from_the_ui_to_the_same_bytes(ui: UI) -> None:
    stored = ui.home / "tables" / "lunguage_plus_plus" / "panel" / "first.parquet"
    before = stored.read_bytes()
    stored.unlink()
    assert _status_at_end(ui, _launch(ui)) == "SUCCESS"
    assert stored.read_bytes() == before


def _status_when_terminated(ui: UI, processes_before: set[psutil.Process]) -> str:
    """Launch a run, terminate it in its first step and tell how it ended."""
    run_id = _launch(ui)
    wait_for(
        lambda: len(ui.processes() - processes_before) > 1,
        60,
        "no step has begun",
        0.01,
    )
    ui.ask(TERMINATE, id=run_id)
    return _status_at_end(ui, run_id)


@pytest.mark.slow
def test_no_process_of_a_finished_failed_or_terminated_run_is_left(ui: UI) -> None:
    before = ui.processes()
    pathways = ui.home / "pathways.yaml"
    assert _status_at_end(ui, _launch(ui)) == "SUCCESS"

    pathways.write_text("no pathways", "utf-8")
    assert _status_at_end(ui, _launch(ui)) == "FAILURE"
    pathways.unlink()

    # A run may end by itself before it is told to.
    ends = (_status_when_terminated(ui, before) for _ in range(5))
    assert "CANCELED" in ends
    wait_for(lambda: ui.processes() <= before, 30, "a process of a run is left")
    # Other tests look at the checks of the newest run.
    assert _status_at_end(ui, _launch(ui)) == "SUCCESS"


@pytest.fixture(scope="module")
def browser(ui: UI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    ui.ask("mutation { setNuxSeen }")
    with chromium(tmp_path_factory.mktemp("profile")) as page:
        page.open(f"{ui.url}/", "Runs")
        yield page


@pytest.mark.ui
def test_a_browser_shows_the_check_report(ui: UI, browser: Page) -> None:
    browser.open(
        f"{ui.url}/assets/lunguage_plus_plus?view=checks&checkDetail=conflict_free",
        "conflict_free",
        "blocking",
        "Passed",
        "panel|first",
    )
    browser.click("[Show Markdown]", row="report")
    browser.wait_for("All guarantees hold for")


@pytest.mark.ui
def test_a_browser_shows_what_follows_from_an_edited_pathway_and_why(
    ui: UI, browser: Page
) -> None:
    """`lunguage status` and the UI say the same."""
    edited = ui.home / "pathways.yaml"
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    edited.write_text(
        packaged.replace("finding: hyperinflation", "finding: hyperexpansion"), "utf-8"
    )
    assert "pathways_file changed" in lunguage(ui.home, "status").stdout
    assert _status_at_end(ui, _launch(ui, "expansions", "pathway_matches")) == "SUCCESS"
    page = f"{ui.url}/assets/lunguage_plus_plus?view=partitions&partition=panel%7Cfirst"
    browser.open(page, "Unsynced")
    (node,) = ui.ask(
        """query Causes($key: AssetKeyInput!) { assetNodes(assetKeys: [$key]) {
             staleCauses(partition: "panel|first") { key { path } } } }""",
        key={"path": ["lunguage_plus_plus"]},
    )["assetNodes"]
    changed = {cause["key"]["path"][0] for cause in node["staleCauses"]}
    assert "pathways_file" in changed
    edited.unlink()


def test_raw_requests_of_an_attack_are_refused_by_the_real_server(ui: UI) -> None:
    for path in ("", "/graphql", "/graphql?query=mutation%7BsetNuxSeen%7D"):
        answer = requests.get(f"{ui.server}{path}", timeout=30)
        assert answer.status_code == 401, path
