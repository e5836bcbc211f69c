"""Every content becomes one batch, once: under any names, in any order of events,
killed anywhere.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from killed_process import killed_at
from landing_drops import DECLARED, Landing, csv, packed, rows
from profiles import scaled

from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import load_record, record_folder


def test_other_content_under_the_same_name_is_another_batch(landing: Landing) -> None:
    landing.drop("night.csv", csv(1, 2, 3))
    landing.settle()
    landing.drop("night.csv", csv(2, 3, 4, ent="edema"))
    (message,) = landing.settle().of("registered").values()
    assert re.fullmatch(
        r"batch night-[0-9a-f]{8}, 3 studies, 3 rows \(0 rejected\)", message
    )
    assert [batch.key for batch in landing.home.registered()] == [
        "night",
        message.split()[1].strip(","),
    ]


def test_names_that_make_the_same_key_do_not_collide(landing: Landing) -> None:
    names = [
        "Ward A.csv",
        "ward-a.csv",
        "WARD_A.csv",
        "病棟.csv",
        "院.csv",
        "a[1] #2 50%?*.csv",
    ]
    for number, name in enumerate(names):
        landing.drop(name, csv(number))
    landing.settle()
    assert sorted(map(len, landing.batches.values())) == [1] * 6
    assert {"ward-a", "ward_a", "batch", "a-1-2-50"} < set(landing.batches)


def test_what_somebody_has_removed_does_not_come_back_by_itself(
    landing: Landing,
) -> None:
    landing.drop("a.csv", csv(1))
    landing.settle()
    landing.home.remove("a")
    outcome = landing.settle()
    assert landing.batches == {}
    assert "removed as batch a on 2" in outcome.of("waiting")["a.csv"]


def test_without_its_record_everything_is_recognised_and_nothing_is_registered_again(
    landing: Landing,
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.settle()
    before = landing.home.registered()
    record = landing.home.root / "landing-record" / "record.json"
    record.write_text("no record")
    assert landing.settle().of("skipped").keys() == {"a.csv", "f"}
    assert landing.home.registered() == before


def end_state(landing: Landing) -> tuple[object, ...]:
    """Batches with their bytes, in their order, and the landing folder."""
    batches = load_record(landing.home).batches
    ordered = sorted(batches, key=lambda key: batches[key][0])
    stored = {
        batch.key: (
            landing.home.delivery(batch.key).findings.read_bytes(),
            batch.number,
        )
        for batch in landing.home.registered()
    }
    in_home = {path.name for path in record_folder(landing.home).iterdir()}
    files = {name: (landing.root / name).read_bytes() for name in landing.files}
    return stored, ordered, in_home, files, landing.home.corpus()


def prepared(folder: Path) -> Landing:
    """Deliveries of every kind, complete at the next look."""
    (folder / "landing").mkdir(parents=True)
    landing = Landing(folder / "landing", Home(folder / "home"))
    contents = {
        "corpus.toml": DECLARED,
        "a.csv": csv(1, 2),
        "b.csv": rows(2, 3).to_csv(index=False).encode()
        + b"p10000001,s00000004,none,x,y,z,z\n",
        "bad.csv": csv(1).replace(b"sent,", b"", 1),
        "twin.csv": csv(1, 2),
    }
    for number, (file, content) in enumerate(contents.items()):
        landing.drop(file, content)
        os.utime(landing.root / file, (1000 + number, 1000 + number))
    landing.drop("bad.csv.done", "")
    os.utime(landing.root / "bad.csv.done", (2000, 2000))
    landing.now += 60
    return landing


@pytest.mark.lengthy
def test_killed_at_any_step_the_next_pass_ends_the_same(
    tmp_path: Path,
) -> None:
    prepared(tmp_path / "first")

    def fresh(name: str) -> Landing:
        shutil.copytree(tmp_path / "first", tmp_path / name)
        return Landing(
            tmp_path / name / "landing",
            Home(tmp_path / name / "home"),
            time.time() + 60,
        )

    calm = fresh("calm")
    calm.land()
    expected = end_state(calm)
    assert set(calm.batches) == {"a", "b"}
    for step in itertools.count(0, 9 // scaled(3)):
        landing = fresh(f"killed-{step}")
        killed = killed_at(step, landing.land)
        if step % 2:
            killed_at(1, landing.land)  # and again at once
        landing.land()
        assert end_state(landing) == expected, f"killed before change {step}"
        if not killed:
            break
    assert step > 20, "this test kills at too few places"


GOOD = {"one": csv(1), "two": csv(2), "three": csv(1, 2, ent="edema")}
BAD = {"columns": b"x,y\n1,2\n", "rows": csv(1, section="none")}
NAMES = ("a.csv", "A.csv", "b.csv.gz", "f/Lunguage.csv")


class Histories(RuleBasedStateMachine):
    """A model of what ought to be: which contents a pass can have seen, and which lie
    there now.
    """

    @initialize()
    def empty(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.landing = Landing(self.folder / "landing", Home(self.folder / "home"))
        self.landing.root.mkdir(parents=True)
        self.lying: dict[str, str] = {}
        self.ever: set[str] = set()
        self.asked: list[str] = []
        self.cursor = 0

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        self.calm()
        assert {self.content_of(key) for key in self.landing.batches} >= {
            content for content in self.lying.values() if content in GOOD
        }
        assert {
            name for name, content in self.lying.items() if content in BAD
        } & self.landing.files == set()
        assert sorted(self.asked) == sorted(self.landing.batches)
        shutil.rmtree(self.folder)

    def calm(self) -> None:
        """Passes that nothing disturbs, until nothing is left to do."""
        for _ in range(3):
            self.tick(60.0)

    def content_of(self, key: str) -> str:
        stored = self.landing.home.delivery(key).findings.read_bytes()
        return next(name for name, content in GOOD.items() if content == stored)

    @rule(
        name=st.sampled_from(NAMES),
        content=st.sampled_from([*GOOD, *BAD]),
        marked=st.booleans(),
    )
    def drop(self, name: str, content: str, marked: bool) -> None:
        written = (GOOD | BAD)[content]
        self.landing.drop(name, packed(written) if name.endswith(".gz") else written)
        if marked:
            self.landing.drop(name + ".done" if "/" not in name else "f/.done", "")
        self.lying[name] = content
        self.ever.add(content)

    @precondition(lambda self: bool(self.lying))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.lying)))
        (self.landing.root / name).unlink(missing_ok=True)
        del self.lying[name]

    @rule(after_s=st.sampled_from([1.0, 60.0]))
    def tick(self, after_s: float) -> None:
        """What a tick of the sensor does: a pass, then requests, which are kept
        together with the cursor.
        """
        self.landing.land(after_s=after_s)
        numbers = {
            key: number
            for key, (number, _) in load_record(self.landing.home).batches.items()
        }
        self.asked += [key for key, number in numbers.items() if number > self.cursor]
        self.cursor = max([self.cursor, *numbers.values()])

    @rule(steps=st.integers(0, 90))
    def killed_tick(self, steps: int) -> None:
        self.landing.now += 60.0
        killed_at(steps, self.landing.land)

    @rule(
        name=st.sampled_from(NAMES),
        content=st.sampled_from([*GOOD, *BAD]),
        steps=st.integers(2, 80),
    )
    def killed_over_a_new_delivery(self, name: str, content: str, steps: int) -> None:
        self.drop(name, content, True)
        self.killed_tick(steps)

    @invariant()
    def no_content_is_two_batches_and_none_is_invented(self) -> None:
        if not hasattr(self, "folder"):
            return
        contents = [self.content_of(key) for key in self.landing.batches]
        assert len(set(contents)) == len(contents)
        assert set(contents) <= self.ever
        assert len(set(self.asked)) == len(self.asked)


def test_whatever_happens_nothing_is_lost_and_nothing_is_doubled() -> None:
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=scaled(15),
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
