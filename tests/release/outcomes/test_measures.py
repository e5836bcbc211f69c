"""Measures of calibration, on outcomes whose calibration is known and against other implementations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from lunguage_assets.draws import Floats
from lunguage_assets.release.outcomes.measures import (
    bins,
    distribution_brier,
    distribution_ece,
    expected_calibration_error,
    readers_around,
    recalibration,
)


@pytest.mark.parametrize(
    ("p", "outcome"),
    [
        ([0.2, 0.4, 0.6], [1, 1, 1]),
        ([0.3, 0.3, 0.3], [0, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]),
        ([0.0, 1.0], [0, 1]),
    ],
)
def test_a_slope_that_the_outcomes_do_not_determine_is_none(p: list[float], outcome: list[float]) -> None:
    assert recalibration(np.array(p), np.array(outcome, dtype=float)) is None


def test_the_calibration_error_of_a_constant_is_its_distance_from_the_share() -> None:
    assert expected_calibration_error(binned([(0.7, number < 4) for number in range(10)])) == pytest.approx(
        0.3
    )


cells = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 1.0]), st.booleans()), min_size=1)


def binned(given_cells: list[tuple[float, bool]]) -> pd.DataFrame:
    frame = pd.DataFrame(given_cells, columns=["p", "outcome"])
    return bins(frame.assign(p_low=frame["p"], p_high=frame["p"]))


@given(cells)
def test_bins_hold_every_cell_once_and_never_part_equal_p(given_cells: list[tuple[float, bool]]) -> None:
    found = binned(given_cells)
    assert found["cells"].sum() == len(given_cells)
    assert (found["cells"] * found["observed"]).sum() == pytest.approx(sum(one for _, one in given_cells))
    assert found["mean_p"].tolist() == sorted(set(found["mean_p"]))
    assert 0.0 <= expected_calibration_error(found) <= 1.0


readers = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(np.array)


@given(st.lists(st.tuples(readers, st.booleans()), min_size=1, max_size=30))
def test_the_score_of_readers_is_that_of_their_mean_and_their_variance_in_any_order(
    listed: list[tuple[Floats, bool]],
) -> None:
    p, y = [one for one, _ in listed], np.array([float(present) for _, present in listed])
    apart = np.mean([(one.mean() - present) ** 2 + one.var() for one, present in zip(p, y, strict=True)])
    assert distribution_brier(p, y) == pytest.approx(float(apart))
    assert 0.0 <= distribution_ece(p, y) <= 1.0
    assert distribution_ece(p[::-1], y[::-1]) == pytest.approx(distribution_ece(p, y))


def test_readers_lie_around_p_as_far_as_they_differ_and_nothing_is_read_into_certainty() -> None:
    around = logit(readers_around(0.7, 0.5))
    assert np.median(around) == pytest.approx(logit(0.7))
    assert around.std() == pytest.approx(0.5, abs=0.05)
    assert readers_around(1.0, 0.5).tolist() == [1.0]
    assert readers_around(0.7, 0.0) == pytest.approx(0.7)
