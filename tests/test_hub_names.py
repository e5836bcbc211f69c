"""The name of a model says where its files are: a folder, an installed package, or the hub."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that cannot be imported."""
    folder = tmp_path / "invented_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('what it depends on is missing')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_package_s_folder_is_found_without_importing_it(package: Path) -> None:
    assert named_path("package:invented_weights/model/one.gguf") == package / "model/one.gguf"
    assert "invented_weights" not in sys.modules


@pytest.mark.parametrize("module", ["not_installed_here", "", "a.b", "this"])
def test_what_is_no_installed_package_is_an_error_with_the_remedy(module: str) -> None:
    with pytest.raises(ConfigurationError, match=r"found no installed package .*make models"):
        named_path(f"package:{module}/model")


def test_other_names_are_folders_or_lead_to_the_hub() -> None:
    assert named_path("~/model") == Path("~/model").expanduser()
    assert [named_path(name) for name in ("/a", "./a", "../a")] == [Path("/a"), Path("./a"), Path("../a")]
    assert named_path("invented/model") is None
