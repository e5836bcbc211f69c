"""Ranking with half of the comparisons, and fitting phrases back from recorded answers:
by the product's rules, from the right answers, measured against the right rank.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from invented_answers import Decide, decided_by_pair, noisy, ranked, recorded
from tentative_findings import ScriptedJudge

from lunguage_assets.explicit.analysis import validation
from lunguage_assets.explicit.analysis.validation import (
    Configuration,
    fit_back,
    fit_validation,
    grid,
    ranking_robustness,
)
from lunguage_assets.explicit.fit import ReferenceScale, fit_sentences
from lunguage_assets.explicit.ranking import Examples
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
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


def fitted_back(
    matches: dict[str, pd.DataFrame],
    configurations: list[Configuration],
    seeds: int = 2,
    ranking: pd.DataFrame = RANKING,
) -> np.ndarray:
    """Distances by configuration, phrase, seed and step."""
    distance = fit_back(ranking, matches, configurations, SETTINGS.seed, seeds)
    ordered = distance.reorder_levels([1, 0, 2]).sort_index()
    shape = (len(configurations), len(ranking), seeds, -1)
    return ordered.to_numpy().reshape(shape)


def answering_as(decide: Decide, key: str) -> ScriptedJudge:
    """A judge that answers questions about `pNN ...` sentences as its recorded matches
    say.
    """

    def choose(question: ComparisonQuestion) -> Choice:
        phrases = question.sentence_1[:3], question.sentence_2[:3]
        lower_wins = bool(decide(min(phrases), max(phrases), 0, key))
        is_lower_first = phrases[0] < phrases[1]
        return "sentence_1" if lower_wins == is_lower_first else "sentence_2"

    return ScriptedJudge(choose, key=key)


@pytest.mark.parametrize(
    ("judges", "limit", "panel_steps", "patience"),
    [("two", 5, 10, 10), ("all", 2, 100, 10**6)],
)
def test_a_fit_proceeds_as_the_product_s(
    judges: str, limit: int, panel_steps: int, patience: int
) -> None:
    """With answers that depend on the pair alone no draw matters, and the product's own
    fit must give the same rank.
    """
    decide = decided_by_pair()
    matches = recorded(6, PANEL, decide)
    changed = {
        "opponent_limit": limit,
        "panel_steps": panel_steps,
        "patience": patience,
    }
    settings = SETTINGS.model_copy(update=changed)
    ranking = ranked(matches, settings)
    configuration = Configuration("draw probability", judges, limit, panel_steps)
    distance = fitted_back(matches, [configuration], 1, ranking)
    keys = PANEL if judges == "all" else [judges]
    panel = [answering_as(decide, key) for key in keys]
    for row, phrase in enumerate(ranking["phrase"]):
        opponents = ranking[ranking["phrase"] != phrase]
        examples = Examples([[f"{name} <finding>."] for name in opponents["phrase"]])
        mu, sigma = opponents[["mu", "sigma"]].to_numpy().T
        reference = ReferenceScale(mu, sigma**2, examples)
        fits = fit_sentences([f"{phrase} <finding> again."], reference, panel, settings)
        last_step = int(fits.steps[0]) - 1
        assert distance[0, row, 0, last_step] == abs(int(fits.rank[0]) - row)


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
    distance = fitted_back(matches, [PRODUCT, AT_RANDOM])[0]
    assert np.isnan(distance[0]).all(), "the first phrase has no valid answer"
    assert not np.isnan(distance[1:]).any()
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
    by_n = {(judge, n, 10) for judge in ("all", *PANEL) for n in (2, 3, 5, 10, 20)}
    for strategy in ("draw probability", "random"):
        chosen = {c[1:] for c in configurations if c.strategy == strategy}
        assert chosen == by_k | by_n
    settings = SETTINGS.model_copy(update={"opponent_limit": 7, "panel_steps": 12})
    assert Configuration("draw probability", "all", 7, 12) in grid(PANEL, settings)
    assert {c.judges for c in grid(["one"], SETTINGS)} == {"one"}


def test_the_published_ruler_has_no_recorded_matches() -> None:
    published = RANKING.assign(ruler="published")
    assert fit_validation(published, {}, SETTINGS).empty
    assert ranking_robustness(published, {}, SETTINGS).empty
