"""Agreement of judges: pairwise, in both codings, position bias, extractors, correlations."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from invented_answers import matches_frame, plain_alpha, plain_kappa, simulated_panel, winners_frame
from scipy.stats import spearmanr

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.agreement import AVERAGED, judge_agreement, ranking_correlations
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.pictures.heat_maps import agreement_heat_map, correlation_heat_map
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_VOCABULARY
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS

SETTINGS = ExplicitSettings(bootstrap=50, orders=3)
NO_RESAMPLES = ExplicitSettings(bootstrap=0)


def measured(
    frame: pd.DataFrame, measure: str, first: str, second: str = "", coding: str = "none"
) -> dict[str, Any]:
    rows = frame[
        (frame[["measure", "first", "second", "coding"]] == [measure, first, second, coding]).all(axis=1)
    ]
    assert len(rows) == 1, f"{measure} of {first!r} and {second!r} in coding {coding}: {len(rows)} rows"
    return {
        str(name): (None if not isinstance(value, list) and pd.isna(value) else value)
        for name, value in rows.iloc[0].items()
    }


HAND = {
    "ann": matches_frame([
        ("a", "b", 0, False, "sentence_1"), ("a", "b", 1, True, "sentence_1"),
        ("a", "c", 0, False, "sentence_2"), ("b", "c", 0, True, "sentence_2")
    ]),
    "bob": matches_frame([
        ("a", "b", 0, False, "sentence_1"), ("a", "b", 1, True, "sentence_2"),
        ("a", "c", 0, False, "sentence_2"), ("b", "c", 0, True, "invalid")
    ]),
    "cyd": matches_frame([
        ("a", "b", 0, False, "sentence_2"), ("a", "b", 1, True, "sentence_1"),
        ("a", "c", 0, False, "sentence_2"), ("b", "c", 0, True, "sentence_2")
    ]),
}  # fmt: skip
"""Chosen phrases: ann a b c b; bob a a c -; cyd b b c b. Chosen positions: ann 1 1 2 2; bob 1 2 2 -; cyd 2 1
2 2.
"""


def test_agreement_of_three_judges_by_hand() -> None:
    frame = judge_agreement(HAND)
    JUDGE_AGREEMENT.to_arrow(frame)
    pair = measured(frame, "pairwise agreement", "ann", "bob")
    assert (pair["value"], pair["n"], pair["left_out"], pair["reasons"]) == (
        pytest.approx(2 / 3),
        3,
        1,
        "invalid answer: 1",
    )
    assert measured(frame, "pairwise agreement", "ann", "cyd")["value"] == 3 / 4
    assert measured(frame, "pairwise agreement", "bob", "cyd")["value"] == pytest.approx(1 / 3)
    assert measured(frame, "mean pairwise agreement", "ann")["value"] == pytest.approx((2 / 3 + 3 / 4) / 2)
    phrases, positions = (
        np.array([[0, 0, 1], [1, 0, 1], [2, 2, 2], [1, -1, 1]]),
        np.array([[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, -1, 1]]),
    )
    for coding, ratings in (("phrase", phrases), ("position", positions)):
        kappa = measured(frame, "fleiss kappa", "all judges", coding=coding)
        assert kappa["value"] == pytest.approx(plain_kappa(ratings))
        assert (kappa["n"], kappa["reasons"]) == (3, "no valid answer of every judge: 1")
        alpha = measured(frame, "krippendorff alpha", "all judges", coding=coding)
        assert alpha["value"] == pytest.approx(plain_alpha(ratings))
        assert (alpha["n"], alpha["left_out"]) == (4, 0)


def test_names_of_judges_and_order_of_rows_change_no_number() -> None:
    before = judge_agreement(HAND)
    renaming = {"ann": "zoe", "bob": "max", "cyd": "abe"}
    shuffled = {
        renaming[judge]: frame.sample(frac=1, random_state=1).reset_index(drop=True)
        for judge, frame in reversed(HAND.items())
    }
    after = judge_agreement(shuffled)
    names = after[["first", "second"]].replace({new: old for old, new in renaming.items()})
    pairs = [tuple(sorted(row)) if row[1] else tuple(row) for row in names.to_numpy().tolist()]
    after = after.assign(first=[a for a, _ in pairs], second=[b for _, b in pairs])
    key = ["measure", "coding", "first", "second"]
    pd.testing.assert_frame_equal(
        *(frame.sort_values(key).reset_index(drop=True) for frame in (before, after))
    )


def test_other_sentences_or_another_order_make_another_question() -> None:
    other = HAND["bob"].copy()
    other.loc[0, "sentence_a"] = "another <finding>."
    other.loc[1, "swapped"] = not other.loc[1, "swapped"]
    frame = judge_agreement({"ann": HAND["ann"], "bob": other})
    pair = measured(frame, "pairwise agreement", "ann", "bob")
    assert (pair["n"], pair["reasons"]) == (1, "invalid answer: 1; not asked of both: 4")


def test_a_panel_like_the_published_one_agrees_on_phrases_more_than_positions() -> None:
    panel = simulated_panel(("gemini", "gpt", "claude", "medgemma"))
    assert sum(map(len, panel.values())) == 34440
    frame = judge_agreement(panel)
    agreement = frame.loc[frame["measure"] == "pairwise agreement", "value"]
    assert len(agreement) == 6
    assert agreement.between(0.85, 0.89).all()
    kappa = measured(frame, "fleiss kappa", "all judges", coding="phrase")["value"]
    alpha = measured(frame, "krippendorff alpha", "all judges", coding="position")["value"]
    assert kappa == pytest.approx(agreement.mean(), abs=0.01)
    assert alpha == pytest.approx(2 * agreement.mean() - 1, abs=0.01)


def test_a_judge_without_valid_answers_is_listed_and_spoils_no_coefficient() -> None:
    mute = matches_frame(
        (a, b, r, swapped, "invalid")
        for a, b, r, swapped in zip(
            *(HAND["ann"][c] for c in ("phrase_a", "phrase_b", "repetition", "swapped")), strict=True
        )
    )
    frame = judge_agreement({**HAND, "mute": mute})
    assert measured(frame, "not compared", "mute")["reasons"] == "no valid answer"
    assert measured(frame, "invalid answers", "mute")["value"] == 1.0
    assert measured(frame, "sentence_1 chosen", "mute")["value"] is None
    without = judge_agreement(HAND)
    for coding in ("phrase", "position"):
        assert measured(frame, "fleiss kappa", "all judges", coding=coding) == measured(
            without, "fleiss kappa", "all judges", coding=coding
        )


@pytest.mark.parametrize(
    "panel",
    [{}, {"ann": HAND["ann"]}, {"ann": HAND["ann"].head(0), "bob": HAND["bob"].head(0)}],
    ids=["none", "one", "published ruler"],
)
def test_fewer_than_two_judges_have_no_agreement_and_no_coefficient(panel: dict[str, pd.DataFrame]) -> None:
    frame = judge_agreement(panel)
    assert not (frame["measure"] == "pairwise agreement").any()
    coefficients = frame[frame["measure"].isin(["fleiss kappa", "krippendorff alpha"])]
    assert len(coefficients) == 4
    assert coefficients["value"].isna().all()
    assert frame.loc[frame["measure"] == "not compared", "reasons"].tolist() == ["no matches"] * sum(
        len(m) == 0 for m in panel.values()
    )


def test_matches_of_another_vocabulary_are_refused_or_left_out_and_listed() -> None:
    panel = {**HAND, "old": matches_frame([("a", "b", 0, False, "sentence_1")], version="older")}
    with pytest.raises(MethodError, match="2 vocabularies"):
        judge_agreement(panel)
    frame = judge_agreement(panel, vocabulary_version="v")
    left_out = measured(frame, "not compared", "old")
    assert (left_out["left_out"], left_out["reasons"]) == (1, "matches of another vocabulary")
    assert measured(frame, "pairwise agreement", "ann", "cyd")["value"] == 3 / 4


def repeated(for_a: int, for_b: int, a: str = "a", b: str = "b") -> list[tuple[str, str, str]]:
    return [(a, b, a)] * for_a + [(a, b, b)] * for_b


def test_majority_share_is_the_mean_over_phrase_pairs_answered_twice_or_more() -> None:
    frame = judge_agreement(
        {"ann": winners_frame([*repeated(7, 3), *repeated(0, 4, "a", "c"), ("b", "c", "b"), ("b", "c", "")])},
    )
    share = measured(frame, "majority share", "ann")
    assert (share["value"], share["n"], share["left_out"]) == (pytest.approx((0.7 + 1.0) / 2), 2, 1)


def coin_matches(choose: Any, size: int = 400) -> pd.DataFrame:
    swapped = np.random.default_rng(5).random(size) < 0.5
    return matches_frame(("a", "b", r, bool(s), choose(r, bool(s))) for r, s in enumerate(swapped))


def test_position_bias_is_told_apart_from_content() -> None:
    frames = {
        "content": coin_matches(lambda r, swapped: "sentence_2" if swapped else "sentence_1"),
        "stuck": coin_matches(lambda r, swapped: "sentence_1"),
        "leaning": coin_matches(
            lambda r, swapped: "sentence_1" if r % 4 == 0 or not swapped else "sentence_2"
        ),
        "fixed": winners_frame(repeated(10, 0)),
    }
    found = judge_agreement(frames)
    effects = {judge: measured(found, "position effect", judge) for judge in frames}
    assert effects["content"]["value"] == 0.0
    assert measured(found, "sentence_1 chosen, phrase_a shown first", "content")["value"] == 1.0
    assert measured(found, "sentence_1 chosen, phrase_b shown first", "content")["value"] == 0.0
    assert effects["stuck"]["value"] == measured(found, "sentence_1 chosen", "stuck")["value"] == 1.0
    assert measured(found, "sentence_1 chosen", "stuck")["p_value"] < 1e-9
    assert effects["leaning"]["value"] == pytest.approx(0.25, abs=0.06)
    assert effects["leaning"]["low"] < effects["leaning"]["value"] < effects["leaning"]["high"]
    assert (effects["fixed"]["value"], effects["fixed"]["reasons"]) == (
        None,
        "positions were never swapped: 10",
    )
    assert measured(found, "sentence_1 chosen", "fixed")["p_value"] is None


def vocabulary(phrases: list[str]) -> pd.DataFrame:
    return HEDGE_VOCABULARY.frame([
        {"phrase": phrase, "n_examples": 1, "retained": True, "reason": "", "example_ids": ["i"],
         "example_sentences": ["<finding>"],
         "ruler": "own", "ruler_reason": "", "vocabulary_version": "v"}
        for phrase in phrases
    ])  # fmt: skip


def test_correlations_of_every_judge_in_every_order_and_with_the_pooled_ranking() -> None:
    panel = simulated_panel(("gemini", "gpt"), phrases=8, repetitions=4)
    ranking = reference_ranking(vocabulary([f"phrase {i:02d}" for i in range(8)]), panel, NO_RESAMPLES)
    single = reference_ranking(
        vocabulary([f"phrase {i:02d}" for i in range(8)]), {"gpt": panel["gpt"]}, NO_RESAMPLES
    )
    frame = ranking_correlations(panel, {"panel": ranking, "gpt": single}, SETTINGS)
    RANKING_CORRELATIONS.to_arrow(frame)
    assert len(frame) == 8 * 7 // 2
    assert frame["spearman"].between(0.5, 1.0).all()
    assert frame["n_phrases"].eq(8).all()
    of_rankings = frame[(frame["first_order"] == AVERAGED) & (frame["second_order"] == AVERAGED)]
    together = ranking.merge(single, on="phrase")
    assert of_rankings["spearman"].tolist() == [
        pytest.approx(spearmanr(together["mu_x"], together["mu_y"]).statistic)
    ]


def test_correlations_take_the_phrases_that_both_have_and_none_of_fewer_than_three() -> None:
    four = winners_frame([(a, b, a) for a, b in combinations("abcd", 2)])
    three = winners_frame([("a", "b", "a"), ("b", "c", "b"), ("a", "c", "a"), *((a, "d", "") for a in "abc")])
    two = winners_frame(
        [("a", "b", "b"), *((a, b, "") for a, b in combinations("abcd", 2) if (a, b) != ("a", "b"))]
    )
    frame = ranking_correlations({"four": four, "three": three, "two": two}, {}, ExplicitSettings(orders=1))
    found = {
        (a, b): (None if pd.isna(r) else r, n)
        for a, b, r, n in zip(
            frame["first"], frame["second"], frame["spearman"], frame["n_phrases"], strict=True
        )
    }
    assert found == {
        ("four", "three"): (pytest.approx(1.0), 3),
        ("four", "two"): (None, 2),
        ("three", "two"): (None, 2),
    }


@pytest.mark.parametrize("judges", [[], ["ann"], ["ann", "bob", "cyd"]], ids=["none", "one", "three"])
def test_heat_maps_are_pictures_and_the_same_bytes_every_time(judges: list[str]) -> None:
    panel = {judge: HAND[judge] for judge in judges}
    agreement, correlations = (
        judge_agreement(panel),
        ranking_correlations(panel, {}, SETTINGS),
    )
    for picture, frame in ((agreement_heat_map, agreement), (correlation_heat_map, correlations)):
        png = picture(frame)
        assert png.startswith(b"\x89PNG")
        if len(judges) > 1:
            assert picture(frame) == png
