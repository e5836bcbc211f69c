"""Sentence encoders, which measure how similar two phrases are (implicit.md section 2).

An encoder is part of the provenance: its `identity` is stored with every row. One that
cannot be opened is an error, never a reason to take another. The vectors of a model are
kept in the home; phrases are words of the reports, so only their owner can read them.
The built-in encoder is in `lexical_encoder.py`, what is compared in `similarity.py`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import InputError, MethodError
from lunguage_assets.files import replace_file
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.implicit.lexical_encoder import IDENTITY, LexicalEmbedder
from lunguage_assets.settings import ImplicitSettings

KEPT_EVERY = 20_000
"""Phrases after which vectors are kept: what a run that is killed loses at most."""

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


Embedder = VectorEmbedder | LexicalEmbedder
"""What measures similarity; one's own has the members of `VectorEmbedder`."""


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
        """Encode n phrases as n x d; what is new is kept batch by batch.

        Raises:
            InputError: the file of kept vectors cannot be read.
        """
        vector_by_phrase = self._kept() if self.path.exists() else {}
        missing = set(phrases) - vector_by_phrase.keys()
        # Phrases of one length go through a model together.
        in_order = sorted(missing, key=lambda phrase: (len(phrase), phrase))
        for start in range(0, len(in_order), KEPT_EVERY):
            batch = in_order[start : start + KEPT_EVERY]
            answer = self._inner.encode(batch)
            vectors = checked_vectors(self.identity, answer, len(batch))
            vector_by_phrase.update(zip(batch, vectors, strict=True))
            self._keep(vector_by_phrase)
        return np.stack([vector_by_phrase[phrase] for phrase in phrases])

    def _kept(self) -> dict[str, Floats]:
        try:
            with pq.ParquetFile(self.path, page_checksum_verification=True) as source:
                table = source.read(use_threads=False)
            vectors = np.stack(table["vector"].to_numpy())
            return dict(zip(table["phrase"].to_pylist(), vectors, strict=True))
        except (OSError, pa.ArrowException, KeyError, ValueError) as error:
            raise InputError(
                str(self.path),
                f"a file that cannot be read ({type(error).__name__})",
                "Parquet with 'phrase' and 'vector'",
                "Delete it: the vectors are made again.",
            ) from None

    def _keep(self, vector_by_phrase: dict[str, Floats]) -> None:
        phrases = list(vector_by_phrase)
        table = pa.table({"phrase": phrases, "vector": list(vector_by_phrase.values())})

        def write(stream: BinaryIO) -> None:
            os.fchmod(stream.fileno(), 0o600)
            pq.write_table(table, stream, compression="zstd", write_page_checksum=True)

        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self.path, write)


def make_embedder(
    settings: ImplicitSettings, vocabulary: Vocabulary, home: Path
) -> Embedder:
    """Open the configured encoder.

    Args:
        settings: that name it.
        vocabulary: of the built-in encoder.
        home: a model keeps its vectors in its `encodings`.

    Raises:
        ConfigurationError: library, model or revision is missing.
    """
    if settings.encoder == "lexical":
        return LexicalEmbedder(vocabulary)
    return CachedEmbedder(_model(settings), home / "encodings")


def encoder_identity(settings: ImplicitSettings) -> str:
    """Name the encoder that `make_embedder` would open; raises as that does."""
    if settings.encoder == "lexical":
        return IDENTITY
    return _model(settings).identity


def _model(settings: ImplicitSettings) -> SentenceEmbedder:
    return SentenceEmbedder(
        settings.encoder_model,
        settings.encoder_revision,
        settings.encoder_device,
        settings.encoder_batch_size,
    )
