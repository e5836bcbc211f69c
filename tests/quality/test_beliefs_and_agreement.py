"""Probabilities fit their status, their support and their parent; every rule about it fails on the rows that
break it, and on no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.quality.agreement_band import measured_agreement
from lunguage_assets.quality.beliefs import broken_beliefs, broken_places, outside_anchors
from lunguage_assets.settings import CheckSettings
from lunguage_assets.tables import JUDGE_AGREEMENT

ANCHORS = (Anchor("less likely", 0.17, 0.156, 0.185), Anchor("most likely", 0.839, 0.818, 0.86))


def fitted(*rows: Mapping[str, Any]) -> pd.DataFrame:
    honest = {"mu": 23.0, "p": 0.45, "p_low": 0.3, "p_high": 0.6, "p_source": "fitted"}
    return pd.DataFrame([{"finding_id": f"s{number}", **honest, **row} for number, row in enumerate(rows)])


NOTHING = {"mu": np.nan, "p": 0.5, "p_low": 0.0, "p_high": 1.0, "p_source": "none"}


def test_honest_fits_break_no_rule() -> None:
    assert broken_places(fitted({}, NOTHING, {"mu": np.nan, "p": 0.4, "p_source": "phrase"})) == []


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({**NOTHING, "p": 0.6}, "without information"),
        ({**NOTHING, "p_high": 0.9}, "without information"),
        ({"mu": np.nan, "p": 1.0, "p_source": "phrase"}, "never certain"),
    ],
)
def test_a_fit_that_breaks_a_rule_is_named(row: Mapping[str, Any], rule: str) -> None:
    (broken,) = broken_places(fitted({}, row, {}))
    assert rule in broken.rule
    assert broken.finding_ids == ("s1",)
    assert "`fit`" in broken.remedy


def test_places_beyond_the_rated_phrases_are_counted_and_others_are_not() -> None:
    frame = fitted({"p": 0.169}, {"p": 0.17}, {"p": 0.839}, {"p": 0.84}, {**NOTHING, "p": 0.9})
    assert outside_anchors(frame, ANCHORS).tolist() == [True, False, False, True, False]


STATED = {"source": "original", "parent_id": None, "prob_is_bound": False, "mode": "method"}
DEFINITE = {
    **STATED,
    "status": "dp",
    "prob": 1.0,
    "p_low": 1.0,
    "p_high": 1.0,
    "support": 1.0,
    "p_source": "definitive",
}
DENIED = {
    **STATED,
    "status": "dn",
    "prob": 0.0,
    "p_low": 0.0,
    "p_high": 0.0,
    "support": 1.0,
    "p_source": "definitive",
}
TENTATIVE = {
    **STATED,
    "status": "tp",
    "prob": 0.4,
    "p_low": 0.3,
    "p_high": 0.5,
    "support": 0.4,
    "p_source": "fitted",
}
DOUBTED = {
    **STATED,
    "status": "tn",
    "prob": 0.4,
    "p_low": 0.3,
    "p_high": 0.5,
    "support": 0.6,
    "p_source": "phrase",
}
CHILD = {
    "source": "expansion",
    "parent_id": "r2",
    "prob_is_bound": True,
    "mode": "method",
    "p_source": "pathway",
    "support": 0.4,
}
IMPLIED = {**CHILD, "status": "tp", "prob": 0.4, "p_low": 0.24, "p_high": 1.0}
ABSENT = {**CHILD, "status": "tn", "prob": 0.3, "p_low": 0.0, "p_high": 0.76}
AS_THE_PAPER = {**CHILD, "status": "tn", "prob": 0.4, "p_low": 0.3, "p_high": 0.5, "mode": "paper"}
HONEST = [DEFINITE, DENIED, TENTATIVE, DOUBTED, IMPLIED, ABSENT, AS_THE_PAPER]


def rows(changed: int = -1, **change: Any) -> pd.DataFrame:
    return pd.DataFrame(
        [{"finding_id": f"r{n}", **row, **(change if n == changed else {})} for n, row in enumerate(HONEST)]
    )


def test_honest_beliefs_break_no_rule() -> None:
    assert broken_beliefs(rows()) == []


@pytest.mark.parametrize(
    ("number", "change", "rule"),
    [
        (0, {"p_low": 0.9}, "a definite finding is certain"),
        (1, {"p_high": 0.1}, "a definite finding is certain"),
        (0, {"p_source": "fitted"}, "p by its status"),
        (2, {"p_source": "definitive"}, "by its fit, its phrases or nothing"),
        (2, {"p_source": "alternative", "prob": 1.0, "support": 1.0}, "never certain"),
        (3, {"prob": 0.0, "support": 1.0}, "never certain"),
        (3, {"support": 0.4}, "support of a stated finding"),
        (4, {"prob_is_bound": False}, "says that it is a bound"),
        (4, {"p_source": "fitted"}, "says that it is a bound"),
        (4, {"prob": 0.4 + 1e-8}, "not more probable than its parent"),
    ],
)
def test_a_belief_that_breaks_a_rule_is_named(number: int, change: Mapping[str, Any], rule: str) -> None:
    found = broken_beliefs(rows(number, **change))
    assert [broken.finding_ids for broken in found if rule in broken.rule] == [(f"r{number}",)]
    assert all(len(broken.remedy) > 40 for broken in found)


def agreement(**change: Any) -> pd.DataFrame:
    pair = {
        "measure": "pairwise agreement",
        "coding": "none",
        "first": "a",
        "second": "b",
        "value": 0.87,
        "low": 0.84,
        "high": 0.9,
    }
    row = {**pair, "p_value": None, "n": 800, "left_out": 0, "reasons": "", **change}
    return JUDGE_AGREEMENT.frame([row])


BY_POSITION = {"measure": "krippendorff alpha", "coding": "position", "first": "all judges", "second": ""}


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({}, ""),
        ({"value": 0.7, "low": 0.66, "high": 0.74}, "leave the judge out"),
        ({"value": 0.79, "low": 0.7, "high": 0.86}, ""),
        ({"value": 0.7, "low": None, "high": None}, "leave the judge out"),
        ({"value": 1.0, "low": 0.995, "high": 1.0}, "different models"),
        ({"value": 0.985, "low": 0.97, "high": 0.99}, ""),
        ({**BY_POSITION, "value": 0.4, "low": 0.35, "high": 0.45}, "leave the judge out"),
        ({**BY_POSITION, "value": 0.99, "low": 0.985, "high": 1.0}, ""),
    ],
)
def test_agreement_is_outside_the_band_when_its_whole_interval_is(
    change: Mapping[str, Any], advice: str
) -> None:
    (found,) = measured_agreement(agreement(**change), CheckSettings())
    assert bool(found.remedy) == bool(advice)
    assert advice in found.remedy


def test_what_is_no_agreement_between_judges_is_not_measured_against_the_band() -> None:
    assert measured_agreement(agreement(measure="sentence_1 chosen", second=""), CheckSettings()) == []
    assert measured_agreement(agreement(value=None, low=None, high=None), CheckSettings()) == []
    assert (
        measured_agreement(agreement(measure="fleiss kappa", coding="phrase", value=0.1), CheckSettings())
        == []
    )
