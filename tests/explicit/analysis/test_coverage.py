"""The 95% interval of p holds the truth about as often as it says, on simulated corpora taken through the
whole pipeline (docs/trust.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
from profiles import scaled
from simulation import (
    ADVERSE,
    ASSUMED,
    Noise,
    SimulatedCorpus,
    SimulatedJudge,
    simulated_corpus,
)

from lunguage_assets.explicit.fit.fits import Fits
from lunguage_assets.explicit.fit.fitting import fit_sentences
from lunguage_assets.explicit.fit.posterior import posterior_of_a_panel
from lunguage_assets.explicit.fit.probability import Anchor, calibrate, probability
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.settings import ExplicitSettings

CORPORA = max(2, scaled(4))
PHRASES, TARGETS, JUDGES = 14, 150, 4


@dataclass
class Trial:
    corpus: SimulatedCorpus
    panel: list[SimulatedJudge]
    ranking: pd.DataFrame
    settings: ExplicitSettings

    @cached_property
    def reference(self) -> Reference:
        return Reference.of(self.ranking, self.corpus.vocabulary)

    @cached_property
    def fits(self) -> Fits:
        return fit_sentences(self.corpus.targets, self.reference, self.panel, self.settings)


def trials(noise: Noise, judges: int = JUDGES, corpora: int = CORPORA) -> list[Trial]:
    done = []
    for seed in range(corpora):
        settings = ExplicitSettings(seed=seed, bootstrap=40)
        corpus = simulated_corpus(seed, phrases=PHRASES, targets=TARGETS, noise=noise)
        panel = corpus.panel(judges, noise, seed)
        done.append(Trial(corpus, panel, corpus.ranking(panel, settings), settings))
    return done


@pytest.fixture(scope="module")
def assumed() -> list[Trial]:
    return trials(ASSUMED)


@pytest.fixture(scope="module")
def adverse() -> list[Trial]:
    return trials(ADVERSE)


def coverage(done: list[Trial], sources: str = "place ranking anchors", *, alike: bool = False) -> float:
    """Share of targets whose true p lies in its interval; sources of uncertainty not named are taken as
    zero, and with `alike` all judges read a sentence alike.
    """
    held = []
    for trial in done:
        fits = trial.fits
        reference = replace(trial.reference, reading_sd=0.0) if alike else trial.reference
        centre, mu_sd = posterior_of_a_panel(fits.won, fits.lost, reference)
        ranking = trial.ranking if "ranking" in sources else trial.ranking.assign(mu_sd=0.0)
        anchors = [
            a if "anchors" in sources else Anchor(a.phrase, a.probability, a.probability, a.probability)
            for a in trial.corpus.anchors
        ]
        _, low, high = probability(
            fits.mu, mu_sd if "place" in sources else 0.0 * mu_sd, calibrate(ranking, anchors), centre
        )
        held.append((low <= trial.corpus.target_p) & (trial.corpus.target_p <= high))
    return float(np.concatenate(held).mean())


def test_under_the_assumed_noise_the_interval_holds_95_percent_and_is_not_idle(assumed: list[Trial]) -> None:
    assert 0.93 <= coverage(assumed) <= 0.995


def test_under_noise_that_the_estimator_does_not_assume_it_still_does(adverse: list[Trial]) -> None:
    assert 0.92 <= coverage(adverse) <= 0.995


@pytest.mark.parametrize("judges", [1, 2, 4])
def test_where_judges_read_sentences_their_own_way_it_holds_for_any_panel(judges: int) -> None:
    done = trials(Noise(reading=5.0), judges, scaled(4))
    held = coverage(done)
    assert 0.92 <= held <= 0.99
    for one in done:
        one.reference = replace(one.reference, reading_sd=1.0)
    assert coverage(done) < held


def test_without_the_uncertainty_of_the_place_it_would_not(
    assumed: list[Trial], adverse: list[Trial]
) -> None:
    assert coverage(assumed, sources="ranking anchors") < 0.85
    assert coverage(adverse, sources="ranking anchors") < 0.85


def test_the_ranking_and_the_anchors_are_sources_too(adverse: list[Trial]) -> None:
    assert coverage(adverse, sources="place") < coverage(adverse) - 0.01


def test_answers_of_one_judge_are_not_independent(adverse: list[Trial]) -> None:
    assert coverage(adverse, alike=True) < coverage(adverse)
