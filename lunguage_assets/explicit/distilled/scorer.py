"""A model distilled from a panel, as it scores masked sentences.

docs/distilled.md. An encoder reads a sentence, a head scores it. `training.py` makes
such a model, `scorer_files.py` reads and writes its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.distilled.encoder import MaskedEncoder, Vectors
from lunguage_assets.explicit.distilled.scorer_files import (
    ENCODER,
    about_scorer,
    scorer_identity,
    stored_model,
)
from lunguage_assets.randomness import Floats

SENTENCES_AT_ONCE = 20_000
"""Sentences whose vectors are held together."""
_DECIMALS = 4
"""mu and its deviation are rounded: no batch's last bit decides what is stored."""


class Scores(NamedTuple):
    """Scores of sentences, each of shape (sentences,).

    Attributes:
        mu: on the reference scale.
        mu_sd: its standard deviation.
        out_of_distribution: whether the sentence is unlike all that the scorer learnt
            from.
    """

    mu: Floats
    mu_sd: Floats
    out_of_distribution: NDArray[np.bool_]


class DistilledScorer:
    """The scorer in a folder.

    Attributes:
        about: what `scorer.json` says.
        identity: names everything that changes a score.
        phrases: hedging phrases of the sentences that it learnt from.
    """

    def __init__(self, folder: Path, device: str = "auto") -> None:
        """Read the scorer.

        Raises:
            ConfigurationError: the folder holds no scorer, or one that was changed
                since it was trained, or its encoder is another one.
        """
        self.about = about_scorer(folder)
        self.identity = scorer_identity(folder)
        self.head, self.errors = stored_model(folder)
        self.phrases = frozenset(self.about.phrases)
        own_encoder = folder / ENCODER
        # A fine-tuned encoder lies beside its head. Its files are part of the digest,
        # which has just been checked.
        if own_encoder.exists():
            name = str(own_encoder.resolve())
            self.encoder = MaskedEncoder(name, self.about.revision, device)
            return
        self.encoder = MaskedEncoder(
            self.about.encoder_name, self.about.revision, device
        )
        if self.encoder.identity != self.about.encoder:
            raise ConfigurationError(
                f"{folder}: the scorer was trained with encoder {self.about.encoder}, "
                f"found {self.encoder.identity}. Install that one, or say `lunguage "
                "distill` again."
            )

    def read(
        self, sentences: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Scores:
        """Score masked sentences; identical ones are read once.

        Args:
            sentences: masked sentences.
            progress: told how many more were read.
        """
        distinct = sorted(set(sentences))
        row_by_sentence = {sentence: row for row, sentence in enumerate(distinct)}
        scores_by_block = []
        # At least one block, so that there are arrays, if empty ones.
        for start in range(0, max(len(distinct), 1), SENTENCES_AT_ONCE):
            block = distinct[start : start + SENTENCES_AT_ONCE]
            vectors = self.encoder.encode(block, progress)
            scores_by_block.append(self.score_vectors(vectors))
        rows = [row_by_sentence[sentence] for sentence in sentences]
        columns = map(np.concatenate, zip(*scores_by_block, strict=True))
        return Scores._make(column[rows] for column in columns)

    def score_vectors(self, vectors: Vectors) -> Scores:
        """Score vectors of the encoder."""
        mu = np.round(self.head.mu(vectors), _DECIMALS)
        deviation = self.errors.deviation(mu, self.head.variance(vectors))
        return Scores(
            mu=mu,
            mu_sd=np.round(deviation, _DECIMALS),
            out_of_distribution=self.errors.is_out_of_distribution(vectors),
        )

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Score masked sentences as any `Scorer` does: mu and mu_sd."""
        scores = self.read(masked_sentences)
        return scores.mu, scores.mu_sd
