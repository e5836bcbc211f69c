"""The posterior of a place is prior times likelihood of all answers, with readings of
each judge's own (docs/trust.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy.integrate import quad
from scipy.stats import norm

from lunguage_assets.explicit.fit.posterior import panel_posterior
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES


@pytest.fixture(scope="module")
def reference() -> ReferenceScale:
    settings = ExplicitSettings(reference_scale="published")
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), settings)
    return ReferenceScale.from_tables(
        reference_ranking(vocabulary, {}, settings), vocabulary
    )


@pytest.fixture(scope="module")
def alike(reference: ReferenceScale) -> ReferenceScale:
    """Judges read a sentence alike, so that all answers are independent."""
    return replace(reference, reading_sd=0.0)


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


@given(st.lists(st.tuples(st.integers(0, 41), st.booleans()), max_size=60))
@examples(12)
def test_the_posterior_is_prior_times_likelihood(
    alike: ReferenceScale, answers: list[tuple[int, bool]]
) -> None:
    won, lost = np.zeros((2, 1, 1, len(alike.mu)), dtype=np.int16)
    for phrase, is_won in answers:
        (won if is_won else lost)[0, 0, phrase] += 1
    mean, sd = panel_posterior(won, lost, alike)
    expected = integrated(won[0, 0], lost[0, 0], alike)
    assert (mean[0], sd[0]) == pytest.approx(expected, abs=1e-4)


def test_the_posterior_of_a_sentence_does_not_depend_on_the_others(
    reference: ReferenceScale,
) -> None:
    rng = np.random.default_rng(0)
    won, lost = (
        rng.poisson(0.2, (700, 3, len(reference.mu))).astype(np.int16) for _ in range(2)
    )
    together = np.stack(panel_posterior(won, lost, reference))
    some = np.array([3, 511, 512, 699])
    assert (
        np.stack(panel_posterior(won[some], lost[some], reference)) == together[:, some]
    ).all()
    turned = panel_posterior(won[:, ::-1], lost[:, ::-1], reference)
    assert np.stack(turned) == pytest.approx(together, abs=1e-9)
