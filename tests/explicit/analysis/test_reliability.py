"""Coefficients of agreement, against textbooks and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from invented_answers import plain_alpha, plain_kappa

from lunguage_assets.explicit.analysis import reliability
from lunguage_assets.explicit.analysis.reliability import (
    fleiss_kappa,
    krippendorff_alpha,
)

FLEISS_1971_STYLE = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""The usual worked example of Fleiss' kappa: ten subjects, fourteen raters, five categories; kappa 0.210."""

_ = -1
KRIPPENDORFF_2011 = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]).T  # fmt: skip
"""The worked example of Krippendorff (2011): four observers, twelve units, missing values; nominal alpha
0.743.
"""

ratings_tables = st.tuples(st.integers(1, 9), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 3))
)


def test_kappa_of_the_worked_example_of_fleiss() -> None:
    ratings = np.array([np.repeat(np.arange(5), row) for row in FLEISS_1971_STYLE])
    estimate = fleiss_kappa(ratings)
    assert estimate.value == pytest.approx(0.20993, abs=1e-5)
    assert estimate.n == 10


def test_alpha_of_the_worked_example_of_krippendorff() -> None:
    estimate = krippendorff_alpha(KRIPPENDORFF_2011)
    assert estimate.value == pytest.approx(0.743, abs=5e-4)
    assert estimate.n == 11


@given(ratings_tables)
def test_both_coefficients_equal_plain_loops(ratings: np.ndarray) -> None:
    for estimate, plain in ((fleiss_kappa, plain_kappa), (krippendorff_alpha, plain_alpha)):
        expected, found = plain(ratings), estimate(ratings).value
        assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert found is None or found <= 1.0 + 1e-12


@given(ratings_tables, st.permutations(range(4)), st.randoms())
def test_names_of_categories_and_raters_do_not_matter(
    ratings: np.ndarray, names: list[int], random: Any
) -> None:
    renamed = np.where(ratings >= 0, np.array(names)[np.maximum(ratings, 0)], ratings)
    reordered = renamed[:, random.sample(range(ratings.shape[1]), ratings.shape[1])]
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        before, after = coefficient(ratings).value, coefficient(reordered).value
        assert before == (None if after is None else pytest.approx(after, abs=1e-12))


def test_large_vocabularies_do_not_go_through_the_package_and_give_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratings = np.random.default_rng(0).integers(-1, 30, (400, 4))
    by_package = krippendorff_alpha(ratings).value
    monkeypatch.setattr(reliability, "_PACKAGE_CELLS", 0)
    assert krippendorff_alpha(ratings).value == pytest.approx(by_package, abs=1e-12)
