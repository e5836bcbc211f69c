"""Coefficients of agreement: against textbooks and plain loops, undefined cases, and their bootstrap
intervals.
"""

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
    Resampling,
    fleiss_kappa,
    independent,
    krippendorff_alpha,
    pairwise_agreement,
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


def alone(ratings: np.ndarray) -> Resampling:
    return independent(len(ratings), 0, 0)


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


@given(ratings_tables)
def test_pairwise_agreement_is_a_share_and_symmetric(ratings: np.ndarray) -> None:
    table, mirrored = (
        pairwise_agreement(ratings, alone(ratings)),
        pairwise_agreement(ratings[:, ::-1], alone(ratings)),
    )
    raters = ratings.shape[1]
    turned = {tuple(sorted((raters - 1 - a, raters - 1 - b))): i for i, (a, b) in enumerate(mirrored.pairs)}
    for i, pair in enumerate(table.pairs):
        value = table.of_pair(i).value
        assert value is None or 0.0 <= value <= 1.0
        assert value == mirrored.of_pair(turned[pair]).value


def test_large_vocabularies_do_not_go_through_the_package_and_give_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratings = np.random.default_rng(0).integers(-1, 30, (400, 4))
    by_package = krippendorff_alpha(ratings).value
    monkeypatch.setattr(reliability, "_PACKAGE_CELLS", 0)
    assert krippendorff_alpha(ratings).value == pytest.approx(by_package, abs=1e-12)


def test_equal_answers_in_one_category_leave_both_coefficients_undefined() -> None:
    ratings = np.zeros((5, 3), dtype=np.int64)
    assert fleiss_kappa(ratings).value is None
    assert krippendorff_alpha(ratings).value is None
    assert pairwise_agreement(ratings, alone(ratings)).of_pair(0).value == 1.0


def test_intervals_contain_the_value_and_repeats_in_a_cluster_narrow_none() -> None:
    ratings = np.random.default_rng(3).integers(0, 2, (60, 2))
    once = Resampling(np.arange(60), 0, 200)
    tenfold = Resampling(np.repeat(np.arange(60), 10), 0, 200)
    single, repeated = (
        pairwise_agreement(ratings, once).of_pair(0),
        pairwise_agreement(np.repeat(ratings, 10, axis=0), tenfold).of_pair(0),
    )
    assert (single.low, single.high) == pytest.approx((repeated.low, repeated.high))
    assert single.low < single.value < single.high


def test_a_bootstrap_interval_has_the_width_of_the_binomial() -> None:
    ratings = np.stack([np.zeros(400, dtype=np.int64), (np.arange(400) % 5 == 0).astype(np.int64)], axis=1)
    estimate = pairwise_agreement(ratings, independent(400, 0, 2000)).of_pair(0)
    assert estimate.value == 0.8
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * (0.8 * 0.2 / 400) ** 0.5, rel=0.1)


def test_every_resample_has_as_many_clusters_as_there_are() -> None:
    terms = np.random.default_rng(0).random((12, 2))
    one = Resampling(np.zeros(12, dtype=np.int64), 0, 30).totals(terms)
    np.testing.assert_allclose(one, np.tile(terms.sum(axis=0), (30, 1)))
    four = Resampling(np.arange(12) // 3, 0, 30).totals(np.ones((12, 1)))
    assert four.ravel().tolist() == [12.0] * 30
    assert Resampling(np.arange(12), 0, 1).totals(terms).shape == (0, 2)
