"""A home holds one corpus of one data class, and batches that never change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError, CorpusMismatch, KeyTaken
from lunguage_assets.sample import write_sample
from lunguage_assets.workspace.batch_keys import batch_key
from lunguage_assets.workspace.home import Home


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample(tmp_path_factory.mktemp("deliveries") / "one", 1)


@pytest.fixture(scope="module")
def other_delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample(tmp_path_factory.mktemp("deliveries") / "other", 2)


def sample(folder: Path, seed: int) -> Path:
    write_sample(folder, reports=2, seed=seed)
    return folder


def test_a_batch_is_immutable_and_its_key_names_one_content(
    tmp_path: Path, delivery: Path, other_delivery: Path
) -> None:
    home = Home(tmp_path / "home")
    [first] = home.register(delivery, "b")
    assert home.register(delivery, "b") == [first]
    with pytest.raises(KeyTaken, match="another key"):
        home.register(other_delivery, "b")
    assert [batch.key for batch in home.registered()] == ["b"]
    assert home.register(other_delivery, "c")[0].number == 1


@pytest.mark.parametrize(
    "key", [".", "..", ".x.tmp", ".lock", "", "a/b", "A", "x" * 129]
)
def test_a_key_that_is_a_place_or_looks_unfinished_is_refused(
    tmp_path: Path, delivery: Path, key: str
) -> None:
    home = Home(tmp_path / "home")
    with pytest.raises(ConfigurationError, match="not usable; expected"):
        home.register(delivery, key)
    assert home.registered() == []
    assert home.register(delivery, "x.tmp.")[0].key == "x.tmp."


def test_undeclared_text_counts_as_credentialed_and_is_not_mixed_with_synthetic(
    tmp_path: Path, delivery: Path
) -> None:
    home = Home(tmp_path / "home")
    home.register(delivery, "synthetic")
    undeclared = shutil.copytree(delivery, tmp_path / "undeclared")
    (undeclared / "corpus.toml").unlink()
    with pytest.raises(CorpusMismatch, match="credentialed"):
        home.register(undeclared, "credentialed")
    apart = Home(tmp_path / "other")
    apart.register(undeclared, "credentialed")
    corpus = apart.corpus()
    assert corpus is not None
    assert corpus.data_class == "credentialed"


def test_a_registration_that_was_killed_leaves_nothing_that_counts(
    tmp_path: Path, delivery: Path
) -> None:
    home = Home(tmp_path / "home")
    abandoned = home.batches / ".b.0123.tmp"
    abandoned.mkdir(parents=True)
    (abandoned / "Lunguage.csv").write_text("half")
    assert home.registered() == []
    home.register(delivery, "b")
    assert not abandoned.exists()


@pytest.mark.parametrize(
    ("folder", "key"),
    [
        *(
            ("Delivery 2026-11", "delivery-2026-11"),
            ("Für Max!", "f-r-max"),
            ("!!!", "batch"),
        ),
        ("mimic-cxr/2.1.0", "mimic-cxr-2.1.0"),
    ],
)
def test_a_folder_name_gives_a_usable_batch_key(
    folder: str, key: str, tmp_path: Path
) -> None:
    assert batch_key(tmp_path / folder) == key
