"""How far judges lie apart in reading a sentence is estimated from the matches, and
assumed where it cannot be (explicit.md section 6).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from simulation import Noise, simulated_corpus

from lunguage_assets.explicit.rating.intervals import (
    ASSUMED_DEVIATION,
)
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings

SETTINGS = ExplicitSettings(bootstrap=0)
CORPUS = simulated_corpus(1, phrases=16, targets=2)
PHRASES = CORPUS.vocabulary["phrase"].tolist()


def matches_of(
    noise: Noise, judges: int = 4, repetitions: int = 10
) -> dict[str, pd.DataFrame]:
    settings = ExplicitSettings(bootstrap=0, repetitions=repetitions)
    return {
        judge.key: comparison_matches(CORPUS.vocabulary, judge, settings)
        for judge in CORPUS.panel(judges, noise, 1)
    }


def estimated(matches: dict[str, pd.DataFrame]) -> tuple[float, float]:
    """The estimate, and how wide the ranking's scale is in units of the true one."""
    ranking = reference_ranking(CORPUS.vocabulary, matches, SETTINGS)
    mu = ranking.set_index("phrase").loc[PHRASES, "mu"].to_numpy()
    return float(ranking["reading_sd"].iloc[0]), float(
        np.polyfit(CORPUS.phrase_mu, mu, 1)[0]
    )


@pytest.mark.parametrize(("noise", "judges"), [
    (Noise(reading=5.0), 2),
    (Noise(deviation=1.5, tails=3.0, lapse=0.05, position=1.0, reading=5.0), 3),
])  # fmt: skip
def test_the_deviation_of_the_readings_is_found_again(
    noise: Noise, judges: int
) -> None:
    deviation, scale = estimated(matches_of(noise, judges))
    assert deviation == pytest.approx(noise.reading * scale, rel=0.25)


def test_nothing_is_learnt_from_a_single_judge() -> None:
    assert estimated(matches_of(Noise(reading=5.0), judges=1))[0] == ASSUMED_DEVIATION
