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
from lunguage_assets.sample.files import write_sample
from lunguage_assets.workspace import home as homes
from lunguage_assets.workspace.batch_keys import batch_key
from lunguage_assets.workspace.home import Home


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deliveries") / "one"
    write_sample(folder, reports=2, seed=1)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_batch_is_immutable_and_its_key_names_one_content(
    tmp_path: Path, home: Home, delivery: Path
) -> None:
    [first] = home.register(delivery, "b")
    assert home.register(delivery, "b") == [first]
    write_sample(tmp_path / "other", reports=2, seed=2)
    with pytest.raises(KeyTaken, match="another key"):
        home.register(tmp_path / "other", "b")
    assert [batch.key for batch in home.registered()] == ["b"]
    assert home.register(tmp_path / "other", "c")[0].number == 1


@pytest.mark.parametrize(
    "key", [".", "..", ".x.tmp", ".lock", "", "a/b", "A", "x" * 129]
)
def test_a_key_that_is_a_place_or_looks_unfinished_is_refused(
    home: Home, delivery: Path, key: str
) -> None:
    with pytest.raises(ConfigurationError, match="not usable; expected"):
        home.register(delivery, key)
    assert home.registered() == []
    assert home.register(delivery, "x.tmp.")[0].key == "x.tmp."


def test_undeclared_text_counts_as_credentialed_and_is_not_mixed_with_synthetic(
    tmp_path: Path, home: Home, delivery: Path
) -> None:
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
    home: Home, delivery: Path
) -> None:
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
    versions = f"made by version before 1.0, and this is version {__version__}, "
    remedy = r"register the deliveries again .* name its ledger with \$LUNGUAGE_LEDGER"
    with pytest.raises(ConfigurationError, match=f"{versions}.*{remedy}"):
        Configuration(Home(tmp_path))


def test_a_home_says_which_version_made_it(
    home: Home, delivery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    home: Home, delivery: Path, name: str, content: str
) -> None:
    home.register(delivery, "a")
    (home.root / name).write_text(content, encoding="latin-1")
    look = home.removed if name == "removals.json" else home.corpus
    with pytest.raises(InputError, match="found a damaged record") as refused:
        _ = look(), home.registered()
    message = str(refused.value)
    assert message.startswith(f"{home.root / name}: ")
    assert "from a backup" in message
