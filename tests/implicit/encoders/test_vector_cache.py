"""Vectors that are kept: encoded once, brought along, and refused when the file is damaged."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from lunguage_assets.errors import InputError, MethodError
from lunguage_assets.implicit.encoders import vectors as kept
from lunguage_assets.implicit.encoders.vectors import CachedEmbedder

PHRASES = ("opacity", "nodule left", "pleural effusion small", "scar", "mass 5 mm")


class Encoder:
    """Unit vectors that are a function of the phrase, but for `noise`; counts what it is asked."""

    identity = "invented@1"

    def __init__(self, *, noise: float = 0.0, fails_at: int = -1) -> None:
        self._noise, self._fails_at = noise, fails_at
        self.asked: list[str] = []

    def encode(self, phrases: Sequence[str]) -> np.ndarray:
        if 0 <= self._fails_at <= len(self.asked):
            raise KeyboardInterrupt
        self.asked += phrases
        rows = [np.frombuffer(blake2b(p.encode(), digest_size=8).digest(), np.uint8) + 1.0 for p in phrases]
        vectors = np.array(rows)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors + self._noise).astype(np.float32)


def test_only_what_is_new_is_encoded_and_each_vector_is_its_own(tmp_path: Path) -> None:
    CachedEmbedder(Encoder(), tmp_path).encode(PHRASES[:2])
    inner = Encoder()
    embedder = CachedEmbedder(inner, tmp_path)
    np.testing.assert_array_equal(embedder.encode(PHRASES), Encoder().encode(PHRASES))
    assert set(inner.asked) == set(PHRASES[2:])
    assert stat.S_IMODE(embedder.path.stat().st_mode) == 0o600


def test_a_run_that_was_killed_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "KEPT_EVERY", 2)
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
    with pytest.raises(InputError, match="only delete") as raised:
        CachedEmbedder(Encoder(), tmp_path).encode(PHRASES)
    assert str(first.path) in str(raised.value)
    assert not [phrase for phrase in PHRASES if phrase in str(raised.value)]


def test_a_vector_that_is_none_is_an_error_and_is_not_kept(tmp_path: Path) -> None:
    embedder = CachedEmbedder(Encoder(noise=1.0), tmp_path)
    with pytest.raises(MethodError, match="vectors of length 1"):
        embedder.encode(PHRASES)
    assert not embedder.path.exists()
