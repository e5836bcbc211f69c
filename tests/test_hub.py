"""The name of a model says where its files are: a folder, an installed package, or the
hub. It is loaded from the folder of its files, whatever it is called; the process keeps
its environment.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
import tiny_encoder
import tiny_model
from model_libraries import needs_models

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import SentenceEmbedder, named_path
from lunguage_assets.judges.providers.local import loaded_model

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
SWITCHES = (
    "HF_HUB_DISABLE_TELEMETRY",
    "DISABLE_SAFETENSORS_CONVERSION",
    "TOKENIZERS_PARALLELISM",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, and an environment without the libraries' switches."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "hub"


def kept(cache: Path, name: str) -> Path:
    """Where the cache has the files of a model's branch `main`."""
    folder = cache / f"models--invented--{name}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "snapshots").mkdir()
    return folder / "snapshots" / COMMIT


@pytest.mark.lengthy
@needs_models
def test_a_judge_named_as_on_the_hub_is_loaded_from_its_files(cache: Path) -> None:
    files = tiny_model.save(kept(cache, "judge"))
    before = dict(os.environ)
    by_name, by_folder = (
        tiny_model.made(path, {"do_sample": False})
        for path in (Path("invented/judge"), files)
    )
    question = tiny_model.question(1)
    answer, answer_by_path = (
        tiny_model.answers(judge, question)[0].text for judge in (by_name, by_folder)
    )
    assert answer == answer_by_path
    loaded = loaded_model("invented/judge", "main", "auto")
    assert loaded.model.config._name_or_path == str(files), (
        "a name would let the library convert its weights"
    )
    assert dict(os.environ) == before


@pytest.mark.lengthy
@needs_models
def test_an_encoder_leaves_the_environment_as_it_is(
    cache: Path, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    shutil.copytree(tiny_encoder.save(tmp_path / "tiny"), kept(cache, "encoder"))
    before = dict(os.environ)
    SentenceEmbedder("invented/encoder", "main").encode(["opacity"])
    assert dict(os.environ) == before
    assert constants.HF_HUB_DISABLE_TELEMETRY


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that cannot be imported."""
    folder = tmp_path / "invented_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "raise ImportError('what it depends on is missing')"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_package_s_folder_is_found_without_importing_it(package: Path) -> None:
    assert (
        named_path("package:invented_weights/model/one.gguf")
        == package / "model/one.gguf"
    )
    assert "invented_weights" not in sys.modules


@pytest.mark.parametrize("module", ["not_installed_here", "", "a.b", "this"])
def test_what_is_no_installed_package_is_an_error_with_the_remedy(module: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"found no installed package .*make models"
    ):
        named_path(f"package:{module}/model")


def test_other_names_are_folders_or_lead_to_the_hub() -> None:
    assert named_path("~/model") == Path("~/model").expanduser()
    assert [named_path(name) for name in ("/a", "./a", "../a")] == [
        Path("/a"),
        Path("./a"),
        Path("../a"),
    ]
    assert named_path("invented/model") is None
