"""p against outcomes whose calibration is known, refitted anchors, and labels beside those of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from lunguage_assets.draws import Floats
from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.files import write_csv
from lunguage_assets.release.outcomes.calibrating import (
    LabelOutcomes,
    as_ratings,
    calibration,
    compared,
    label_outcomes,
    refitted_anchors,
)
from lunguage_assets.tables.released import CALIBRATION

ANCHORS = (Anchor("less likely", 0.17, 0.156, 0.185), Anchor("most likely", 0.839, 0.818, 0.86))
SIZE = 6_000


def hedged(
    truth: Callable[[Floats], Floats] = lambda p: p, size: int = SIZE
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Labels, fits and outcomes of one hedged label per study; `truth` is P(outcome) given p."""
    numbers = np.random.default_rng(3)
    p = expit(numbers.normal(0.0, 1.5, size))
    outcome = numbers.random(size) < truth(p)
    studies = [f"s{50000000 + number}" for number in range(size)]
    labels = pd.DataFrame({"study_id": studies, "label": "pneumonia", "chexpert": "Pneumonia", "p": p})
    labels = labels.assign(
        source=np.where(p > 0.5, "stated", "denied"),
        p_low=np.clip(p - 0.1, 0.0, 1.0),
        p_high=np.clip(p + 0.1, 0.0, 1.0),
        p_source="fitted",
        finding_id=[f"{study}:0" for study in studies],
    )
    phrases = [["probable"] if number % 2 else ["maybe", "likely"] for number in range(size)]
    fitted = labels[["finding_id", "p"]].assign(phrases=phrases)
    outcomes = labels[["study_id", "label"]].assign(outcome=outcome.astype(int))
    return labels, fitted, outcomes


def measured(found: LabelOutcomes, deviation: float = 0.0, **rated: Floats) -> pd.DataFrame:
    frame = calibration(found, deviation, rated)
    CALIBRATION.to_arrow(frame)
    return frame.set_index(["by", "group"])


def test_a_phrase_that_readers_rated_is_scored_by_their_ratings_and_others_by_the_spread() -> None:
    found, rated = label_outcomes(*hedged(size=600)), np.array([0.2, 0.9])
    probable = measured(found, 0.5, probable=rated).loc[("phrase", "probable")]
    outcome = probable["observed"]
    expected = np.mean([(1 - outcome) * r**2 + outcome * (1 - r) ** 2 for r in rated])
    assert probable["reader_brier"] == pytest.approx(expected)
    others = measured(found, 0.5).loc[("all", "")]
    assert others["reader_brier"] > others["brier"]


def test_calibrated_p_is_found_calibrated_in_every_group() -> None:
    frame = measured(label_outcomes(*hedged()))
    everything = frame.loc[("all", "")]
    assert everything["slope"] == pytest.approx(1.0, abs=0.06)
    assert everything["intercept"] == pytest.approx(0.0, abs=0.06)
    assert everything["ece"] < 0.03
    assert everything["coverage"] == 1.0
    groups = ["denied", "stated"], ["fitted"], ["pneumonia"], ["probable"]
    for by, expected in zip(("source", "p_source", "label", "phrase"), groups, strict=True):
        assert sorted(frame.loc[by].index) == expected
    assert frame.loc[("phrase", "probable"), "cells"] == SIZE // 2


def test_overconfident_p_has_a_slope_below_one_and_is_not_covered() -> None:
    everything = measured(label_outcomes(*hedged(lambda p: expit(0.4 * logit(p))))).loc[("all", "")]
    assert everything["slope_high"] < 0.6
    assert everything["coverage"] < 0.9


def test_what_is_in_no_group_is_counted() -> None:
    labels, fitted, outcomes = hedged(size=10)
    labels.loc[0, ["source", "p"]] = ["unmentioned", np.nan]
    found = label_outcomes(labels[labels["study_id"] != "s50000001"], fitted, outcomes)
    assert (len(found.cells), found.unmentioned, found.unknown, found.unknown_studies) == (8, 1, 1, 1)
    assert calibration(label_outcomes(labels, fitted, outcomes.iloc[:0]), 0.0, {}).empty


def test_outcomes_on_another_line_move_the_anchors_onto_it() -> None:
    anchors, why = refitted_anchors(label_outcomes(*hedged(lambda p: expit(0.5 * logit(p) - 0.7))), ANCHORS)
    assert why == ""
    for moved, anchor in zip(anchors, ANCHORS, strict=True):
        assert moved.phrase == anchor.phrase
        assert moved.probability == pytest.approx(expit(0.5 * anchor.logit - 0.7), abs=0.03)
        assert moved.low < expit(0.5 * anchor.logit - 0.7) < moved.high


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (label_outcomes(*hedged(size=49)), "50 are the least"),
        (label_outcomes(*hedged(np.ones_like)), "all the same"),
        (label_outcomes(*hedged(lambda p: np.full(len(p), 0.5), size=200)), "do not rise"),
    ],
)
def test_outcomes_that_give_no_line_give_no_anchors(found: LabelOutcomes, why: str) -> None:
    anchors, said = refitted_anchors(found, ANCHORS)
    assert anchors == ()
    assert why in said


def test_the_file_of_anchors_is_read_as_the_anchors_that_were_written(tmp_path: Path) -> None:
    write_csv(as_ratings(ANCHORS), tmp_path / "anchor_ratings.csv")
    chosen = chosen_anchors("anchor_ratings.csv", root=tmp_path).anchors
    for read, written in zip(chosen, ANCHORS, strict=True):
        assert read.phrase == written.phrase
        assert read.probability == pytest.approx(written.probability, abs=1e-6)
        assert (read.low, read.high) == pytest.approx((written.low, written.high), abs=0.005)


def test_labels_beside_those_of_others() -> None:
    labels, _, _ = hedged(size=4)
    labels["source"] = ["stated", "denied", "stated", "unmentioned"]
    labels["p"] = [1.0, 0.0, 0.7, np.nan]
    labels["answer"] = ["1", "0", "-1", "blank"]
    theirs = labels[["study_id", "label", "chexpert"]].assign(said=["1", "0", "1", "blank"])
    theirs.loc[4] = ["s59999999", "pneumonia", "Pneumonia", "1"]
    crossed, agreement = compared(labels, theirs)
    of_pneumonia = crossed.query("label == 'Pneumonia'").set_index("source")[["1", "0", "-1", "blank"]]
    assert of_pneumonia.loc["stated", "1"] == 2
    assert of_pneumonia.loc["denied", "0"] == of_pneumonia.loc["unmentioned", "blank"] == 1
    assert of_pneumonia.to_numpy().sum() == 4
    found = agreement.query("label == 'Pneumonia'").iloc[0]
    assert found[["cells", "agreement", "with_p", "positive", "auroc"]].tolist() == [4, 0.75, 3, 2, 1.0]
    assert found["kappa"] == pytest.approx((0.75 - 0.25) / (1 - 0.25))
    assert found["brier"] == pytest.approx(0.09 / 3)
