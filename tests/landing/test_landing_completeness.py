"""A delivery is taken when it is complete: a marker says so, or it lay unchanged between two looks, whatever
the clocks do.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from landing_drops import Landing, csv, packed

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.landing import passes
from lunguage_assets.landing.entries import LandingUnreachable
from lunguage_assets.landing.record import LandingBusy, only_one


def registered(landing: Landing, after_s: float = 0.0) -> list[str]:
    return [batch.key for batch in landing.land(after_s=after_s).registered.values()]


def test_two_looks_too_close_to_each_other_do_not_suffice(landing: Landing) -> None:
    landing.drop("a.csv", csv(1))
    assert registered(landing) == []
    assert landing.land(after_s=29.0).waiting == {"a.csv": "it may still be written to"}
    assert registered(landing, after_s=1.0) == ["a"]


def test_a_delivery_that_grows_waits_anew(landing: Landing) -> None:
    for written in range(1, 5):
        landing.drop("a.csv", csv(*range(written)))
        assert registered(landing, after_s=60.0) == []
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


def test_a_marker_older_than_the_file_is_one_of_an_earlier_delivery(on_disk: Landing) -> None:
    on_disk.drop("a.csv.done", "")
    on_disk.drop("a.csv", csv(1))
    marked = (Path(on_disk.url) / "a.csv").stat().st_mtime - 100
    os.utime(Path(on_disk.url) / "a.csv.done", (marked, marked))
    assert registered(on_disk) == []
    assert registered(on_disk, after_s=30.0) == ["a"]


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
        assert registered(landing, after_s=60.0) == []
    assert registered(landing, after_s=60.0) == ["f"]


@pytest.mark.parametrize(("machine", "seconds"), [("this", 3.0), ("another", 5000.0)])
def test_a_restart_or_another_machine_begins_the_wait_anew_and_nothing_waits_for_ever(
    landing: Landing, machine: str, seconds: float
) -> None:
    landing.drop("a.csv", csv(1))
    landing.land()
    landing.clock.machine, landing.clock.seconds = machine, seconds
    assert registered(landing) == []
    assert registered(landing, after_s=29.0) == []
    assert registered(landing, after_s=1.0) == ["a"]


def test_the_calendar_has_no_say_in_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, first = passes.uptime()
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert passes.uptime()[0] == machine
    assert 0 <= passes.uptime()[1] - first < 3600


def test_the_wait_survives_the_end_of_the_process(landing: Landing) -> None:
    landing.drop("a.csv", csv(1))
    landing.land()
    again = Landing(landing.url, landing.home, landing.clock)
    assert registered(again, after_s=30.0) == ["a"]


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


def test_a_missing_folder_or_a_wrong_address_is_told_without_its_password(on_disk: Landing) -> None:
    with pytest.raises(LandingUnreachable, match="there is no such folder"):
        Landing(on_disk.url + "/nowhere", on_disk.home).land()
    with pytest.raises(LandingUnreachable, match=r"nosuchkind://host/folder") as caught:
        Landing("nosuchkind://me:secret@host/folder", on_disk.home).land()
    assert "secret" not in str(caught.value)


def test_the_home_itself_is_no_landing_folder(on_disk: Landing) -> None:
    on_disk.home.create()
    with pytest.raises(ConfigurationError, match="it is the home itself"):
        Landing(str(on_disk.home.root), on_disk.home).land()


def test_two_processes_do_not_make_a_pass_at_once(on_disk: Landing) -> None:
    with only_one(on_disk.home), pytest.raises(LandingBusy):
        on_disk.land()
    on_disk.land()


def test_a_pass_begins_no_further_delivery_when_its_time_is_over(landing: Landing) -> None:
    for number in range(3):
        landing.drop(f"{number}.csv", csv(number))
    landing.land()
    outcome = landing.land(after_s=60.0, seconds=0.0)
    assert (set(outcome.waiting.values()), outcome.registered) == ({"it is for the next pass"}, {})
    assert list(landing.land().registered) == ["0.csv", "1.csv", "2.csv"]
