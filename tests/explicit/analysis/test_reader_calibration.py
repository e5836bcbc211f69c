"""Calibration of phrases as distributions over readers, on invented outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.reader_calibration import (
    Case,
    distribution_brier,
    distribution_ece,
    reader_calibration,
)


def cases(phrase: str, finding: str, present: int, absent: int) -> list[Case]:
    return [Case(phrase, finding, True)] * present + [Case(phrase, finding, False)] * absent


def test_one_number_per_phrase_gives_the_usual_scores() -> None:
    (whole, *_) = reader_calibration(cases("may", "opacity", 3, 1), {"may": [0.6]})
    assert whole.brier == pytest.approx((3 * 0.4**2 + 0.6**2) / 4)
    assert whole.brier == pytest.approx(whole.brier_of_mean)
    assert whole.ece == pytest.approx(0.75 - 0.6)


def test_readers_who_disagree_lose_their_variance_though_their_mean_is_right() -> None:
    (whole, *_) = reader_calibration(cases("may", "opacity", 5, 5), {"may": [0.2, 0.8]})
    assert whole.mean_p == pytest.approx(whole.share_present)
    assert whole.brier - whole.brier_of_mean == pytest.approx(np.var([0.2, 0.8]))
    assert whole.ece == pytest.approx(0.3)


def test_a_phrase_can_be_right_over_all_and_wrong_for_each_finding() -> None:
    listed = cases("may", "effusion", 9, 1) + cases("may", "nodule", 1, 9)
    by = {(one.by, one.value): one for one in reader_calibration(listed, {"may": [0.5]})}
    assert by["phrase", "may"].ece == pytest.approx(0.0)
    assert by["finding", "effusion"].ece == by["finding", "nodule"].ece == pytest.approx(0.4)
    assert by["finding", "effusion"].mean_p < by["finding", "effusion"].share_present


readers = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(np.array)
answered = st.lists(st.tuples(readers, st.booleans()), min_size=1, max_size=30)


@given(answered)
@examples(100)
def test_the_score_is_the_means_and_the_variance_and_no_order_matters(
    listed: list[tuple[np.ndarray, bool]],
) -> None:
    p, y = [one for one, _ in listed], [present for _, present in listed]
    apart = np.mean([(one.mean() - present) ** 2 + one.var() for one, present in listed])
    assert distribution_brier(p, y) == pytest.approx(float(apart))
    assert 0.0 <= distribution_ece(p, y) <= 1.0
    assert distribution_ece(p[::-1], y[::-1]) == pytest.approx(distribution_ece(p, y))


def test_a_phrase_without_ratings_and_a_rating_in_hundredths_are_refused() -> None:
    with pytest.raises(MethodError, match="1 phrases of the outcomes have no ratings"):
        reader_calibration(cases("may", "opacity", 1, 0), {"or": [0.5]})
    with pytest.raises(MethodError, match="not between 0 and 1"):
        reader_calibration([], {"or": [50.0]})
