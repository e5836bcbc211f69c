"""The posterior of a place is prior times likelihood of all answers, with readings of
each judge's own (docs/trust.md).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy.integrate import quad
from scipy.stats import norm
from simulation import judges_that_read_alike
from tentative_findings import published_scale

from lunguage_assets.explicit.intervals import panel_posterior

RANKING = published_scale()[1]
MU = RANKING["mu"].to_numpy()


def posterior(answers: np.ndarray) -> np.ndarray:
    return np.stack(panel_posterior(answers, RANKING))


def integrated(won: np.ndarray, lost: np.ndarray) -> tuple[float, float]:
    """Mean and deviation of a place by adaptive quadrature of prior times
    likelihood.
    """
    noise = np.sqrt(2 * 4.167**2 + RANKING["sigma"].to_numpy() ** 2)

    def density(x: float) -> float:
        z = (x - MU) / noise
        likelihood = won @ norm.logcdf(z) + lost @ norm.logcdf(-z)
        return float(np.exp(norm.logpdf(x, 25.0, 8.333) + likelihood + 20.0))

    def moment(k: int) -> float:
        peaks = [0, 10, 20, 30, 40]
        return float(
            quad(lambda x: x**k * density(x), -40, 90, limit=400, points=peaks)[0]
        )

    total, first, second = (moment(k) for k in range(3))
    return first / total, float(np.sqrt(second / total - (first / total) ** 2))


@given(st.lists(st.tuples(st.integers(0, 41), st.integers(0, 1)), max_size=60))
@examples(12)
def test_the_posterior_is_prior_times_likelihood(
    answers: list[tuple[int, int]],
) -> None:
    counts = np.zeros((1, 1, len(MU), 2), dtype=np.int16)
    for phrase, outcome in answers:
        counts[0, 0, phrase, outcome] += 1
    with judges_that_read_alike():
        mean, sd = posterior(counts)
    expected = integrated(counts[0, 0, :, 1], counts[0, 0, :, 0])
    assert (mean[0], sd[0]) == pytest.approx(expected, abs=1e-4)


def test_the_posterior_of_a_sentence_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(0)
    answers = rng.poisson(0.2, (700, 3, len(MU), 2)).astype(np.int16)
    together = posterior(answers)
    some = np.array([3, 511, 512, 699])
    assert (posterior(answers[some]) == together[:, some]).all()
    turned = posterior(answers[:, ::-1])
    assert turned == pytest.approx(together, abs=1e-9)
