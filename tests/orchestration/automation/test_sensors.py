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

from lunguage_assets.orchestration import landing_sensor as module
from lunguage_assets.orchestration.landing_sensor import landing_sensor
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.settings import LandingSettings
from lunguage_assets.workspace.home import Home


@dataclass
class Daemon:
    """What the daemon keeps of the sensor between ticks."""

    landing: Landing
    instance: dg.DagsterInstance
    definitions: dg.Definitions
    cursor: str | None = None
    asked: list[dg.RunRequest] = field(default_factory=list)

    def tick(self, after_s: float = 0.0) -> str:
        """Evaluate the sensor as the daemon does; what it says when it asks for
        nothing.
        """
        self.landing.now += after_s
        context = dg.SensorEvaluationContext(
            instance_ref=self.instance.get_ref(),
            instance=self.instance,
            cursor=self.cursor,
            repository_def=self.definitions.get_repository_def(),
            last_tick_completion_time=None,
            last_run_key=None,
            repository_name=None,
        )
        sensor = landing_sensor(
            self.landing.home,
            LandingSettings(),
            self.definitions.jobs,
            lambda: self.landing.now,
        )
        with context:
            data = sensor.evaluate_tick(context)
        self.cursor = data.cursor
        self.asked += data.run_requests or []
        for request in data.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(
                request.partitions_def_name, request.partition_keys
            )
        return data.skip_message or ""

    @property
    def keys(self) -> list[str | None]:
        return [request.partition_key for request in self.asked]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """One for all tests: partitioned requests want an instance on disk."""
    with dg.DagsterInstance.local_temp(
        str(tmp_path_factory.mktemp("instance"))
    ) as kept:
        yield kept


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    """A code location with the partitions of batches and the job that is asked for."""
    asset = dg.asset(name="findings", partitions_def=REPORT_BATCH)(lambda: None)
    return dg.Definitions(assets=[asset], jobs=[dg.define_asset_job("ingest", [asset])])


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Landing:
    monkeypatch.setattr("os.fsync", lambda _: None)  # no test cuts the power
    (tmp_path / "landing").mkdir()
    return Landing(tmp_path / "landing", Home(tmp_path / "home"))


@pytest.fixture
def daemon(
    on_disk: Landing,
    instance: dg.DagsterInstance,
    definitions: dg.Definitions,
    monkeypatch: pytest.MonkeyPatch,
) -> Daemon:
    monkeypatch.setenv("LUNGUAGE_LANDING", str(on_disk.root))
    return Daemon(on_disk, instance, definitions)


def test_many_deliveries_are_each_requested_once_over_several_ticks(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REQUESTS_PER_TICK", 12)
    for number in range(30):
        daemon.landing.drop(f"night-{number:03}.csv", csv(number))
    assert daemon.tick() == "Landing folder: 30 waiting."
    for requests in (12, 24, 30):
        daemon.tick(after_s=60.0)
        assert len(daemon.asked) == requests
    expected = [f"night-{number:03}" for number in range(30)]
    assert sorted(map(str, daemon.keys)) == expected
    assert sorted(daemon.landing.batches) == expected
    assert len({request.run_key for request in daemon.asked}) == 30
    assert set(daemon.instance.get_dynamic_partitions(REPORT_BATCH.name)) >= set(
        expected
    )
    assert daemon.tick() == "Landing folder: 30 landed before."
    assert len(daemon.cursor or "") < 30


def test_a_batch_of_an_interrupted_tick_is_requested_by_the_next(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.landing.drop("a.csv", csv(1))
    daemon.landing.drop("a.csv.done", "")
    with monkeypatch.context() as patch:
        patch.setattr(
            module, "request_runs", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            daemon.tick()
    assert list(daemon.landing.batches) == ["a"]
    daemon.tick()
    daemon.tick()
    assert daemon.keys == ["a"]


def test_file_names_and_report_words_are_in_no_tick_or_log(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    log_report = module.log_report

    def listening(context: dg.SensorEvaluationContext, *arguments: object) -> None:
        for level in ("info", "warning", "error"):
            monkeypatch.setattr(context.log, level, lines.append)
        log_report(context, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "log_report", listening)
    contents = {
        "Mrs Quillfeather.csv": csv(1),
        "Quillfeather.csv": csv(1),
        "Quillfeather bad.csv": b"x,y\n1,2\n",
        "Quillfeather.xlsx": b"",
    }
    for name, content in contents.items():
        daemon.landing.drop(name, content)
    lines.append(daemon.tick())
    lines.append(daemon.tick(after_s=60.0))
    # The key of a batch is made of its file's name: it is the one thing that is told.
    output = " ".join(
        [*lines, *(str(request.tags) for request in daemon.asked)]
    ).replace("mrs-quillfeather", "")
    assert "quarantined" in output
    assert "same content as batch" in output
    assert "uillfeather" not in output
    assert SPOKEN not in output


def test_without_a_landing_folder_the_sensor_says_how_to_configure_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LUNGUAGE_LANDING", raising=False)
    home = Home(tmp_path / "home")
    assert (
        landing_sensor(home, LandingSettings(), []).default_status
        is dg.DefaultSensorStatus.STOPPED
    )
    with dg.build_sensor_context() as context:
        message = (
            landing_sensor(home, LandingSettings(), [])
            .evaluate_tick(context)
            .skip_message
        )
    assert "settings.toml" in str(message)
    assert "LUNGUAGE_LANDING" in str(message)
    assert not home.root.exists()
