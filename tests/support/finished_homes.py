"""One finished home, made once per test run and only read; a test that changes
something copies it.

Fixtures of this module are imported by the `conftest.py` of the folders that use them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from commands import lunguage
from quick_instance import save_events
from small_homes import SmallHome, write_deliveries

from lunguage_assets.explicit.analysis import validation
from lunguage_assets.orchestration.run import Stage
from lunguage_assets.sample.files import write_sample

QUICK_STICK = """
[explicit]
minimum_examples = 1
repetitions = 1
reference_scale_minimum = 5
orders = 3
bootstrap = 10
"""
"""Settings with which forty reports have a reference scale of their own, in seconds."""

ANALYSES = [Stage("analyse", ("panel",), ("asked for",))]
SIZES = {"first": 40, "second": 5, "third": 5}
"""Reports of each delivery; the third is not registered."""


@dataclass(frozen=True)
class Finished:
    """A home in which batches `first` and `second` went all the way, for ranker
    `panel`; tests only read it.

    Args:
        home: without the databases of Dagster.
        deliveries: folder with one folder per delivery.
        events: what Dagster knows of it.
    """

    home: Path
    deliveries: Path
    events: Path

    @property
    def restricted(self) -> Path:
        """The part of the release with the rows."""
        return self.home / "release" / "panel" / "v2" / "restricted"

    def copied_to(self, folder: Path) -> Path:
        """A copy of the home whose own Dagster instance knows the events."""
        shutil.copytree(self.home, folder)
        index = folder / "dagster" / "history" / "runs" / "index.db"
        index.parent.mkdir(parents=True)
        shutil.copyfile(self.events, index)
        return folder


@contextmanager
def brief_analyses() -> Iterator[None]:
    """Assets of the analyses that repeat little: for tests of what becomes of the
    tables.
    """
    with (
        mock.patch.multiple(validation, OPPONENT_LIMITS=(), PANEL_STEPS=(), STEPS=30),
        mock.patch.object(
            validation, "fit_validation", partial(validation.fit_validation, seeds=2)
        ),
        mock.patch.object(
            validation,
            "ranking_robustness",
            partial(validation.ranking_robustness, repeats=2),
        ),
    ):
        yield


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """A folder that the first process filled with `make(folder)`, and that no test
    changes.
    """
    own_folder = factory.getbasetemp()
    shared = (
        own_folder.parent if "PYTEST_XDIST_WORKER" in os.environ else own_folder
    )  # of one pytest run, in any case
    folder = shared / name
    done = shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Two batches with a reference scale of their own."""

    def make(folder: Path) -> None:
        deliveries = write_deliveries(
            folder / "deliveries", tuple(SIZES.values()), seed=5, batches=tuple(SIZES)
        )
        home = folder / "home"
        home.mkdir()
        (home / "settings.toml").write_text(QUICK_STICK)
        with SmallHome.opened(home) as small:
            small.register({batch: deliveries[batch] for batch in ("first", "second")})
            small.run()
            with brief_analyses():
                small.executed(lambda: small.runner().run(ANALYSES))
            small.run()  # the release shows the analyses
            save_events(small.instance, folder / "events.sqlite")

    folder = made_once(tmp_path_factory, "finished", make)
    return Finished(folder / "home", folder / "deliveries", folder / "events.sqlite")


@pytest.fixture
def small(finished: Finished, tmp_path: Path) -> Iterator[SmallHome]:
    """A copy of the finished home, and an instance in memory that knows what was made
    in it.
    """
    shutil.copytree(finished.home, tmp_path / "home")
    with SmallHome.opened(tmp_path / "home", finished.events) as opened:
        yield opened


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A delivery of five reports."""
    folder = made_once(
        tmp_path_factory,
        "five_reports",
        lambda folder: write_sample(folder / "five", reports=5, seed=7),
    )
    return folder / "five"


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory, five: Path) -> tuple[Path, str]:
    """A home after `lunguage run` on five reports with the packaged settings, and what
    it said; only read.
    """

    def make(folder: Path) -> None:
        done = lunguage(folder / "home", "run", "--data", five, "--batch", "first")
        assert done.returncode == 0, done.stderr
        (folder / "said").write_text(done.stdout)

    folder = made_once(tmp_path_factory, "run_of_five", make)
    return folder / "home", (folder / "said").read_text()
