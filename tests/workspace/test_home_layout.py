"""A home of another layout is refused by both versions, and with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lunguage_assets import __version__
from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.workspace import home as homes
from lunguage_assets.workspace.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home as versions before 1.0 left one, with a batch."""
    home = Home(tmp_path / "home")
    batch = home.batches / "first"
    batch.mkdir(parents=True)
    (home.root / "corpus.json").write_text(
        '{"name": "invented", "data_class": "synthetic"}'
    )
    record = {"key": "first", "number": 0, "sha256": "ab", "files": [], "kind": "text"}
    (batch / "batch.json").write_text(json.dumps(record))
    return home


def refusal(home: Home) -> str:
    with pytest.raises(ConfigurationError) as refused:
        Configuration(home)
    return str(refused.value)


def test_a_home_from_before_one_is_refused_by_both_versions(home: Home) -> None:
    assert refusal(home) == (
        f"{home.root} was made by version before 1.0, and this is version "
        f"{__version__}, which stores a home otherwise: register the deliveries again "
        "in a new home (lunguage register --data DIR --home NEW). To go on with its "
        "paid answers, name its ledger with $LUNGUAGE_LEDGER."
    )


def test_a_home_says_which_version_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.claim(Corpus("invented", "synthetic"))
    assert Configuration(home).home.corpus() is not None
    monkeypatch.setattr(homes, "LAYOUT", homes.LAYOUT + 1)
    assert f"was made by version {__version__}," in refusal(home)
