"""A CSV template of phrase pairs that experts fill in (explicit.md section 4).

All that is drawn follows from the seed. The answers are read by `experts.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError

EXAMPLES_OF_PAIR = 5
"""Sentences that show an expert how a phrase is used, at most."""


def pairs_template(
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    *,
    pairs: int = 50,
    experts: int = 6,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw phrase pairs that are spread over the ranking, with example sentences.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        ranking: the `REFERENCE_RANKING` frame of it.
        pairs: how many are drawn, at most: one of each stratum of rank distance.
        experts: empty columns.
        seed: of all draws.

    Returns:
        Columns `phrase_1`, `phrase_2`, `example_1`, `example_2` (sentences, one on a
        line) and one for each expert.

    Raises:
        MethodError: fewer than two ranked phrases, or a ranking of another vocabulary.
    """
    if set(ranking["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            "the ranking belongs to another version of the hedge vocabulary. Run again "
            "with --rebuild-ranking, then make the survey."
        )
    sentences = _sentences_by_phrase(vocabulary[vocabulary["retained"].astype(bool)])
    by_rank = ranking.sort_values("rank")["phrase"]
    ranked = [phrase for phrase in by_rank if phrase in sentences]
    if len(ranked) < 2:
        raise MethodError(
            f"{len(ranked)} phrases are ranked; a survey needs two at least. Use a "
            'larger corpus, or reference_scale = "published".'
        )
    random = np.random.default_rng(seed)
    numbers = np.array(list(combinations(range(len(ranked)), 2)))
    numbers = numbers[np.argsort(numbers[:, 1] - numbers[:, 0], kind="stable")]
    strata = np.array_split(numbers, min(pairs, len(numbers)))
    drawn = [random.choice(stratum) for stratum in strata]
    rows = []
    # Otherwise the questions would become easier from first to last, and the less
    # certain phrase would always stand first.
    for pair in random.permutation(drawn):
        first, second = (ranked[number] for number in random.permutation(pair))
        examples = [
            "\n".join(_draw(sentences[phrase], EXAMPLES_OF_PAIR, random))
            for phrase in (first, second)
        ]
        rows.append([first, second, *examples, *[""] * experts])
    names = [f"expert_{number}" for number in range(1, experts + 1)]
    columns = ["phrase_1", "phrase_2", "example_1", "example_2", *names]
    return pd.DataFrame(rows, columns=columns)


def _sentences_by_phrase(vocabulary: pd.DataFrame) -> dict[str, list[str]]:
    """Collect distinct example sentences, in an order of their own."""
    sentences = vocabulary.set_index("phrase")["example_sentences"]
    return {str(phrase): sorted(set(texts)) for phrase, texts in sentences.items()}


def _draw(
    sentences: Sequence[str], count: int, random: np.random.Generator
) -> list[str]:
    drawn = random.permutation(len(sentences))[:count]
    return [sentences[number] for number in drawn.tolist()]
