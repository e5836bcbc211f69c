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

from lunguage_assets.explicit.fit import ReferenceScale
from lunguage_assets.explicit.intervals import panel_posterior


@pytest.fixture(scope="module")
def reference() -> ReferenceScale:
    vocabulary, ranking = published_scale()
    return ReferenceScale.from_tables(ranking, vocabulary)


def posterior(answers: np.ndarray, reference: ReferenceScale) -> np.ndarray:
    return np.stack(panel_posterior(answers, reference.mu, reference.variance))


def integrated(
    won: np.ndarray, lost: np.ndarray, reference: ReferenceScale
) -> tuple[float, float]:
    """Mean and deviation of a place by adaptive quadrature of prior times
    likelihood.
    """
    noise = np.sqrt(2 * 4.167**2 + reference.variance)

    def density(x: float) -> float:
        z = (x - reference.mu) / noise
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
    reference: ReferenceScale, answers: list[tuple[int, int]]
) -> None:
    counts = np.zeros((1, 1, len(reference.mu), 2), dtype=np.int16)
    for phrase, outcome in answers:
        counts[0, 0, phrase, outcome] += 1
    with judges_that_read_alike():
        mean, sd = posterior(counts, reference)
    expected = integrated(counts[0, 0, :, 1], counts[0, 0, :, 0], reference)
    assert (mean[0], sd[0]) == pytest.approx(expected, abs=1e-4)


def test_the_posterior_of_a_sentence_does_not_depend_on_the_others(
    reference: ReferenceScale,
) -> None:
    rng = np.random.default_rng(0)
    answers = rng.poisson(0.2, (700, 3, len(reference.mu), 2)).astype(np.int16)
    together = posterior(answers, reference)
    some = np.array([3, 511, 512, 699])
    assert (posterior(answers[some], reference) == together[:, some]).all()
    turned = posterior(answers[:, ::-1], reference)
    assert turned == pytest.approx(together, abs=1e-9)
