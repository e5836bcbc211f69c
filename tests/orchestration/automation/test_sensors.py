"""The sensor `landing`: a new batch is asked for once, and what else was seen is said
in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from landing_drops import SPOKEN, Landing, csv

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration import landing_sensor as module
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.landing_sensor import landing_sensor
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.settings import LandingSettings
from lunguage_assets.workspace.home import Home

ASSET = dg.asset(name="findings", partitions_def=REPORT_BATCH)(lambda: None)
INGEST = dg.define_asset_job("ingest", [ASSET])
DEFINITIONS = dg.Definitions(assets=[ASSET], jobs=[INGEST])
"""A code location with the partitions of batches and the job that is asked for."""


@dataclass
class Daemon:
    """What the daemon keeps of the sensor between ticks."""

    landing: Landing
    instance: dg.DagsterInstance
    cursor: str | None = None
    asked: list[dg.RunRequest] = field(default_factory=list)

    def tick(self) -> str:
        """Evaluate the sensor as the daemon does; what it says when it asks for
        nothing.
        """
        settings = LandingSettings(stable_s=0.0)
        sensor = landing_sensor(
            self.landing.home, self.landing.root, settings, DEFINITIONS.jobs
        )
        with dg.SensorEvaluationContext(
            instance_ref=self.instance.get_ref(),
            instance=self.instance,
            cursor=self.cursor,
            repository_def=DEFINITIONS.get_repository_def(),
            last_tick_completion_time=None,
            last_run_key=None,
            repository_name=None,
        ) as context:
            data = sensor.evaluate_tick(context)
        self.cursor = data.cursor
        self.asked += data.run_requests or []
        for request in data.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(
                request.partitions_def_name, request.partition_keys
            )
        return data.skip_message or ""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """One for all tests: partitioned requests want an instance on disk."""
    with dg.DagsterInstance.local_temp(
        str(tmp_path_factory.mktemp("instance"))
    ) as kept:
        yield kept


@pytest.fixture
def daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> Daemon:
    monkeypatch.setattr("os.fsync", lambda _: None)  # no test cuts the power
    (tmp_path / "landing").mkdir()
    return Daemon(Landing(tmp_path / "landing", Home(tmp_path / "home")), instance)


def test_a_batch_is_requested_once_also_after_an_interrupted_tick(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        daemon.landing.drop(f"night-{number}.csv", csv(number))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "request_runs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            daemon.tick()
    assert daemon.tick() == ""
    expected = {f"night-{number}" for number in range(3)}
    assert {request.partition_key for request in daemon.asked} == expected
    assert expected <= {*daemon.instance.get_dynamic_partitions(REPORT_BATCH.name)}
    assert daemon.tick() == "Landing folder: 3 landed before."
    # A batch that was removed and other content under its name is asked for, too.
    daemon.landing.home.remove("night-2")
    daemon.landing.drop("night-2.csv", csv(9))
    daemon.tick()
    assert len({request.run_key for request in daemon.asked}) == 4


def test_file_names_and_report_words_are_in_no_tick_or_log(
    daemon: Daemon, capfd: pytest.CaptureFixture[str]
) -> None:
    daemon.landing.drop("Mrs Quillfeather.csv", csv(1))
    daemon.landing.drop("Quillfeather.csv", csv(1))
    daemon.landing.drop("Quillfeather bad.csv", b"x,y\n1,2\n")
    said = daemon.tick() + daemon.tick()
    printed = capfd.readouterr()
    tags = str([request.tags for request in daemon.asked])
    output = " ".join([said, printed.out, printed.err, tags])
    # The key of a batch is made of its file's name: it is the one thing that is told.
    output = output.replace("mrs-quillfeather", "")
    assert "quarantined" in output
    assert "uillfeather" not in output
    assert SPOKEN not in output


def test_there_is_a_sensor_where_there_is_a_landing_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sensors() -> set[str]:
        repository = build_defs(Configuration(Home(tmp_path))).get_repository_def()
        return {sensor.name for sensor in repository.sensor_defs}

    monkeypatch.delenv("LUNGUAGE_LANDING", raising=False)
    assert sensors() == {"carry_batches_on", "observe_sources"}
    (tmp_path / "settings.toml").write_text('[landing]\nurl = "in"\n')
    assert sensors() == {"carry_batches_on", "observe_sources", "landing"}
