"""Power cuts, full disks, wrong clocks, two at once, and a person who cancels: nothing
lost, nothing doubled, the same bytes in the end.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from platform_support import contents, environment, without_expectations
from served_home import ServedHome, wait_for

from lunguage_assets.tables import TABLES

pytestmark = pytest.mark.lengthy


WITHOUT_ROOM = """
import resource, sys
import dagster as dg
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.workspace.home import Home
from lunguage_assets.configuration import Configuration

job = build_defs(Configuration()).resolve_job_def("ingest")
with dg.DagsterInstance.ephemeral() as instance:
    instance.add_dynamic_partitions("report_batch", ["first"])
    for most in (int(sys.argv[1]), resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        result = job.execute_in_process(partition_key="first", instance=instance, raise_on_error=False)
        for event in result.get_step_failure_events():
            print(event.step_failure_data.user_failure_data.description)
        print("success" if result.success else "failure")
"""
"""Taking a batch in when no file may become longer than so many bytes, and then when it
may; the record of runs is in memory.
"""


@pytest.fixture
def served(ran: tuple[Path, str], tmp_path: Path) -> Iterator[ServedHome]:
    home = tmp_path / "home"
    served = ServedHome(without_expectations(shutil.copytree(ran[0], home)))
    try:
        served.start()
        yield served
    finally:
        served.kill()


def test_killed_in_a_backfill_and_started_again_the_tables_end_the_same(
    served: ServedHome, ran: tuple[Path, str]
) -> None:
    tables = [
        name
        for name, table in TABLES.items()
        if table.partitioned_by == ("ranker", "report_batch")
    ]
    for table in tables:
        shutil.rmtree(served.home / "tables" / table / "panel")
    with dg.DagsterInstance.from_config(str(served.home / "dagster")) as instance:
        backfill = served.backfill(instance, tables, "panel|first")
        runs = dg.RunsFilter(tags={"dagster/backfill": backfill})
        wait_for(
            lambda: any(
                run.status.value == "STARTED" for run in instance.get_runs(runs)
            ),
            120,
            f"no run of the backfill starts\n{served.logs()}",
        )
        served.kill()
        served.start()

        # Not the backfill's own status: Dagster takes the last tables that a run stored
        # between its two looks at the runs for failed ones.
        def has_ended() -> bool:
            status = instance.get_backfill(backfill).status.value
            return status != "REQUESTED" and all(
                run.is_finished for run in instance.get_runs(runs)
            )

        wait_for(has_ended, 300, served.logs())
        newest = instance.get_runs(runs)[0]
        assert newest.is_success, f"{newest.tags}\n{served.logs()}"
    assert contents(served.home / "tables") == contents(ran[0] / "tables")


def test_a_full_disk_leaves_the_old_tables_and_nothing_half_written(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(ran[0], home)
    room = (home / "tables" / "findings" / "first.parquet").stat().st_size - 1
    before = contents(home / "tables")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, str(room)],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reason, full, enough = done.stdout.strip().splitlines()
    assert "table findings: could not be written to" in reason
    assert (
        "(File too large). What was stored before is kept. Free space there" in reason
    )
    assert (full, enough) == ("failure", "success")
    assert contents(home / "tables") == before
