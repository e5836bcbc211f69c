"""Automation for real: a daemon carries a new batch to its result, once, and for the
ranker in use alone.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest
from commands import lunguage
from platform_support import without_expectations
from served_home import ServedHome, wait_for

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.sample.files import write_sample
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home

pytestmark = pytest.mark.lengthy

AUTOMATIC = "\n[automation]\nenabled = true\ninterval_s = 2\n"


def test_the_daemon_carries_a_new_batch_to_its_result_once(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    without_expectations(shutil.copytree(ran[0], home))
    write_sample(tmp_path / "more", reports=5, seed=8)
    with (home / "settings.toml").open("a") as stream:
        stream.write(AUTOMATIC)
    registered = lunguage(
        home, "register", "--data", tmp_path / "more", "--batch", "second"
    )
    assert registered.returncode == 0, registered.stderr
    served = ServedHome(home)
    served.start()
    try:
        with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
            before = instance.event_log_storage.get_maximum_record_id() or 0
            definitions = build_defs(Configuration(Home(home)))
            assert (
                definitions.resolve_job_def("ingest")
                .execute_in_process(instance=instance, partition_key="second")
                .success
            )
            wait_for(
                lambda: _is_finished(instance),
                300,
                f"the batch was not carried on\n{served.logs()}",
                every=1,
            )
            materializations = {
                table: _made_since(instance, table, before)
                for table, made in TABLES.items()
                if made.partitioned_by == ("ranker", "report_batch")
            }
            phrases = _made_since(instance, "hedge_phrases", before)
            assert phrases == ["lexicon|second"]
            assert materializations == {
                table: ["panel|second"] for table in materializations
            }, "once each, and for the ranker in use alone"
            assert (
                dg.evaluate_automation_conditions(definitions, instance).total_requested
                == 0
            ), "as a daemon that starts afresh"
            automatic = instance.get_runs(
                dg.RunsFilter(tags={"lunguage/launched_by": "carry_batches_on"})
            )
            assert len(automatic) == 2, "one for the extractor, one for the ranker"
    finally:
        served.stop()


def _is_finished(instance: dg.DagsterInstance) -> bool:
    """Whether the batch has a result and no run is left to wait for; a run that failed
    ends the test at once.
    """
    runs = instance.get_runs()
    assert not [run.run_id for run in runs if run.is_failure]
    is_made = "panel|second" in _made_since(instance, "lunguage_plus_plus", 0)
    return is_made and all(run.is_finished for run in runs)


def _made_since(
    instance: dg.DagsterInstance, table: str, before: int
) -> list[str | None]:
    chosen = dg.AssetRecordsFilter(
        asset_key=dg.AssetKey(table), after_storage_id=before
    )
    return [
        record.partition_key
        for record in instance.fetch_materializations(chosen, limit=100).records
    ]
