"""A delivery is taken when it is complete: a marker says so, or it lay unchanged for long enough."""

from __future__ import annotations

import os

import pytest
from landing_drops import Landing, csv, packed

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.landing import passes
from lunguage_assets.landing.folder import LandingUnreachable
from lunguage_assets.landing.record import LandingBusy, only_one


def registered(landing: Landing, after_s: float = 0.0) -> list[str]:
    return [batch.key for batch in landing.land(after_s=after_s).registered.values()]


def test_a_file_waits_until_it_is_old_enough(landing: Landing) -> None:
    landing.drop("a.csv", csv(1))
    assert landing.land(after_s=29.0).waiting == {"a.csv": "it may still be written to"}
    assert registered(landing, after_s=2.0) == ["a"]


def test_a_delivery_that_grows_waits_anew(landing: Landing) -> None:
    for written in range(1, 5):
        landing.drop("a.csv", csv(*range(written)))
        assert registered(landing, after_s=29.0) == []
    assert registered(landing, after_s=60.0) == ["a"]
    assert landing.batches["a"] == {f"s{study:08d}" for study in range(4)}


@pytest.mark.parametrize("marker", ["a.csv.done"])
def test_a_marker_spares_the_wait(landing: Landing, marker: str) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop(marker, "")
    assert registered(landing) == ["a"]


@pytest.mark.parametrize("marker", ["f/.done", "f/_SUCCESS", "f.done"])
def test_a_marker_of_a_folder_may_lie_in_it_or_beside_it(landing: Landing, marker: str) -> None:
    landing.drop("f/Lunguage.csv", csv(1))
    landing.drop(marker, "")
    assert registered(landing) == ["f"]


def test_a_marker_older_than_the_file_is_one_of_an_earlier_delivery(landing: Landing) -> None:
    landing.drop("a.csv.done", "")
    landing.drop("a.csv", csv(1))
    marked = (landing.root / "a.csv").stat().st_mtime - 100
    os.utime(landing.root / "a.csv.done", (marked, marked))
    assert registered(landing) == []
    assert registered(landing, after_s=31.0) == ["a"]


def test_a_folder_waits_for_its_findings_and_for_files_under_temporary_names(landing: Landing) -> None:
    landing.drop("f/Lunguage_vocab.csv", "category,target_term,normed_term\n")
    assert landing.settle().waiting == {"f": "there is no Lunguage.csv and no raw report in it"}
    landing.drop("f/Lunguage.csv.part", csv(1))
    assert landing.settle().waiting == {"f": "there is no Lunguage.csv and no raw report in it"}
    landing.drop("f/Lunguage.csv", csv(1))
    assert landing.settle().waiting == {"f": "a file in it has a temporary name"}
    (landing.root / "f" / "Lunguage.csv.part").unlink()
    assert list(landing.settle().registered) == ["f"]


def test_a_hidden_file_that_grows_in_a_folder_says_that_it_is_being_written(landing: Landing) -> None:
    landing.drop("f/Lunguage.csv", csv(1))
    for written in range(3):
        landing.drop("f/.mimic-cxr-2.0.0-metadata.csv.x7Zq", b"x" * (written + 1))
        assert registered(landing, after_s=29.0) == []
    assert registered(landing, after_s=60.0) == ["f"]


def test_a_copy_that_keeps_an_old_time_waits_too_and_a_time_in_the_future_is_told(landing: Landing) -> None:
    landing.drop("copy.csv", csv(1))
    landing.drop("future.csv", csv(2))
    os.utime(landing.root / "copy.csv", (1000, 1000))
    os.utime(landing.root / "future.csv", (landing.now + 9999, landing.now + 9999))
    assert landing.land().waiting == {
        "copy.csv": "it may still be written to",
        "future.csv": "its time lies in the future: touch it, or mark it as complete",
    }
    assert registered(landing, after_s=60.0) == ["copy"]


@pytest.mark.parametrize("written", [packed(csv(1)), packed(csv(1))[:-9]])
def test_a_delivery_that_changes_while_it_is_read_is_left_for_later(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, written: bytes
) -> None:
    landing.drop("a.csv.gz", written)
    fetch = passes.fetch

    def slow(*arguments: object) -> object:
        try:
            return fetch(*arguments)  # type: ignore[arg-type]
        finally:
            landing.drop("a.csv.gz", packed(csv(1, 2)))

    with monkeypatch.context() as patch:
        patch.setattr(passes, "fetch", slow)
        assert landing.settle().waiting == {"a.csv.gz": "it changed while it was read"}
    landing.settle()
    assert landing.batches == {"a": {"s00000001", "s00000002"}}


def test_a_delivery_that_was_dealt_with_is_not_read_again(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("same.csv", csv(1))
    landing.settle()
    monkeypatch.setattr(passes, "fetch", lambda *_: pytest.fail("read again"))
    assert landing.land(after_s=60.0).known == 2


def test_a_missing_folder_is_told(landing: Landing) -> None:
    with pytest.raises(LandingUnreachable, match="there is no such folder"):
        Landing(landing.root / "nowhere", landing.home).land()


def test_the_home_itself_is_no_landing_folder(landing: Landing) -> None:
    landing.home.create()
    with pytest.raises(ConfigurationError, match="it is the home itself"):
        Landing(landing.home.root, landing.home).land()


def test_two_processes_do_not_make_a_pass_at_once(landing: Landing) -> None:
    with only_one(landing.home), pytest.raises(LandingBusy):
        landing.land()
    landing.land()


def test_a_pass_begins_no_further_delivery_when_its_time_is_over(landing: Landing) -> None:
    for number in range(3):
        landing.drop(f"{number}.csv", csv(number))
    outcome = landing.land(after_s=60.0, seconds=0.0)
    assert (set(outcome.waiting.values()), outcome.registered) == ({"it is for the next pass"}, {})
    assert list(landing.land().registered) == ["0.csv", "1.csv", "2.csv"]
