"""Encoders: the built-in one, and a model in this process. None is ever replaced by the
other in silence.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
import tiny_encoder
from invented_reports import AlikeEmbedder, vocabulary

from lunguage_assets import hub
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.hub import BIOLORD, BIOLORD_REVISION, SentenceEmbedder
from lunguage_assets.implicit import encoders
from lunguage_assets.implicit.encoders import CachedEmbedder, make_embedder
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.implicit.similarity import cosines_of_groups
from lunguage_assets.settings import ImplicitSettings

PHRASES = ("pleural effusion", "nodule 5 mm", "opacity", "unheard of", "mass left")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_MISSING = tiny_encoder.missing()
needs_model = pytest.mark.skipif(_MISSING is not None, reason=_MISSING or "")


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


@pytest.mark.parametrize(
    "answer", [np.ones((1, 3)), np.full((2, 3), np.nan), np.ones(2), np.zeros((2, 3))]
)
def test_an_encoder_that_answers_wrongly_stops_the_run(answer: np.ndarray) -> None:
    wrong = AlikeEmbedder()
    wrong.encode = lambda phrases: answer  # type: ignore[method-assign]
    with pytest.raises(MethodError, match="alike: found an array"):
        cosines_of_groups(wrong, [["a", "b"]])


# A model in this process


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder.save(tmp_path_factory.mktemp("models") / "tiny")


def embedder(name: Path | str, revision: str = "") -> SentenceEmbedder:
    return SentenceEmbedder(str(name), revision, "cpu", 2)


@pytest.mark.lengthy
@needs_model
def test_vectors_are_the_mean_of_the_last_layer_with_length_one(model: Path) -> None:
    vectors = embedder(model).encode(PHRASES)
    assert vectors.dtype == np.float32
    plain = [tiny_encoder.plain_vector(model, phrase) for phrase in PHRASES]
    np.testing.assert_allclose(vectors, plain, atol=2e-6)


@pytest.mark.lengthy
@needs_model
def test_a_folder_is_known_by_its_content(model: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "tiny"
    shutil.copytree(model, moved)
    identity = embedder(model).identity
    assert embedder(moved).identity == identity
    pooling = moved / "1_Pooling" / "config.json"
    pooling.write_text(pooling.read_text().replace('"mean"', '"cls"'))
    assert embedder(moved).identity != identity


@pytest.mark.lengthy
@needs_model
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
        make_embedder(settings, vocabulary(), Path())


@pytest.mark.lengthy
@needs_model
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


# Vectors that are kept


class Encoder:
    """Unit vectors that are a function of the phrase, but for `noise`; counts what it
    is asked.
    """

    identity = "invented@1"

    def __init__(self, *, noise: float = 0.0, fails_at: int = -1) -> None:
        self._noise = noise
        self._fails_at = fails_at
        self.asked: list[str] = []

    def encode(self, phrases: Sequence[str]) -> np.ndarray:
        if 0 <= self._fails_at <= len(self.asked):
            raise KeyboardInterrupt
        self.asked += phrases
        rows = [
            np.frombuffer(blake2b(p.encode(), digest_size=8).digest(), np.uint8) + 1.0
            for p in phrases
        ]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (np.array(rows) / lengths + self._noise).astype(np.float32)


def test_only_what_is_new_is_encoded_and_each_vector_is_its_own(tmp_path: Path) -> None:
    CachedEmbedder(Encoder(), tmp_path).encode(PHRASES[:2])
    inner = Encoder()
    cached = CachedEmbedder(inner, tmp_path)
    np.testing.assert_array_equal(cached.encode(PHRASES), Encoder().encode(PHRASES))
    assert set(inner.asked) == set(PHRASES[2:])
    assert stat.S_IMODE(cached.path.stat().st_mode) == 0o600


def test_a_run_that_was_killed_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "KEPT_EVERY", 2)
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(Encoder(fails_at=4), tmp_path).encode(PHRASES)
    inner = Encoder()
    CachedEmbedder(inner, tmp_path).encode(PHRASES)
    assert len(inner.asked) == 1


@pytest.mark.parametrize("flip", [False, True])
def test_a_damaged_file_is_refused_without_a_phrase(tmp_path: Path, flip: bool) -> None:
    first = CachedEmbedder(Encoder(), tmp_path)
    first.encode(PHRASES)
    content = first.path.read_bytes()
    flipped = content[:60] + bytes(255 - byte for byte in content[60:64]) + content[64:]
    first.path.write_bytes(flipped if flip else content[: len(content) // 2])
    with pytest.raises(InputError, match="Delete it") as raised:
        CachedEmbedder(Encoder(), tmp_path).encode(PHRASES)
    assert str(first.path) in str(raised.value)
    assert not [phrase for phrase in PHRASES if phrase in str(raised.value)]


def test_a_vector_that_is_none_is_an_error_and_is_not_kept(tmp_path: Path) -> None:
    cached = CachedEmbedder(Encoder(noise=1.0), tmp_path)
    with pytest.raises(MethodError, match="vectors of length 1"):
        cached.encode(PHRASES)
    assert not cached.path.exists()
