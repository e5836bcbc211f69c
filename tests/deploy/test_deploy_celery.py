"""The scaled-out deployment, started from deploy/ without containers: PostgreSQL, Redis, object storage,
daemon, two Celery workers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
import scaled_out
from click.testing import CliRunner
from compose_file import DEPLOY
from dagster._cli.instance import instance_cli
from platform_support import contents, environment
from scaled_out import Services, eventually
from upath import UPath

from lunguage_assets.home.home import Home
from lunguage_assets.home.table_place import open_place
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.sample import write_sample

REASON = scaled_out.missing()
pytestmark = [
    pytest.mark.lengthy,
    pytest.mark.skipif(REASON is not None and not os.environ.get("CI"), reason=str(REASON)),
]

BATCHES = ("first", "second", "third")
WORKERS = ("one", "two", "three")
QUICK = "[explicit]\nrepetitions = 1\norders = 3\nbootstrap = 10\n"


@dataclass(frozen=True)
class Deployment:
    """A scaled-out deployment after all its runs, and the tables of an embedded run of the same
    deliveries.
    """

    services: Services
    instance: dg.DagsterInstance
    home: Home
    embedded: dict[str, bytes]
    killed: str
    """The run whose worker was killed."""

    def of_job(self, job: str) -> list[dg.DagsterRun]:
        return list(self.instance.get_runs(dg.RunsFilter(job_name=job)))


def stored(place: Path | UPath) -> dict[str, bytes]:
    """Bytes of every table partition below a place, wherever it is."""
    root = UPath(place)
    return {
        str(path)[len(str(root)) + 1 :]: path.read_bytes()
        for path in root.rglob("*.parquet")
        if not path.name.startswith((".", "+"))
    }


def prepared_home(folder: Path, deliveries: Path) -> Home:
    home = Home(folder)
    home.create()
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
    with (
        embedded_run(embedded, folder / "deliveries" / BATCHES[-1]) as beside,
        scaled_out.running(folder, folder / "home") as services,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in scaled_out.variables_of_its_process(services).items():
            patch.setenv(name, value)
        UPath("s3://lunguage").mkdir()
        home = prepared_home(folder / "home", folder / "deliveries")
        services.start_service("code")
        for worker in WORKERS[:2]:
            services.start_worker(worker)
        with dg.DagsterInstance.get() as instance:
            killed = process_everything(services, instance)
            assert beside.wait(timeout=scaled_out.DEADLINE_S) == 0
            yield Deployment(services, instance, home, stored(embedded.root / "tables"), killed)


@contextmanager
def embedded_run(home: Home, delivery: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`lunguage run`, in a process of its own, so that it goes on while the deployment waits for its
    daemon.
    """
    command = [
        sys.executable,
        "-m",
        "lunguage_assets.cli.main",
        "run",
        "--data",
        str(delivery),
        "--batch",
        delivery.name,
    ]
    process = subprocess.Popen(
        command, env=environment(home.root), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def process_everything(services: Services, instance: dg.DagsterInstance) -> str:
    """The whole chain on two workers, one of which is killed during the first backfill; returns the run that
    it had.
    """
    import driven_runs

    judges = load_judges()
    instance.add_dynamic_partitions(REPORT_BATCH.name, list(BATCHES))
    assert CliRunner().invoke(instance_cli, ["migrate"]).exit_code == 0
    assert (
        CliRunner().invoke(instance_cli, ["concurrency", "set", "judges", "2"]).exit_code == 0
    )  # offline judges have no rate limits
    driven_runs.wait_for_workers(instance, 2)
    services.wait_for_code()
    driven_runs.request_backfill(instance, "ingest", BATCHES)
    services.start_service("daemon")
    eventually("a partition is done", lambda: driven_runs.succeeded(instance, "ingest"))
    victim = driven_runs.freeze_a_run(instance, "ingest")
    services.kill(victim.worker)
    instance.add_run_tags(victim.run_id, {"dagster/max_runtime": "90"})  # not a day
    eventually("every partition is done", lambda: driven_runs.succeeded(instance, "ingest") == set(BATCHES))

    services.start_worker(WORKERS[2])  # as an engine restarts a container
    driven_runs.wait_for_workers(instance, 2)
    of_extractor, of_panel = ([f"{key}|{batch}" for batch in BATCHES] for key in (judges.extractor, "panel"))
    stages = {
        "extract_hedges": of_extractor,
        "build_vocabulary": [judges.extractor],
        "compare": list(judges.members("panel")),
        "rank": ["panel"],
        "fit": of_panel,
        "expand": of_panel,
    }
    for job, partitions in stages.items():
        driven_runs.submit(instance, job, partitions)
        eventually(f"{job} has ended", lambda: driven_runs.all_ended(instance))
        assert driven_runs.succeeded(instance, job) == set(partitions), job
    return victim.run_id


def test_the_tables_on_object_storage_are_those_of_an_embedded_run_byte_for_byte(
    deployment: Deployment,
) -> None:
    found = stored(deployment.home.tables)
    assert str(deployment.home.tables) == "s3://lunguage/tables"
    assert found.keys() == deployment.embedded.keys()
    assert len(found) > 10 * len(BATCHES)
    assert [name for name in found if found[name] != deployment.embedded[name]] == []
    assert not (deployment.home.root / "tables").exists()


def test_the_run_of_the_killed_worker_is_made_again_by_itself_and_nothing_else_is(
    deployment: Deployment,
) -> None:
    ended = {run.run_id: run.status for run in deployment.of_job("ingest")}
    assert ended.pop(deployment.killed) is dg.DagsterRunStatus.FAILURE
    assert list(ended.values()) == [dg.DagsterRunStatus.SUCCESS] * len(BATCHES)


def test_every_worker_had_a_part(deployment: Deployment) -> None:
    for worker in WORKERS:
        assert "Task execute_job[" in deployment.services.log(worker)


def test_a_cancelled_run_stops_on_its_worker_and_the_tables_stay(deployment: Deployment) -> None:
    import driven_runs

    before = stored(deployment.home.tables)
    for _ in range(10):  # a run may be done before it can be cancelled
        run = driven_runs.start_and_cancel(deployment.instance, "expand", f"panel|{BATCHES[0]}")
        if run.status is dg.DagsterRunStatus.CANCELED:
            break
    assert run.status is dg.DagsterRunStatus.CANCELED
    messages = [entry.message for entry in deployment.instance.all_logs(run.run_id)]
    assert not any("timed out" in message for message in messages), (
        "its worker stopped it; monitoring did not have to write it off"
    )
    assert any("Terminating" in deployment.services.log(worker) for worker in WORKERS)
    assert stored(deployment.home.tables) == before


def test_a_back_up_brings_tables_history_and_home_back_on_empty_storage(
    deployment: Deployment, tmp_path: Path
) -> None:
    def script(name: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [str(scaled_out.ENTRYPOINT), str(DEPLOY / name), str(tmp_path / "backup")]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    old = {
        **deployment.services.environment,
        "PATH": scaled_out.with_postgres_tools(deployment.services.environment["PATH"]),
    }
    written = script("backup.sh", old)
    assert written.returncode == 0, written.stderr
    assert "is not empty" in script("restore.sh", old).stderr, "a home in use is not written over"

    new = {
        **old,
        "LUNGUAGE_HOME": str(tmp_path / "restored"),
        "LUNGUAGE_TABLES": "s3://lunguage/restored",
        "LUNGUAGE_LEDGER": deployment.services.create_database("ledger_restored"),
        "LUNGUAGE_DAGSTER_DATABASE": deployment.services.create_database("dagster_restored").replace(
            "postgresql:", "postgresql+psycopg2:"
        ),
    }
    damaged = tmp_path / "backup" / "home.tar"
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1])
    assert "is damaged" in script("restore.sh", new).stderr
    damaged.write_bytes(whole)
    restored = script("restore.sh", new)
    assert restored.returncode == 0, restored.stderr

    before, after = contents(deployment.home.root), contents(tmp_path / "restored")
    changed = {"lunguage.duckdb", "tables_at.json"}  # they name the new place
    assert {name: content for name, content in after.items() if name not in changed} == {
        name: content for name, content in before.items() if name not in changed
    }
    assert stored(open_place("s3://lunguage/restored")) == stored(deployment.home.tables)
    assert history(new, tmp_path) == history(old, tmp_path)


def history(environment: dict[str, str], folder: Path) -> list[tuple[str, str, int]]:
    """Runs with their ends and the number of their events, as an instance on the database tells them."""
    place = folder / "instance"
    place.mkdir(exist_ok=True)
    shutil.copy(DEPLOY / "dagster.yaml", place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUNGUAGE_DAGSTER_DATABASE", environment["LUNGUAGE_DAGSTER_DATABASE"])
        with dg.DagsterInstance.from_config(str(place)) as instance:
            return sorted(
                (run.run_id, run.status.value, len(instance.all_logs(run.run_id)))
                for run in instance.get_runs()
            )
