"""A delivery is taken when it is complete: a marker says so, or it lay unchanged for long enough."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from landing_drops import Landing, csv, packed

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.landing import folder, passes
from lunguage_assets.landing.folder import LandingUnreachable
from lunguage_assets.landing.record import LandingBusy, only_one


def registered(landing: Landing, after_s: float = 0.0) -> list[str]:
    return [batch.key for batch in landing.land(after_s=after_s).registered.values()]


def test_a_delivery_that_grows_waits_anew_until_it_is_old_enough(landing: Landing) -> None:
    for written in range(1, 3):
        landing.drop("a.csv", csv(*range(written)))
        assert landing.land(after_s=29.0).waiting == {"a.csv": "it may still be written to"}
    assert registered(landing, after_s=2.0) == ["a"]
    assert landing.batches["a"] == {"s00000000", "s00000001"}


@pytest.mark.parametrize("marker", ["a.csv.done", "f/.done", "f/_SUCCESS", "f.done"])
def test_a_marker_spares_the_wait_if_it_is_not_of_an_earlier_delivery(landing: Landing, marker: str) -> None:
    delivery = "a.csv" if marker.startswith("a") else "f/Lunguage.csv"
    landing.drop(marker, "")
    landing.now += 100
    landing.drop(delivery, csv(1))
    assert registered(landing) == []
    landing.drop(marker, "")
    assert registered(landing) == [delivery[0]]


def test_a_folder_waits_for_its_findings(landing: Landing) -> None:
    landing.drop("f/Lunguage_vocab.csv", "category,target_term,normed_term\n")
    assert landing.settle().waiting == {"f": "there is no Lunguage.csv and no raw report in it"}
    landing.drop("f/Lunguage.csv.part", csv(1))
    assert landing.settle().waiting == {"f": "there is no Lunguage.csv and no raw report in it"}
    landing.drop("f/Lunguage.csv", csv(1))
    assert list(landing.settle().registered) == ["f"]


@pytest.mark.parametrize("growing", [".mimic-cxr-2.0.0-metadata.csv.x7Zq", "files/p10/s9.txt"])
def test_a_file_that_grows_in_a_folder_hidden_or_deep_says_that_it_is_being_written(
    landing: Landing, growing: str
) -> None:
    landing.drop("f/1.txt", "FINDINGS: No effusion.")
    for written in range(2):
        landing.drop(f"f/{growing}", b"x" * (written + 1))
        assert registered(landing, after_s=29.0) == []
    assert registered(landing, after_s=60.0) == ["f"]


def test_a_copy_that_keeps_an_old_time_waits_too(landing: Landing) -> None:
    landing.drop("copy.csv", csv(1))
    os.utime(landing.root / "copy.csv", (1000, 1000))
    assert landing.land().waiting == {"copy.csv": "it may still be written to"}
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


@pytest.mark.parametrize("wrong", ["bad.csv", "corpus.toml"])
def test_what_cannot_be_read_at_present_waits(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    opened = folder._opened

    def refused(path: Path) -> object:
        if path.name == wrong:
            raise PermissionError
        return opened(path)

    landing.drop("good.csv", csv(1))
    landing.drop(wrong, 'data_class = "credentialed"')
    monkeypatch.setattr(folder, "_opened", refused)
    waiting = {wrong} if wrong == "bad.csv" else {"good.csv"}
    assert landing.settle().waiting == dict.fromkeys(
        waiting, "it cannot be read at present (PermissionError)"
    )
    assert ("good" in landing.batches) == (wrong == "bad.csv")


def test_a_delivery_that_was_dealt_with_is_not_read_again(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("same.csv", csv(1))
    landing.settle()
    monkeypatch.setattr(passes, "fetch", lambda *_: pytest.fail("read again"))
    assert landing.land(after_s=60.0).known == 2


def test_a_missing_folder_and_the_home_itself_are_refused(landing: Landing) -> None:
    with pytest.raises(LandingUnreachable, match="it is not there or cannot be read"):
        Landing(landing.root / "nowhere", landing.home).land()
    with pytest.raises(ConfigurationError, match="it is the home itself"):
        Landing(landing.home.root, landing.home).land()


def test_two_processes_do_not_make_a_pass_at_once(landing: Landing) -> None:
    with only_one(landing.home), pytest.raises(LandingBusy):
        landing.land()
    landing.land()


def test_a_pass_begins_no_further_delivery_when_its_time_is_over_and_goes_on_in_the_order_of_writing(
    landing: Landing,
) -> None:
    for number, name in enumerate(["c.csv", "a.csv", "b.csv"]):
        landing.drop(name, csv(number))
        os.utime(landing.root / name, (1000 + number, 1000 + number))
    outcome = landing.land(after_s=60.0, seconds=0.0)
    assert (set(outcome.waiting.values()), outcome.registered) == ({"it is for the next pass"}, {})
    assert registered(landing) == ["c", "a", "b"]
