"""An encoder with a memory: every phrase is encoded once for a home, not once for a run.

One SQLite file per encoder, shared by all processes of a home. No result depends on it: a vector that is
damaged is not taken, and a file that cannot be used costs time only. Phrases are stored as digests; still the
file is of the same class as the reports.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders.contract import VectorEmbedder, checked_vectors, unit_rows

KEPT_EVERY = 4096
"""Phrases that are encoded before their vectors are kept: what a run that is killed loses at most."""

_FORMAT = "2; unit vectors, 32-bit floats, little-endian"
_NUMBERS = np.dtype("<f4")
_WAIT_S = 120.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors (phrase BLOB PRIMARY KEY, vector BLOB NOT NULL, "
    "checksum INTEGER NOT NULL)"
)
_log = logging.getLogger(__name__)

Vector = NDArray[np.float32]


class CachedEmbedder:
    """Another encoder's vectors, kept in `folder`. `known` and `encoded`: phrases found there, and phrases
    that were not.
    """

    def __init__(self, inner: VectorEmbedder, folder: Path) -> None:
        self._inner = inner
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", inner.identity)[:60].strip("-.")
        digest = hashlib.sha256(f"{inner.identity}; {_FORMAT}".encode()).hexdigest()[:16]
        self.path = folder / f"{name}-{digest}.sqlite"
        self.known = self.encoded = 0

    @property
    def identity(self) -> str:
        return self._inner.identity

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """n x d, as the inner encoder says; its errors are raised, after what was encoded until then is
        kept.
        """
        vectors = self._kept(phrases)
        missing = sorted(set(phrases) - vectors.keys(), key=lambda phrase: (len(phrase), phrase))
        for start in range(0, len(missing), KEPT_EVERY):
            said = missing[start : start + KEPT_EVERY]
            fresh = checked_vectors(self.identity, self._inner.encode(said), len(said)).astype(np.float32)
            if any(len(vector) != fresh.shape[1] for vector in vectors.values()):
                return self._inner.encode(phrases)  # the file is of another encoder than it says
            vectors |= dict(zip(said, fresh, strict=True))
            self._keep(said, fresh)
        self.known += len(phrases) - len(missing)
        self.encoded += len(missing)
        return np.stack([vectors[phrase] for phrase in phrases]) if phrases else self._inner.encode(phrases)

    def _kept(self, phrases: Sequence[str]) -> dict[str, Vector]:
        """The phrases whose vectors are there and whole."""
        found: dict[str, Vector] = {}

        def read(file: sqlite3.Connection) -> None:
            for phrase in phrases:
                query = "SELECT vector, checksum FROM vectors WHERE phrase = ?"
                row = file.execute(query, (_key(phrase),)).fetchone()
                if row is not None and (vector := _whole(phrase, *row)) is not None:
                    found[phrase] = vector

        if self.path.exists():
            self._do(read)
        return found

    def _keep(self, phrases: Sequence[str], vectors: Vector) -> None:
        contents = [vector.astype(_NUMBERS).tobytes() for vector in vectors]
        rows = [
            (key, content, _checksum(key, content))
            for key, content in zip(map(_key, phrases), contents, strict=True)
        ]
        self._do(lambda file: file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows))

    def _do(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """`work` in one transaction on the file, its owner's alone from the first byte on; whatever is wrong
        with the file, this run does without.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as file, file:
                file.execute(_TABLE)
                work(file)
        except (OSError, sqlite3.Error, ValueError, TypeError, OverflowError) as error:
            _log.warning(
                "%s cannot be used (%s): phrases are encoded again. Delete the file if this comes again",
                self.path,
                type(error).__name__,
            )


def _key(phrase: str) -> bytes:
    return hashlib.sha256(phrase.encode("utf-8", "surrogatepass")).digest()


def _checksum(key: bytes, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(key))


def _whole(phrase: str, content: object, checksum: object) -> Vector | None:
    if not isinstance(content, bytes) or checksum != _checksum(_key(phrase), content):
        return None
    vector = np.frombuffer(content, dtype=_NUMBERS).astype(np.float32)
    return vector if unit_rows(vector[None])[0] else None
