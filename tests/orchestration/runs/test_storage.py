"""The Dagster databases of a home: connections stay open, and Dagster's own classes share the files."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
import pytest

from lunguage_assets.orchestration.runs.storage import OPEN_AT_ONCE, HomeInstance, KeptEventLog

STOCK = "telemetry:\n  enabled: false\n"
KEPT = f"{STOCK}instance_class:\n  module: {HomeInstance.__module__}\n  class: {HomeInstance.__name__}\n"
QUIET: Any = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

WRITE = """
import sys
import dagster as dg
folder, run_id, count, whose = sys.argv[1:]
with dg.DagsterInstance.from_config(folder) as instance:
    run = instance.get_run_by_id(run_id)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        instance.report_engine_event(f"{whose} {number}", run)
"""
"""Another process that writes events into a run."""


COUNT = 60
"""Events of each writer."""


@dg.asset
def first() -> int:
    return 1


@dg.asset
def second(first: int) -> int:
    return first + 1


@dg.asset_check(asset=second)
def is_two(second: int) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=second == 2)


JOB = dg.Definitions(
    assets=[first, second],
    asset_checks=[is_two],
    jobs=[dg.define_asset_job("both", selection="*")],
    resources={"io_manager": dg.mem_io_manager},
    executor=dg.in_process_executor,
).resolve_job_def("both")


@contextmanager
def opened(folder: Path, configuration: str = KEPT) -> Iterator[dg.DagsterInstance]:
    folder.mkdir(exist_ok=True)
    (folder / "dagster.yaml").write_text(configuration)
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        yield instance


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an instance of which nothing was asked."""
    folder = tmp_path_factory.mktemp("made") / "dagster"
    with opened(folder):
        return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "dagster"))


def executed(instance: dg.DagsterInstance) -> str:
    result = JOB.execute_in_process(instance=instance, run_config=QUIET)
    assert result.success
    return result.run_id


def messages(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    return [entry.message for entry in instance.all_logs(run_id)]


def schema(folder: Path, run_id: str) -> tuple[set[str], list[Any]]:
    """The statements that made a run's database, however they are spaced, and the version of its tables."""
    with closing(sqlite3.connect(folder / "history" / "runs" / f"{run_id}.db")) as database:
        statements = database.execute("SELECT sql FROM sqlite_master WHERE sql > ''").fetchall()
        return {" ".join(one.split()) for (one,) in statements}, database.execute(
            "SELECT * FROM alembic_version"
        ).fetchall()


def test_the_databases_lie_beside_the_configuration_also_of_a_home_that_was_moved(tmp_path: Path) -> None:
    with opened(tmp_path / "here") as instance:
        assert isinstance(instance.event_log_storage, KeptEventLog)
        run_id = executed(instance)
    moved = (tmp_path / "here").rename(tmp_path / "there")
    with dg.DagsterInstance.from_config(str(moved)) as instance:
        assert [run.run_id for run in instance.get_runs()] == [run_id]
        assert messages(instance, run_id)
    assert not (tmp_path / "here").exists()


def test_a_process_that_is_handed_the_instance_has_the_same_one(folder: Path) -> None:
    with opened(folder) as instance:
        run_id = executed(instance)
        with dg.DagsterInstance.from_ref(instance.get_ref()) as handed:
            assert isinstance(handed, HomeInstance)
            assert messages(handed, run_id) == messages(instance, run_id)


def test_an_event_opens_no_connection(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening: list[object] = []
    connect = sqlite3.connect

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opening.append(arguments)
        return connect(*arguments, **options)

    with opened(folder) as instance:
        executed(instance)
        monkeypatch.setattr("sqlite3.dbapi2.connect", counted)
        executed(instance)
        assert len(opening) == 1, "the run's own database, and nothing for its events"
        run = instance.get_runs(limit=1)[0]
        opening.clear()
        for number in range(20):
            instance.report_engine_event(str(number), run)
        assert opening == []


def test_dagsters_own_classes_read_and_continue_what_was_written_and_the_other_way_round(
    folder: Path,
) -> None:
    with opened(folder) as kept:
        ours = executed(kept)
        written = messages(kept, ours)
    with opened(folder, STOCK) as stock:
        assert type(stock) is dg.DagsterInstance
        assert messages(stock, ours) == written
        stock.report_engine_event("continued", stock.get_run_by_id(ours))
        theirs = executed(stock)
    with opened(folder) as kept:
        assert messages(kept, ours) == [*written, "continued"]
        assert len(messages(kept, theirs)) == len(written)
        assert {run.run_id for run in kept.get_runs()} == {ours, theirs}
        assert kept.get_latest_materialization_event(second.key).run_id == theirs  # type: ignore[union-attr]
    assert schema(folder, ours) == schema(folder, theirs)


def assert_all_is_there(found: list[str], before: int, writers: Sequence[str]) -> None:
    assert len(found) == before + COUNT * len(writers)
    for whose in writers:
        assert [one for one in found if one.startswith(whose)] == [f"{whose} {n}" for n in range(COUNT)]


@pytest.mark.parametrize("configuration", [STOCK, KEPT], ids=["Dagster's classes", "the same classes"])
def test_two_instances_write_into_one_run_at_the_same_time_and_nothing_is_lost(
    configuration: str, folder: Path
) -> None:
    ready = threading.Barrier(2, timeout=60)
    with opened(folder) as ours:
        run_id = executed(ours)
        before = len(messages(ours, run_id))
        with opened(folder, configuration) as theirs:

            def write(whose: str, instance: dg.DagsterInstance) -> None:
                run = instance.get_run_by_id(run_id)
                ready.wait()
                for number in range(COUNT):
                    instance.report_engine_event(f"{whose} {number}", run)

            other = threading.Thread(target=write, args=("theirs", theirs))
            other.start()
            write("ours", ours)
            other.join(120)
        found = messages(ours, run_id)
    assert_all_is_there(found, before, ("ours", "theirs"))


@pytest.mark.lengthy
def test_processes_write_into_one_run_at_the_same_time_and_nothing_is_lost(folder: Path) -> None:
    others = list[Any]()
    with opened(folder) as instance:
        run_id = executed(instance)
        run, before = instance.get_run_by_id(run_id), len(messages(instance, run_id))
        for whose, configuration in (("stock", STOCK), ("kept", KEPT)):
            (folder / "dagster.yaml").write_text(configuration)
            command = [sys.executable, "-c", WRITE, str(folder), run_id, str(COUNT), whose]
            other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            others.append(other)
            assert other.stdout.readline() == "ready\n"
        for other in others:
            other.stdin.write("go\n")
            other.stdin.flush()
        for number in range(COUNT):
            instance.report_engine_event(f"ours {number}", run)
        assert [other.wait(120) for other in others] == [0, 0]
        found = messages(instance, run_id)
    assert_all_is_there(found, before, ("ours", "stock", "kept"))


def test_whoever_watches_a_run_with_dagsters_own_classes_is_told_at_once(folder: Path) -> None:
    told = threading.Event()
    with opened(folder) as instance:
        run_id = executed(instance)
        with opened(folder, STOCK) as webserver:
            last = webserver.get_records_for_run(run_id).cursor

            def callback(entry: dg.EventLogEntry, _: str) -> None:
                if entry.message == "look":
                    told.set()

            webserver.watch_event_logs(run_id, last, callback)
            instance.report_engine_event("look", instance.get_run_by_id(run_id))
            assert told.wait(30)
            webserver.end_watch_event_logs(run_id, callback)


def test_a_forked_process_has_connections_of_its_own(folder: Path) -> None:
    with opened(folder) as instance:
        run_id = executed(instance)
        run = instance.get_run_by_id(run_id)

        def child() -> None:
            instance.report_engine_event("of the child", run)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
        assert process.exitcode == 0
        instance.report_engine_event("of the parent", run)
        assert messages(instance, run_id)[-2:] == ["of the child", "of the parent"]
    file = folder / "history" / "runs" / f"{run_id}.db"
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_events_go_into_the_file_that_is_there_not_into_one_that_was_deleted(folder: Path) -> None:
    with opened(folder) as instance:
        executed(instance)
        with opened(folder, STOCK) as other:
            other.wipe()
        again = executed(instance)
        with opened(folder, STOCK) as other:
            assert messages(other, again) == messages(instance, again)


def test_few_databases_are_open_at_once_and_none_afterwards(folder: Path) -> None:
    runs = folder / "history" / "runs"
    with opened(folder) as instance:
        ids = [executed(instance)]
        for _ in range(OPEN_AT_ONCE + 2):
            run = instance.create_run_for_job(JOB)
            instance.report_engine_event("something", run)
            ids.append(run.run_id)
        open_now = {Path(file.path) for file in psutil.Process().open_files()}
        assert (
            len({path for path in open_now if path.parent == runs and path.suffix == ".db"}) == OPEN_AT_ONCE
        )
        assert all(messages(instance, run_id) for run_id in ids)
    assert sorted(path.name for path in runs.iterdir()) == sorted(f"{name}.db" for name in [*ids, "index"])
