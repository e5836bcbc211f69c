"""Randomness by hashing: a draw depends on its subject, not on run order, batch or resumption.

Text is hashed once (blake2b, 64 bits); hashes are then combined in bulk by numpy. Nothing here knows what is
drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_SEPARATOR = b"\x1f"
_AT_ONCE = 1 << 20


def digest(*parts: object) -> str:
    """Hex digest (32 characters) of the parts, for identities and versions."""
    return _hash(parts, 16).hexdigest()


def text_hash(*parts: object) -> int:
    """64-bit hash of the parts."""
    return int.from_bytes(_hash(parts, 8).digest(), "little")


def text_hashes(texts: Iterable[object]) -> U64:
    """64-bit hash of each text; equal texts have equal hashes."""
    return np.fromiter((text_hash(text) for text in texts), dtype=np.uint64)


def mix(values: Any, *more: Any) -> U64:
    """Combine 64-bit hashes (arrays that broadcast, or numbers) into new ones.

    The order of the arguments matters. Each argument is folded in by an addition and the finaliser of
    SplitMix64, in which every input bit changes every output bit with a probability close to one half.
    """
    with np.errstate(over="ignore"):
        state = _finalise(_uint64(values))
        for value in more:
            state = _finalise(state * np.uint64(0x9E3779B97F4A7C15) + _uint64(value))
    return state


def random_bits(hashes: U64) -> NDArray[np.bool_]:
    """One fair coin per hash."""
    return (hashes >> np.uint64(63)).astype(bool)


def random_below(hashes: U64, limit: int) -> NDArray[np.int64]:
    """One number in 0..limit-1 per hash (the bias, limit / 2**64, is far below anything measurable)."""
    return (hashes % np.uint64(limit)).astype(np.int64)


def smallest(draws: U64, candidates: U64) -> NDArray[np.int64]:
    """For each draw the index of the candidate with the smallest combined hash.

    Candidates are equally likely; equal ones count once. Adding a candidate changes a draw only when the new
    one wins it. `draws` has shape (d,), `candidates` (c,) with c > 0; returns (d,).
    """
    chosen = np.empty(len(draws), dtype=np.int64)
    block = max(1, _AT_ONCE // len(candidates))
    for start in range(0, len(draws), block):
        part = slice(start, start + block)
        chosen[part] = np.argmin(mix(draws[part, None], candidates[None, :]), axis=1)
    return chosen


def _hash(parts: Iterable[object], size: int) -> hashlib.blake2b:
    state = hashlib.blake2b(digest_size=size)
    for part in parts:
        encoded = str(part).encode("utf-8", "surrogatepass")
        state.update(len(encoded).to_bytes(8, "little") + encoded + _SEPARATOR)
    return state


def _uint64(values: Any) -> U64:
    return (
        np.asarray(values).astype(np.uint64)
        if not isinstance(values, int)
        else np.asarray(values % 2**64, dtype=np.uint64)
    )


def _finalise(values: U64) -> U64:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
