"""A CSV template of phrase pairs that experts fill in (explicit.md section 4).

All that is drawn follows from the seed. The answers are read by `experts.py`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError

EXPERTS = 6
"""Empty columns of a template, as in the paper's survey."""
EXAMPLES_OF_PAIR = 5
"""Sentences that show an expert how a phrase is used, at most."""


def pairs_template(
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    *,
    pairs: int = 50,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw phrase pairs that are spread over the ranking, with example sentences.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        ranking: the `REFERENCE_RANKING` frame of it.
        pairs: how many are drawn, at most: evenly by their distance in rank.
        seed: of all draws.

    Returns:
        Columns `phrase_1`, `phrase_2`, `example_1`, `example_2` (sentences, one on a
        line) and one for each expert.

    Raises:
        MethodError: fewer than two ranked phrases.
    """
    sentences = vocabulary.set_index("phrase")["example_sentences"]
    ranked = [phrase for phrase in ranking["phrase"] if phrase in sentences.index]
    if len(ranked) < 2:
        raise MethodError(
            f"{len(ranked)} phrases are ranked; a survey needs two at least. Use a "
            'larger corpus, or reference_scale = "published".'
        )
    random = np.random.default_rng(seed)
    by_distance = sorted(
        combinations(range(len(ranked)), 2), key=lambda pair: pair[1] - pair[0]
    )
    spread = np.linspace(0, len(by_distance) - 1, min(pairs, len(by_distance)))
    rows = []
    # Otherwise the questions would become easier from first to last, and the less
    # certain phrase would always stand first.
    for number in random.permutation(spread.astype(int)):
        phrases = [ranked[rank] for rank in random.permutation(by_distance[number])]
        examples = []
        for phrase in phrases:
            drawn = random.permutation(sorted(set(sentences[phrase])))
            examples.append("\n".join(drawn[:EXAMPLES_OF_PAIR]))
        rows.append([*phrases, *examples])
    columns = ["phrase_1", "phrase_2", "example_1", "example_2"]
    template = pd.DataFrame(rows, columns=columns)
    for number in range(1, EXPERTS + 1):
        template[f"expert_{number}"] = ""
    return template
