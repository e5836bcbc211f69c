"""A new batch is carried to its result for the rankers in use, once, and nothing else is asked for."""

from __future__ import annotations

import dagster as dg
from acted_out import TAKEN_IN, Acted, everything_of


def test_a_new_batch_is_read_by_the_extractor_and_carried_to_the_end_once_for_the_rankers_in_use_alone(
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


def test_many_batches_at_once_flow_together_and_a_lost_cursor_asks_for_nothing_twice(acted: Acted) -> None:
    names = [f"b{number}" for number in range(4)]
    acted.deliver(*names)
    acted.finish(acted.tick())
    acted.forget_cursor()
    assert acted.tick() == everything_of(*(f"panel|{name}" for name in names))
    acted.finish(everything_of(*(f"panel|{name}" for name in names)))
    acted.forget_cursor()
    assert acted.tick() == {}


def test_without_a_ranking_only_phrases_are_extracted_also_of_batches_taken_in_while_nobody_looked() -> None:
    acted = Acted()
    acted.deliver("unseen")
    assert acted.carry() == [{"hedge_phrases": {"lexicon|unseen"}}]


def test_a_batch_that_is_taken_in_again_flows_again_and_is_not_fitted_with_its_old_phrases(
    acted: Acted,
) -> None:
    assert acted.tick() == {}
    acted.done(TAKEN_IN, "old")
    acted.outdated("hedge_phrases", "lexicon", "old")
    assert acted.tick() == {"hedge_phrases": {"lexicon|old"}}, "the fits wait for the phrases"
    acted.finish({"hedge_phrases": {"lexicon|old"}})
    assert acted.tick() == everything_of("panel|old")


def test_every_partition_that_is_requested_becomes_a_run_of_its_own(acted: Acted) -> None:
    acted.deliver("a", "b")
    acted.finish({"hedge_phrases": {"lexicon|a", "lexicon|b"}})
    repository = acted.definitions.get_repository_def()
    sensor = repository.get_sensor_def("carry_batches_on")
    with dg.build_sensor_context(acted.instance, repository_def=repository) as context:
        requests = sensor.evaluate_tick(context).run_requests or []
    assert sorted(str(request.partition_key) for request in requests) == ["panel|a", "panel|b"]
    for request in requests:
        assert {key.path[-1] for key in request.asset_selection or ()} == everything_of("panel|a").keys()
        assert dg.AssetCheckKey(dg.AssetKey("lunguage_plus_plus"), "conflict_free") in (
            request.asset_check_keys or ()
        )
