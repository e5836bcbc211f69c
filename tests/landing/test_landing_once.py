"""Every content becomes one batch, once: under any names, in any order of events, killed anywhere."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import pytest
from interrupted import Killed, killed_after
from landing_drops import DECLARED, Landing, csv, rows
from profiles import spread

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Home
from lunguage_assets.landing.record import load_record, record_folder


def test_a_batch_has_a_higher_number_than_removed_ones_though_the_clock_was_set_back(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the sensor, whose cursor is a number, would never ask for it."""
    landing.drop("a.csv", csv(1))
    landing.settle()
    before = load_record(landing.home).batches["a"].number
    landing.home.remove("a", "ada", "2026-11-22T10:00:00+00:00")
    monkeypatch.setattr("time.time_ns", lambda: 1)
    landing.settle()
    landing.drop("b.csv", csv(2))
    landing.settle()
    assert load_record(landing.home).batches["b"].number > before


def test_other_content_under_the_same_name_is_another_batch(
    landing: Landing,
) -> None:
    landing.drop("night.csv", csv(1, 2, 3))
    landing.settle()
    landing.drop("night.csv", csv(2, 3, 4, ent="edema"))
    (batch,) = landing.settle().registered.values()
    assert batch.key == f"night-{batch.sha256[:8]}"
    assert batch.studies == 3
    assert [known.key for known in landing.home.registered()] == ["night", batch.key]


def test_names_that_make_the_same_key_do_not_collide(landing: Landing) -> None:
    names = ["Ward A.csv", "ward-a.csv", "WARD_A.csv", "病棟.csv", "院.csv", "a[1] #2 50%?*.csv"]
    for number, name in enumerate(names):
        landing.drop(name, csv(number))
    landing.settle()
    assert sorted(map(len, landing.batches.values())) == [1] * 6
    assert {"ward-a", "ward_a", "batch", "a-1-2-50"} < set(landing.batches)


def test_content_of_batches_that_came_another_way_is_known(landing: Landing, tmp_path: Path) -> None:
    (tmp_path / "by-hand").mkdir()
    (tmp_path / "by-hand" / "Lunguage.csv").write_bytes(csv(1, 2))
    landing.home.register(tmp_path / "by-hand", "by-hand")
    landing.drop("more.csv", csv(2, 3))
    landing.drop("same.csv", csv(1, 2))
    outcome = landing.settle()
    assert outcome.skipped == {"same.csv": "by-hand"}
    assert [batch.key for batch in outcome.registered.values()] == ["more"]


def test_deliveries_are_taken_in_the_order_in_which_they_were_written(landing: Landing) -> None:
    for number, name in enumerate(["c.csv", "a.csv", "b.csv"]):
        landing.drop(name, csv(number))
        os.utime(landing.root / name, (1000 + number, 1000 + number))
    assert [batch.key for batch in landing.settle().registered.values()] == ["c", "a", "b"]


def test_a_batch_that_is_removed_from_the_home_comes_back_while_its_delivery_lies_there(
    landing: Landing,
) -> None:
    landing.drop("a.csv", csv(1))
    landing.settle()
    shutil.rmtree(landing.home.batches / "a")
    landing.settle()
    assert landing.batches == {"a": {"s00000001"}}


def test_what_somebody_has_removed_does_not_come_back_by_itself(landing: Landing) -> None:
    landing.drop("a.csv", csv(1))
    landing.settle()
    landing.home.remove("a", "ada", "2026-11-22T10:00:00+00:00")
    outcome = landing.settle()
    assert landing.batches == {}
    assert "removed as batch a on 2026-11-22" in outcome.waiting["a.csv"]


def test_without_its_record_everything_is_recognised_and_nothing_is_registered_again(
    landing: Landing,
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.settle()
    before = landing.home.registered()
    record = landing.home.root / "landing-record" / "record.json"
    record.write_text("no record")
    with pytest.raises(ConfigurationError, match="Remove it"):
        landing.land()
    record.unlink()
    assert landing.settle().skipped == {"a.csv": "a", "f": "f"}
    assert landing.home.registered() == before


def end_state(landing: Landing) -> tuple[object, ...]:
    """Batches with their bytes, what has been counted of them, and the landing folder."""
    record = load_record(landing.home)
    counted = [
        (batch.key, batch.studies, batch.rows, batch.rejected)
        for batch in sorted(record.batches.values(), key=lambda batch: batch.number)
    ]
    stored = {
        batch.key: (landing.home.delivery(batch.key).findings.read_bytes(), batch.number)
        for batch in landing.home.registered()
    }
    in_home = {path.name for path in record_folder(landing.home).iterdir()}
    files = {name: (landing.root / name).read_bytes() for name in landing.files}
    return stored, counted, in_home, files, landing.home.corpus()


def prepared(folder: Path) -> Landing:
    """Deliveries of every kind, complete at the next look."""
    (folder / "landing").mkdir(parents=True)
    landing = Landing(folder / "landing", Home(folder / "home"))
    contents = {
        "corpus.toml": DECLARED,
        "a.csv": csv(1, 2),
        "b.csv": rows(2, 3).to_csv(index=False).encode() + b"p10000001,s00000004,none,x,y,z,z\n",
        "bad.csv": csv(1).replace(b"sent,", b"", 1),
        "f/Lunguage.csv": csv(5),
        "f/corpus.toml": 'name = "other"\n',
        "f/deeper/note.txt": "for people",
        "twin.csv": csv(1, 2),
    }
    for number, (file, content) in enumerate(contents.items()):
        landing.drop(file, content)
        os.utime(landing.root / file, (1000 + number, 1000 + number))
    for marker in ("bad.csv.done", "f/.done"):
        landing.drop(marker, "")
        os.utime(landing.root / marker, (2000, 2000))
    landing.now += 60
    return landing


def test_killed_at_any_step_the_next_pass_ends_where_one_that_was_never_killed_does(tmp_path: Path) -> None:
    first = prepared(tmp_path / "first")

    def fresh(name: str) -> Landing:
        shutil.copytree(tmp_path / "first", tmp_path / name)
        return Landing(tmp_path / name / "landing", Home(tmp_path / name / "home"), first.now)

    calm = fresh("calm")
    with killed_after(10_000) as steps:
        calm.land()
    expected, needed = end_state(calm), steps.made
    assert needed > 30
    assert set(calm.batches) == {"a", "b"}
    for allowed in spread(needed):
        landing = fresh(f"killed-{allowed}")
        with pytest.raises(Killed), killed_after(allowed):
            landing.land()
        if allowed % 2 == 0:
            with pytest.raises(Killed), killed_after(1):  # and again at once
                landing.land()
        landing.land()
        assert end_state(landing) == expected, f"killed after {allowed} steps"


def test_every_batch_is_registered_once_in_whatever_pieces_the_work_was_done(tmp_path: Path) -> None:
    landing = prepared(tmp_path)
    for allowed in itertools.count(1):
        try:
            with killed_after(2 * allowed):
                landing.land()
            break
        except Killed:
            continue
    assert [(batch.key, batch.number) for batch in landing.home.registered()] == [("a", 0), ("b", 1)]
    assert set(load_record(landing.home).batches) == {"a", "b"}
