"""What findings and impression both state is one row (implicit.md section 2)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd
import pytest
from generated_reports import reports
from hypothesis import given
from invented_reports import (
    StatedFinding,
    deduplicated,
    identity,
    record,
    run,
    stated,
)
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
        (both(stated("effusion", location="left"), stated("effusion")), "pleural effusion", "left"),
        (both(stated("atelectasis", location="basilar"), stated("atelectasis", location="left base")),
         "atelectasis", "left base"),
        (both(stated("fracture", location="rib"), stated("fracture", location="right 5th rib")),
         "fracture", "right 5th rib"),
        (both(stated("heart size", measurement="increased"), stated("cardiomegaly")), "cardiomegaly", ""),
        (both(stated("cardiomegaly"), stated("enlarged heart")), "cardiomegaly", ""),
        (both(stated("effusion", "dn", location="left"), stated("effusion", "dn")), "pleural effusion", ""),
    ],
)  # fmt: skip
def test_a_repeated_statement_at_a_narrower_location_is_one(
    rows: list[Any], name: str, location: str
) -> None:
    outcome = run(rows)
    stated_rows = outcome.rows[outcome.rows["source"] == "original"]
    assert stated_rows[["name", "location"]].to_numpy().tolist() == [[name, location]]
    log = outcome.resolution.log.set_index("finding_id")
    (gone,) = {identity(0), identity(1)} - set(stated_rows["finding_id"])
    assert log.loc[gone, ["event", "rule"]].tolist() == ["merged", "same statement"]
    assert outcome.accounting["balanced"].all()


@pytest.mark.parametrize(
    "rows",
    [
        both(stated("opacity", location="left base"), stated("opacity", location="right base")),
        both(stated("opacity", location="left"), stated("opacity", location="bilateral")),
        both(stated("nodule", measurement="4 mm"), stated("nodule", location="RUL", measurement="9 mm")),
        both(stated("effusion", improved="smaller"), stated("effusion", location="left", worsened="larger")),
        both(stated("nodule", location="RUL"), stated("mass", location="RUL")),
        both(stated("pneumothorax"), stated("hydropneumothorax")),
        both(stated("effusion", "dn"), stated("effusion", "dn", location="left", measurement="large",
                                          sent="no large left effusion")),
        [stated("opacity", location="RLL"), stated("opacity")],
    ],
)  # fmt: skip
def test_what_is_not_the_same_statement_stays(rows: list[Any]) -> None:
    assert merged(deduplicated(rows)) == 0


def test_the_stronger_claim_survives_and_takes_over_the_place() -> None:
    rows = both(stated("pneumonia", "tp", p=0.4, location="RLL"), stated("pneumonia"))
    survivor = record(deduplicated(rows), identity(1))
    cells = [survivor[name] for name in ("status", "location", "prob")]
    assert cells == ["dp", "RLL", 1.0]
    assert survivor["merged_ids"] == [identity(0)]


def test_what_was_merged_before_follows_into_the_last_survivor() -> None:
    rows = both(stated("effusions"), stated("effusion", location="left"))
    frame = deduplicated([stated("pleural effusion"), *rows]).set_index("finding_id")
    (survivor,) = frame.index[frame["disposition"] == "kept"]
    assert set(frame["merged_into"].dropna()) == {survivor}
    assert len(frame.loc[survivor, "merged_ids"]) == 2


@examples(30)
@given(reports)
def test_whatever_is_stated_no_group_has_two_sides_or_polarities(
    rows: list[StatedFinding],
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
