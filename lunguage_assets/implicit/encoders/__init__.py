"""Sentence encoders, which measure the similarity of two phrases (implicit.md section 2).

What an encoder is: `contract.py`. Which there are: `lexical.py` (no model), `sentence.py` (a model in this
process), `vectors.py` (vectors from a file). Here the configured one is opened; one that cannot be is an
error, never a reason to take another.
"""

from __future__ import annotations

from pathlib import Path

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.encoders.contract import Embedder, PairEmbedder, pair_cosines
from lunguage_assets.implicit.encoders.lexical import IDENTITY, LexicalEmbedder
from lunguage_assets.implicit.encoders.sentence import SentenceEmbedder, find_model
from lunguage_assets.implicit.encoders.vectors import CachedEmbedder, PrecomputedEmbedder
from lunguage_assets.settings import ImplicitSettings

__all__ = ["Embedder", "LexicalEmbedder", "PairEmbedder", "encoder_identity", "make_embedder", "pair_cosines"]


def make_embedder(settings: ImplicitSettings, vocabulary: Vocabulary, home: Path | None = None) -> Embedder:
    """The configured encoder.

    `home`: the folder in whose `encodings` the vectors of a model are kept, and from which the path of a
        vectors file counts; without one nothing is kept. A model's weights are loaded at the first phrase
        that is not known yet.

    Raises:
        ConfigurationError: the encoder cannot be had: a library, model or revision is missing, or no vectors
            file is named.
        InputError: the vectors file cannot be used.
    """
    if settings.encoder == "lexical":
        return LexicalEmbedder(vocabulary)
    if settings.encoder == "precomputed":
        return _precomputed(settings, home)
    folder = find_model(settings.encoder_model, settings.encoder_revision)
    model = SentenceEmbedder(folder, settings.encoder_device, settings.encoder_batch_size)
    return model if home is None else CachedEmbedder(model, home / "encodings")


def encoder_identity(settings: ImplicitSettings, home: Path | None = None) -> str:
    """The identity of the encoder that `make_embedder` would open; raises as that does."""
    if settings.encoder == "lexical":
        return IDENTITY
    if settings.encoder == "precomputed":
        return _precomputed(settings, home).identity
    return find_model(settings.encoder_model, settings.encoder_revision).identity


def _precomputed(settings: ImplicitSettings, home: Path | None) -> PrecomputedEmbedder:
    if not settings.encoder_vectors:
        raise ConfigurationError(
            "settings.toml, option implicit.encoder_vectors: found nothing, expected the Parquet file (or "
            "folder of them) with the vectors of encoder 'precomputed'. docs/models.md shows how to make one."
        )
    path = Path(settings.encoder_vectors).expanduser()
    return PrecomputedEmbedder(path if home is None else home / path)  # an absolute path stays as it is
