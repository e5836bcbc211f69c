"""Sentence encoders, which measure how similar two phrases are (implicit.md section 2).

An encoder is part of the provenance: its `identity` is stored with every row. One that
cannot be opened is an error, never a reason to take another. Vectors are in a Parquet
file with the columns `phrase` and `vector` and the encoder's name in its metadata;
phrases are words of the reports, so only their owner can read it. The built-in encoder
is in `lexical_encoder.py`, what is compared in `similarity.py`.
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

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.files import replace_file
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.implicit.lexical_encoder import IDENTITY, LexicalEmbedder
from lunguage_assets.settings import ImplicitSettings

KEPT_EVERY = 20_000
"""Phrases after which vectors are kept: what a run that is killed loses at most."""

_ENCODER_KEY = b"lunguage encoder"
_SHORTEST = 1e-12
_UNIT_TOLERANCE = 1e-3
_HASH_LENGTH = 16

Floats = NDArray[np.float32]


class VectorEmbedder(Protocol):
    """A sentence encoder that gives vectors."""

    @property
    def identity(self) -> str:
        """Name and revision, recorded with every result."""

    def encode(self, phrases: Sequence[str]) -> Floats:
        """Encode n phrases as n x d, each as it would be alone, with length 1."""


def checked_vectors(identity: str, answer: Floats, rows: int) -> Floats:
    """Check that an encoder's answer is one finite unit vector per phrase.

    Args:
        identity: of the encoder.
        answer: n x d.
        rows: how many phrases it was asked for.

    Raises:
        MethodError: it is not.
    """
    vectors = np.asarray(answer)
    if vectors.ndim == 2 and len(vectors) == rows:
        lengths = np.linalg.norm(vectors, axis=1)
        if np.allclose(lengths, 1.0, rtol=0.0, atol=_UNIT_TOLERANCE):
            return vectors
    raise MethodError(
        f"encoder {identity}: found an array of shape {vectors.shape}, expected {rows} "
        "finite vectors of length 1."
    )


class PrecomputedEmbedder:
    """Vectors from a file, normalised to length 1.

    Raises:
        InputError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            metadata = pq.read_schema(path).metadata or {}
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, pa.ArrowException) as error:
            raise _unusable(path, f"no Parquet file ({type(error).__name__})") from None
        name = metadata.get(_ENCODER_KEY, path.stem.encode()).decode("utf-8", "replace")
        self.identity = f"precomputed {name}, sha256:{digest[:_HASH_LENGTH]}"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """Look up n phrases as n x d.

        Raises:
            InputError: phrases have no vector, or vectors cannot be used.
        """
        missing = set(phrases) - self._vector_by_phrase.keys()
        if missing:
            raise InputError(
                str(self._path),
                f"no vector for {len(missing)} of {len(phrases)} phrases",
                "one for every phrase",
                "Make the file again from all phrases that are compared; "
                "docs/models.md shows how.",
                column="phrase",
            )
        return np.stack([self._vector_by_phrase[phrase] for phrase in phrases])

    @cached_property
    def _vector_by_phrase(self) -> dict[str, Floats]:
        phrases, vectors = _read_vectors(self._path)
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        is_usable = np.isfinite(lengths) & (lengths > _SHORTEST)
        if len(set(phrases)) < len(phrases) or not is_usable.all():
            raise _unusable(
                self._path,
                "two vectors for one phrase, one of zeros, or a number that is none",
            )
        unit_vectors = (vectors / lengths).astype(np.float32)
        return dict(zip(phrases, unit_vectors, strict=True))


class CachedEmbedder:
    """Another encoder's vectors, kept in a folder.

    Of two processes that write at once the last one wins.
    """

    def __init__(self, inner: VectorEmbedder, folder: Path) -> None:
        self._inner = inner
        self.identity = inner.identity
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.identity)[:60].strip("-.")
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:_HASH_LENGTH]
        self.path = folder / f"{name}-{digest}.parquet"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """Encode n phrases as n x d; when it fails, what there is then is kept."""
        vector_by_phrase: dict[str, Floats] = {}
        if self.path.exists():
            vector_by_phrase.update(zip(*_read_vectors(self.path), strict=True))
        # Phrases of one length go through a model together.
        missing = sorted(
            set(phrases) - vector_by_phrase.keys(),
            key=lambda phrase: (len(phrase), phrase),
        )
        for start in range(0, len(missing), KEPT_EVERY):
            batch = missing[start : start + KEPT_EVERY]
            answer = self._inner.encode(batch)
            vectors = checked_vectors(self.identity, answer, len(batch))
            vector_by_phrase.update(zip(batch, vectors.astype(np.float32), strict=True))
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            kept = np.stack(list(vector_by_phrase.values()))
            write_vectors(self.path, list(vector_by_phrase), kept, self.identity)
        return np.stack([vector_by_phrase[phrase] for phrase in phrases])


def _read_vectors(path: Path) -> tuple[list[str], Floats]:
    """Read the phrases of a file, and their vectors, n x d, as they are."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as source:
            table = source.read(["phrase", "vector"], use_threads=False)
        vectors = np.stack(table.column("vector").to_numpy()).astype(np.float32)
        return list(map(str, table.column("phrase").to_pylist())), vectors
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        problem = f"a file that cannot be read ({type(error).__name__})"
        raise _unusable(path, problem) from None


def write_vectors(
    path: Path, phrases: Sequence[str], vectors: Floats, encoder: str
) -> None:
    """Write a file for `PrecomputedEmbedder`.

    Args:
        path: of the file.
        phrases: n distinct ones.
        vectors: of them, n x d.
        encoder: its name, for the provenance.
    """
    numbers = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    lists = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
    table = pa.table({"phrase": pa.array(phrases, type=pa.string()), "vector": lists})
    table = table.replace_schema_metadata({_ENCODER_KEY: encoder.encode()})

    def write(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        pq.write_table(table, stream, compression="zstd", write_page_checksum=True)

    replace_file(path, write)


def _unusable(path: Path, problem: str) -> InputError:
    return InputError(
        str(path),
        problem,
        "Parquet with 'phrase' (text, each once) and 'vector' (finite numbers, of one "
        "length)",
        "Make the file again, as docs/models.md shows; one below `encodings` only "
        "delete.",
    )


Embedder = VectorEmbedder | LexicalEmbedder
"""What measures similarity; one's own has the members of `VectorEmbedder`."""


def make_embedder(
    settings: ImplicitSettings, vocabulary: Vocabulary, home: Path
) -> Embedder:
    """Open the configured encoder.

    Args:
        settings: that name it.
        vocabulary: of the built-in encoder.
        home: a model keeps its vectors in its `encodings`.

    Raises:
        ConfigurationError: library, model, revision or named file is missing.
        InputError: a file cannot be used.
    """
    if settings.encoder == "lexical":
        return LexicalEmbedder(vocabulary)
    return _vector_embedder(settings, home)


def encoder_identity(settings: ImplicitSettings, home: Path) -> str:
    """Name the encoder that `make_embedder` would open; raises as that does."""
    if settings.encoder == "lexical":
        return IDENTITY
    return _vector_embedder(settings, home).identity


def _vector_embedder(settings: ImplicitSettings, home: Path) -> VectorEmbedder:
    if settings.encoder == "sentence":
        model = SentenceEmbedder(
            settings.encoder_model,
            settings.encoder_revision,
            settings.encoder_device,
            settings.encoder_batch_size,
        )
        return CachedEmbedder(model, home / "encodings")
    if not settings.encoder_vectors:
        raise ConfigurationError(
            "settings.toml, option implicit.encoder_vectors: found nothing, expected "
            "the Parquet file with the vectors of encoder 'precomputed'. "
            "docs/models.md shows how to make one."
        )
    return PrecomputedEmbedder(home / Path(settings.encoder_vectors).expanduser())
