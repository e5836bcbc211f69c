"""The scaled-out deployment without containers: each service of deploy/compose.yaml as
a local process on a port of its own (PostgreSQL, Redis, object storage, daemon, two
Celery workers), driven as its users do: runs, backfills, a worker that is killed in the
middle.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import postgres_server
import pytest
from click.testing import CliRunner
from compose_file import DEPLOY, REPOSITORY, of_the_package
from dagster._cli.instance import instance_cli
from dagster._cli.job import execute_backfill_command, execute_launch_command
from dagster._cli.workspace.cli_target import WorkspaceOpts
from dagster._core.storage.tags import PARENT_RUN_ID_TAG, PARTITION_NAME_TAG
from platform_support import environment, without_expectations
from served_home import QUICK_DAEMON, free_port, wait_for
from upath import UPath

from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.sample.files import write_sample
from lunguage_assets.workspace.home import Home

if TYPE_CHECKING:
    from dagster_celery.launcher import CeleryRunLauncher

DEADLINE_S = 240.0
WORKSPACE = WorkspaceOpts(workspace=(str(DEPLOY / "workspace.yaml"),))


def missing() -> str | None:
    """Why the deployment cannot be started here, or None."""
    if (reason := postgres_server.missing()) is not None:
        return reason
    if shutil.which("redis-server") is None:
        return "the scaled-out deployment needs redis-server, and it was not found"
    modules = ("dagster_celery", "dagster_postgres", "redis", "s3fs", "moto", "flask")
    absent = [module for module in modules if find_spec(module) is None]
    return (
        f"the scaled-out deployment needs the extra 'scale': {', '.join(absent)}"
        if absent
        else None
    )


@dataclass
class Services:
    """Processes of the deployment, by name; each leads a process group, so that it can
    be killed with all its children.
    """

    environment: dict[str, str]
    logs: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        program, *arguments = command
        executable = shutil.which(program, path=self.environment["PATH"]) or program
        with (self.logs / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [executable, *arguments],
                env=self.environment,
                cwd=self.logs,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def wait_for_code(self) -> None:
        """Until the code service serves, as the health check of compose.yaml, a
        process, asks it.
        """
        port = int(self.environment["LUNGUAGE_CODE_PORT"])
        healthcheck = of_the_package()["code"]["healthcheck"]["test"][2:]
        check = [
            self.environment["LUNGUAGE_CODE_PORT"] if word == "4266" else word
            for word in healthcheck
        ]
        check = [str(Path(sys.executable).with_name("dagster")), *check]

        def serves() -> bool:
            assert self.processes["code"].poll() is None, self.log("code")
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)):
                    return False
            done = subprocess.run(
                check, env=self.environment, capture_output=True, check=False
            )
            return done.returncode == 0

        wait_for(serves, DEADLINE_S, "the code service does not serve")

    def kill(self, name: str) -> None:
        """SIGKILL, as a machine that loses power would have it: nothing is told to
        anybody.
        """
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def start_service(self, service: str, name: str = "", *more: str) -> None:
        """Start a service with the command of the image, except for the port, the place
        of the workspace file, and a daemon that looks more often.
        """
        own_variables = {
            "4266": self.environment["LUNGUAGE_CODE_PORT"],
            "0.0.0.0": "127.0.0.1",
            "/opt/lunguage/workspace.yaml": str(DEPLOY / "workspace.yaml"),
        }
        command = [
            own_variables.get(word, word)
            for word in of_the_package()[service]["command"]
        ]
        if command[0] == "dagster-daemon":
            command[:1] = [sys.executable, QUICK_DAEMON]
        self.start(name or service, *command, *more)

    def start_worker(self, name: str) -> None:
        """On one machine, workers need names to be told apart."""
        self.start_service("worker", name, "--hostname", f"{name}@here")


@contextmanager
def running(folder: Path, home: Path) -> Iterator[Services]:
    """PostgreSQL, Redis and an S3-like store for a home, and what compose.yaml gives a
    service to know; killed at the end.
    """
    from moto.server import ThreadedMotoServer

    (logs := folder / "logs").mkdir()
    (instance := folder / "dagster_home").mkdir()
    shutil.copy(DEPLOY / "dagster.yaml", instance)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server.running())
        store = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        store.start()
        stack.callback(store.stop)
        redis = str(free_port())
        history, ledger = (
            postgres_server.create_database(postgres, name)
            for name in ("dagster", "ledger")
        )
        worker_variables = of_the_package()["worker"]["environment"]
        of_the_machine = {
            "LUNGUAGE_HOME": str(home),
            "LUNGUAGE_LOGS": str(logs),
            "LUNGUAGE_DAGSTER_DATABASE": history.replace(
                "postgresql:", "postgresql+psycopg2:"
            ),
            "LUNGUAGE_LEDGER": ledger,
            "LUNGUAGE_BROKER": f"redis://127.0.0.1:{redis}/0",
            "PYTHONPATH": f"{DEPLOY}:{REPOSITORY}",
            "LUNGUAGE_CODE_HOST": "127.0.0.1",
            "LUNGUAGE_CODE_PORT": str(free_port()),
        }
        assert of_the_machine.keys() <= worker_variables.keys(), (
            "the test sets a variable that compose.yaml does not"
        )
        of_options = {
            "LUNGUAGE_TABLES": "s3://lunguage/tables",
            "AWS_ENDPOINT_URL_S3": "http://{}:{}".format(*store.get_host_and_port()),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        foreign_prefixes = ("LUNGUAGE_", "DAGSTER_", "AWS_", "PG")
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(foreign_prefixes)
        }
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        image = {"DAGSTER_HOME": str(instance), "PATH": programs}
        services = Services(
            {**kept, **worker_variables, **of_the_machine, **of_options, **image}, logs
        )
        stack.callback(services.stop)
        quiet = ("--save", "", "--dir", str(folder))
        services.start(
            "redis", "redis-server", "--port", redis, "--bind", "127.0.0.1", *quiet
        )
        yield services


def launcher(instance: dg.DagsterInstance) -> CeleryRunLauncher:
    from dagster_celery.launcher import CeleryRunLauncher

    run_launcher = instance.run_launcher
    assert isinstance(run_launcher, CeleryRunLauncher)
    return run_launcher


def launch(instance: dg.DagsterInstance, job: str, partition: str) -> None:
    """`dagster job launch`: one run of its own, as a person starts it for one
    partition. Dagster tries it again whatever became of its neighbours; of a run of a
    backfill it does not, once the backfill counts as ended.
    """
    execute_launch_command(
        instance=instance,
        workspace_opts=WORKSPACE,
        job_name=job,
        tags=json.dumps({PARTITION_NAME_TAG: partition}),
    )


def submit(instance: dg.DagsterInstance, job: str, partitions: Sequence[str]) -> None:
    """`dagster job backfill`: one run for each partition, all put into the queue at
    once.
    """
    execute_backfill_command(
        workspace_opts=WORKSPACE,
        partitions=",".join(partitions),
        noprompt=True,
        job_name=job,
        instance=instance,
        print_fn=lambda _: None,
    )


def succeeded(instance: dg.DagsterInstance, job: str) -> set[str]:
    """Partitions of a job with a run that succeeded."""
    runs = instance.get_runs(
        dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS])
    )
    return {run.tags[PARTITION_NAME_TAG] for run in runs}


def freeze_a_run(instance: dg.DagsterInstance, job: str) -> tuple[str, str]:
    """Stop the process of whichever run of a job is under way, so that it is certain to
    be unfinished: the run, and its worker.
    """
    from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

    def stopped() -> tuple[str, str] | None:
        for run in instance.get_runs(
            dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.STARTED])
        ):
            celery = launcher(instance).celery
            task = celery.AsyncResult(run.tags[DAGSTER_CELERY_TASK_ID_TAG]).info
            if not isinstance(task, dict) or "pid" not in task:
                continue
            with suppress(ProcessLookupError):
                os.kill(task["pid"], signal.SIGSTOP)
                latest = instance.get_run_by_id(run.run_id)
                if latest is not None and not latest.is_finished:
                    return run.run_id, task["hostname"].partition("@")[0]
                os.kill(task["pid"], signal.SIGCONT)
        return None

    return wait_for(stopped, DEADLINE_S, f"no run of {job} is under way")


def start_and_cancel(
    instance: dg.DagsterInstance, job: str, partition: str
) -> dg.DagsterRun:
    """What the UI does when a person cancels a run that is under way; the run as it
    ended.
    """

    def latest() -> dg.DagsterRun:
        return instance.get_runs(dg.RunsFilter(job_name=job), limit=1)[0]

    submit(instance, job, [partition])
    began = (dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.SUCCESS)
    wait_for(lambda: latest().status in began, DEADLINE_S, "the run does not begin")
    if not latest().is_finished:
        instance.report_run_canceling(latest())
        instance.run_launcher.terminate(latest().run_id)
    return wait_for(
        lambda: run if (run := latest()).is_finished else None,
        DEADLINE_S,
        "the run does not end",
    )


REASON = missing()
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
        running(folder, folder / "home") as services,
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
    # offline judges have no rate limits
    limit = ["concurrency", "set", "judges", "2"]
    for arguments in (["migrate"], limit):
        assert CliRunner().invoke(instance_cli, arguments).exit_code == 0
    control = launcher(instance).celery.control
    wait_for(
        lambda: len(control.ping(timeout=1.0)) == 2,
        DEADLINE_S,
        "not all workers answer",
    )
    services.wait_for_code()
    for batch in BATCHES:
        launch(instance, FIRST_JOB, batch)
    services.start_service("daemon")
    killed, worker = freeze_a_run(instance, FIRST_JOB)
    # Of runs that failed before it first looked, a daemon tries none again.
    cursor = {"EVENT_LOG_CONSUMER_CURSOR-PIPELINE_FAILURE"}
    wait_for(
        lambda: instance.daemon_cursor_storage.get_cursor_values(cursor),
        DEADLINE_S,
        "the daemon does not look for failed runs",
    )
    services.kill(worker)
    instance.add_run_tags(killed, {MAX_RUNTIME: "1"})  # not a day
    services.start_worker(WORKERS[2])  # as an engine restarts a container
    retries = dg.RunsFilter(tags={PARENT_RUN_ID_TAG: killed})
    retry = wait_for(
        lambda: instance.get_runs(retries), DEADLINE_S, "the run is not tried again"
    )
    # it has the tags of the run that it follows
    instance.add_run_tags(retry[0].run_id, {MAX_RUNTIME: "86400"})
    done = set(BATCHES)
    wait_for(
        lambda: succeeded(instance, FIRST_JOB) == done,
        DEADLINE_S,
        "not every partition is done",
    )
    for job, partitions in STAGES.items():
        submit(instance, job, partitions)
        wait_for(
            lambda: all(run.is_finished for run in instance.get_runs()),
            DEADLINE_S,
            f"{job} does not end",
        )
        assert succeeded(instance, job) == set(partitions), job
    return killed


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
        run = start_and_cancel(deployment.instance, "refit", STAGES["refit"][0])
        if run.status is dg.DagsterRunStatus.CANCELED:
            break
    assert run.status is dg.DagsterRunStatus.CANCELED
    messages = [entry.message for entry in deployment.instance.all_logs(run.run_id)]
    assert not any("timed out" in message for message in messages), (
        "its worker stopped it; monitoring did not have to write it off"
    )
    assert any("Terminating" in deployment.services.log(worker) for worker in WORKERS)
    assert stored(deployment.home.tables) == before
