"""Agreement of judges: coefficients against textbooks and by hand, both codings,
position bias, correlations.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from invented_answers import (
    matches_frame,
    measured,
    noisy,
    recorded,
)
from scipy.stats import spearmanr
from tentative_findings import own_vocabulary

from lunguage_assets.explicit.analysis.agreement import (
    agreement_beyond_chance,
    judge_agreement,
    ranking_correlations,
)
from lunguage_assets.explicit.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS

SETTINGS = ExplicitSettings(bootstrap=0, orders=3)
ONE_ORDER = ExplicitSettings(bootstrap=0, orders=1)

FLEISS_1971_STYLE = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""The usual worked example of Fleiss' kappa: ten subjects, fourteen raters, five
categories; kappa as statsmodels 0.15 computes it.
"""

_ = -1
KRIPPENDORFF_2011 = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]).T  # fmt: skip
"""The worked example of Krippendorff (2011): four observers, twelve units, missing
values; alpha 0.743.
"""


def rated(codes: np.ndarray) -> pd.DataFrame:
    """Ratings from codes, of which negative ones are missing."""
    return pd.DataFrame(codes).where(codes >= 0)


def test_the_worked_examples_of_fleiss_and_krippendorff() -> None:
    ratings = np.array([np.repeat(np.arange(5), row) for row in FLEISS_1971_STYLE])
    kappa = agreement_beyond_chance("fleiss kappa", rated(ratings))
    alpha = agreement_beyond_chance("krippendorff alpha", rated(KRIPPENDORFF_2011))
    assert (kappa["value"], kappa["n"]) == (pytest.approx(0.20993070442195522), 10)
    assert (alpha["value"], alpha["n"]) == (pytest.approx(0.743, abs=5e-4), 11)


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
"""Chosen phrases: ann a b c b; bob a a c -; cyd b b c b. Chosen positions: ann 1 1 2 2;
bob 1 2 2 -; cyd 2 1 2 2.
"""


def test_agreement_of_three_judges_by_hand_whatever_the_order_of_rows() -> None:
    frame = judge_agreement(HAND)
    JUDGE_AGREEMENT.to_arrow(frame)
    pair = measured(frame, "pairwise agreement", "ann", "bob")
    assert (pair["value"], pair["n"]) == (pytest.approx(2 / 3), 3)
    assert measured(frame, "mean pairwise agreement", "ann")["value"] == pytest.approx(
        (2 / 3 + 3 / 4) / 2
    )
    for coding, by_kappa, by_alpha in (
        ("phrase", 1 / 3, 1 - 4 / 7.8),
        ("position", 1 / 10, 1 - 4 / 5.6),
    ):
        kappa = measured(frame, "fleiss kappa", "all judges", coding=coding)
        assert (kappa["value"], kappa["n"]) == (pytest.approx(by_kappa), 3)
        alpha = measured(frame, "krippendorff alpha", "all judges", coding=coding)
        assert (alpha["value"], alpha["n"]) == (pytest.approx(by_alpha), 4)
    shuffled = {k: rows.sample(frac=1, random_state=1) for k, rows in HAND.items()}
    pd.testing.assert_frame_equal(judge_agreement(shuffled), frame)


def test_other_sentences_or_another_order_make_another_question() -> None:
    changed = HAND["bob"].copy()
    changed.loc[0, "sentence_a"] = "another <finding>."
    changed.loc[1, "swapped"] = not changed.loc[1, "swapped"]
    frame = judge_agreement({"ann": HAND["ann"], "bob": changed})
    assert measured(frame, "pairwise agreement", "ann", "bob")["n"] == 1


def test_a_judge_without_valid_answers_spoils_no_coefficient() -> None:
    mute = HAND["ann"].assign(answer="invalid", winner=None)
    frame = judge_agreement({**HAND, "mute": mute})
    without = judge_agreement(HAND)
    assert measured(frame, "invalid answers", "mute")["value"] == 1.0
    assert measured(frame, "sentence_1 chosen", "mute")["value"] is None
    others = frame[frame["first"] != "mute"].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, without, check_dtype=False)


def test_position_bias_is_told_apart_from_content() -> None:
    swapped = (np.random.default_rng(5).random(400) < 0.5).tolist()
    met = [("a", "b", r, is_swapped) for r, is_swapped in enumerate(swapped)]
    by_content = [(*pair, f"sentence_{1 + pair[3]}") for pair in met]
    stuck = [(*pair, "sentence_1") for pair in met]
    frames = {"content": matches_frame(by_content), "stuck": matches_frame(stuck)}
    agreement = judge_agreement(frames)
    chosen = {
        judge: measured(agreement, "sentence_1 chosen", judge) for judge in frames
    }
    assert chosen["content"]["low"] < 0.5 < chosen["content"]["high"]
    assert (chosen["stuck"]["value"], chosen["stuck"]["low"] > 0.9) == (1.0, True)


def test_correlations_of_every_judge_in_every_order_and_with_the_pooled_ranking() -> (
    None
):
    panel = recorded(8, ["gemini", "gpt"], noisy(), repetitions=4)
    vocabulary = own_vocabulary({f"p{i:02d}": ["<finding>"] for i in range(8)})
    ranking = reference_ranking(vocabulary, panel, SETTINGS)
    frame = ranking_correlations(panel, "panel", ranking, SETTINGS)
    RANKING_CORRELATIONS.to_arrow(frame)
    pairs = frame[["first", "second"]].itertuples(index=False, name=None)
    assert set(pairs) == {
        ("gemini", "gemini"), ("gemini", "gpt"), ("gemini", "panel"),
        ("gpt", "gpt"), ("gpt", "panel"),
    }  # fmt: skip
    assert frame["spearman"].between(0.5, 1.0).all()
    single = {
        judge: reference_ranking(vocabulary, {judge: rows}, ONE_ORDER)
        for judge, rows in panel.items()
    }
    together = single["gemini"].merge(single["gpt"], on="phrase")
    expected = spearmanr(together["mu_x"], together["mu_y"]).statistic
    published = ranking.assign(ruler="published")
    alone = ranking_correlations(panel, "panel", published, ONE_ORDER)
    assert alone["spearman"].tolist() == [pytest.approx(expected)]
    nothing = {judge: rows.head(0) for judge, rows in panel.items()}
    assert ranking_correlations(nothing, "panel", published, SETTINGS).empty
