"""Removing a batch: all that is of it alone goes, the rest stays, and a killed removal
is finished.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from stored_tables import store_table

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample import write_sample
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, stored_partitions

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
    """All files but the record of the removals and locks."""
    return sorted(
        str(path.relative_to(home.root))
        for path in home.root.rglob("*")
        if path.is_file() and path.name not in ("removals.json", ".lock")
    )


def test_everything_of_the_batch_alone_goes_and_nothing_else(home: Home) -> None:
    before = files(home)
    home.remove("first")
    gone = set(before) - set(files(home))
    assert all("first" in name for name in gone)
    assert not any("first" in name for name in files(home))
    assert [batch.key for batch in home.registered()] == ["second"]
    assert stored_partitions(home.tables, "hedge_vocabulary") == [("lexicon",)]
    assert (home.release / "panel" / "v1").is_dir()


def dies_after(steps: int) -> Callable[..., None]:
    """`Path.unlink`, until a kill."""
    unlink = Path.unlink
    steps_left = iter(range(steps))

    def dying(path: Path, missing_ok: bool = False) -> None:
        if next(steps_left, None) is None:
            raise KeyboardInterrupt
        unlink(path, missing_ok=missing_ok)

    return dying


@pytest.mark.parametrize("steps", range(5))
def test_a_removal_that_was_killed_is_done_by_doing_it_again(
    home: Home, steps: int
) -> None:
    undisturbed = Home(home.root.with_name("whole"))
    shutil.copytree(home.root, undisturbed.root)
    undisturbed.remove("first")
    with (
        mock.patch.object(Path, "unlink", dies_after(steps)),
        pytest.raises(KeyboardInterrupt),
    ):
        home.remove("first")
    assert [batch.key for batch in home.registered()] == ["first", "second"]
    home.remove("first")
    assert files(home) == files(undisturbed)
    assert {gone.sha256 for gone in home.removed()} == {
        gone.sha256 for gone in undisturbed.removed()
    }


def test_the_next_registration_ends_a_killed_removal(
    home: Home,
) -> None:
    with (
        mock.patch("shutil.rmtree", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        home.remove("first")
    assert [batch.key for batch in home.registered()] == ["second"]
    home.register(home.batches / "second", "second")
    assert not any("first" in name for name in files(home))


def test_a_batch_that_is_not_there_cannot_be_removed(home: Home) -> None:
    with pytest.raises(ConfigurationError, match="is not registered"):
        home.remove("third")
    assert home.removed() == []
