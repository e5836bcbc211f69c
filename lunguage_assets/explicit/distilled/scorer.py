"""A model distilled from a panel, and the file in which it lies.

docs/distilled.md. A frozen encoder of sentence-transformers reads a masked sentence,
scikit-learn's `BayesianRidge` scores the vector. The file holds what was learnt from
reports, and is as restricted as they are. Its name is the SHA-256 of its content: what
it scores is released under this digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_file
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.judges.protocol import MASK
from lunguage_assets.randomness import Floats

Vectors = NDArray[np.float32]

_SENTENCES_AT_ONCE = 1024
_DECIMALS = 4
"""mu and its deviation are rounded: no batch's last bit decides what is stored."""
_LEARNT = ("coef_", "intercept_", "alpha_", "sigma_", "X_offset_")
"""Attributes of a fitted `BayesianRidge` that its predictions follow from."""
_ABOUT = "about"
"""Of the file's metadata the only key: the library stores several in any order."""


class DistilledScorer:
    """The scorer in a file.

    Attributes:
        identity: names everything that changes a score.
        phrases: hedging phrases of the sentences that it learnt from.
        largest_sd: a sentence with a larger deviation is unlike all that it learnt.
    """

    def __init__(self, file: Path, device: str = "auto") -> None:
        """Read the scorer.

        Raises:
            ConfigurationError: the encoder is another one.
        """
        from safetensors import safe_open
        from sklearn.linear_model import BayesianRidge

        self._head = BayesianRidge()
        with safe_open(file, framework="np") as stored:
            about = json.loads(stored.metadata()[_ABOUT])
            for name in _LEARNT:
                setattr(self._head, name, stored.get_tensor(name))
        self.identity = scorer_identity(file)
        self.phrases = frozenset(about["phrases"])
        self.largest_sd = about["largest_sd"]
        identity = about["encoder"]
        revision = identity.rpartition("@")[2]
        self._encoder = distilled_encoder(about["encoder_name"], revision, device)
        if self._encoder.identity != identity:
            raise ConfigurationError(
                f"{file}: the scorer was trained with encoder {identity}, found "
                f"{self._encoder.identity}. Install that one, or say `lunguage "
                "distill` again."
            )

    def scores(
        self,
        masked_sentences: Sequence[str],
        progress: Callable[[int], None] = lambda more: None,
    ) -> tuple[Floats, Floats]:
        """Score masked sentences as any `Scorer` does: mu and mu_sd.

        Args:
            masked_sentences: each without regard to the others.
            progress: told how many more were read.
        """
        if not masked_sentences:
            return np.zeros(0), np.zeros(0)
        vectors = encode(self._encoder, masked_sentences, progress)
        mu, sd = self._head.predict(vectors, return_std=True)
        return np.round(mu, _DECIMALS), np.round(sd, _DECIMALS)


def distilled_encoder(name: str, revision: str, device: str) -> SentenceEmbedder:
    """Find the encoder of a distilled model; see `SentenceEmbedder`."""
    return SentenceEmbedder(name, revision, device, option="distilled.encoder")


def encode(
    encoder: SentenceEmbedder,
    masked_sentences: Sequence[str],
    progress: Callable[[int], None],
) -> Vectors:
    """Read masked sentences, shape (sentences, d).

    Args:
        encoder: which reads `<finding>` as its mask.
        masked_sentences: each without regard to the others.
        progress: told how many more were read.
    """
    vectors = []
    for start in range(0, len(masked_sentences), _SENTENCES_AT_ONCE):
        block = masked_sentences[start : start + _SENTENCES_AT_ONCE]
        texts = [sentence.replace(MASK, encoder.mask_token) for sentence in block]
        vectors.append(encoder.encode(texts))
        progress(len(block))
    return np.concatenate(vectors)


def write_scorer(
    folder: Path,
    head: Any,
    largest_sd: float,
    encoder: SentenceEmbedder,
    phrases: Iterable[str],
) -> str:
    """Write a scorer, in the place of the one that is there.

    Args:
        folder: which is made as private as the reports.
        head: the fitted `BayesianRidge`.
        largest_sd: as of `DistilledScorer`.
        encoder: whose vectors it scores.
        phrases: hedging phrases of the sentences that it learnt from.

    Returns:
        The digest, by which the file is named.
    """
    from safetensors.numpy import save

    about = {
        "encoder": encoder.identity,
        "encoder_name": encoder.name,
        "largest_sd": largest_sd,
        "phrases": sorted(phrases),
    }
    arrays = {name: np.array(getattr(head, name)) for name in _LEARNT}
    content = save(arrays, {_ABOUT: json.dumps(about)})
    file = folder / f"{hashlib.sha256(content).hexdigest()}.safetensors"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file, lambda stream: stream.write(content))
    for other in set(folder.glob("*.safetensors")) - {file}:
        other.unlink()
    return file.stem


def scorer_file(folder: Path) -> Path:
    """Find the scorer in a folder; its content is not looked at.

    Raises:
        ConfigurationError: the folder holds none, or several.
    """
    files = list(folder.glob("*.safetensors"))
    if len(files) != 1:
        raise ConfigurationError(
            f"{folder}: found {len(files)} distilled scorers (*.safetensors), expected "
            "one. `lunguage distill` makes it in `distilled/RANKER` of the home."
        )
    return files[0]


def scorer_identity(file: Path) -> str:
    """Name the scorer in a file, by which its answers are known."""
    return f"distilled/{file.stem[:16]}"
