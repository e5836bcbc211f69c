"""Removing a batch: all that is of it alone goes, the rest stays, and a killed removal
is finished.
"""

from __future__ import annotations

import itertools
import shutil
from functools import partial
from pathlib import Path

import pytest
from killed_process import killed_at
from stored_tables import store_table

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample.files import write_sample
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path

OF_FIRST = (
    ("findings", ("first",)),
    ("hedge_phrases", ("lexicon", "first")),
    ("fitted_probabilities", ("panel", "first")),
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Batches `first` and `second`, with a few stored tables each, and a vocabulary
    made of both.
    """
    root = tmp_path_factory.mktemp("filled")
    home = Home(root / "home")
    for number, batch in enumerate(("first", "second")):
        write_sample(root / batch, reports=1, seed=number)
        home.register(root / batch, batch)
        for table, keys in OF_FIRST:
            store(home, table, *keys[:-1], batch)
        queue = home.review_queue("lexicon", batch)
        queue.parent.mkdir(parents=True, exist_ok=True)
        queue.write_text("finding_id\n")
    store(home, "hedge_vocabulary", "lexicon")
    (home.release / "panel" / "v1").mkdir(parents=True)
    return home.root


def store(home: Home, name: str, *keys: str) -> None:
    table = TABLES[name]
    store_table(table, table.frame(), partition_path(home.tables, name, *keys))


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Home:
    shutil.copytree(filled, tmp_path / "home")
    return Home(tmp_path / "home")


def files(home: Home) -> list[str]:
    """All files but the record of the removals and what is hidden."""
    return sorted(
        str(path.relative_to(home.root))
        for path in home.root.rglob("*")
        if path.is_file() and not path.name.startswith((".", "removals.json"))
    )


def test_everything_of_the_batch_alone_goes_and_nothing_else(home: Home) -> None:
    before = files(home)
    home.remove("first")
    gone = set(before) - set(files(home))
    assert all("first" in name for name in gone)
    assert not any("first" in name for name in files(home))
    assert [batch.key for batch in home.registered()] == ["second"]
    assert partition_path(home.tables, "hedge_vocabulary", "lexicon").exists()
    assert (home.release / "panel" / "v1").is_dir()


def test_a_removal_killed_anywhere_ends_by_itself_or_the_next_registration(
    home: Home, tmp_path: Path
) -> None:
    undisturbed = Home(shutil.copytree(home.root, tmp_path / "whole"))
    undisturbed.remove("first")
    removed = {gone.sha256 for gone in undisturbed.removed()}
    ends = set()
    for step in itertools.count():
        killed = Home(shutil.copytree(home.root, tmp_path / f"{step}"))
        if not killed_at(step, partial(killed.remove, "first")):
            break
        is_there = len(killed.registered()) == 2
        ends.add(is_there)
        if is_there:
            killed.remove("first")
        else:
            killed.register(killed.batches / "second", "second")
        assert files(killed) == files(undisturbed)
        assert {gone.sha256 for gone in killed.removed()} == removed
    assert ends == {True, False}


def test_a_batch_that_is_not_there_cannot_be_removed(home: Home) -> None:
    with pytest.raises(ConfigurationError, match="is not registered"):
        home.remove("third")
    assert home.removed() == []
