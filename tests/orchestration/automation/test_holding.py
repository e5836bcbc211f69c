"""What failed is not tried again before something changes, holds back what follows from it, and holds back
nothing else.
"""

from __future__ import annotations

from pathlib import Path

from acted_out import TAKEN_IN, Acted, defined, everything_of, in_use, located

from lunguage_assets.orchestration.runs.instance import command_at_work

BEFORE_RESOLUTION = (
    "fitted_probabilities",
    "deduplicated_findings",
    "expansions",
)


def taken_in_and_read(acted: Acted, *batches: str) -> None:
    acted.deliver(*batches)
    acted.finish({"hedge_phrases": {f"lexicon|{batch}" for batch in batches}})


def test_a_batch_whose_guarantees_fail_waits_and_the_others_go_on(acted: Acted) -> None:
    taken_in_and_read(acted, "bad", "good")
    assert acted.tick() == everything_of("panel|bad", "panel|good")
    run = acted.start(everything_of("panel|bad"), "panel|bad")
    for table in BEFORE_RESOLUTION:
        acted.make(run, table)
    acted.fail(run)
    acted.finish(everything_of("panel|good"))
    assert acted.carry() == [], "no second try of the failed one"


def test_a_failed_batch_is_tried_again_when_it_is_taken_in_again_and_a_cancelled_one_likewise(
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
        acted.outdated("hedge_phrases", "lexicon", batch)
    assert acted.tick() == {"hedge_phrases": {"lexicon|failed", "lexicon|cancelled"}}


def test_phrases_that_could_not_be_extracted_hold_the_fits_of_their_batch_alone(acted: Acted) -> None:
    assert acted.tick() == {}
    acted.done(TAKEN_IN, "old")
    acted.outdated("hedge_phrases", "lexicon", "old")
    assert acted.tick() == {"hedge_phrases": {"lexicon|old"}}
    acted.fail(acted.start(["hedge_phrases"], "lexicon|old"))
    acted.deliver("new")
    assert acted.carry() == [{"hedge_phrases": {"lexicon|new"}}, everything_of("panel|new")]


def test_every_blocking_check_has_the_partitions_of_its_table() -> None:
    graph = defined().definitions.resolve_asset_graph()
    blocking = [graph.get(key) for key in graph.asset_check_keys if graph.get(key).blocking]
    assert {check.key.name for check in blocking} >= {"conflict_free"}
    for check in blocking:
        assert check.partitions_def == graph.get(check.key.asset_key).partitions_def, (
            "Dagster keeps only one result of all partitions"
        )


def test_while_a_command_of_the_home_is_at_work_nothing_is_requested_and_afterwards_it_is(
    tmp_path: Path,
) -> None:
    acted = in_use(Acted(located(tmp_path)))
    with command_at_work(tmp_path), command_at_work(tmp_path):
        acted.deliver("new")
        assert acted.tick() == {}
    assert acted.tick() == {"hedge_phrases": {"lexicon|new"}}
