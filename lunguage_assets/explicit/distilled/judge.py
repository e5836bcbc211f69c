"""A judge that a panel taught, and the file in which it lies.

docs/distilled.md. A frozen encoder of sentence-transformers reads a masked sentence,
scikit-learn's `BayesianRidge` scores the vector. The file holds what was learnt from
reports, and is as restricted as they are. Its name is the SHA-256 of its content: what
the judge says is known by this digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_file
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.judges.protocol import MASK
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import Floats

Vectors = NDArray[np.float32]

_DECIMALS = 4
"""mu is rounded: no batch's last bit decides between two sentences."""
_LEARNT = ("coef_", "intercept_", "alpha_", "sigma_", "X_offset_")
"""Attributes of a fitted `BayesianRidge` that its predictions follow from."""
_ABOUT = "about"
"""Of the file's metadata the only key: the library stores several in any order."""


class DistilledJudge(Scorer):
    """A judge that compares the scores of a distilled model.

    A sentence unlike all that the model learnt from has no score: its deviation there
    is larger than of nearly all sentences that were held out, or none of the phrases
    that it has seen stands in it.
    """

    def __init__(self, key: str, folder: Path) -> None:
        """Read the model in a folder.

        Args:
            key: of the judge.
            folder: that `lunguage distill` named.

        Raises:
            ConfigurationError: no model is there, or the encoder is another one.
        """
        from safetensors import safe_open
        from sklearn.linear_model import BayesianRidge

        file = scorer_file(folder)
        self._head = BayesianRidge()
        with safe_open(file, framework="np") as stored:
            about = json.loads(stored.metadata()[_ABOUT])
            for name in _LEARNT:
                setattr(self._head, name, stored.get_tensor(name))
        self._phrases = about["phrases"]
        self._largest_sd = about["largest_sd"]
        identity = about["encoder"]
        revision = identity.rpartition("@")[2]
        self._encoder = distilled_encoder(about["encoder_name"], revision)
        if self._encoder.identity != identity:
            raise ConfigurationError(
                f"{file}: the model was trained with encoder {identity}, found "
                f"{self._encoder.identity}. Install that one, or say `lunguage "
                "distill` again."
            )
        super().__init__(key, scorer_identity(file), self._scores)

    def _scores(self, masked_sentences: Sequence[str]) -> Floats:
        vectors = encode(self._encoder, masked_sentences)
        mu, sd = self._head.predict(vectors, return_std=True)
        # A vector may lie near what was learnt, though its hedge was never seen.
        has_known_phrase = [
            any(phrase in sentence.casefold() for phrase in self._phrases)
            for sentence in masked_sentences
        ]
        is_like_learnt = np.array(has_known_phrase) & (sd <= self._largest_sd)
        return np.where(is_like_learnt, np.round(mu, _DECIMALS), np.nan)


def distilled_encoder(name: str, revision: str = "") -> SentenceEmbedder:
    """Find the encoder of a distilled model; see `SentenceEmbedder`."""
    return SentenceEmbedder(name, revision, option="distilled.encoder")


def encode(encoder: SentenceEmbedder, masked_sentences: Sequence[str]) -> Vectors:
    """Read masked sentences, shape (sentences, d), with the encoder's own mask."""
    texts = [
        sentence.replace(MASK, encoder.mask_token) for sentence in masked_sentences
    ]
    return encoder.encode(texts)


def write_scorer(folder: Path, head: Any, about: Mapping[str, Any]) -> str:
    """Write a distilled model, in the place of the one that is there.

    Args:
        folder: which is made as private as the reports.
        head: the fitted `BayesianRidge`.
        about: `encoder` and `encoder_name`, whose vectors it scores; `largest_sd`: a
            sentence with a larger deviation is unlike all that it learnt; hedging
            `phrases` of these.

    Returns:
        The digest, by which the file is named.
    """
    from safetensors.numpy import save

    arrays = {name: np.array(getattr(head, name)) for name in _LEARNT}
    content = save(arrays, {_ABOUT: json.dumps(about)})
    file = folder / f"{hashlib.sha256(content).hexdigest()}.safetensors"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file, lambda stream: stream.write(content))
    for other in set(folder.glob("*.safetensors")) - {file}:
        other.unlink()
    return file.stem


def scorer_file(folder: Path) -> Path:
    """Find the model in a folder; its content is not looked at.

    Raises:
        ConfigurationError: the folder holds none, or several.
    """
    files = list(folder.glob("*.safetensors"))
    if len(files) != 1:
        raise ConfigurationError(
            f"{folder}: found {len(files)} distilled models (*.safetensors), expected "
            "one. `lunguage distill` makes it in `distilled/RANKER` of the home."
        )
    return files[0]


def scorer_identity(file: Path) -> str:
    """Name the model in a file, by which its answers are known."""
    return f"distilled/{file.stem[:16]}"
