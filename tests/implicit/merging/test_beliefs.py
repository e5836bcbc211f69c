"""One of several alternatives, of which the report says without doubt that one is there, is at least as
probable as one divided by their number.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import AlikeEmbedder, Said, deduplicated, identity, in_mode, record, said
from profiles import examples

from lunguage_assets.quality.beliefs import broken_beliefs


def alternative(ent: str, phrase: str = "or", **options: Any) -> Said:
    return said(ent, **{"status": "tp", "p": 0.4, "sent_idx": 7, "phrases": [phrase], **options})


def belief(frame: pd.DataFrame, row: int) -> tuple[float, float, float, str]:
    found = record(frame, identity(row))
    return found["prob"], found["p_low"], found["p_high"], found["p_source"]


def test_of_two_alternatives_neither_is_less_probable_than_half() -> None:
    frame = deduplicated([alternative("nodule"), alternative("scar", p=0.3)])
    assert belief(frame, 0) == (0.5, 0.2, pytest.approx(0.85), "alternative")
    assert belief(frame, 1) == (0.5, 0.15, pytest.approx(0.8), "alternative")
    assert record(frame, identity(1))["support"] == 0.5


def test_of_three_alternatives_a_third_is_enough() -> None:
    frame = deduplicated([alternative("nodule", p=0.2), alternative("scar"), alternative("mass")])
    assert belief(frame, 0)[0] == pytest.approx(1 / 3)
    assert belief(frame, 1)[0] == 0.4


@pytest.mark.parametrize(
    "rows",
    [
        [alternative("nodule")],
        [alternative("nodule"), alternative("nodule", location="left")],
        [alternative("nodule"), alternative("scar", phrases=["possible", "or"])],
        [alternative(name, phrases=["may represent", "or"]) for name in ("nodule", "scar")],
        [alternative("nodule"), alternative("scar", sent_idx=8)],
        [alternative("nodule"), alternative("scar", section="impr")],
        [alternative("nodule"), alternative("scar", "tn")],
        [alternative("nodule"), alternative("scar", phrases=["possible"])],
        [alternative("nodule", p=None), alternative("scar", p=None)],
    ],
    ids=[
        "the other unknown",
        "one finding twice",
        "one hedged",
        "hedged as a whole",
        "other sentence",
        "other section",
        "one denied",
        "not joined",
        "not fitted",
    ],
)
def test_nothing_is_raised_that_is_no_alternative_of_a_definite_statement(rows: list[Said]) -> None:
    frame = deduplicated(rows, embedder=AlikeEmbedder())
    assert "alternative" not in set(frame["p_source"])


def test_a_more_probable_alternative_stays_as_it_is() -> None:
    assert belief(deduplicated([alternative("nodule", p=0.7), alternative("scar")]), 0)[3] == "fitted"


def test_mode_paper_raises_nothing() -> None:
    outcome = in_mode([alternative("nodule"), alternative("scar")], "paper")
    assert set(outcome.rows["p_source"]) == {"fitted"}


@examples(20)
@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5))
def test_alternatives_sum_to_one_or_more_inside_their_intervals(places: list[float]) -> None:
    names = ["nodule", "scar", "mass", "cough", "fever"]
    outcome = in_mode([alternative(name, p=p) for name, p in zip(names, places, strict=False)], "method")
    stated = outcome.rows[outcome.rows["source"] == "original"]
    assert stated["prob"].sum() >= 1.0 - 1e-9
    assert ((stated["p_low"] <= stated["prob"]) & (stated["prob"] <= stated["p_high"])).all()
    assert broken_beliefs(outcome.rows) == []
