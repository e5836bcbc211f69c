"""The reference scale as a fit uses it: ranked phrases and the sentences they show.

A tentative sentence is compared with example sentences of ranked phrases (section 5 of
docs/method/explicit.md). How the phrases come to be ranked is in `rating/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.probability import ranked_phrases
from lunguage_assets.explicit.rating.ranking import is_published_scale
from lunguage_assets.judges.rules.lexicon import reference_sentences
from lunguage_assets.randomness import U64, Floats, text_hash, text_hashes

EXAMPLES_DRAWN_FROM = 512
"""Examples of a phrase that a fit draws from, so that a frequent phrase costs no more
than others; of more examples a random, stable subset.
"""


@dataclass(frozen=True)
class ReferenceScale:
    """Ranked phrases, the most certain first, with what a fit needs of each.

    Attributes:
        mu: score of each phrase, shape (phrases,).
        variance: square of each phrase's sigma, shape (phrases,).
        sentences: distinct masked example sentences of each phrase.
        hashes: hashes of these sentences, from which one is drawn.
        phrases: wording of each phrase.
        reading_sd: how far judges differ in reading one sentence, in units of mu.
    """

    mu: Floats
    variance: Floats
    sentences: tuple[tuple[str, ...], ...]
    hashes: tuple[U64, ...]
    phrases: tuple[str, ...] = ()
    reading_sd: float = 0.0

    @classmethod
    def from_tables(
        cls, ranking: pd.DataFrame, vocabulary: pd.DataFrame
    ) -> ReferenceScale:
        """Combine the scores of a ranking with the examples of a vocabulary.

        Args:
            ranking: `REFERENCE_RANKING` frame.
            vocabulary: `HEDGE_VOCABULARY` frame that was ranked.

        Raises:
            MethodError: a phrase has no example sentence, or a score that is no number.
        """
        ordered = ranked_phrases(ranking).sort_values("rank", kind="stable")
        phrases = ordered["phrase"].tolist()
        examples = _examples_by_phrase(ordered, vocabulary)
        mu = ordered["mu"].to_numpy(dtype=np.float64)
        sigma = ordered["sigma"].to_numpy(dtype=np.float64)
        has_examples = all(len(examples.get(phrase, ())) > 0 for phrase in phrases)
        has_scores = bool((np.isfinite(mu) & np.isfinite(sigma)).all())
        if not phrases or not has_examples or not has_scores:
            raise MethodError(
                "the ranking has phrases without examples in the vocabulary, or places "
                "that are not numbers. Materialise reference_ranking again."
            )
        sentences = tuple(_stable_subset(examples[phrase]) for phrase in phrases)
        return cls(
            mu=mu,
            variance=sigma**2,
            sentences=sentences,
            hashes=tuple(text_hashes(of_phrase) for of_phrase in sentences),
            phrases=tuple(phrases),
            reading_sd=float(ordered["reading_sd"].iloc[0]),
        )


def _examples_by_phrase(
    ranking: pd.DataFrame, vocabulary: pd.DataFrame
) -> Mapping[str, Sequence[str]]:
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    is_published_ranking = is_published_scale(ranking)
    is_own_vocabulary = set(retained["ruler"]) == {"own"}
    # The phrases of the corpus were compared, but their ranking gave no probabilities:
    # the published scale stands in for it and brings its own sentences (section 1).
    if is_published_ranking and is_own_vocabulary:
        return reference_sentences()
    pairs = zip(retained["phrase"], retained["example_sentences"], strict=True)
    return dict(pairs)


def _stable_subset(examples: Sequence[str]) -> tuple[str, ...]:
    """Take the distinct examples with the smallest hashes.

    An example that is added later displaces one of them at most.
    """
    hashed = [(text_hash("drawn from", example), example) for example in set(examples)]
    smallest = sorted(hashed)[:EXAMPLES_DRAWN_FROM]
    return tuple(example for _, example in smallest)
