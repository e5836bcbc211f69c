"""Random numbers for a model in this process that depend on nothing but the question.

`generate` draws for all rows of a batch from one stream: an answer would depend on its
neighbours. Here each row has its own number per step, hashed from its seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from lunguage_assets.judges.judge_config import GenerationParameters

_BITS = 48


class SeededSampler:
    """Draws the next token of every row of a batch, as a logits processor.

    The drawn token alone keeps a score, and greedy search takes it.

    Args:
        parameters: that shape the distribution of the next token.
        seeds: one for each row.
        start: tokens of a row before the first drawn one.
    """

    def __init__(
        self, parameters: GenerationParameters, seeds: Sequence[str], start: int
    ) -> None:
        import transformers

        self._seeds = seeds
        self._start = start
        # The library's own, in the order in which its `generate` applies them.
        self._shapers: list[Any] = []
        if parameters.temperature != 1:
            temperature = float(parameters.temperature)
            self._shapers.append(transformers.TemperatureLogitsWarper(temperature))
        if parameters.top_k:
            self._shapers.append(transformers.TopKLogitsWarper(parameters.top_k))
        if parameters.top_p < 1:
            self._shapers.append(transformers.TopPLogitsWarper(parameters.top_p))
        if parameters.min_p:
            self._shapers.append(transformers.MinPLogitsWarper(parameters.min_p))

    def __call__(self, tokens: Any, scores: Any) -> Any:
        """Draw a token for each row.

        Args:
            tokens: so far, of shape (rows, tokens).
            scores: of the next token, of shape (rows, vocabulary).

        Returns:
            Scores of the same shape: 0 for the drawn token, minus infinity elsewhere.
        """
        import torch

        for shaper in self._shapers:
            scores = shaper(tokens, scores)
        step = tokens.shape[1] - self._start
        numbers = torch.tensor(
            [[fraction(seed, step)] for seed in self._seeds],
            dtype=torch.float64,
            device=scores.device,
        )
        cumulative = torch.softmax(scores.double(), dim=-1).cumsum(dim=-1)
        # The last sum may miss 1 by rounding: the number is scaled to it.
        targets = numbers * cumulative[:, -1:]
        drawn = torch.searchsorted(cumulative, targets, right=True)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)


def fraction(*parts: object) -> float:
    """Hash parts to a number in [0, 1)."""
    text = "\x1f".join(map(str, parts)).encode()
    # A float holds 48 bits exactly, so that the number is never rounded up to 1.
    digest = hashlib.blake2b(text, digest_size=_BITS // 8).digest()
    return int.from_bytes(digest, "little") / 2.0**_BITS
