"""Merging what says the same inside one study."""

from __future__ import annotations

import pandas as pd
import pytest
from invented_reports import AlikeEmbedder, TableEmbedder, deduplicated, identity, record, said


def groups(frame: pd.DataFrame) -> set[frozenset[int]]:
    """Row numbers of every merged group."""
    found = frame[frame["merged_ids"].str.len() > 0]
    ids = ([row_id, *merged] for row_id, merged in zip(found["finding_id"], found["merged_ids"], strict=True))
    return {frozenset(int(one.split(":")[1]) for one in group) for group in ids}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("opacity", "tp"), said("opacity", "tn")),
        (said("opacity"), said("opacity", study="s00000002", row=1)),
        (said("opacity", location="RUL"), said("opacity", location="left")),
        (said("fracture", location="T8"), said("fracture", location="T9")),
        (said("opacity", improved="a", worsened="b"), said("opacity", improved="a")),
        (said("opacity", no_change="stable"), said("opacity", worsened="worse")),
        (said("tube", placement="4 cm above the carina"), said("tube", placement="6 cm above the carina")),
        (said("effusions"), said("edema")),
    ],
)
def test_what_must_not_merge_does_not_even_for_an_encoder_that_finds_all_alike(
    one: object, other: object
) -> None:
    assert groups(deduplicated([one, other], embedder=AlikeEmbedder())) == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("opacity"), said("opacity", "tp")),
        (said("opacity", improved="a"), said("opacity")),
        (said("tube", placement="4 cm above the carina"), said("tube")),
        (said("nodule", measurement="1 cm"), said("nodule", measurement="10 mm")),
        (said("opacity", location="bilateral"), said("opacity", location="medial")),
    ],
)
def test_everything_else_may(one: object, other: object) -> None:
    assert groups(deduplicated([one, other], embedder=AlikeEmbedder())) == {frozenset({0, 1})}


def test_the_threshold_is_compared_with_the_rounded_cosine() -> None:
    rows = [said("opacity"), said("shadow")]
    for cosine, threshold, merged in ((0.8999996, 0.9, 1), (0.8999994, 0.9, 0), (0.94, 0.95, 0)):
        embedder = TableEmbedder({("opacity", "shadow"): cosine})
        assert len(groups(deduplicated(rows, embedder=embedder, threshold=threshold))) == merged


def test_the_similarity_kept_is_the_highest_to_a_member_of_the_group() -> None:
    listed = {("a", "b"): 0.93, ("b", "c"): 0.97, ("a", "c"): 0.91}
    frame = deduplicated([said("a"), said("b"), said("c")], embedder=TableEmbedder(listed))
    kept = [record(frame, identity(number))["merge_similarity"] for number in range(3)]
    assert pd.isna(kept[0])
    assert kept[1:] == [0.97, 0.97]


@pytest.mark.parametrize(
    ("rows", "survivor"),
    [
        ([said("opacity", "tp", p=0.6), said("opacity", "tp", p=0.7)], 1),
        ([said("opacity", "tn", p=0.3), said("opacity", "tn", p=0.2)], 1),  # support is 1 - p
        ([said("opacity"), said("opacity", section="impr")], 1),
        ([said("opacity", section="hist"), said("opacity", past_hx="old")], 1),
        ([said("opacity", sent_idx=4), said("opacity", sent_idx=3)], 1),
        ([said("opacity", "tp", p=None), said("opacity", "tp", p=0.51)], 1),
        ([said("opacity", "tp", p=0.41), said("opacity", "tp", p=None)], 0),  # no information never wins
        ([said("opacity", row=11, sent_idx=0), said("opacity", row=2, sent_idx=0)], 2),
    ],
)
def test_the_survivor_is_best_claimed_then_in_the_impression_then_first(
    rows: list[object], survivor: int
) -> None:
    frame = deduplicated(rows, embedder=AlikeEmbedder(), history="keep")
    kept = frame[frame["disposition"] == "kept"]["finding_id"].tolist()
    assert kept == [identity(survivor)]


def test_the_survivor_keeps_its_own_words_and_probability_and_unites_the_rest() -> None:
    rows = [
        said("shadow", "tp", p=0.4, location="base", severity="mild, Faint", morphology="hazy",
             evidence=[2, "~cough"], associate=[3]),
        said("opacity", "tp", p=0.7, location="lung base", severity="moderate, mild",
             evidence=["~cough", 0, 1], section="impr"),
        said("blunting", evidence=[0, 1]),
        said("scar", associate=[0]),
    ]  # fmt: skip
    frame = deduplicated(
        rows,
        embedder=TableEmbedder({("shadow base hazy mild, faint", "opacity lung base moderate, mild"): 0.95}),
    )
    survivor, merged = record(frame, identity(1)), record(frame, identity(0))
    own = [survivor[name] for name in ("ent", "location", "prob", "sent_idx")]
    assert own == ["opacity", "lung base", 0.7, 1]
    assert (survivor["severity"], survivor["morphology"]) == ("moderate, mild", "hazy")  # one severity
    assert survivor["evidence"] == ["~cough", identity(2)]
    assert survivor["associate"] == [identity(3)]
    assert survivor["merged_ids"] == [identity(0)]
    kept = [merged[name] for name in ("ent", "location", "severity", "prob")]
    assert kept == ["shadow", "base", "mild, Faint", 0.4]
    assert record(frame, identity(2))["evidence"] == [identity(1)]
    assert record(frame, identity(3))["associate"] == [identity(1)]


def test_history_rows_are_excluded_unless_asked_for() -> None:
    rows = [said("opacity", section="hist"), said("opacity", past_hx="old"), said("opacity")]
    excluded = deduplicated(rows)
    assert excluded["disposition"].tolist() == ["excluded", "kept", "kept"]
    kept = deduplicated(rows, history="keep")
    assert groups(kept) == {frozenset({0, 1})}  # both are past


def test_every_finding_gets_a_probability_an_interval_and_their_source() -> None:
    rows = [
        said("a"),
        said("b", "dn"),
        said("c", "tp", p=0.4),
        said("d", "tn", p=0.4),
        said("e", "tp", p=None),
        said("f", "tn", section="hist", p=None),
    ]
    frame = deduplicated(rows)
    found = frame.set_index("ent")[["prob", "p_low", "p_high", "support", "p_source"]].T.to_dict("list")
    assert found["a"] == [1.0, 1.0, 1.0, 1.0, "definitive"]
    assert found["b"] == [0.0, 0.0, 0.0, 1.0, "definitive"]
    assert found["c"] == [0.4, 0.2, 0.7, 0.4, "fitted"]
    assert found["d"] == [0.4, 0.2, 0.7, 0.6, "fitted"]
    assert found["e"] == found["f"] == [0.5, 0.0, 1.0, 0.5, "none"]
    assert not frame["prob_is_bound"].any()
    assert set(frame["encoder"]) == {"lexical-1"}
