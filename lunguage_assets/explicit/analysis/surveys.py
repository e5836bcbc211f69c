"""CSV templates that people fill in: phrase pairs for experts, sentences for raters.

Sections 4 and 6 of docs/method/explicit.md. All that is drawn follows from the seed.
The answers are read by `experts.py` and, for the anchors, by `fit/anchors.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.anchors import RATING_COLUMNS

EXAMPLES_OF_PAIR = 5
"""Sentences that show an expert how a phrase is used, at most."""
EXAMPLES_TO_RATE = 10
"""Sentences of a phrase that are rated, at most."""


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


def ratings_template(
    vocabulary: pd.DataFrame,
    phrases: Sequence[str],
    *,
    raters: int = 2,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw sentences to be rated: the rows of `anchor_ratings.csv`.

    Every rater gets the same sentences in one random order.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        phrases: to be rated.
        raters: how many rate.
        seed: of all draws.

    Raises:
        MethodError: fewer than two phrases, or one without a sentence.
    """
    if len(set(phrases)) < 2:
        raise MethodError(
            "fewer than two phrases to rate; the scale needs two at least. Name "
            "further ones."
        )
    sentences = _sentences_by_phrase(vocabulary)
    random = np.random.default_rng(seed)
    questions = []
    for phrase in dict.fromkeys(phrases):
        if not sentences.get(phrase):
            raise MethodError(
                f"no sentence with the phrase {phrase!r} is in the vocabulary. Name "
                "another with --phrase."
            )
        drawn = _draw(sentences[phrase], EXAMPLES_TO_RATE, random)
        questions += [(phrase, sentence) for sentence in drawn]
    # Mixed, so that nobody rates ten sentences of one phrase in a row.
    mixed = [questions[number] for number in random.permutation(len(questions))]
    rows = [
        (f"rater_{rater}", *question, "")
        for rater in range(1, raters + 1)
        for question in mixed
    ]
    return pd.DataFrame(rows, columns=list(RATING_COLUMNS))


def _sentences_by_phrase(vocabulary: pd.DataFrame) -> dict[str, list[str]]:
    """Collect distinct example sentences, in an order of their own."""
    sentences = vocabulary.set_index("phrase")["example_sentences"]
    return {str(phrase): sorted(set(texts)) for phrase, texts in sentences.items()}


def _draw(
    sentences: Sequence[str], count: int, random: np.random.Generator
) -> list[str]:
    drawn = random.permutation(len(sentences))[:count]
    return [sentences[number] for number in drawn.tolist()]
