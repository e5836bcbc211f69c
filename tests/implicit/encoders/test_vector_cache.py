"""Vectors that are kept: encoded once, shared by processes, and never wrong, whatever happens to the file."""

from __future__ import annotations

import logging
import multiprocessing
import stat
from collections.abc import Callable, Sequence
from hashlib import blake2b
from multiprocessing.pool import Pool, ThreadPool
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lunguage_assets.errors import MethodError
from lunguage_assets.implicit.encoders import cached
from lunguage_assets.implicit.encoders.cached import CachedEmbedder

PHRASES = ("opacity", "nodule left", "pleural effusion small", "scar", "mass 5 mm")


class Encoder:
    """Unit vectors that are a function of the phrase, but for `noise` in the last bits; counts what it is
    asked.
    """

    def __init__(
        self, identity: str = "invented@1", *, width: int = 8, noise: float = 0.0, fails_at: int = -1
    ) -> None:
        self.identity, self._width, self._noise, self._fails_at = identity, width, noise, fails_at
        self.asked: list[str] = []

    def encode(self, phrases: Sequence[str]) -> np.ndarray:
        if 0 <= self._fails_at <= len(self.asked):
            raise KeyboardInterrupt
        self.asked += phrases
        rows = [
            np.frombuffer(blake2b(phrase.encode(), digest_size=self._width).digest(), np.uint8) + 1.0
            for phrase in phrases
        ]
        vectors = np.array(rows)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors + self._noise).astype(np.float32)


def kept(folder: Path, inner: Encoder) -> CachedEmbedder:
    return CachedEmbedder(inner, folder)


def test_a_second_run_encodes_nothing_and_gets_the_same_bytes(tmp_path: Path) -> None:
    first = kept(tmp_path, Encoder()).encode(PHRASES)
    inner = Encoder(noise=1e-7)
    second = kept(tmp_path, inner)
    np.testing.assert_array_equal(second.encode(PHRASES), first)
    assert inner.asked == []
    assert (second.known, second.encoded) == (len(PHRASES), 0)


def test_only_what_is_new_is_encoded_and_each_vector_is_its_own(tmp_path: Path) -> None:
    kept(tmp_path, Encoder()).encode(PHRASES[:3])
    inner = Encoder()
    mixed = [PHRASES[4], PHRASES[1], PHRASES[3], PHRASES[0]]
    np.testing.assert_array_equal(kept(tmp_path, inner).encode(mixed), Encoder().encode(mixed))
    assert sorted(inner.asked) == ["mass 5 mm", "scar"]


def test_a_run_that_was_killed_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "KEPT_EVERY", 2)
    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, Encoder(fails_at=4)).encode(PHRASES)
    inner = Encoder()
    np.testing.assert_array_equal(kept(tmp_path, inner).encode(PHRASES), Encoder().encode(PHRASES))
    assert len(inner.asked) == 1


def test_what_is_asked_does_not_depend_on_the_order_of_the_phrases(tmp_path: Path) -> None:
    one, other = Encoder(), Encoder()
    kept(tmp_path / "one", one).encode(PHRASES)
    kept(tmp_path / "other", other).encode(PHRASES[::-1])
    assert one.asked == other.asked


def test_another_revision_shares_nothing(tmp_path: Path) -> None:
    kept(tmp_path, Encoder("invented@1")).encode(PHRASES)
    inner = Encoder("invented@2")
    kept(tmp_path, inner).encode(PHRASES)
    assert len(inner.asked) == len(PHRASES)


def test_vectors_of_another_length_than_the_encoder_gives_are_not_mixed_in(tmp_path: Path) -> None:
    kept(tmp_path, Encoder()).encode(PHRASES[:2])
    np.testing.assert_array_equal(
        kept(tmp_path, Encoder(width=12)).encode(PHRASES), Encoder(width=12).encode(PHRASES)
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    damage=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=4
    ),
    cut=st.none() | st.floats(0, 1),
)
def test_whatever_happens_to_the_file_no_vector_is_wrong(
    tmp_path: Path, damage: list[tuple[float, int]], cut: float | None
) -> None:
    logging.disable(logging.WARNING)
    cache = kept(tmp_path, Encoder())
    kept(tmp_path, Encoder()).encode(PHRASES)
    content = bytearray(cache.path.read_bytes())
    for place, flip in damage:
        content[int(place * len(content))] ^= flip
    cache.path.write_bytes(content if cut is None else content[: int(cut * len(content))])
    try:
        for _ in range(2):
            np.testing.assert_array_equal(
                kept(tmp_path, Encoder()).encode(PHRASES), Encoder().encode(PHRASES)
            )
    finally:
        logging.disable(logging.NOTSET)


def test_a_damaged_file_costs_time_only_and_is_named_without_a_phrase(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = kept(tmp_path, Encoder())
    cache.encode(PHRASES)
    cache.path.write_bytes(b"not a database, for certain" * 100)
    np.testing.assert_array_equal(kept(tmp_path, Encoder()).encode(PHRASES), Encoder().encode(PHRASES))
    assert f"{cache.path} cannot be used" in caplog.text
    assert not any(phrase in caplog.text for phrase in PHRASES)
    cache.path.unlink()  # as the message says
    kept(tmp_path, Encoder()).encode(PHRASES)
    inner = Encoder()
    kept(tmp_path, inner).encode(PHRASES)
    assert inner.asked == []


def test_one_damaged_vector_costs_one_phrase(tmp_path: Path) -> None:
    cache = kept(tmp_path, Encoder())
    kept(tmp_path, Encoder()).encode(PHRASES)
    content = cache.path.read_bytes()
    vector = Encoder().encode(["scar"]).astype("<f4").tobytes()
    assert content.count(vector) == 1
    cache.path.write_bytes(content.replace(vector, Encoder().encode(["other"]).astype("<f4").tobytes()))
    inner = Encoder()
    np.testing.assert_array_equal(kept(tmp_path, inner).encode(PHRASES), Encoder().encode(PHRASES))
    assert inner.asked == ["scar"]
    again = Encoder()
    kept(tmp_path, again).encode(PHRASES)
    assert again.asked == []


def test_a_place_that_cannot_hold_a_file_costs_time_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    np.testing.assert_array_equal(
        kept(tmp_path / "taken", Encoder()).encode(PHRASES), Encoder().encode(PHRASES)
    )
    assert "encoded again" in caplog.text


def test_a_vector_that_is_none_is_an_error_and_is_not_kept(tmp_path: Path) -> None:
    class Broken(Encoder):
        def encode(self, phrases: Sequence[str]) -> np.ndarray:
            return np.full((len(phrases), 8), np.nan, dtype=np.float32)

    with pytest.raises(MethodError, match="length 1"):
        kept(tmp_path, Broken()).encode(PHRASES)
    inner = Encoder()
    kept(tmp_path, inner).encode(PHRASES)
    assert len(inner.asked) == len(PHRASES)


def test_the_file_is_its_owners_and_says_no_phrase(tmp_path: Path) -> None:
    cache = kept(tmp_path / "new", Encoder())
    kept(tmp_path / "new", Encoder()).encode(PHRASES)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700
    assert not any(phrase.encode() in cache.path.read_bytes() for phrase in PHRASES)


def _encode(folder: Path, start: int) -> bytes:
    said = [f"phrase {number}" for number in range(start, start + 200)]
    vectors: np.ndarray = kept(folder, Encoder(noise=start * 1e-9)).encode(said)
    return vectors.tobytes()


@pytest.mark.parametrize(
    "workers",
    [ThreadPool, pytest.param(multiprocessing.get_context("spawn").Pool, marks=pytest.mark.lengthy)],
)
def test_threads_and_processes_that_encode_at_once_agree_on_what_is_kept(
    workers: Callable[[int], Pool], tmp_path: Path
) -> None:
    with workers(3) as pool:
        pool.starmap(_encode, [(tmp_path, start) for start in (0, 50, 100, 0, 100, 50)])
    inner = Encoder()
    last = kept(tmp_path, inner).encode([f"phrase {number}" for number in range(300)])
    assert inner.asked == []
    np.testing.assert_allclose(
        last, Encoder().encode([f"phrase {number}" for number in range(300)]), atol=1e-6
    )
    assert _encode(tmp_path, 50) == last[50:250].tobytes()
