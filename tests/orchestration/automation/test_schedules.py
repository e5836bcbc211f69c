"""Schedules and sensor: when they run, in which time zone, what they request, and whether they start by
themselves.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from acted_out import CodeLocation, defined
from finished_homes import Finished

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.automation.schedules import releases
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.resources import HomeResource

ENABLED = "[automation]\nenabled = true\nnightly = '30 2 * * *'\ntime_zone = 'Europe/Berlin'\n"


def schedule(location: CodeLocation, name: str) -> dg.ScheduleDefinition:
    return location.definitions.get_repository_def().get_schedule_def(name)


def nightly(home: Path, at: datetime) -> list[dg.RunRequest | dg.SkipReason]:
    """What the nightly schedule says at this moment."""
    standings = HomeResource(root=str(home)).standings()
    return list(releases(standings, ("panel", "cues", "lexicon"), at))


def test_nothing_starts_by_itself_before_somebody_says_so() -> None:
    off = defined()
    assert (
        off.definitions.get_repository_def().get_sensor_def("carry_batches_on").default_status
        is dg.DefaultSensorStatus.STOPPED
    )
    assert schedule(off, "nightly_release").default_status is dg.DefaultScheduleStatus.STOPPED
    on = defined(ENABLED)
    assert (
        on.definitions.get_repository_def().get_sensor_def("carry_batches_on").default_status
        is dg.DefaultSensorStatus.RUNNING
    )
    assert schedule(on, "nightly_release").default_status is dg.DefaultScheduleStatus.RUNNING


def test_the_nightly_release_is_of_every_ranker_with_a_ranking_and_a_finished_batch(
    finished: Finished,
) -> None:
    night = datetime(2026, 11, 20, 2, tzinfo=UTC)
    requests = nightly(finished.home, night)
    assert [request.partition_key for request in requests] == ["panel"]
    again = nightly(finished.home, night)
    next_night = nightly(finished.home, night + timedelta(days=1))
    assert requests[0].run_key == again[0].run_key, (
        "the same night is released once, also when the daemon was restarted in it"
    )
    assert requests[0].run_key != next_night[0].run_key


@pytest.mark.parametrize(
    "wrong",
    [
        "time_zone = 'Europe/Nowhere'",
        "nightly = 'every night'",
        "interval_s = 0",
    ],
)
def test_a_setting_that_cannot_be_is_named_with_what_was_found(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(f"[automation]\n{wrong}\n")
    with pytest.raises(ConfigurationError, match=r"automation\." + wrong.split()[0]):
        build_defs(HomeResource(root=str(tmp_path)))
