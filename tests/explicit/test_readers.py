"""How far readers differ, by position on the scale, and the range in which another
reader's p would lie.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy.special import expit

from lunguage_assets.explicit.probability import reader_range


def everywhere(sd: float) -> pd.DataFrame:
    return pd.DataFrame({"logit_p": [0.0], "below": sd, "above": sd})


def middle_80(p: float) -> list[float]:
    """The range of 80% of readers around a p that is known exactly, in hundredths."""
    return [100.0 * float(end) for end in reader_range(p, p, p, share=0.8)]


@pytest.mark.parametrize(
    ("p", "people"),
    [(0.729, (60, 85)), (0.717, (60, 85)), (0.400, (15, 60)), (0.187, (5, 30))],
)
def test_the_middle_80_percent_are_where_people_have_them(
    p: float, people: tuple[int, int]
) -> None:
    """Likely, probable, might, unlikely; neighbouring phrases are pooled, so not to the
    point.
    """
    assert middle_80(p) == pytest.approx(people, abs=5.5)


shares = st.floats(0.02, 0.98)


@given(shares, shares, shares, st.floats(0.0, 2.0))
@examples(100)
def test_the_range_of_another_reader_holds_the_interval_of_the_mean(
    a: float, b: float, c: float, sd: float
) -> None:
    low, p, high = sorted((a, b, c))
    reader_low, reader_high = reader_range(p, low, high, spread=everywhere(sd))
    assert 0.0 <= reader_low <= low <= p <= high <= reader_high <= 1.0


def test_the_range_holds_19_of_20_further_readers() -> None:
    """Six invented readers of a phrase; a further one is asked each time."""
    draw = np.random.default_rng(7)
    truth = draw.normal(0.0, 1.0, 1000)
    error = 0.7 / 6**0.5
    mean = truth + draw.normal(0.0, error, 1000)
    p, p_low, p_high = (expit(mean + z * error) for z in (0.0, -1.96, 1.96))
    low, high = reader_range(p, p_low, p_high, spread=everywhere(0.7))
    further = expit(truth + draw.normal(0.0, 0.7, 1000))
    assert 0.93 < ((low <= further) & (further <= high)).mean() < 0.97
