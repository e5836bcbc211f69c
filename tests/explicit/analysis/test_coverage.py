"""The 95% interval of p holds the truth about as often as it says, on simulated corpora
taken through the whole pipeline (docs/trust.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from profiles import scaled
from simulation import (
    ADVERSE,
    ASSUMED,
    Noise,
    SimulatedCorpus,
    judges_that_read_alike,
    simulated_corpus,
)

from lunguage_assets.explicit.fit import Fits, phrase_examples
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.probability import Anchor, calibrate, probability
from lunguage_assets.settings import ExplicitSettings

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
