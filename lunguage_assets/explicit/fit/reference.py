"""The ranking as a fit uses it: phrases, their examples, the best opponent (explicit.md section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import U64, text_hash, text_hashes
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.arrays import Floats
from lunguage_assets.judges.rules.published import ruler_sentences

DRAW_BETA = 25.0 / 6.0
"""b of the draw probability; not the rounded 4.167 of the updates (explicit.md section 5)."""

EXAMPLES_DRAWN_FROM = 512
"""Examples of a phrase that a fit draws from.

The published corpus has fewer. Of a larger one a random, stable subset is taken: the cost of a fit does not
grow with the corpus.
"""


@dataclass(frozen=True)
class Reference:
    """The ranked phrases in ranking order.

    Each has its distinct example sentences (`sentences`) and their hashes. `reading_sd` says how far judges
    lie apart in reading one sentence.
    """

    mu: Floats
    variance: Floats
    sentences: tuple[tuple[str, ...], ...]
    hashes: tuple[U64, ...]
    phrases: tuple[str, ...] = ()
    reading_sd: float = 0.0

    @classmethod
    def of(cls, ranking: pd.DataFrame, vocabulary: pd.DataFrame) -> Reference:
        """The placed phrases of a ranking with their examples in the vocabulary; with the bundled ones where
        the published ruler has taken the place of an own ranking.

        Raises:
            MethodError: a phrase has no example sentence, or a place that is not a number.
        """
        ordered = placed(ranking).sort_values("rank", kind="stable")
        phrases = ordered["phrase"].tolist()
        retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
        listed = zip(retained["phrase"], retained["example_sentences"], strict=True)
        examples: Mapping[str, Sequence[str]] = dict(listed)
        if set(ordered["ruler"]) == {"published"} and set(retained["ruler"]) == {"own"}:
            examples = ruler_sentences()
        mu, sigma = (ordered[name].to_numpy(dtype=np.float64) for name in ("mu", "sigma"))
        known = bool(phrases) and all(len(examples.get(phrase, ())) for phrase in phrases)
        if not known or not (np.isfinite(mu) & np.isfinite(sigma)).all():
            raise MethodError(
                "the ranking has phrases without examples in the vocabulary, or places that are not numbers. "
                "Materialise reference_ranking again."
            )
        sentences = tuple(_drawn_from(examples[phrase]) for phrase in phrases)
        hashes = tuple(text_hashes(shown) for shown in sentences)
        return cls(mu, sigma**2, sentences, hashes, tuple(phrases), float(ordered["reading_sd"].iloc[0]))


def placed(ranking: pd.DataFrame) -> pd.DataFrame:
    """The phrases of a `REFERENCE_RANKING` frame that have a place: published, or with a valid match.

    A phrase whose every comparison is invalid stays at the prior with the prior's deviation: every sentence
    would play it first, and it says nothing.
    """
    known: pd.DataFrame = ranking[
        ((ranking["ruler"] == "published") | (ranking["n_matches"] > 0)).to_numpy(dtype=bool)
    ]
    return known


def draw_probability(mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any) -> Floats:
    """How even a game would be: the draw probability of explicit.md section 5, step 1; arrays broadcast."""
    c2 = 2.0 * DRAW_BETA**2 + variance + opponent_variance
    draw: Floats = np.sqrt(2.0 * DRAW_BETA**2 / c2) * np.exp(-((mu - opponent_mu) ** 2) / (2.0 * c2))
    return draw


def _drawn_from(examples: Sequence[str]) -> tuple[str, ...]:
    """The distinct examples, or the ones with the smallest hashes: an added example displaces at most one."""
    hashed = sorted((text_hash("drawn from", sentence), sentence) for sentence in set(examples))
    return tuple(sentence for _, sentence in hashed[:EXAMPLES_DRAWN_FROM])
