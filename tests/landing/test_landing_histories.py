"""Any history of dropping, overwriting, removing and being killed: no content is lost, none becomes two
batches, each is asked for once.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

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
from interrupted import Killed, killed_after
from landing_drops import Landing, csv, packed

from lunguage_assets.home.home import Home
from lunguage_assets.landing.record import load_record

GOOD = {"one": csv(1), "two": csv(2), "three": csv(1, 2, ent="edema")}
BAD = {"columns": b"x,y\n1,2\n", "rows": csv(1, section="none")}
NAMES = ("a.csv", "A.csv", "b.csv.gz", "f/Lunguage.csv")


class Histories(RuleBasedStateMachine):
    """A model of what ought to be: which contents a pass can have seen, and which lie there now."""

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
        assert {name for name, content in self.lying.items() if content in BAD} & self.landing.files == set()
        assert sorted(self.asked) == sorted(self.landing.batches)
        shutil.rmtree(self.folder)

    def calm(self) -> None:
        """Passes that nothing disturbs, until nothing is left to do."""
        for _ in range(3):
            self.tick(60.0)

    def content_of(self, key: str) -> str:
        stored = self.landing.home.delivery(key).findings.read_bytes()
        return next(name for name, content in GOOD.items() if content == stored)

    @rule(name=st.sampled_from(NAMES), content=st.sampled_from([*GOOD, *BAD]), marked=st.booleans())
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
        """What a tick of the sensor does: a pass, then requests, which are kept together with the cursor."""
        self.landing.land(after_s=after_s)
        batches = load_record(self.landing.home).batches.values()
        self.asked += [batch.key for batch in batches if batch.number > self.cursor]
        self.cursor = max([self.cursor, *(batch.number for batch in batches)])

    @rule(steps=st.integers(0, 60))
    def killed_tick(self, steps: int) -> None:
        try:
            with killed_after(steps):
                self.landing.land(after_s=60.0)
        except Killed:
            pass

    @rule(name=st.sampled_from(NAMES), content=st.sampled_from([*GOOD, *BAD]), steps=st.integers(2, 50))
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
            max_examples=20, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
