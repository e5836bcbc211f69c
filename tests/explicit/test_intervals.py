"""How far judges lie apart in reading a sentence is estimated from the matches, and
assumed where it cannot be (explicit.md section 6).
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import Noise, simulated_corpus

from lunguage_assets.explicit.intervals import (
    ASSUMED_DEVIATION,
)
from lunguage_assets.settings import ExplicitSettings

SETTINGS = ExplicitSettings(bootstrap=0)
CORPUS = simulated_corpus(1, phrases=16, targets=2)
PHRASES = CORPUS.vocabulary["phrase"].tolist()


def estimated(noise: Noise, judges: int) -> tuple[float, float]:
    """The estimate, and how wide the ranking's scale is in units of the true one."""
    ranking = CORPUS.ranking(CORPUS.panel(judges, noise, 1), SETTINGS)
    mu = ranking.set_index("phrase").loc[PHRASES, "mu"].to_numpy()
    scale = float(np.polyfit(CORPUS.phrase_mu, mu, 1)[0])
    return float(ranking["reading_sd"].iloc[0]), scale


@pytest.mark.parametrize(("noise", "judges"), [
    (Noise(reading=5.0), 2),
    (Noise(deviation=1.5, tails=3.0, lapse=0.05, position=1.0, reading=5.0), 3),
])  # fmt: skip
def test_the_deviation_of_the_readings_is_found_again(
    noise: Noise, judges: int
) -> None:
    deviation, scale = estimated(noise, judges)
    assert deviation == pytest.approx(noise.reading * scale, rel=0.25)


def test_nothing_is_learnt_from_a_single_judge() -> None:
    assert estimated(Noise(reading=5.0), 1)[0] == ASSUMED_DEVIATION
