"""The scaled-out deployment, started from deploy/ without containers: PostgreSQL,
Redis, object storage, daemon, two Celery workers, one of which is killed in the middle.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
import scaled_out
from click.testing import CliRunner
from dagster._cli.instance import instance_cli
from dagster._core.storage.tags import PARENT_RUN_ID_TAG
from platform_support import environment, without_expectations
from scaled_out import DEADLINE_S, Services
from served_home import wait_for
from upath import UPath

from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.sample import write_sample
from lunguage_assets.workspace.home import Home

REASON = scaled_out.missing()
pytestmark = [
    pytest.mark.lengthy,
    pytest.mark.skipif(
        REASON is not None and not os.environ.get("CI"), reason=str(REASON)
    ),
]

BATCHES = ("first", "second")
WORKERS = ("one", "two", "three")
JUDGE = "lexicon"
FIRST_JOB = "ingest"
"""The job of which a worker is killed; it needs no other."""
MAX_RUNTIME = "dagster/max_runtime"
QUICK = "[explicit]\nrepetitions = 1\norders = 3\nbootstrap = 10\n"
STAGES = {
    "extract_hedges": [f"{JUDGE}|{batch}" for batch in BATCHES],
    "build_vocabulary": [JUDGE],
    "compare": [JUDGE],
    "rank": [JUDGE],
    "refit": [f"{JUDGE}|{batch}" for batch in BATCHES],
}


@dataclass(frozen=True)
class Deployment:
    """A scaled-out deployment after all its runs, and the tables of an embedded run of
    the same deliveries.
    """

    services: Services
    instance: dg.DagsterInstance
    home: Home
    embedded: dict[str, bytes]
    killed: str
    """The run whose worker was killed."""


def stored(folder: Path | UPath) -> dict[str, bytes]:
    """Bytes of every table partition below a place, wherever it is."""
    root = UPath(folder)
    return {
        str(path)[len(str(root)) + 1 :]: path.read_bytes()
        for path in root.rglob("*.parquet")
        if not path.name.startswith((".", "+"))
    }


def prepared_home(folder: Path, deliveries: Path) -> Home:
    home = Home(folder)
    home.create()
    without_expectations(folder)
    home.settings_file.write_text(QUICK)
    for key in BATCHES:
        home.register(deliveries / key, key)
    return home


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    assert REASON is None, REASON
    folder = tmp_path_factory.mktemp("deployment")
    for seed, key in enumerate(BATCHES):
        write_sample(folder / "deliveries" / key, reports=10, seed=seed)
    embedded = prepared_home(folder / "embedded", folder / "deliveries")
    run = [sys.executable, "-m", "lunguage_assets.cli.main", "run", "--ranker", JUDGE]
    beside = subprocess.Popen(
        run, env=environment(embedded.root), stdout=subprocess.DEVNULL
    )
    with (
        scaled_out.running(folder, folder / "home") as services,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in services.environment.items():
            patch.setenv(name, value)
        UPath("s3://lunguage").mkdir()
        home = prepared_home(folder / "home", folder / "deliveries")
        services.start_service("code")
        for worker in WORKERS[:2]:
            services.start_worker(worker)
        with dg.DagsterInstance.get() as instance:
            killed = process_everything(services, instance)
            assert beside.wait(timeout=DEADLINE_S) == 0
            yield Deployment(
                services, instance, home, stored(embedded.root / "tables"), killed
            )


def process_everything(services: Services, instance: dg.DagsterInstance) -> str:
    """The whole chain on two workers; returns the run of the one that is killed during
    the first job.
    """
    instance.add_dynamic_partitions(REPORT_BATCH.name, list(BATCHES))
    assert CliRunner().invoke(instance_cli, ["migrate"]).exit_code == 0
    # offline judges have no rate limits
    assert (
        CliRunner()
        .invoke(instance_cli, ["concurrency", "set", "judges", "2"])
        .exit_code
        == 0
    )
    scaled_out.wait_for_workers(instance, 2)
    services.wait_for_code()
    for batch in BATCHES:
        scaled_out.launch(instance, FIRST_JOB, batch)
    services.start_service("daemon")
    victim = scaled_out.freeze_a_run(instance, FIRST_JOB)
    scaled_out.wait_for_retries(instance)
    services.kill(victim.worker)
    instance.add_run_tags(victim.run_id, {MAX_RUNTIME: "1"})  # not a day
    services.start_worker(WORKERS[2])  # as an engine restarts a container
    retries = dg.RunsFilter(tags={PARENT_RUN_ID_TAG: victim.run_id})
    retry = wait_for(
        lambda: instance.get_runs(retries), DEADLINE_S, "the run is not tried again"
    )
    # it has the tags of the run that it follows
    instance.add_run_tags(retry[0].run_id, {MAX_RUNTIME: "86400"})
    done = set(BATCHES)
    wait_for(
        lambda: scaled_out.succeeded(instance, FIRST_JOB) == done,
        DEADLINE_S,
        "not every partition is done",
    )
    for job, partitions in STAGES.items():
        scaled_out.submit(instance, job, partitions)
        wait_for(
            lambda: all(run.is_finished for run in instance.get_runs()),
            DEADLINE_S,
            f"{job} does not end",
        )
        assert scaled_out.succeeded(instance, job) == set(partitions), job
    return victim.run_id


def test_tables_on_object_storage_equal_those_of_an_embedded_run(
    deployment: Deployment,
) -> None:
    tables = stored(deployment.home.tables)
    assert str(deployment.home.tables) == "s3://lunguage/tables"
    assert tables.keys() == deployment.embedded.keys()
    assert len(tables) > 10 * len(BATCHES)
    assert [name for name in tables if tables[name] != deployment.embedded[name]] == []
    assert not (deployment.home.root / "tables").exists()


def test_only_the_run_of_a_killed_worker_is_started_again(
    deployment: Deployment,
) -> None:
    runs = deployment.instance.get_runs(dg.RunsFilter(job_name=FIRST_JOB))
    ended = {run.run_id: run.status for run in runs}
    assert ended.pop(deployment.killed) is dg.DagsterRunStatus.FAILURE
    assert list(ended.values()) == [dg.DagsterRunStatus.SUCCESS] * len(BATCHES)


def test_a_cancelled_run_stops_on_its_worker_and_the_tables_stay(
    deployment: Deployment,
) -> None:
    before = stored(deployment.home.tables)
    for _ in range(10):  # a run may be done before it can be cancelled
        run = scaled_out.start_and_cancel(
            deployment.instance, "refit", STAGES["refit"][0]
        )
        if run.status is dg.DagsterRunStatus.CANCELED:
            break
    assert run.status is dg.DagsterRunStatus.CANCELED
    messages = [entry.message for entry in deployment.instance.all_logs(run.run_id)]
    assert not any("timed out" in message for message in messages), (
        "its worker stopped it; monitoring did not have to write it off"
    )
    assert any("Terminating" in deployment.services.log(worker) for worker in WORKERS)
    assert stored(deployment.home.tables) == before
