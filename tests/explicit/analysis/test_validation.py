"""Ranking with half of the comparisons, and fitting phrases back from recorded answers:
by the product's rules, from the right answers, measured against the right rank.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from invented_answers import Decide, decided_by_pair, noisy, ranked, recorded
from tentative_findings import ScriptedJudge

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis import validation
from lunguage_assets.explicit.analysis.robustness import (
    ranking_robustness,
)
from lunguage_assets.explicit.analysis.validation import (
    Configuration,
    fit_back,
    fit_validation,
    grid,
    recorded_outcomes,
)
from lunguage_assets.explicit.fit.algorithm import fit_sentences
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
from lunguage_assets.randomness import text_hashes
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES
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
    settings: ExplicitSettings = SETTINGS,
    seeds: int = 2,
    ranking: pd.DataFrame = RANKING,
) -> tuple[np.ndarray, np.ndarray]:
    outcomes = recorded_outcomes(ranking, matches)
    return fit_back(ranking, PANEL, outcomes, configurations, settings, seeds)


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
    fit must give the same steps and rank.
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
    distance, ended = fitted_back(matches, [configuration], settings, 1, ranking)
    keys = PANEL if judges == "all" else [judges]
    panel = [answering_as(decide, key) for key in keys]
    for row, phrase in enumerate(ranking["phrase"]):
        opponents = ranking[ranking["phrase"] != phrase]
        sentences = tuple((f"{name} <finding>.",) for name in opponents["phrase"])
        hashes = tuple(text_hashes(texts) for texts in sentences)
        mu, sigma = opponents[["mu", "sigma"]].to_numpy().T
        reference = ReferenceScale(mu, sigma**2, sentences, hashes)
        fits = fit_sentences([f"{phrase} <finding> again."], reference, panel, settings)
        stopped = int(ended[0, row, 0])
        assert stopped == fits.steps[0]
        assert distance[0, row, 0, stopped - 1] == abs(int(fits.rank[0]) - row)


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
    (distance, _), (stopped, _) = fitted_back(matches, [PRODUCT, AT_RANDOM])
    fitted = stopped > 0
    assert not fitted[0].any(), "the first phrase has no valid answer"
    assert fitted[6:].all(), "those that come to rest before they meet it are fitted"
    for step in (1, 33, 100):
        at_step = distance[..., step - 1]
        stops = np.minimum(stopped, step)[..., None] - 1
        until = np.take_along_axis(distance, stops, axis=-1)[..., 0][fitted]
        by_seed = [at_step[fitted[:, seed], seed].mean() for seed in range(2)]
        expected = {
            "mean_distance": at_step[fitted].mean(),
            "sd_distance": np.std(at_step[fitted], ddof=1),
            "sd_between_seeds": np.std(by_seed, ddof=1),
            "mean_distance_stopped": until.mean(),
        }
        assert rows.loc[step, list(expected)].to_dict() == pytest.approx(expected)
    assert set(rows["unfitted"]) == {(~fitted).sum()}
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


def test_matches_other_than_the_ranking_s_are_refused() -> None:
    two = MATCHES["two"]
    older = two.assign(vocabulary_version="older")
    for broken, message in (
        ({"one": MATCHES["one"]}, "'two': 450 are missing"),
        ({**MATCHES, "two": two.iloc[1:]}, "1 are missing"),
        ({**MATCHES, "two": older}, "another vocabulary"),
        (recorded(11, PANEL, noisy()), "another vocabulary"),
        ({**MATCHES, "one": COMPARISON_MATCHES.frame()}, "judge 'one'"),
    ):
        with pytest.raises(MethodError, match=message):
            fit_validation(RANKING, broken, SETTINGS)


def test_the_published_ruler_has_no_recorded_matches() -> None:
    published = RANKING.assign(ruler="published")
    assert fit_validation(published, {}, SETTINGS).empty
    assert ranking_robustness(published, {}, SETTINGS).empty
