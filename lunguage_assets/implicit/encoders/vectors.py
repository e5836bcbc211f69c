"""Vectors in a Parquet file: made elsewhere, by any encoder (`PrecomputedEmbedder`), or kept for a home so
that every phrase is encoded once (`CachedEmbedder`).

A file has two columns, `phrase` (text) and `vector` (a list of numbers, of one length), and the encoder's
name in its metadata. Phrases are words of the reports: only their owner can read the file.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.errors import InputError, MethodError
from lunguage_assets.files import replace_file

KEPT_EVERY = 20_000
"""Phrases that are encoded before their vectors are kept: what a run that is killed loses at most."""

_ENCODER_KEY = b"lunguage encoder"
_SHORTEST, _UNIT_TOLERANCE = 1e-12, 1e-3

Floats = NDArray[np.float32]


class VectorEmbedder(Protocol):
    """A sentence encoder that gives vectors."""

    @property
    def identity(self) -> str:
        """Name and revision, recorded with every result."""

    def encode(self, phrases: Sequence[str]) -> Floats:
        """One L2-normalised row per phrase, n x d; a phrase's row does not depend on the other phrases."""


def checked_vectors(identity: str, answer: Floats, rows: int) -> Floats:
    """The encoder's answer as `rows` finite unit vectors; raises `MethodError` when it is not."""
    vectors = np.asarray(answer)
    right = vectors.ndim == 2 and len(vectors) == rows
    if not right or not np.allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=0.0, atol=_UNIT_TOLERANCE):
        raise MethodError(
            f"encoder {identity}: found an array of shape {vectors.shape}, expected {rows} finite vectors of "
            "length 1."
        )
    return vectors


class PrecomputedEmbedder:
    """Vectors from a file, normalised to length 1, known by the encoder that it names and by its content;
    raises `InputError` when it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            name = (pq.read_schema(path).metadata or {}).get(_ENCODER_KEY, path.stem.encode())
            with path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, pa.ArrowException) as error:
            raise _unusable(path, f"no Parquet file ({type(error).__name__})") from None
        self.identity = f"precomputed {name.decode('utf-8', 'replace')}, sha256:{content[:16]}"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """n x d; raises `InputError` for phrases without a vector, or vectors that cannot be used."""
        missing = len(set(phrases) - self._known.keys())
        if missing:
            found = f"no vector for {missing} of {len(phrases)} phrases"
            remedy = "Make the file again from all phrases that are compared; docs/models.md shows how."
            raise InputError(str(self._path), found, "one for every phrase", remedy, column="phrase")
        return np.stack([self._known[phrase] for phrase in phrases])

    @cached_property
    def _known(self) -> dict[str, Floats]:
        names, vectors = _read_vectors(self._path)
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if len(set(names)) < len(names) or not (np.isfinite(lengths) & (lengths > _SHORTEST)).all():
            raise _unusable(self._path, "two vectors for one phrase, one of zeros, or a number that is none")
        return dict(zip(names, (vectors / lengths).astype(np.float32), strict=True))


class CachedEmbedder:
    """Another encoder's vectors, kept in `folder`. Of two processes that write at once the last one wins."""

    def __init__(self, inner: VectorEmbedder, folder: Path) -> None:
        self._inner, self.identity = inner, inner.identity
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.identity)[:60].strip("-.")
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        self.path = folder / f"{name}-{digest}.parquet"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """n x d, as the inner encoder says; when it fails, what was encoded until then is kept."""
        known = dict(zip(*_read_vectors(self.path), strict=True)) if self.path.exists() else {}
        missing = sorted(set(phrases) - known.keys(), key=lambda phrase: (len(phrase), phrase))
        for start in range(0, len(missing), KEPT_EVERY):
            said = missing[start : start + KEPT_EVERY]
            fresh = checked_vectors(self.identity, self._inner.encode(said), len(said)).astype(np.float32)
            known.update(zip(said, fresh, strict=True))
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_vectors(self.path, list(known), np.stack(list(known.values())), self.identity)
        return np.stack([known[phrase] for phrase in phrases])


def _read_vectors(path: Path) -> tuple[list[str], Floats]:
    """The phrases of a file, and their vectors, n x d, as they are; raises `InputError` for another form."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as source:
            table = source.read(["phrase", "vector"], use_threads=False)
        vectors = np.stack(table.column("vector").to_numpy()).astype(np.float32)
        return list(map(str, table.column("phrase").to_pylist())), vectors
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise _unusable(path, f"a file that cannot be read ({type(error).__name__})") from None


def write_vectors(path: Path, phrases: Sequence[str], vectors: Floats, encoder: str) -> None:
    """Write a file for `PrecomputedEmbedder` from n phrases and an n x d array."""
    numbers = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    lists = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
    table = pa.table({"phrase": pa.array(phrases, type=pa.string()), "vector": lists})
    table = table.replace_schema_metadata({_ENCODER_KEY: encoder.encode()})

    def write(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        pq.write_table(table, stream, compression="zstd", write_page_checksum=True)

    replace_file(path, write)


def _unusable(path: Path, found: str) -> InputError:
    expected = "Parquet with 'phrase' (text, each once) and 'vector' (finite numbers, of one length)"
    remedy = "Make the file again, as docs/models.md shows; one below `encodings` only delete."
    return InputError(str(path), found, expected, remedy)
