"""Ranking with half of the comparisons, and fitting phrases back from recorded answers:
by the product's rules, from the right answers, measured against the right rank.
"""

from __future__ import annotations

import numpy as np
import pytest
from invented_answers import noisy, ranked, recorded

from lunguage_assets.explicit.analysis import validation
from lunguage_assets.explicit.analysis.validation import (
    Configuration,
    fit_back,
    fit_validation,
    grid,
    ranking_robustness,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import FIT_VALIDATION, RANKING_ROBUSTNESS

SETTINGS = ExplicitSettings(bootstrap=0, orders=5)
PANEL = ["one", "two", "three"]
PRODUCT = Configuration("draw probability", "all", 5, 10)
AT_RANDOM = PRODUCT._replace(strategy="random")
MATCHES = recorded(10, PANEL, noisy())
RANKING = ranked(MATCHES, SETTINGS)


def test_half_of_the_comparisons_change_more_than_the_order_of_play_alone() -> None:
    frame = ranking_robustness(RANKING, MATCHES, SETTINGS, 4)
    RANKING_ROBUSTNESS.to_arrow(frame)
    assert frame["comparisons"].tolist() == [5] * 4 + [10] * 4
    mean = frame.groupby("comparisons")[["mean_abs_mu", "spearman"]].mean()
    assert mean.loc[5, "mean_abs_mu"] > mean.loc[10, "mean_abs_mu"] > 0.0
    assert mean.loc[10, "spearman"] > 0.97
    halves = frame.loc[frame["comparisons"] == 5, "mean_abs_mu"]
    assert halves.nunique() == 4, "every repeat draws its own half"


def test_means_and_spreads_are_of_the_fits_of_phrases_with_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def decide(a: str, b: str, repetition: int, judge: str) -> bool | None:
        return None if "p00" in (a, b) else noisy()(a, b, repetition, judge)

    matches = recorded(10, PANEL, decide)
    monkeypatch.setattr(validation, "grid", lambda *_: [PRODUCT, AT_RANDOM])
    frame = fit_validation(RANKING, matches, SETTINGS, seeds=2)
    FIT_VALIDATION.to_arrow(frame)
    rows = frame[frame["strategy"] == "draw probability"].set_index("step")
    back = fit_back(RANKING, matches, PRODUCT, SETTINGS, 2)
    distance = back.to_numpy().reshape(len(RANKING), 2, -1)
    assert np.isnan(distance[0]).all(), "the first phrase has no valid answer"
    assert not np.isnan(distance[1:]).any()
    assert distance[1:, :, -1].mean() < distance[1:, :, 0].mean()
    for step in (1, 33, 100):
        at_step = distance[1:, :, step - 1]
        expected = {
            "mean_distance": at_step.mean(),
            "sd_distance": np.std(at_step, ddof=1),
            "sd_between_seeds": np.std(at_step.mean(axis=0), ddof=1),
        }
        assert rows.loc[step, list(expected)].to_dict() == pytest.approx(expected)
    assert (rows[["phrases", "seeds"]] == [10, 2]).all(axis=None)


def test_the_grid_is_the_paper_s_and_contains_the_product_s_options() -> None:
    configurations = grid(PANEL, SETTINGS)
    assert len(configurations) == len(set(configurations))
    by_k = {("all", 5, k) for k in (0, 1, 5, 10, 20, 50, 100)}
    by_n = {("all", n, 10) for n in (2, 3, 5, 10, 20)}
    alone = {(judge, 5, 10) for judge in PANEL}
    for strategy in ("draw probability", "random"):
        chosen = {c[1:] for c in configurations if c.strategy == strategy}
        assert chosen == by_k | by_n | alone
    settings = SETTINGS.model_copy(update={"opponent_limit": 7, "panel_steps": 12})
    assert Configuration("draw probability", "all", 7, 12) in grid(PANEL, settings)
    assert {c.judges for c in grid(["one"], SETTINGS)} == {"one"}


def test_the_published_ruler_has_no_recorded_matches() -> None:
    published = RANKING.assign(ruler="published")
    assert fit_validation(published, {}, SETTINGS).empty
    assert ranking_robustness(published, {}, SETTINGS).empty
