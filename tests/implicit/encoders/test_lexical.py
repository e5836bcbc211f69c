"""The lexical encoder, and what is asked of any encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import AlikeEmbedder, vocabulary
from profiles import examples

from lunguage_assets.errors import MethodError
from lunguage_assets.implicit.encoders import LexicalEmbedder, pair_cosines


def cosine(one: str, other: str) -> float:
    if one == other:
        return 1.0
    return float(pair_cosines(LexicalEmbedder(vocabulary()), [one, other], [0], [1])[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("effusion RUL", "pleural effusion right upper lobe"),
        ("effusions lungs", "pleural effusion lung"),
        ("pna", "pneumonia"),
        ("chf exacerbation", "congestive heart failure exacerbation"),
        ("ptx, apices", "pneumothorax apex"),
        ("blunting cp angle", "blunting of the costophrenic angle"),
        ("Nodules R lung", "nodule right lung"),
        ("opacity left-sided", "left sided opacity"),
    ],
)
def test_spellings_of_the_same_thing_are_the_same(one: str, other: str) -> None:
    assert cosine(one, other) == 1.0


def test_different_findings_are_told_apart_by_their_words() -> None:
    assert cosine("pericardial effusion", "pleural effusion") == 0.5
    assert cosine("opacity", "nodule") == 0.0
    assert cosine("opacity right lower lobe", "opacity left lower lobe") == 0.75


words = st.lists(
    st.sampled_from(
        ["opacity", "effusion", "rul", "left", "nodules", "5", "mm", "of", "lungs", "-", "zzz", "chf"]
    ),
    max_size=6,
).map(" ".join)


@examples(60)
@given(st.lists(words, min_size=1, max_size=6))
def test_a_phrase_is_like_itself_and_two_are_alike_the_same_beside_any_others(phrases: list[str]) -> None:
    pairs = [(a, b) for a in range(len(phrases)) for b in range(len(phrases))]
    first, second = zip(*pairs, strict=True)
    exact = LexicalEmbedder(vocabulary()).cosines(phrases, first, second).reshape(len(phrases), -1)
    np.testing.assert_allclose(np.diag(exact), 1.0)
    np.testing.assert_array_equal(exact, exact.T)
    assert ((exact >= 0.0) & (exact <= 1.0 + 1e-9)).all()
    one, last = phrases[0], phrases[-1]
    (alone,) = LexicalEmbedder(vocabulary()).cosines([one, last], [0], [1])
    assert alone == exact[0, -1]


class Wrong(AlikeEmbedder):
    identity = "wrong"

    def __init__(self, answer: np.ndarray) -> None:
        super().__init__()
        self.answer = answer

    def encode(self, phrases: Sequence[str]) -> np.ndarray:
        return self.answer


@pytest.mark.parametrize(
    "answer", [np.ones((1, 3)), np.full((2, 3), np.nan), np.ones(2), np.full((2, 3), 2.0), np.zeros((2, 3))]
)
def test_an_encoder_that_answers_wrongly_stops_the_run(answer: np.ndarray) -> None:
    with pytest.raises(MethodError, match="wrong"):
        pair_cosines(Wrong(answer), ["a", "b"], [0], [1])
