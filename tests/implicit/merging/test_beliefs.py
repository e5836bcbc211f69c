"""Alternatives share one probability: 1 where nothing hedges them but the "or", at most 1 where they are
hedged as a whole.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import AlikeEmbedder, Said, deduplicated, identity, in_mode, record, said
from profiles import examples

from lunguage_assets.quality.rules import refuse_broken


def alternative(ent: str, phrase: str = "or", **options: Any) -> Said:
    return said(ent, **{"status": "tp", "p": 0.4, "sent_idx": 7, "phrases": [phrase], **options})


def belief(frame: pd.DataFrame, row: int) -> tuple[float, float, float, str]:
    found = record(frame, identity(row))
    return found["prob"], found["p_low"], found["p_high"], found["p_source"]


def shares(*rows: Said) -> list[float]:
    frame = deduplicated(list(rows))
    return [pytest.approx(belief(frame, number)[0], abs=1e-9) for number in range(len(rows))]


def test_two_alternatives_have_half_each() -> None:
    frame = deduplicated([alternative("nodule", p=0.7), alternative("scar", p=0.3)])
    assert belief(frame, 0) == (0.5, 0.35, pytest.approx(0.85), "alternative")
    assert belief(frame, 1) == (0.5, 0.15, pytest.approx(0.65), "alternative")
    assert record(frame, identity(1))["support"] == 0.5


def test_one_alternative_beside_something_unknown_has_half() -> None:
    assert shares(alternative("nodule", "versus", p=0.3)) == [0.5]


def test_the_dismissed_tail_keeps_its_fit_and_the_others_share_the_rest() -> None:
    tail = alternative("mass", status="tn", p=0.2, phrases=["or", "less likely"])
    assert shares(alternative("nodule"), alternative("scar"), tail) == [0.4, 0.4, 0.2]


def test_alternatives_that_are_hedged_alike_share_one() -> None:
    rows = [
        alternative(name, p=p, phrases=["compatible with", "or"])
        for name, p in (("nodule", 0.66), ("scar", 0.6))
    ]
    assert shares(*rows) == [0.5, 0.5]


@pytest.mark.parametrize(
    "rows",
    [
        [alternative("nodule"), alternative("nodule", location="left")],
        [alternative("nodule"), alternative("scar", phrases=["possible", "or"])],
        [alternative(name, phrases=["may represent", "or"]) for name in ("nodule", "scar")],
        [alternative("nodule", "possible"), alternative("scar", "possible")],
        [alternative("nodule", p=None), alternative("scar", p=None)],
    ],
    ids=["one finding twice", "one hedged", "hedged as a whole", "not joined", "not fitted"],
)
def test_fits_stay_where_they_are_coherent(rows: list[Said]) -> None:
    frame = deduplicated(rows, embedder=AlikeEmbedder())
    assert "alternative" not in set(frame["p_source"])


def test_mode_paper_raises_nothing() -> None:
    outcome = in_mode([alternative("nodule"), alternative("scar")], "paper")
    assert set(outcome.rows["p_source"]) == {"fitted"}


@examples(20)
@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5), st.sampled_from([[], ["may be"]]))
def test_alternatives_sum_to_one_or_less_inside_their_intervals(
    places: list[float], hedges: list[str]
) -> None:
    names = ["nodule", "scar", "mass", "cough", "fever"]
    rows = [alternative(name, p=p, phrases=[*hedges, "or"]) for name, p in zip(names, places, strict=False)]
    outcome = in_mode(rows, "method")
    stated = outcome.rows[outcome.rows["source"] == "original"]
    expected = min(1.0, sum(places)) if hedges else 1.0
    assert stated["prob"].sum() == pytest.approx(expected, abs=1e-9)
    assert ((stated["p_low"] <= stated["prob"]) & (stated["prob"] <= stated["p_high"])).all()
    refuse_broken("lunguage_plus_plus", outcome.rows)
