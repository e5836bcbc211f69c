"""p against outcomes whose calibration is known, refitted anchors, and labels beside
those of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.explicit.fit.readers import ReaderSpread
from lunguage_assets.files import write_csv
from lunguage_assets.labels.calibration import (
    LabelOutcomes,
    as_ratings,
    calibration,
    label_outcomes,
    readers_around,
    refitted_anchors,
)
from lunguage_assets.labels.comparison import compare_with_release
from lunguage_assets.labels.measures import (
    bins,
    cohens_kappa,
    distribution_brier,
    distribution_ece,
    expected_calibration_error,
    recalibration,
)
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.released import CALIBRATION

ANCHORS = (
    Anchor("less likely", 0.17, 0.156, 0.185),
    Anchor("most likely", 0.839, 0.818, 0.86),
)
SIZE = 6_000


def hedged(
    truth: Callable[[Floats], Floats] = lambda p: p, size: int = SIZE
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Labels, fits and outcomes of one hedged label per study; `truth` is P(outcome)
    given p.
    """
    numbers = np.random.default_rng(3)
    p = expit(numbers.normal(0.0, 1.5, size))
    outcome = numbers.random(size) < truth(p)
    studies = [f"s{50000000 + number}" for number in range(size)]
    labels = pd.DataFrame(
        {"study_id": studies, "label": "pneumonia", "chexpert": "Pneumonia", "p": p}
    )
    labels = labels.assign(
        source=np.where(p > 0.5, "stated", "denied"),
        p_low=np.clip(p - 0.1, 0.0, 1.0),
        p_high=np.clip(p + 0.1, 0.0, 1.0),
        p_source="fitted",
        finding_id=[f"{study}:0" for study in studies],
    )
    phrases = [
        ["probable"] if number % 2 else ["maybe", "likely"] for number in range(size)
    ]
    fitted = labels[["finding_id", "p"]].assign(phrases=phrases)
    outcomes = labels[["study_id", "label"]].assign(outcome=outcome.astype(int))
    return labels, fitted, outcomes


def readers_by(deviation: float) -> ReaderSpread:
    return ReaderSpread.everywhere(deviation, math.inf, "invented")


def measured(
    outcomes: LabelOutcomes, deviation: float = 0.0, **rated: Floats
) -> pd.DataFrame:
    frame = calibration(outcomes, readers_by(deviation), rated)
    CALIBRATION.to_arrow(frame)
    return frame.set_index(["by", "group"])


def test_a_rated_phrase_is_scored_by_its_readers_others_by_the_spread() -> None:
    outcomes = label_outcomes(*hedged(size=600))
    rated = np.array([0.2, 0.9])
    probable = measured(outcomes, 0.5, probable=rated).loc[("phrase", "probable")]
    outcome = probable["observed"]
    expected = np.mean([(1 - outcome) * r**2 + outcome * (1 - r) ** 2 for r in rated])
    assert probable["reader_brier"] == pytest.approx(expected)
    all_cells = measured(outcomes, 0.5).loc[("all", "")]
    assert all_cells["reader_brier"] > all_cells["brier"]


def test_calibrated_p_is_found_calibrated_in_every_group() -> None:
    frame = measured(label_outcomes(*hedged()))
    all_cells = frame.loc[("all", "")]
    assert all_cells["slope"] == pytest.approx(1.0, abs=0.06)
    assert all_cells["intercept"] == pytest.approx(0.0, abs=0.06)
    assert all_cells["ece"] < 0.03
    assert all_cells["coverage"] == 1.0
    groups = ["denied", "stated"], ["fitted"], ["pneumonia"], ["probable"]
    for by, expected in zip(
        ("source", "p_source", "label", "phrase"), groups, strict=True
    ):
        assert sorted(frame.loc[by].index) == expected
    assert frame.loc[("phrase", "probable"), "cells"] == SIZE // 2


def test_overconfident_p_has_a_slope_below_one_and_is_not_covered() -> None:
    all_cells = measured(label_outcomes(*hedged(lambda p: expit(0.4 * logit(p))))).loc[
        ("all", "")
    ]
    assert all_cells["slope_high"] < 0.6
    assert all_cells["coverage"] < 0.9


def test_what_is_in_no_group_is_counted() -> None:
    labels, fitted, outcomes = hedged(size=10)
    labels.loc[0, ["source", "p"]] = ["unmentioned", np.nan]
    label_cells = label_outcomes(
        labels[labels["study_id"] != "s50000001"], fitted, outcomes
    )
    assert (
        len(label_cells.cells),
        label_cells.unmentioned,
        label_cells.unknown,
        label_cells.unknown_studies,
    ) == (8, 1, 1, 1)
    assert calibration(
        label_outcomes(labels, fitted, outcomes.iloc[:0]), readers_by(0.0), {}
    ).empty


def test_outcomes_on_another_line_move_the_anchors_onto_it() -> None:
    anchors, why = refitted_anchors(
        label_outcomes(*hedged(lambda p: expit(0.5 * logit(p) - 0.7))), ANCHORS
    )
    assert why == ""
    for moved, anchor in zip(anchors, ANCHORS, strict=True):
        assert moved.phrase == anchor.phrase
        assert moved.probability == pytest.approx(
            expit(0.5 * anchor.logit - 0.7), abs=0.03
        )
        assert moved.low < expit(0.5 * anchor.logit - 0.7) < moved.high


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        (label_outcomes(*hedged(size=49)), "50 are the least"),
        (label_outcomes(*hedged(np.ones_like)), "all the same"),
        (
            label_outcomes(*hedged(lambda p: np.full(len(p), 0.5), size=200)),
            "do not rise",
        ),
    ],
)
def test_outcomes_that_give_no_line_give_no_anchors(
    outcomes: LabelOutcomes, why: str
) -> None:
    anchors, reason = refitted_anchors(outcomes, ANCHORS)
    assert anchors == ()
    assert why in reason


def test_the_file_of_anchors_is_read_as_the_anchors_that_were_written(
    tmp_path: Path,
) -> None:
    write_csv(as_ratings(ANCHORS), tmp_path / "anchor_ratings.csv")
    chosen = chosen_anchors("anchor_ratings.csv", root=tmp_path).anchors
    for read_anchor, written_anchor in zip(chosen, ANCHORS, strict=True):
        assert read_anchor.phrase == written_anchor.phrase
        assert read_anchor.probability == pytest.approx(
            written_anchor.probability, abs=1e-6
        )
        assert (read_anchor.low, read_anchor.high) == pytest.approx(
            (written_anchor.low, written_anchor.high), abs=0.005
        )


def test_labels_beside_those_of_others() -> None:
    labels, _, _ = hedged(size=4)
    labels["source"] = ["stated", "denied", "stated", "unmentioned"]
    labels["p"] = [1.0, 0.0, 0.7, np.nan]
    labels["answer"] = ["1", "0", "-1", "blank"]
    other_labels = labels[["study_id", "label", "chexpert"]].assign(
        other_answer=["1", "0", "1", "blank"]
    )
    other_labels.loc[4] = ["s59999999", "pneumonia", "Pneumonia", "1"]
    crossed, agreement = compare_with_release(labels, other_labels)
    of_pneumonia = crossed.query("label == 'Pneumonia'").set_index("source")[
        ["1", "0", "-1", "blank"]
    ]
    assert of_pneumonia.loc["stated", "1"] == 2
    assert (
        of_pneumonia.loc["denied", "0"] == of_pneumonia.loc["unmentioned", "blank"] == 1
    )
    assert of_pneumonia.to_numpy().sum() == 4
    pneumonia = agreement.query("label == 'Pneumonia'").iloc[0]
    assert pneumonia[
        ["cells", "agreement", "with_p", "positive", "auroc"]
    ].tolist() == [
        4,
        0.75,
        3,
        2,
        1.0,
    ]
    assert pneumonia["kappa"] == pytest.approx((0.75 - 0.25) / (1 - 0.25))
    assert pneumonia["brier"] == pytest.approx(0.09 / 3)


@pytest.mark.parametrize(
    ("p", "outcome"),
    [
        ([0.2, 0.4, 0.6], [1, 1, 1]),
        ([0.3, 0.3, 0.3], [0, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]),
        ([0.0, 1.0], [0, 1]),
    ],
)
def test_a_slope_that_the_outcomes_do_not_determine_is_none(
    p: list[float], outcome: list[float]
) -> None:
    assert recalibration(np.array(p), np.array(outcome, dtype=float)) is None


def test_the_calibration_error_of_a_constant_is_its_distance_from_the_share() -> None:
    assert expected_calibration_error(
        binned([(0.7, number < 4) for number in range(10)])
    ) == pytest.approx(0.3)


cells = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 1.0]), st.booleans()),
    min_size=1,
)


def binned(given_cells: list[tuple[float, bool]]) -> pd.DataFrame:
    frame = pd.DataFrame(given_cells, columns=["p", "outcome"])
    return bins(frame.assign(p_low=frame["p"], p_high=frame["p"]))


@given(cells)
def test_bins_hold_every_cell_once_and_never_part_equal_p(
    given_cells: list[tuple[float, bool]],
) -> None:
    reliability = binned(given_cells)
    assert reliability["cells"].sum() == len(given_cells)
    assert (reliability["cells"] * reliability["observed"]).sum() == pytest.approx(
        sum(is_present for _, is_present in given_cells)
    )
    assert reliability["mean_p"].tolist() == sorted(set(reliability["mean_p"]))
    assert 0.0 <= expected_calibration_error(reliability) <= 1.0


readers = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(np.array)


@given(st.lists(st.tuples(readers, st.booleans()), min_size=1, max_size=30))
def test_the_score_of_readers_needs_only_their_mean_and_variance(
    readings_and_outcomes: list[tuple[Floats, bool]],
) -> None:
    p = [readings for readings, _ in readings_and_outcomes]
    y = np.array([float(is_present) for _, is_present in readings_and_outcomes])
    apart = np.mean(
        [
            (readings.mean() - is_present) ** 2 + readings.var()
            for readings, is_present in zip(p, y, strict=True)
        ]
    )
    assert distribution_brier(p, y) == pytest.approx(float(apart))
    assert 0.0 <= distribution_ece(p, y) <= 1.0
    assert distribution_ece(p[::-1], y[::-1]) == pytest.approx(distribution_ece(p, y))


def test_readers_lie_around_p_as_far_as_they_differ() -> None:
    around = logit(readers_around(0.7, readers_by(0.5)))
    assert np.median(around) == pytest.approx(logit(0.7))
    assert around.std() == pytest.approx(0.5, abs=0.05)
    assert readers_around(1.0, readers_by(0.5)).tolist() == [1.0]
    assert readers_around(0.7, readers_by(0.0)) == pytest.approx(0.7)


def test_readers_below_p_lie_as_far_as_those_below_differ() -> None:
    spread = ReaderSpread(
        (0.0,), below=(1.0,), above=(0.2,), df=math.inf, source="invented"
    )
    around = logit(readers_around(0.5, spread))
    assert -around.min() == pytest.approx(5.0 * around.max())


def test_cohens_kappa_and_its_interval_equal_those_of_statsmodels() -> None:
    counts = np.array([[20.0, 5.0, 0.0], [3.0, 30.0, 2.0], [1.0, 4.0, 9.0]])
    assert cohens_kappa(counts) == pytest.approx(
        (0.6693476318141197, 0.5199771185979809, 0.8187181450302585)
    )
