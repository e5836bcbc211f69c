"""What automation asks for, acted out: a new batch is carried to its result for the
rankers in use, once; what failed is not tried again before something changes; a new
reference scale refits nothing by itself. And the schedule: when it runs, what it
requests, and whether it starts by itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from acted_out import TAKEN_IN, Acted, defined, everything_of, in_use, located
from finished_homes import Finished

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.automation import nightly_schedule
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.instance import command_at_work
from lunguage_assets.settings import AutomationSettings
from lunguage_assets.workspace.home import Home


@pytest.fixture
def acted() -> Acted:
    """A home with one finished batch of ranker `panel`; `cues` and `lexicon` were never
    ranked.
    """
    return in_use(Acted())


def test_a_new_batch_goes_to_the_end_once_for_rankers_in_use(
    acted: Acted,
) -> None:
    acted.deliver("new")
    assert acted.tick() == {"hedge_phrases": {"lexicon|new"}}
    run = acted.start(["hedge_phrases"], "lexicon|new")
    assert acted.tick() == {}, "its run waits or works"
    acted.make(run, "hedge_phrases")
    acted.succeed(run)
    assert acted.tick() == everything_of("panel|new")
    started = acted.start(everything_of("panel|new"), "panel|new")
    assert acted.tick() == {}
    acted.make(started, "fitted_probabilities")
    assert acted.tick() == {}, "the run that made the fits goes on to the rest"


def test_without_a_ranking_only_phrases_are_extracted() -> None:
    acted = Acted()
    acted.deliver("unseen")
    assert acted.carry() == [{"hedge_phrases": {"lexicon|unseen"}}]


def test_a_batch_taken_in_again_is_not_fitted_with_old_phrases(
    acted: Acted,
) -> None:
    assert acted.tick() == {}
    acted.done(TAKEN_IN, "old")
    assert acted.tick() == {"hedge_phrases": {"lexicon|old"}}, (
        "the fits wait for the phrases"
    )
    acted.finish({"hedge_phrases": {"lexicon|old"}})
    assert acted.tick() == everything_of("panel|old")


def taken_in_and_read(acted: Acted, *batches: str) -> None:
    acted.deliver(*batches)
    acted.finish({"hedge_phrases": {f"lexicon|{batch}" for batch in batches}})


def test_a_batch_whose_guarantees_fail_waits_and_the_others_go_on(acted: Acted) -> None:
    taken_in_and_read(acted, "bad", "good")
    assert acted.tick() == everything_of("panel|bad", "panel|good")
    run = acted.start(everything_of("panel|bad"), "panel|bad")
    for table in ("fitted_probabilities", "deduplicated_findings", "expansions"):
        acted.make(run, table)
    acted.fail(run)
    acted.finish(everything_of("panel|good"))
    assert acted.carry() == [], "no second try of the failed one"


def test_a_failed_or_cancelled_batch_is_tried_when_taken_in_again(
    acted: Acted,
) -> None:
    taken_in_and_read(acted, "failed", "cancelled")
    assert acted.tick() == everything_of("panel|failed", "panel|cancelled")
    acted.fail(acted.start(everything_of("panel|failed"), "panel|failed"))
    run = acted.start(everything_of("panel|cancelled"), "panel|cancelled")
    acted.instance.report_run_canceling(run)
    acted.instance.report_run_canceled(run)
    assert acted.tick() == {}
    for batch in ("failed", "cancelled"):
        acted.done(TAKEN_IN, batch)
    assert acted.tick() == {"hedge_phrases": {"lexicon|failed", "lexicon|cancelled"}}


def test_nothing_is_requested_while_a_command_is_at_work(
    tmp_path: Path,
) -> None:
    acted = in_use(Acted(located(tmp_path)))
    with command_at_work(acted.instance, tmp_path):
        acted.deliver("new")
        assert acted.tick() == {}
    assert acted.tick() == {"hedge_phrases": {"lexicon|new"}}


def test_a_new_ranking_refits_no_old_batch(
    acted: Acted,
) -> None:
    assert acted.tick() == {}
    acted.done(["reference_ranking"], "panel")
    assert acted.tick() == {}
    acted.deliver("new")
    assert acted.tick() == {"hedge_phrases": {"lexicon|new"}}, "not the old batch"
    acted.finish({"hedge_phrases": {"lexicon|new"}})
    assert acted.tick() == everything_of("panel|new")


ENABLED = "[automation]\nenabled = true\nnightly = '30 2 * * *'\ntime_zone = 'Europe/Berlin'\n"


@pytest.mark.parametrize(("settings", "runs"), [("", "STOPPED"), (ENABLED, "RUNNING")])
def test_nothing_starts_by_itself_before_somebody_says_so(
    settings: str, runs: str
) -> None:
    repository = defined(settings).definitions.get_repository_def()
    assert repository.get_sensor_def("carry_batches_on").default_status.value == runs
    assert repository.get_schedule_def("nightly_release").default_status.value == runs


def test_the_nightly_release_is_of_every_ranker_with_a_batch(
    finished: Finished,
) -> None:
    schedule = nightly_schedule(("panel", "cues", "lexicon"), AutomationSettings())
    night = datetime(2026, 11, 20, 2, tzinfo=UTC)
    keys = []
    for at in (night, night, night + timedelta(days=1)):
        context = dg.build_schedule_context(
            scheduled_execution_time=at,
            resources={"configuration": Configuration(Home(finished.home))},
        )
        (request,) = schedule(context)
        assert request.partition_key == "panel"
        keys.append(request.run_key)
    assert keys[0] == keys[1] != keys[2], (
        "once a night, also when the daemon was restarted in it"
    )


@pytest.mark.parametrize(
    "wrong",
    ["time_zone = 'Europe/Nowhere'", "nightly = 'every night'", "interval_s = 0"],
)
def test_a_setting_that_cannot_be_is_named_with_what_was_found(
    wrong: str, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text(f"[automation]\n{wrong}\n")
    with pytest.raises(ConfigurationError, match=r"automation\." + wrong.split()[0]):
        build_defs(Configuration(Home(tmp_path)))
