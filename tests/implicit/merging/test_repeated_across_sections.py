"""What findings and impression both state is one row (implicit.md section 2)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd
import pytest
from generated_reports import reports
from hypothesis import given
from invented_reports import Said, deduplicated, identity, in_mode, record, run, said
from profiles import examples

from lunguage_assets.implicit.statements.locations import anatomy


def both(observed: Any, concluded: Any) -> list[Any]:
    """A statement of the findings and one of the impression."""
    concluded.section = "impr"
    return [observed, concluded]


def merged(frame: pd.DataFrame) -> int:
    return int((frame["disposition"] == "merged").sum())


@pytest.mark.parametrize(
    ("rows", "name", "location"),
    [
        (both(said("effusion", location="left"), said("effusion")), "pleural effusion", "left"),
        (both(said("atelectasis", location="basilar"), said("atelectasis", location="left base")),
         "atelectasis", "left base"),
        (both(said("fracture", location="rib"), said("fracture", location="right 5th rib")),
         "fracture", "right 5th rib"),
        (both(said("heart size", measurement="increased"), said("cardiomegaly")), "cardiomegaly", ""),
        (both(said("cardiomegaly"), said("enlarged heart")), "cardiomegaly", ""),
        ([said("heart", measurement="enlarged"), said("cardiomegaly")], "cardiomegaly", ""),
        (both(said("effusion", "dn", location="left"), said("effusion", "dn")), "pleural effusion", ""),
    ],
)  # fmt: skip
def test_a_repeated_statement_at_a_narrower_location_is_one(
    rows: list[Any], name: str, location: str
) -> None:
    outcome = run(rows)
    stated = outcome.rows[outcome.rows["source"] == "original"]
    assert stated[["name", "location"]].to_numpy().tolist() == [[name, location]]
    log = outcome.resolution.log.set_index("finding_id")
    (gone,) = {identity(0), identity(1)} - set(stated["finding_id"])
    assert (log.loc[gone, "event"], log.loc[gone, "rule"]) == (
        "merged",
        "same statement",
    )
    assert outcome.accounting["balanced"].all()


@pytest.mark.parametrize(
    "rows",
    [
        both(said("opacity", location="left base"), said("opacity", location="right base")),
        both(said("opacity", location="left"), said("opacity", location="bilateral")),
        both(said("nodule", measurement="4 mm"), said("nodule", location="RUL", measurement="9 mm")),
        both(said("effusion", improved="smaller"), said("effusion", location="left", worsened="larger")),
        both(said("nodule", location="RUL"), said("mass", location="RUL")),
        both(said("pneumothorax"), said("hydropneumothorax")),
        both(said("effusion", "dn"), said("effusion", "dn", location="left", measurement="large",
                                          sent="no large left effusion")),
        both(said("acute abnormality", "dn", location="bone"), said("acute abnormality", "dn")),
        [said("opacity", location="RLL"), said("opacity")],
    ],
)  # fmt: skip
def test_what_is_not_the_same_statement_stays(rows: list[Any]) -> None:
    assert merged(deduplicated(rows)) == 0


def test_the_stronger_claim_survives_and_takes_over_the_place() -> None:
    rows = both(said("pneumonia", "tp", p=0.4, location="RLL"), said("pneumonia"))
    survivor = record(deduplicated(rows), identity(1))
    assert (survivor["status"], survivor["location"], survivor["prob"]) == (
        "dp",
        "RLL",
        1.0,
    )
    assert survivor["merged_ids"] == [identity(0)]


def test_mode_paper_merges_by_similarity_alone() -> None:
    rows = both(said("heart size", measurement="increased"), said("cardiomegaly"))
    assert merged(in_mode(rows, "paper").deduplicated) == 0


@examples(60)
@given(reports)
def test_whatever_is_stated_no_group_has_two_sides_or_polarities(
    rows: list[Said],
) -> None:
    frame = deduplicated(rows, history="keep").set_index("finding_id")
    lost = frame[frame["disposition"] == "merged"]
    assert (frame.loc[lost["merged_into"], "disposition"] == "kept").all()
    assert sorted(lost.index) == sorted(
        finding_id for ids in frame["merged_ids"] for finding_id in ids
    )
    for survivor, group in lost[lost["merge_similarity"].isna()].groupby("merged_into"):
        ids = [survivor, *group.index]
        assert frame.loc[ids, "currency"].nunique() == 1
        assert frame.loc[ids, "status"].str[1].nunique() == 1
        sides = [
            anatomy().location(tuple(location_parts)).sides
            for location_parts in frame.loc[group.index, "location_parts"]
        ]
        assert all(
            side_1 == side_2 for side_1, side_2 in combinations(filter(None, sides), 2)
        )
