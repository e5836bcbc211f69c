"""Randomness by hashing: a draw depends on its subject, and not on the order of a run.

Text is hashed once (blake2b, 64 bits); hashes are then combined in bulk by numpy.
Nothing here knows what is drawn. A change of one bit here changes every result.
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
_MAX_PAIRS = 1 << 20
"""Of hashes that are held at once."""


def digest(*parts: object) -> str:
    """Hash parts into 32 hexadecimal digits, for identities and versions."""
    return _hash(parts, 16).hexdigest()


def text_hash(*parts: object) -> int:
    """Hash parts into 64 bits."""
    return int.from_bytes(_hash(parts, 8).digest(), "little")


def text_hashes(texts: Iterable[object]) -> U64:
    """Hash each text into 64 bits; equal texts have equal hashes."""
    return np.fromiter((text_hash(text) for text in texts), dtype=np.uint64)


def mix(values: Any, *further_values: Any) -> U64:
    """Combine 64-bit hashes (arrays that broadcast, or numbers) into new ones.

    The order of the arguments matters. Each argument is folded in by an addition and
    the finaliser of SplitMix64, in which every input bit changes every output bit with
    a probability close to one half.
    """
    # Overflow is meant: the arithmetic is modulo 2**64.
    with np.errstate(over="ignore"):
        state = _finalise(np.asarray(values).astype(np.uint64))
        for value in further_values:
            further = np.asarray(value).astype(np.uint64)
            state = _finalise(state * np.uint64(0x9E3779B97F4A7C15) + further)
    return state


def random_bits(hashes: U64) -> NDArray[np.bool_]:
    """Draw one fair coin per hash."""
    return (hashes >> np.uint64(63)).astype(bool)


def random_below(hashes: U64, limit: int) -> NDArray[np.int64]:
    """Draw one number in 0..limit-1 per hash.

    The bias, limit / 2**64, is far below anything measurable.
    """
    return (hashes % np.uint64(limit)).astype(np.int64)


def smallest(draws: U64, candidates: U64) -> NDArray[np.int64]:
    """Choose for each draw the candidate with the smallest combined hash.

    Candidates are equally likely; equal ones count once. Adding a candidate changes a
    draw only when the new one wins it.

    Args:
        draws: hashes, shape (d,).
        candidates: hashes, shape (c,) with c > 0.

    Returns:
        Indices of candidates, shape (d,).
    """
    chosen = np.empty(len(draws), dtype=np.int64)
    # All pairs at once would be gigabytes.
    block = max(1, _MAX_PAIRS // len(candidates))
    for start in range(0, len(draws), block):
        rows = slice(start, start + block)
        pairs = mix(draws[rows, None], candidates[None, :])
        chosen[rows] = np.argmin(pairs, axis=1)
    return chosen


def _hash(parts: Iterable[object], size: int) -> hashlib.blake2b:
    state = hashlib.blake2b(digest_size=size)
    for part in parts:
        encoded = str(part).encode("utf-8", "surrogatepass")
        # With the length, so that "ab", "c" and "a", "bc" are told apart.
        length = len(encoded).to_bytes(8, "little")
        state.update(length + encoded + _SEPARATOR)
    return state


def _finalise(values: U64) -> U64:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
