"""Fitting phrases back from recorded answers: by the product's rules, from the right answers, measured
against the right rank.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pandas as pd
import pytest
from recorded_matches import Decide, decided_by_pair, names, noisy, ranked, recorded
from tentative_findings import ScriptedJudge

from lunguage_assets.draws import text_hashes
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis import validation
from lunguage_assets.explicit.analysis.robustness import ranking_robustness
from lunguage_assets.explicit.analysis.validation import (
    Configuration,
    Curves,
    fit_back,
    fit_validation,
    grid,
    recorded_matches,
)
from lunguage_assets.explicit.fit.fitting import fit_sentences
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES
from lunguage_assets.tables.analyses import FIT_VALIDATION

SETTINGS = ExplicitSettings(bootstrap=0)
PANEL = ["one", "two", "three"]
PRODUCT = Configuration("draw probability", "all", 5, 10)
AT_RANDOM = dataclasses.replace(PRODUCT, strategy="random")
MATCHES = recorded(10, PANEL, noisy())
RANKING = ranked(MATCHES, SETTINGS)


@cache
def study() -> pd.DataFrame:
    """The study of two seeds, of the product and of few plays per opponent; tests only read it."""
    few = [dataclasses.replace(one, opponent_limit=2) for one in (PRODUCT, AT_RANDOM)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(validation, "grid", lambda *_: [PRODUCT, *few])
        return fit_validation(RANKING, MATCHES, SETTINGS, seeds=2)


def fitted_back(
    matches: dict[str, pd.DataFrame],
    configurations: list[Configuration],
    settings: ExplicitSettings = SETTINGS,
    seeds: int = 3,
) -> Curves:
    ranking = RANKING if matches is MATCHES else ranked(matches, settings)
    return fit_back(ranking, recorded_matches(ranking, matches), configurations, settings, seeds)


def answering_as(decide: Decide, key: str) -> ScriptedJudge:
    """A judge that answers questions about `pNN ...` sentences as its recorded matches say."""

    def choose(question: ComparisonQuestion) -> Choice:
        one, two = question.sentence_1[:3], question.sentence_2[:3]
        first_wins = decide(one, two, 0, key) if one < two else not decide(two, one, 0, key)
        return "sentence_1" if first_wins else "sentence_2"

    return ScriptedJudge(choose, key=key)


@pytest.mark.parametrize(
    ("judges", "limit", "panel_steps", "patience"),
    [
        ("all", 5, 100, 10**6),
        ("all", 3, 100, 10),
        ("two", 5, 10, 10),
        ("three", 20, 0, 4),
        ("all", 2, 100, 10**6),
    ],
)
def test_a_fit_proceeds_as_the_product_s(judges: str, limit: int, panel_steps: int, patience: int) -> None:
    """With answers that depend on the pair alone no draw matters, and the product's own fit must give the
    same steps and rank.
    """
    decide = decided_by_pair()
    matches = recorded(6, PANEL, decide)
    settings = SETTINGS.model_copy(
        update={"opponent_limit": limit, "panel_steps": panel_steps, "patience": patience}
    )
    ranking = ranked(matches, settings)
    curves = fitted_back(
        matches, [Configuration("draw probability", judges, limit, panel_steps)], settings, seeds=1
    )
    members = PANEL if judges == "all" else [judges]
    for known, phrase in enumerate(ranking["phrase"]):
        others = ranking[ranking["phrase"] != phrase]
        sentences = tuple((f"{other} <finding>.",) for other in others["phrase"])
        reference = Reference(
            others["mu"].to_numpy(),
            others["sigma"].to_numpy() ** 2,
            sentences,
            tuple(text_hashes(texts) for texts in sentences),
        )
        fits = fit_sentences(
            [f"{phrase} <finding> again."],
            reference,
            [answering_as(decide, key) for key in members],
            settings,
        )
        stopped = int(curves.stopped[0, known, 0])
        assert stopped == fits.steps[0]
        assert curves.distance[0, known, 0, stopped - 1] == abs(int(fits.rank[0]) - known)


def test_even_opponents_teach_more_than_random_ones() -> None:
    matches = recorded(12, PANEL, noisy(gap=1.5))
    distance = fitted_back(matches, [PRODUCT, AT_RANDOM], seeds=5).distance.mean(axis=(1, 2))
    assert distance[0, 9] < distance[1, 9]


@pytest.mark.parametrize("strategy", ["draw probability", "random"])
def test_a_fit_without_opponents_left_keeps_its_last_place(strategy: str) -> None:
    configuration = Configuration(strategy, "all", 2, 10)  # type: ignore[arg-type]
    curves = fitted_back(MATCHES, [configuration])
    assert (curves.distance[..., 18:] == curves.distance[..., 17:18]).all()
    assert curves.stopped.max() <= 18
    frame = study()
    rows = frame[
        (frame["strategy"] == strategy) & (frame["judges"] == "all") & (frame["opponent_limit"] == 2)
    ].set_index("step")
    assert rows.loc[100, "mean_distance"] == rows.loc[18, "mean_distance"]


def test_a_configuration_has_the_same_curves_alone_and_among_others() -> None:
    together = fitted_back(MATCHES, [AT_RANDOM, PRODUCT, dataclasses.replace(PRODUCT, panel_steps=0)])
    assert np.array_equal(together.distance[1], fitted_back(MATCHES, [PRODUCT]).distance[0])
    assert np.array_equal(together.distance[0], fitted_back(MATCHES, [AT_RANDOM]).distance[0])


def test_neither_row_order_nor_order_of_judges_in_the_mapping_changes_a_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = [dataclasses.replace(AT_RANDOM, judges=judge) for judge in PANEL]
    monkeypatch.setattr(validation, "grid", lambda *_: [PRODUCT, AT_RANDOM, *alone])
    matches = recorded(5, PANEL, noisy())
    ranking = ranked(matches, SETTINGS)
    shuffled = {judge: frame.sample(frac=1.0, random_state=1) for judge, frame in reversed(matches.items())}
    pd.testing.assert_frame_equal(
        fit_validation(ranking, matches, SETTINGS, seeds=2),
        fit_validation(ranking.sample(frac=1.0, random_state=2), shuffled, SETTINGS, seeds=2),
        check_exact=True,
    )


def test_a_phrase_without_valid_answers_is_given_up_and_in_no_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    def decide(a: str, b: str, repetition: int, judge: str) -> bool | None:
        return None if "p00" in (a, b) else noisy()(a, b, repetition, judge)

    silent_on_the_top = recorded(10, PANEL, decide)
    curves = fit_back(RANKING, recorded_matches(RANKING, silent_on_the_top), [PRODUCT], SETTINGS, 3)
    assert not (curves.stopped > 0)[0, 0].any()
    assert (curves.stopped > 0)[0, 6:].all(), "those that come to rest before they meet it are fitted"
    monkeypatch.setattr(validation, "grid", lambda *_: [PRODUCT])
    frame = fit_validation(RANKING, silent_on_the_top, SETTINGS, seeds=3)
    row = frame[frame["step"] == 40].iloc[0]
    assert row["unfitted"] == (curves.stopped == 0).sum() >= 3
    assert row["mean_distance"] == pytest.approx(curves.distance[0][(curves.stopped > 0)[0]][:, 39].mean())


def test_the_table_states_means_and_spreads_of_the_fits() -> None:
    frame = study()
    FIT_VALIDATION.to_arrow(frame)
    curves = fitted_back(MATCHES, [PRODUCT], seeds=2)
    rows = frame[(frame["strategy"] == "draw probability") & (frame["judges"] == "all")]
    rows = rows[(rows["opponent_limit"] == 5) & (rows["panel_steps"] == 10)].set_index("step")
    for step in (1, 10, 33, 100):
        distances = [int(value) for value in curves.distance[0, :, :, step - 1].ravel()]
        assert rows.loc[step, "mean_distance"] == pytest.approx(np.mean(distances))
        assert rows.loc[step, "sd_distance"] == pytest.approx(np.std(distances, ddof=1))
        by_seed = [curves.distance[0, :, seed, step - 1].mean() for seed in range(2)]
        assert rows.loc[step, "sd_between_seeds"] == pytest.approx(np.std(by_seed, ddof=1))
        until = [
            curves.distance[0, phrase, seed, min(step, curves.stopped[0, phrase, seed]) - 1]
            for phrase in range(10)
            for seed in range(2)
        ]
        assert rows.loc[step, "mean_distance_stopped"] == pytest.approx(np.mean(until))
    assert (rows["phrases"] == 10).all()
    assert (rows["seeds"] == 2).all()
    assert curves.stopped.min() >= 10, "no fit ends before its rank has been the same ten times"


def test_the_grid_is_the_paper_s_and_contains_the_product_s_options() -> None:
    configurations = grid(PANEL, SETTINGS)
    assert len(configurations) == len(set(configurations))
    for strategy in ("draw probability", "random"):
        pooled = {
            (c.opponent_limit, c.panel_steps)
            for c in configurations
            if c.strategy == strategy and c.judges == "all"
        }
        assert pooled == {(5, k) for k in (0, 1, 5, 10, 20, 50, 100)} | {(n, 10) for n in (2, 3, 5, 10, 20)}
        for judge in PANEL:
            alone = {c.opponent_limit for c in configurations if c.strategy == strategy and c.judges == judge}
            assert alone == {2, 3, 5, 10, 20}
    other = grid(PANEL, SETTINGS.model_copy(update={"opponent_limit": 7, "panel_steps": 12}))
    assert Configuration("draw probability", "all", 7, 12) in other
    assert {c.judges for c in grid(["one"], SETTINGS)} == {"one"}


def test_matches_other_than_the_ranking_s_are_refused() -> None:
    for broken, message in (
        ({"one": MATCHES["one"]}, "no matches of judge 'two'"),
        ({**MATCHES, "two": MATCHES["two"].iloc[1:]}, "1 are missing"),
        ({**MATCHES, "two": MATCHES["two"].assign(vocabulary_version="older")}, "another vocabulary"),
        (recorded(11, PANEL, noisy()), "another vocabulary"),
        ({**MATCHES, "one": COMPARISON_MATCHES.frame()}, "judge 'one'"),
    ):
        with pytest.raises(MethodError, match=message):
            fit_validation(RANKING, broken, SETTINGS)


def test_recorded_outcomes_are_the_matches_from_both_sides() -> None:
    outcomes = recorded_matches(RANKING, MATCHES).outcomes
    place = {phrase: i for i, phrase in enumerate(RANKING["phrase"])}
    for j, judge in enumerate(PANEL):
        for a, b, repetition, winner in MATCHES[judge][
            ["phrase_a", "phrase_b", "repetition", "winner"]
        ].itertuples(index=False):
            assert outcomes[place[a], place[b], j, repetition] == int(winner == a)
            assert outcomes[place[b], place[a], j, repetition] == int(winner == b)
    assert set(names(10)) == set(place)


def test_the_published_ruler_has_no_recorded_matches() -> None:
    published = RANKING.assign(ruler="published")
    assert fit_validation(published, {}, SETTINGS).empty
    assert ranking_robustness(published, {}, SETTINGS).empty
