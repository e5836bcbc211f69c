"""An encoder with a memory: every phrase is encoded once for a home, not once for a run.

One Parquet file of phrases and vectors per encoder, of the form that encoder `precomputed` reads: it may be
brought along to another machine. No result depends on it; a file that cannot be used costs time only. Of two
processes that write at once the last one wins. Phrases are words of the reports.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lunguage_assets.errors import InputError
from lunguage_assets.implicit.encoders.contract import VectorEmbedder, checked_vectors, unit_rows
from lunguage_assets.implicit.encoders.precomputed import read_vectors, write_vectors

KEPT_EVERY = 20_000
"""Phrases that are encoded before their vectors are kept: what a run that is killed loses at most."""

_log = logging.getLogger(__name__)


class CachedEmbedder:
    """Another encoder's vectors, kept in `folder`. `known` and `encoded`: phrases found there, and phrases
    that were not.
    """

    def __init__(self, inner: VectorEmbedder, folder: Path) -> None:
        self._inner = inner
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", inner.identity)[:60].strip("-.")
        digest = hashlib.sha256(inner.identity.encode()).hexdigest()[:16]
        self.path = folder / f"{name}-{digest}.parquet"
        self.known = self.encoded = 0

    @property
    def identity(self) -> str:
        return self._inner.identity

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """n x d, as the inner encoder says; its errors are raised, after what was encoded until then is
        kept.
        """
        names, vectors = self._kept()
        missing = sorted(set(phrases).difference(names), key=lambda phrase: (len(phrase), phrase))
        self.known, self.encoded = self.known + len(phrases) - len(missing), self.encoded + len(missing)
        for start in range(0, len(missing), KEPT_EVERY):
            said = missing[start : start + KEPT_EVERY]
            fresh = checked_vectors(self.identity, self._inner.encode(said), len(said)).astype(np.float32)
            names, vectors = names + said, np.concatenate([vectors, fresh]) if names else fresh
            self._keep(names, vectors)
        number = {name: place for place, name in enumerate(names)}
        return vectors[[number[phrase] for phrase in phrases]]

    def _kept(self) -> tuple[list[str], NDArray[np.float32]]:
        """The phrases of the file and their vectors; nothing of a file that is not whole."""
        nothing: tuple[list[str], NDArray[np.float32]] = [], np.empty((0, 0), dtype=np.float32)
        if not self.path.exists():
            return nothing
        try:
            names, vectors = read_vectors(self.path)
            if not unit_rows(vectors).all() or len(set(names)) < len(names):
                raise ValueError
        except (OSError, pa.ArrowException, InputError, KeyError, ValueError) as error:
            self._tell(error)
            return nothing
        return names, vectors

    def _keep(self, names: Sequence[str], vectors: NDArray[np.float32]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_vectors(self.path, names, vectors, self.identity)
        except OSError as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        _log.warning(
            "%s cannot be used (%s): phrases are encoded again. Delete the file if this comes again",
            self.path,
            type(error).__name__,
        )
