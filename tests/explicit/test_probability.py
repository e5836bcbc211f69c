"""Anchors, published or one's own, tie the ranking to probabilities; every probability
has an interval, and a range of other readers (explicit.md section 6).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy.special import expit, logit
from scipy.stats import norm

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.probability import (
    Anchor,
    Calibration,
    CalibrationError,
    anchors_in_use,
    calibrate,
    probability,
    published_anchors,
    ranked_phrases,
    reader_range,
)


def ranking(mu: dict[str, float], mu_sd: float = 0.0) -> pd.DataFrame:
    return pd.DataFrame({"phrase": list(mu), "mu": list(mu.values()), "mu_sd": mu_sd})


PUBLISHED = ranking({entry.phrase: entry.mu for entry in published_ranking()})


def line(mu_sd: float = 0.0, width: float = 0.0) -> Calibration:
    anchors = [
        Anchor(a.phrase, a.probability, a.probability - width, a.probability + width)
        for a in published_anchors().anchors
    ]
    return calibrate(PUBLISHED.assign(mu_sd=mu_sd), anchors)


def test_the_line_is_the_published_one_and_at_an_anchor_has_the_interval_of_its_ratings() -> (
    None
):
    line = calibrate(PUBLISHED, published_anchors().anchors)
    assert (round(line.alpha, 3), round(line.mu_half, 2)) == (0.089, 24.89)
    for anchor in published_anchors().anchors:
        mu = PUBLISHED.loc[PUBLISHED["phrase"] == anchor.phrase, "mu"].item()
        _, low, high = probability(mu, 0.0, line)
        assert [float(low), float(high)] == pytest.approx(
            [anchor.low, anchor.high], abs=2e-3
        )


@examples(50)
@given(
    st.lists(st.floats(-20, 80), min_size=1, max_size=30),
    st.floats(0, 10),
    st.floats(0, 3),
)
def test_probabilities_rise_with_mu_inside_their_intervals(
    mus: list[float], sigma: float, mu_sd: float
) -> None:
    p, low, high = probability(sorted(mus), np.full(len(mus), sigma), line(mu_sd, 0.02))
    assert (np.diff(p) >= 0).all()
    assert ((low > 0) & (low <= p) & (p <= high) & (high < 1)).all()


def test_the_ranking_uncertainty_is_that_of_the_neighbouring_phrases() -> None:
    steps = PUBLISHED.assign(mu_sd=np.where(PUBLISHED["mu"] > 25.0, 3.0, 0.0))
    steps.loc[steps["phrase"].isin(["most likely", "less likely"]), "mu_sd"] = 0.0
    anchors = [
        Anchor(a.phrase, a.probability, a.probability, a.probability)
        for a in published_anchors().anchors
    ]
    p, low, _ = probability([20.0, 35.0], 0.0, calibrate(steps, anchors))
    assert low[0] == pytest.approx(p[0])
    assert low[1] < p[1] - 0.05


@pytest.mark.parametrize("n_anchors", [2, 3, 5])
def test_the_delta_method_agrees_with_simulation(n_anchors: int) -> None:
    rng = np.random.default_rng(0)
    anchor_mu = np.linspace(8.0, 42.0, n_anchors)
    p = 1 / (1 + np.exp(-0.09 * (anchor_mu - 25.0 + rng.normal(0, 1.0, n_anchors))))
    logits = np.log(p / (1 - p))
    logit_se = 0.1
    mu_sd = 0.6
    sigma = 1.2
    ends = [1 / (1 + np.exp(-(logits + s * 1.959964 * logit_se))) for s in (-1, 1)]
    anchors = [
        Anchor(f"a{i}", float(p[i]), float(ends[0][i]), float(ends[1][i]))
        for i in range(n_anchors)
    ]
    frame = ranking({f"a{i}": float(mu) for i, mu in enumerate(anchor_mu)}, mu_sd)
    target = 33.0
    draws = 40_000
    x = anchor_mu + rng.normal(0, mu_sd, (draws, n_anchors))
    y = logits + rng.normal(0, logit_se, (draws, n_anchors))
    away = x - x.mean(axis=1, keepdims=True)
    slope = (away * y).sum(axis=1) / (away**2).sum(axis=1)
    at = target + rng.normal(0, math.hypot(sigma, mu_sd), draws)
    simulated = y.mean(axis=1) + slope * (at - x.mean(axis=1))
    _, low, high = probability(target, sigma, calibrate(frame, anchors))
    half = (math.log(high / (1 - high)) - math.log(low / (1 - low))) / 2
    assert half / norm.ppf(0.975) == pytest.approx(simulated.std(), rel=0.04)


def test_more_than_two_anchors_are_fitted_on_the_logit_scale() -> None:
    p_by_mu = {10.0: 0.18, 20.0: 0.45, 30.0: 0.62, 45.0: 0.88}
    anchors = [Anchor(f"a{mu}", p, p, p) for mu, p in p_by_mu.items()]
    slope, level = np.polyfit(list(p_by_mu), logit(list(p_by_mu.values())), 1)
    line = calibrate(ranking({f"a{mu}": mu for mu in p_by_mu}), anchors)
    assert (line.alpha, line.mu_half) == pytest.approx((slope, -level / slope))


@pytest.mark.parametrize(("mu", "played", "reason"), [
    ({"less likely": 7.0, "likely": 43.0}, (9, 9), "no anchor phrase 'most likely'"),
    ({"less likely": 7.0, "most likely": 25.0}, (9, 0), "no anchor phrase 'most likely'"),
    ({"less likely": 25.0, "most likely": 25.0}, (9, 9), "25.00 and 25.00"),
    ({"less likely": 40.0, "most likely": 10.0}, (9, 9), "are inverted"),
])  # fmt: skip
def test_a_ranking_that_cannot_be_mapped_says_why(
    mu: dict[str, float], played: tuple[int, int], reason: str
) -> None:
    own_ranking = ranking(mu).assign(ruler="own", n_matches=played)
    with pytest.raises(CalibrationError, match="anchor_ratings") as caught:
        calibrate(ranked_phrases(own_ranking), published_anchors().anchors)
    assert reason in caught.value.reason


def test_anchors_closer_than_their_uncertainty_give_no_probabilities() -> None:
    anchors = published_anchors().anchors
    low, high = sorted(anchors, key=lambda anchor: anchor.probability)
    near = {low.phrase: 24.0, "possible": 25.0, high.phrase: 26.0}
    assert calibrate(ranking(near, 0.5), anchors).mu_half < 25.0
    with pytest.raises(CalibrationError, match=r"more than 2\.77 apart"):
        calibrate(ranking(near, 1.0), anchors)


def ratings(folder: Path, *rows: tuple[str, str, str, float]) -> Path:
    path = folder / "anchor_ratings.csv"
    path.write_text(
        "rater,phrase,sentence,rating\n"
        + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    )
    return path


def test_without_ratings_the_papers_anchors_are_used(tmp_path: Path) -> None:
    chosen = anchors_in_use(tmp_path / "anchor_ratings.csv")
    assert chosen == published_anchors()
    assert "2511.04506" in chosen.source
    assert list(chosen.anchors) == [
        Anchor("less likely", 0.170, 0.156, 0.185),
        Anchor("most likely", 0.839, 0.818, 0.860),
    ]


def test_ratings_become_anchors_with_the_confidence_interval_of_their_mean(
    tmp_path: Path,
) -> None:
    values = [10, 20, 15, 25, 30]
    rows = [(f"r{i}", "Less  Likely", "s", value) for i, value in enumerate(values)]
    rows += [(f"r{i}", "sure", "s", value) for i, value in enumerate((80, 90, 85))]
    low, high = anchors_in_use(ratings(tmp_path, *rows)).anchors
    margin = 1.959964 * np.std(values, ddof=1) / math.sqrt(5) / 100
    assert (low.phrase, low.probability) == ("less likely", pytest.approx(0.20))
    assert [low.low, low.high] == pytest.approx([0.20 - margin, 0.20 + margin])
    assert (high.phrase, high.probability) == ("sure", pytest.approx(0.85))
    ends = [("r", "may", "s", 2), ("r", "sure", "s", 95), ("q", "sure", "s", 100)]
    may, sure = anchors_in_use(ratings(tmp_path, *ends)).anchors
    assert may.low == pytest.approx(0.02 * 0.01), "not below zero"
    assert sure.high == pytest.approx(1.0 - 0.025 * 0.01), "not beyond one"


@pytest.mark.parametrize(("rows", "problem"), [
    ("rater,phrase,sentence,rating", "no ratings"),
    ("rater,phrase,sentence,score\nr,p,s,50", "no column"),
    ("rater,phrase,sentence,rating\nr,p,s,50\nr,p,s,101", "row 2"),
    ("rater,phrase,sentence,rating\nr,p,s,", "no ratings"),
    ("rater,phrase,sentence,rating\nr,p,s", "row 1"),
    ("rater,phrase,sentence,rating\nr,p,s,50\nr,p,one, two,50", "row 2"),
    ('rater,phrase,sentence,rating\nr,p,"s,50\nr,p,"s",60', "unreadable"),
    ("rater,phrase,sentence,rating\nr,p,s,nan", "row 1"),
    ("rater,phrase,sentence,rating\nr,p,s,0\nq,p,s,0", "mean rating"),
])  # fmt: skip
def test_a_wrong_ratings_file_is_refused(
    tmp_path: Path, rows: str, problem: str
) -> None:
    path = tmp_path / "anchor_ratings.csv"
    path.write_text(rows + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        anchors_in_use(path)


def everywhere(sd: float) -> pd.DataFrame:
    return pd.DataFrame({"logit_p": [0.0], "below": sd, "above": sd})


def middle_80(p: float) -> list[float]:
    """The range of 80% of readers around a p that is known exactly, in hundredths."""
    return [100.0 * float(end) for end in reader_range(p, p, p, share=0.8)]


@pytest.mark.parametrize(
    ("p", "people"),
    [(0.729, (60, 85)), (0.717, (60, 85)), (0.400, (15, 60)), (0.187, (5, 30))],
)
def test_the_middle_80_percent_are_where_people_have_them(
    p: float, people: tuple[int, int]
) -> None:
    """Likely, probable, might, unlikely; neighbouring phrases are pooled, so not to the
    point.
    """
    assert middle_80(p) == pytest.approx(people, abs=5.5)


shares = st.floats(0.02, 0.98)


@given(shares, shares, shares, st.floats(0.0, 2.0))
@examples(100)
def test_the_range_of_another_reader_holds_the_interval_of_the_mean(
    a: float, b: float, c: float, sd: float
) -> None:
    low, p, high = sorted((a, b, c))
    reader_low, reader_high = reader_range(p, low, high, spread=everywhere(sd))
    assert 0.0 <= reader_low <= low <= p <= high <= reader_high <= 1.0


def test_the_range_holds_19_of_20_further_readers() -> None:
    """Six invented readers of a phrase; a further one is asked each time."""
    draw = np.random.default_rng(7)
    truth = draw.normal(0.0, 1.0, 1000)
    error = 0.7 / 6**0.5
    mean = truth + draw.normal(0.0, error, 1000)
    p, p_low, p_high = (expit(mean + z * error) for z in (0.0, -1.96, 1.96))
    low, high = reader_range(p, p_low, p_high, spread=everywhere(0.7))
    further = expit(truth + draw.normal(0.0, 0.7, 1000))
    assert 0.93 < ((low <= further) & (further <= high)).mean() < 0.97
