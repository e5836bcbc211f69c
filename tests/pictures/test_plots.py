"""Pictures: readable at any size of the data, the same bytes for the same data, and no
picture breaks on little or nothing.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from invented_answers import noisy, ranked, recorded
from PIL import Image
from tentative_findings import published_scale

from lunguage_assets.explicit.analysis.agreement import (
    judge_agreement,
    ranking_correlations,
)
from lunguage_assets.explicit.analysis.validation import fit_validation
from lunguage_assets.explicit.probability import Anchor, calibrate
from lunguage_assets.explicit.probability import probability as probability_of
from lunguage_assets.pictures import scale_plots, validation_plots
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import REFERENCE_RANKING
from lunguage_assets.tables.analyses import (
    FIT_VALIDATION,
    JUDGE_AGREEMENT,
    RANKING_CORRELATIONS,
)

SETTINGS = ExplicitSettings(bootstrap=4)
MATCHES = recorded(6, ["one", "two"], noisy())
RANKING = ranked(MATCHES, SETTINGS)
AGREEMENT = judge_agreement(MATCHES)
CORRELATIONS = ranking_correlations(MATCHES, "panel", RANKING, SETTINGS)
VOCABULARY, PUBLISHED = published_scale()
ANCHORS = (
    Anchor("less likely", 0.17, 0.156, 0.185),
    Anchor("most likely", 0.839, 0.818, 0.86),
)
CALIBRATION = calibrate(PUBLISHED, ANCHORS)

EXPERTS = pd.DataFrame(
    [
        ("with ranking", "expert 1", "panel", 0.8),
        ("with ranking", "expert 2", "panel", 0.7),
        ("with expert", "expert 1", "expert 2", 0.8),
    ],
    columns=["measure", "first", "second", "value"],
)
PUBLISHED_SHARES = pd.DataFrame(
    {"ranking": [0.8, 0.7], "model": [0.6, 0.9]}, index=["one", "two"]
)


@cache
def validation() -> pd.DataFrame:
    return fit_validation(RANKING, MATCHES, SETTINGS, seeds=2)


def fitted(size: int) -> pd.DataFrame:
    mu = np.linspace(2.0, 48.0, size)
    p, low, high = probability_of(mu, np.full(size, 1.5), CALIBRATION)
    ids = [f"s:{i}" for i in range(size)]
    values = {"finding_id": ids, "mu": mu, "p": p, "p_low": low, "p_high": high}
    return pd.DataFrame(values)


def probabilities(p: list[float]) -> bytes:
    return scale_plots.probability_bars(np.histogram(p, bins=scale_plots.P_EDGES)[0])


def calibrated(frame: pd.DataFrame) -> bytes:
    return scale_plots.calibration_plot(frame, CALIBRATION, ANCHORS)


def curves(frame: pd.DataFrame) -> bytes:
    return validation_plots.validation_curves(frame, 5, 10)


PICTURES: dict[str, Callable[[], bytes]] = {
    "vocabulary": lambda: scale_plots.vocabulary_histogram(VOCABULARY),
    "ranking": lambda: scale_plots.ranking_plot(RANKING),
    "published ranking": lambda: scale_plots.ranking_plot(PUBLISHED),
    "probabilities": lambda: probabilities([0.1, 0.5, 0.9]),
    "calibration": lambda: calibrated(fitted(1500)),
    "curves": lambda: curves(validation()),
    "spread": lambda: validation_plots.validation_spread(validation(), 5, 10),
    "agreement": lambda: validation_plots.agreement_heat_map(AGREEMENT),
    "experts": lambda: validation_plots.expert_heat_map(EXPERTS, PUBLISHED_SHARES),
    "correlations": lambda: validation_plots.correlation_heat_map(CORRELATIONS),
    "no agreement": lambda: validation_plots.agreement_heat_map(
        JUDGE_AGREEMENT.frame()
    ),
    "no correlations": lambda: validation_plots.correlation_heat_map(
        RANKING_CORRELATIONS.frame()
    ),
    "no ranking": lambda: scale_plots.ranking_plot(REFERENCE_RANKING.frame()),
    "no findings": lambda: probabilities([]),
    "no fits": lambda: calibrated(fitted(0)),
    "no curves": lambda: curves(FIT_VALIDATION.frame()),
    "no spread": lambda: validation_plots.validation_spread(
        FIT_VALIDATION.frame(), 5, 10
    ),
    "one judge": lambda: curves(validation().query("judges == 'one'")),
}


@cache
def draw(name: str) -> bytes:
    """A picture of the list; a warning is an error."""
    with warnings.catch_warnings():
        for category in (UserWarning, RuntimeWarning, DeprecationWarning):
            warnings.simplefilter("error", category)
        return PICTURES[name]()


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_a_png_with_something_on_it(name: str) -> None:
    pixels = np.asarray(
        Image.open(io.BytesIO(draw(name)), formats=["png"]).convert("RGBA")
    )
    assert pixels.shape[0] > 200
    assert pixels.shape[1] > 300
    assert len(np.unique(pixels.view(np.uint32))) > 10


def test_the_same_data_give_the_same_bytes() -> None:
    assert PICTURES["calibration"]() == draw("calibration")


def test_correlations_of_judges_are_drawn() -> None:
    assert draw("correlations") != draw("no correlations")
