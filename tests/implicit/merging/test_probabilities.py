"""Alternatives share one probability: 1 where nothing hedges them but the "or", at most
1 where they are hedged as a whole. The denial of a kind is no denial of all.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import (
    AlikeEmbedder,
    StatedFinding,
    deduplicated,
    identity,
    record,
    run,
    stated,
)
from profiles import examples

from lunguage_assets.implicit.statements.contradictions import qualifying
from lunguage_assets.quality.rules import belief_rules


def alternative(ent: str, phrase: str = "or", **options: Any) -> StatedFinding:
    return stated(
        ent, **{"status": "tp", "p": 0.4, "sent_idx": 7, "phrases": [phrase], **options}
    )


def belief(frame: pd.DataFrame, row: int) -> tuple[float, float, float, str]:
    cells = record(frame, identity(row))
    return cells["prob"], cells["p_low"], cells["p_high"], cells["p_source"]


def test_two_alternatives_have_half_each() -> None:
    frame = deduplicated([alternative("nodule", p=0.7), alternative("scar", p=0.3)])
    assert belief(frame, 0) == (0.5, 0.35, pytest.approx(0.85), "alternative")
    assert belief(frame, 1) == (0.5, 0.15, pytest.approx(0.65), "alternative")
    assert record(frame, identity(1))["support"] == 0.5


WITH = ["compatible with", "or"]


@pytest.mark.parametrize(
    ("rows", "shares"),
    [
        ([alternative("nodule", "versus", p=0.3)], [0.5]),
        ([alternative("nodule", p=0.66, phrases=WITH), alternative("scar", p=0.6, phrases=WITH)], [0.5, 0.5]),
    ],
    ids=["beside the unknown", "hedged alike"],
)  # fmt: skip
def test_alternatives_share_what_they_have_together(
    rows: list[StatedFinding], shares: list[float]
) -> None:
    frame = deduplicated(rows)
    probabilities = [belief(frame, number)[0] for number in range(len(rows))]
    assert probabilities == pytest.approx(shares, abs=1e-9)


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
)  # fmt: skip
def test_fits_stay_where_they_are_coherent(rows: list[StatedFinding]) -> None:
    frame = deduplicated(rows, embedder=AlikeEmbedder())
    assert "alternative" not in set(frame["p_source"])


@examples(10)
@given(
    st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5),
    st.sampled_from([[], ["may be"]]),
)
def test_alternatives_sum_to_one_or_less_inside_their_intervals(
    probabilities: list[float], hedges: list[str]
) -> None:
    names = ["nodule", "scar", "mass", "cough", "fever"]
    rows = [
        alternative(name, p=p, phrases=[*hedges, "or"])
        for name, p in zip(names, probabilities, strict=False)
    ]
    outcome = run(rows, mode="method")
    stated_rows = outcome.rows[outcome.rows["source"] == "original"]
    expected = min(1.0, sum(probabilities)) if hedges else 1.0
    assert stated_rows["prob"].sum() == pytest.approx(expected, abs=1e-9)
    assert (
        stated_rows["prob"].between(stated_rows["p_low"], stated_rows["p_high"]).all()
    )
    rules = belief_rules(outcome.rows)
    assert [broken.rule for broken in rules if broken.rows.any()] == []


# Denials that deny no more than a kind of a finding

_PLAIN = ("",) * 5


def kind(name: str, ent: str, sentence: str, *cells: str) -> str:
    qualification = qualifying(name, ent, sentence, (*cells, *_PLAIN)[:5])
    return (
        "" if qualification is None else f"{qualification[0].name}: {qualification[1]}"
    )


@pytest.mark.parametrize(
    ("qualification", "expected"),
    [
        (kind("pleural effusion", "effusion", "No large effusion.", "large"), "amount: large"),
        (kind("pleural effusion", "effusion", "No pneumothorax or large effusion.", "large"), "amount: large"),
        (kind("pneumothorax", "pneumothorax", "No large effusion or pneumothorax."), ""),
        (kind("mass", "mass", "No suspicious nodule or mass."), "suspicious: suspicious"),
        (kind("pleural effusion", "effusion", "No suspicious nodule or effusion."), ""),
        (kind("pleural effusion", "effusion", "No new opacity or effusion."), "new: new"),
        (kind("opacity", "opacities", "No pneumothorax and no new opacities."), "new: new"),
        (kind("fracture", "fracture", "No other fracture."), "other: other"),
        (kind("fracture", "fracture", "No acute fracture.", "acute"), "acute: acute"),
        (kind("tuberculosis", "active tuberculosis", "No active tuberculosis."), "acute: active"),
        (kind("consolidation", "consolidation", "No focal consolidation.", "focal"), ""),
    ],
)  # fmt: skip
def test_a_word_restricts_the_denial_of_the_finding_that_it_describes(
    qualification: str, expected: str
) -> None:
    assert qualification == expected


def stated_belief(row: Any) -> tuple[str, str, float]:
    row_found = record(deduplicated([row]), identity(0))
    return row_found["status"], row_found["p_source"], row_found["prob"]


def test_the_denial_of_a_kind_has_the_p_of_its_qualifier() -> None:
    row = stated("effusion", "dn", sent="No sizable effusion.", measurement="sizable")
    status, source, p = stated_belief(row)
    assert (status, source) == ("tn", "qualifier")
    assert p == pytest.approx((2 + 0.5) / (157 + 1))


@pytest.mark.parametrize(
    "row",
    [
        stated("pneumothorax", "dn", sent="No tension pneumothorax.", morphology="tension"),
        stated("fracture", "dn", sent="There is no displaced fracture.", morphology="displaced"),
        stated("pleural effusion", "dn", sent="A loculated effusion is not seen.", morphology="loculated"),
        stated("cavitary lesion", "dn", sent="Without cavitary lesion."),
        stated("effusion", "dn", sent="The large effusion has resolved.", measurement="large", improved="resolved"),
        stated("effusion", "dn", sent="No effusion."),
    ],
)  # fmt: skip
def test_the_denial_of_a_named_kind_or_of_what_has_resolved_is_certain(
    row: Any,
) -> None:
    assert stated_belief(row) == ("dn", "definitive", 0.0)


def test_denials_of_a_kind_and_of_all_are_no_duplicates() -> None:
    rows = [
        stated("effusion", "dn", sent="No effusion."),
        stated("effusion", "dn", sent="No new effusion."),
    ]
    assert deduplicated(rows)["merged_into"].isna().all()
