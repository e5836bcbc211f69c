"""Encoders that come from outside: a model in this process, and vectors from a file. None is ever replaced by
another in silence.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny_encoder
from invented_reports import blacklist, frames, said, vocabulary

from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.implicit.encoders import make_embedder, sentence
from lunguage_assets.implicit.encoders.sentence import (
    BIOLORD,
    BIOLORD_REVISION,
    SentenceEmbedder,
    find_model,
)
from lunguage_assets.implicit.encoders.vectors import PrecomputedEmbedder, write_vectors
from lunguage_assets.implicit.merging.deduplicate import compared_phrases, deduplicate
from lunguage_assets.settings import ImplicitSettings

ROWS = [
    said("opacity", location="right"),
    said("opacity", location="right", section="impr"),
    said("nodule"),
    said("scar", "dn"),
]
PHRASES = ["pleural effusion", "small nodule 5 mm right upper lobe", "opacity", "unheard of", "mass left"]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_MISSING = tiny_encoder.missing()
needs_model = pytest.mark.skipif(_MISSING is not None, reason=_MISSING or "")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder.save(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The model as the hub's cache holds it, under commit `COMMIT` and branch `main`."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    place = tmp_path / "hub" / "models--invented--tiny"
    shutil.copytree(model, place / "snapshots" / COMMIT)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT)
    return "invented/tiny"


def of_model(folder: Path | str, **options: Any) -> ImplicitSettings:
    return ImplicitSettings(encoder="sentence", encoder_model=str(folder), encoder_device="cpu", **options)


def of_file(path: Path | str, **options: Any) -> ImplicitSettings:
    return ImplicitSettings(encoder="precomputed", encoder_vectors=str(path), **options)


@needs_model
def test_vectors_are_the_mean_of_the_last_layer_with_length_one(model: Path) -> None:
    vectors = SentenceEmbedder(find_model(str(model), ""), "cpu", 2).encode(PHRASES)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(
        vectors, [tiny_encoder.plain_vector(model, phrase) for phrase in PHRASES], atol=2e-6
    )
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


@needs_model
def test_a_folder_is_known_by_its_content(model: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "tiny"
    shutil.copytree(model, moved)
    identity = find_model(str(model), "").identity
    assert find_model(str(moved), "").identity == identity
    digest = identity.split("sha256:")[1]
    assert find_model(str(moved), digest[:8]).identity == identity
    pooling = moved / "1_Pooling" / "config.json"
    pooling.write_text(pooling.read_text().replace('"mean"', '"cls"'))
    assert find_model(str(moved), "").identity != identity
    with pytest.raises(ConfigurationError, match="encoder_revision"):
        find_model(str(moved), digest)


@needs_model
def test_a_model_of_the_hub_is_recorded_by_its_commit(hub: str, model: Path) -> None:
    found = find_model(hub, "")
    assert found.identity == f"invented/tiny@{COMMIT}"
    np.testing.assert_allclose(
        SentenceEmbedder(found, "cpu").encode(["opacity"])[0],
        tiny_encoder.plain_vector(model, "opacity"),
        atol=2e-6,
    )


@needs_model
def test_a_revision_that_is_not_there_is_not_replaced_by_another(hub: str) -> None:
    with pytest.raises(ConfigurationError, match=r"invented/tiny.*v2.*cannot be fetched.*hf download"):
        find_model(hub, "v2")
    with pytest.raises(ConfigurationError, match=BIOLORD_REVISION):
        find_model(BIOLORD, "")
    assert ImplicitSettings().encoder_model == BIOLORD


def test_a_missing_library_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"torch.*pip install 'lunguage-assets\[models\]'"):
        make_embedder(ImplicitSettings(encoder="sentence"), vocabulary())


@needs_model
def test_only_sentence_encoders_in_safetensors_are_read(model: Path, tmp_path: Path) -> None:
    whole, pickled = tmp_path / "whole", tmp_path / "pickled"
    shutil.copytree(model, whole)
    shutil.copytree(model, pickled)
    (whole / "modules.json").unlink()
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ConfigurationError, match="no sentence encoder"):
        find_model(str(whole), "")
    with pytest.raises(ConfigurationError, match="no safetensors"):
        find_model(str(pickled), "")
    with pytest.raises(ConfigurationError, match="found no folder"):
        find_model("./no/such/folder", "")


@needs_model
def test_no_code_that_comes_with_a_model_is_run(model: Path, tmp_path: Path) -> None:
    folder, ran = tmp_path / "own", tmp_path / "ran"
    shutil.copytree(model, folder)
    modules = (folder / "modules.json").read_text()
    (folder / "modules.json").write_text(
        modules.replace("sentence_transformers.sentence_transformer.modules.pooling.Pooling", "own.Own")
    )
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Own: ...\n")
    with pytest.raises(ConfigurationError, match="without code of its own"):
        SentenceEmbedder(find_model(str(folder), ""), "cpu").encode(["opacity"])
    assert not ran.exists()


# Vectors from a file


def directions(phrases: Sequence[str], width: int = 4) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(len(phrases), width)).astype(np.float32)


def test_vectors_of_a_file_are_taken_by_phrase_and_normalised(tmp_path: Path) -> None:
    vectors = directions(PHRASES) * 7
    write_vectors(tmp_path / "v.parquet", PHRASES, vectors, "invented@1")
    found = PrecomputedEmbedder(tmp_path / "v.parquet").encode([PHRASES[3], PHRASES[0]])
    np.testing.assert_allclose(
        found, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))[[3, 0]], rtol=1e-6
    )
    assert found.dtype == np.float32
    assert stat.S_IMODE((tmp_path / "v.parquet").stat().st_mode) == 0o600


def test_a_folder_of_files_counts_as_one_but_not_of_two_encoders(tmp_path: Path) -> None:
    vectors = directions(PHRASES)
    write_vectors(tmp_path / "a.parquet", PHRASES[:2], vectors[:2], "invented@1")
    write_vectors(tmp_path / "b.parquet", PHRASES[2:], vectors[2:], "invented@1")
    found = PrecomputedEmbedder(tmp_path).encode(PHRASES)
    np.testing.assert_allclose(found, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), rtol=1e-6)
    write_vectors(tmp_path / "b.parquet", PHRASES[2:], vectors[2:], "invented@2")
    with pytest.raises(InputError, match="several encoders"):
        _ = PrecomputedEmbedder(tmp_path).identity


def test_phrases_without_a_vector_are_counted_not_shown(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.parquet", PHRASES[:2], directions(PHRASES[:2]), "invented@1")
    with pytest.raises(InputError, match=r"no vector for 3 of 5 phrases.*docs/models\.md") as raised:
        PrecomputedEmbedder(tmp_path / "v.parquet").encode(PHRASES)
    assert not any(phrase in str(raised.value) for phrase in PHRASES)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"phrase": ["a"], "vectors": [[1.0]]}, "cannot be read"),
        ({"phrase": ["a", "a"], "vector": [[1.0], [1.0]]}, "two vectors for one phrase"),
        ({"phrase": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}, "unequally long"),
        ({"phrase": ["a", "b"], "vector": [[1.0], None]}, "incomplete"),
        ({"phrase": ["a"], "vector": [[0.0, 0.0]]}, "zeros"),
        ({"phrase": ["a"], "vector": [[float("inf"), 1.0]]}, "zeros"),
        (None, "cannot be read"),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, columns: dict[str, Any] | None, message: str
) -> None:
    (tmp_path / "v.parquet").write_text("no Parquet")
    if columns is not None:
        pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    with pytest.raises(InputError, match=message):
        PrecomputedEmbedder(tmp_path / "v.parquet").encode(["a"])
    with pytest.raises(InputError, match="no file"):
        PrecomputedEmbedder(tmp_path / "none.parquet")


def test_the_file_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"implicit\.encoder_vectors"):
        make_embedder(of_file(""), vocabulary(), tmp_path)


@needs_model
def test_vectors_made_elsewhere_merge_as_the_model_itself_does(tmp_path: Path, model: Path) -> None:
    """As docs/models.md makes them."""
    findings, fitted, _ = frames(ROWS)
    phrases = compared_phrases(findings, blacklist(), ImplicitSettings())
    assert phrases == ["nodule", "opacity right"]
    encoder = SentenceEmbedder(find_model(str(model), ""), "cpu")
    write_vectors(tmp_path / "vectors.parquet", phrases, encoder.encode(phrases), encoder.identity)
    found, direct = (
        deduplicate(findings, fitted, make_embedder(settings, vocabulary(), tmp_path), blacklist(), settings)
        for settings in (of_file("vectors.parquet"), of_model(model))
    )
    pd.testing.assert_frame_equal(found.drop(columns="encoder"), direct.drop(columns="encoder"))
    assert found["encoder"].iloc[0].startswith("precomputed tiny@sha256:")
