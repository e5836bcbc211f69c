"""The posterior of a place is prior times likelihood of all answers, with readings of
each judge's own; and the 95% interval of p that follows holds the truth about as often
as it says, on simulated corpora taken through the whole pipeline (docs/trust.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples, scaled
from scipy.integrate import quad
from scipy.stats import norm
from simulation import (
    ADVERSE,
    ASSUMED,
    Noise,
    SimulatedCorpus,
    judges_that_read_alike,
    simulated_corpus,
)
from tentative_findings import published_scale

from lunguage_assets.explicit.fit import Fits, phrase_examples
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.probability import Anchor, calibrate, probability
from lunguage_assets.settings import ExplicitSettings

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


CORPORA = max(2, scaled(4))
PHRASES = 14
TARGETS = 100
JUDGES = 4


class Trial(NamedTuple):
    corpus: SimulatedCorpus
    ranking: pd.DataFrame
    fits: Fits


def trials(noise: Noise) -> list[Trial]:
    done = []
    for seed in range(CORPORA):
        settings = ExplicitSettings(seed=seed, bootstrap=20)
        corpus = simulated_corpus(seed, phrases=PHRASES, targets=TARGETS, noise=noise)
        panel = corpus.panel(JUDGES, noise, seed)
        ranking = corpus.ranking(panel, settings)
        examples = phrase_examples(ranking, corpus.vocabulary)
        fits = Fits(corpus.targets, ranking, examples, panel, settings)
        fits.run()
        done.append(Trial(corpus, ranking, fits))
    return done


@pytest.fixture(scope="module")
def assumed() -> list[Trial]:
    return trials(ASSUMED)


@pytest.fixture(scope="module")
def adverse() -> list[Trial]:
    return trials(ADVERSE)


def coverage(done: list[Trial], sources: str = "place ranking anchors") -> float:
    """Share of targets whose true p lies in its interval; sources of uncertainty not
    named are taken as zero.
    """
    inside = []
    for corpus, ranking, fits in done:
        centre, mu_sd = panel_posterior(fits.answers, ranking)
        ranking_used = ranking if "ranking" in sources else ranking.assign(mu_sd=0.0)
        anchors = corpus.anchors
        if "anchors" not in sources:
            anchors = tuple(Anchor(a.phrase, *[a.probability] * 3) for a in anchors)
        line = calibrate(ranking_used, anchors)
        _, low, high = probability(
            fits.mu, mu_sd if "place" in sources else 0.0 * mu_sd, line, centre
        )
        inside.append((low <= corpus.target_p) & (corpus.target_p <= high))
    return float(np.concatenate(inside).mean())


@pytest.mark.lengthy
def test_the_interval_holds_95_percent_under_assumed_and_other_noise(
    assumed: list[Trial], adverse: list[Trial]
) -> None:
    assert 0.93 <= coverage(assumed) <= 0.995
    assert 0.92 <= coverage(adverse) <= 0.995


def test_without_one_of_its_sources_it_would_not(
    assumed: list[Trial], adverse: list[Trial]
) -> None:
    assert coverage(assumed, sources="ranking anchors") < 0.88
    assert coverage(adverse, sources="ranking anchors") < 0.88
    assert coverage(adverse, sources="place") < coverage(adverse) - 0.01
    with judges_that_read_alike():
        narrow = coverage(adverse)
    assert narrow < coverage(adverse), "answers of one judge are not independent"
