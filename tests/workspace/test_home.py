"""A home holds one corpus of one data class, and batches that never change; one of
another layout, or with a damaged record, is refused with what to do.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lunguage_assets import __version__
from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import (
    ConfigurationError,
    CorpusMismatch,
    InputError,
    KeyTaken,
)
from lunguage_assets.sample import write_sample
from lunguage_assets.workspace import home as homes
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
    [("Für Max!", "f-r-max"), ("!!!", "batch"), ("mimic/2.1.0", "mimic-2.1.0")],
)
def test_a_folder_name_gives_a_usable_batch_key(
    folder: str, key: str, tmp_path: Path
) -> None:
    assert batch_key(tmp_path / folder) == key


def test_a_home_from_before_one_is_refused_by_both_versions(tmp_path: Path) -> None:
    batch = tmp_path / "batches" / "first"
    batch.mkdir(parents=True)
    corpus = '{"name": "invented", "data_class": "synthetic"}'
    (tmp_path / "corpus.json").write_text(corpus)
    record = {"key": "first", "number": 0, "sha256": "ab", "files": [], "kind": "text"}
    (batch / "batch.json").write_text(json.dumps(record))
    with pytest.raises(ConfigurationError) as refused:
        Configuration(Home(tmp_path))
    assert str(refused.value) == (
        f"{tmp_path} was made by version before 1.0, and this is version "
        f"{__version__}, which stores a home otherwise: register the deliveries again "
        "in a new home (lunguage register --data DIR --home NEW). To go on with its "
        "paid answers, name its ledger with $LUNGUAGE_LEDGER."
    )


def test_a_home_says_which_version_made_it(
    tmp_path: Path, delivery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.register(delivery, "b")
    assert Configuration(home).home.corpus() is not None
    monkeypatch.setattr(homes, "LAYOUT", homes.LAYOUT + 1)
    with pytest.raises(ConfigurationError, match=f"made by version {__version__},"):
        Configuration(home)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("corpus.json", content) for content in ("", '{"name": "inv', '{"key": 1}')),
        *(("batches/a/batch.json", content) for content in ("\xff", "[1]", "{}")),
        *(("removals.json", content) for content in ("{", '[{"key": "a"}]', "3")),
    ],
)
def test_a_damaged_record_is_named_with_what_to_do(
    tmp_path: Path, delivery: Path, name: str, content: str
) -> None:
    home = Home(tmp_path / "home")
    home.register(delivery, "a")
    (home.root / name).write_text(content, encoding="latin-1")
    look = home.removed if name == "removals.json" else home.corpus
    with pytest.raises(InputError, match="found a damaged record") as refused:
        _ = look(), home.registered()
    message = str(refused.value)
    assert message.startswith(f"{home.root / name}: ")
    assert "from a backup" in message
