"""Vectors in Parquet files: made elsewhere, by any encoder (`PrecomputedEmbedder`), or kept for a home so
that every phrase is encoded once (`CachedEmbedder`).

A file has two columns, `phrase` (text) and `vector` (a list of numbers, of one length); a folder of such
files counts as one. The encoder's name is in the metadata of files from `write_vectors`. Phrases are words of
the reports: only their owner can read the files.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.errors import InputError
from lunguage_assets.files import replace_file
from lunguage_assets.implicit.encoders.contract import VectorEmbedder, checked_vectors

KEPT_EVERY = 20_000
"""Phrases that are encoded before their vectors are kept: what a run that is killed loses at most."""

_ENCODER_KEY = b"lunguage encoder"
_SHORTEST = 1e-12

Floats = NDArray[np.float32]


class PrecomputedEmbedder:
    """Vectors from a file, normalised to length 1.

    Its identity names the encoder that the file names, and the file's content. Raises `InputError` when there
    is no such file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._files = path, _vector_files(path)

    @cached_property
    def identity(self) -> str:
        content = hashlib.sha256()
        for file in self._files:
            with file.open("rb") as stream:
                content.update(hashlib.file_digest(stream, "sha256").digest())
        try:
            encoders = {(pq.read_schema(file).metadata or {}).get(_ENCODER_KEY, b"") for file in self._files}
        except (OSError, pa.ArrowException) as error:
            raise _unusable(self._path, f"no Parquet ({type(error).__name__})") from None
        if len(encoders) > 1:
            raise _unusable(self._path, "vectors of several encoders")
        name = encoders.pop().decode("utf-8", "replace") or self._path.stem
        return f"precomputed {name}, sha256:{content.hexdigest()[:16]}"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """n x d.

        Raises:
            InputError: phrases without a vector (how many, and what to do), or vectors that cannot be used.
        """
        number, vectors = self._known
        missing = len(set(phrases) - number.keys())
        if missing:
            raise InputError(
                str(self._path),
                f"no vector for {missing} of {len(phrases)} phrases",
                "one for every phrase that is compared",
                "Encode the phrases that have none (docs/models.md shows how), and put both files of vectors "
                "into one folder, named as implicit.encoder_vectors.",
                column="phrase",
            )
        return vectors[[number[phrase] for phrase in phrases]]

    @cached_property
    def _known(self) -> tuple[dict[str, int], Floats]:
        """Number of every phrase, and the vectors of all files by number."""
        names, vectors = _read_vectors(self._path)
        number = {name: place for place, name in enumerate(names)}
        if len(number) < len(names):
            raise _unusable(self._path, "two vectors for one phrase")
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > _SHORTEST)).all():
            raise _unusable(self._path, "a vector of zeros, or with a number that is none")
        return number, (vectors / lengths).astype(np.float32)


class CachedEmbedder:
    """Another encoder's vectors, kept in `folder`. Of two processes that write at once the last one wins."""

    def __init__(self, inner: VectorEmbedder, folder: Path) -> None:
        self._inner, self.identity = inner, inner.identity
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.identity)[:60].strip("-.")
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        self.path = folder / f"{name}-{digest}.parquet"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """n x d, as the inner encoder says; its errors are raised, after what was encoded until then is
        kept.
        """
        names, vectors = _read_vectors(self.path) if self.path.exists() else ([], None)
        missing = sorted(set(phrases).difference(names), key=lambda phrase: (len(phrase), phrase))
        for start in range(0, len(missing), KEPT_EVERY):
            said = missing[start : start + KEPT_EVERY]
            fresh = checked_vectors(self.identity, self._inner.encode(said), len(said)).astype(np.float32)
            names, vectors = names + said, fresh if vectors is None else np.concatenate([vectors, fresh])
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_vectors(self.path, names, vectors, self.identity)
        number = {name: place for place, name in enumerate(names)}
        found: Floats = np.asarray(vectors)[[number[phrase] for phrase in phrases]]
        return found


def _vector_files(path: Path) -> list[Path]:
    """The file, or the Parquet files of the folder, sorted; raises `InputError` when there are none."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        raise _unusable(path, "no file")
    return files


def _read_vectors(path: Path) -> tuple[list[str], Floats]:
    """The phrases of a file, or of a folder of files, and their vectors, n x d, as they are; raises
    `InputError` for another form, or vectors that are missing, incomplete or of several lengths.
    """
    names: list[str] = []
    parts: list[Floats] = []
    try:
        for file in _vector_files(path):
            with pq.ParquetFile(file, pre_buffer=False, page_checksum_verification=True) as source:
                table = source.read(["phrase", "vector"], use_threads=False)
            column = table.column("vector").combine_chunks()
            values, lengths = column.flatten(), pc.unique(pc.list_value_length(column)).to_pylist()
            if len(lengths) != 1 or not lengths[0] or values.null_count:
                raise _unusable(file, "empty, incomplete or unequally long vectors")
            names += map(str, table.column("phrase").to_pylist())
            numbers = np.asarray(values.cast(pa.float32(), safe=False))
            parts.append(numbers.reshape(len(column), lengths[0]))
        return names, np.concatenate(parts)
    except (OSError, pa.ArrowException, KeyError, AttributeError, ValueError) as error:
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
    expected = "Parquet with 'phrase' (text, each once) and 'vector' (finite, of one length and encoder)"
    remedy = "Make the file again, as docs/models.md shows; one below `encodings` only delete."
    return InputError(str(path), found, expected, remedy)
