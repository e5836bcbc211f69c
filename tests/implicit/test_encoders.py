"""Encoders: the built-in one, and a model in this process. None is ever replaced by the
other in silence.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_encoder
from invented_reports import vocabulary
from model_libraries import needs_models

from lunguage_assets import hub
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import BIOLORD, BIOLORD_REVISION, SentenceEmbedder
from lunguage_assets.implicit.encoders import cosines_of_groups, make_embedder
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.settings import ImplicitSettings

PHRASES = ("pleural effusion", "nodule 5 mm", "opacity", "unheard of", "mass left")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


# The built-in encoder, and what is asked of any


def cosine(phrase_1: str, phrase_2: str) -> float:
    pair = [[phrase_1, phrase_2]]
    (cosines,) = cosines_of_groups(LexicalEmbedder(vocabulary()), pair)
    return float(cosines[0, 1])


@pytest.mark.parametrize(
    ("phrase_1", "phrase_2", "alike"),
    [
        ("effusion RUL", "pleural effusion right upper lobe", 1.0),
        ("effusions lungs", "pleural effusion lung", 1.0),
        ("pna", "pneumonia", 1.0),
        ("chf exacerbation", "congestive heart failure exacerbation", 1.0),
        ("ptx, apices", "pneumothorax apex", 1.0),
        ("blunting cp angle", "blunting of the costophrenic angle", 1.0),
        ("opacity left-sided", "left sided opacity", 1.0),
        ("pericardial effusion", "pleural effusion", 0.5),
        ("opacity", "nodule", 0.0),
        ("opacity right lower lobe", "opacity left lower lobe", 0.75),
    ],
)
def test_spellings_are_alike_and_findings_are_told_apart_by_their_words(
    phrase_1: str, phrase_2: str, alike: float
) -> None:
    assert cosine(phrase_1, phrase_2) == alike


# A model in this process


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder.save(tmp_path_factory.mktemp("models") / "tiny")


def embedder(name: Path | str, revision: str = "") -> SentenceEmbedder:
    return SentenceEmbedder(str(name), revision)


@pytest.mark.lengthy
@needs_models
def test_vectors_are_the_mean_of_the_last_layer_with_length_one(model: Path) -> None:
    vectors = embedder(model).encode(PHRASES)
    assert vectors.dtype == np.float32
    plain = [tiny_encoder.plain_vector(model, phrase) for phrase in PHRASES]
    np.testing.assert_allclose(vectors, plain, atol=2e-6)


@pytest.mark.lengthy
@needs_models
def test_a_folder_is_known_by_its_content(model: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "tiny"
    shutil.copytree(model, moved)
    identity = embedder(model).identity
    assert embedder(moved).identity == identity
    pooling = moved / "1_Pooling" / "config.json"
    pooling.write_text(pooling.read_text().replace('"mean"', '"cls"'))
    assert embedder(moved).identity != identity


@pytest.mark.lengthy
@needs_models
def test_a_model_of_the_hub_is_recorded_by_its_commit(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "hub" / "models--invented--tiny"
    shutil.copytree(model, folder / "snapshots" / COMMIT)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    assert embedder("invented/tiny").identity == f"invented/tiny@{COMMIT}"
    missing = r"invented/tiny.*v2.*cannot be fetched.*hf download"
    with pytest.raises(ConfigurationError, match=missing):
        embedder("invented/tiny", "v2")
    with pytest.raises(ConfigurationError, match=BIOLORD_REVISION):
        embedder(BIOLORD)
    assert ImplicitSettings().encoder_model == BIOLORD


def test_a_missing_library_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda name: None)
    settings = ImplicitSettings(encoder="sentence")
    with pytest.raises(
        ConfigurationError, match=r"pip install 'lunguage-assets\[models"
    ):
        make_embedder(settings, vocabulary())


@pytest.mark.lengthy
@needs_models
def test_only_safetensors_are_read_and_no_code_of_a_model_is_run(
    model: Path, tmp_path: Path
) -> None:
    pickled, coded = tmp_path / "pickled", tmp_path / "own"
    for folder in (pickled, coded):
        shutil.copytree(model, folder)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    for folder in (pickled, tmp_path / "none"):
        with pytest.raises(ConfigurationError, match="a sentence encoder in safetens"):
            embedder(folder).encode(["opacity"])
    modules = (coded / "modules.json").read_text()
    pooling = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
    assert pooling in modules
    (coded / "modules.json").write_text(modules.replace(pooling, "own.Own"))
    ran = tmp_path / "ran"
    (coded / "own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Own: ...\n")
    with pytest.raises(ConfigurationError, match="without code of its own"):
        embedder(coded).encode(["opacity"])
    assert not ran.exists()
