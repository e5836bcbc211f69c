"""Merging what says the same inside one study."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import (
    AlikeEmbedder,
    AnyCosines,
    StatedFinding,
    TableEmbedder,
    blacklist,
    deduplicated,
    frames,
    identity,
    labels,
    record,
    stated,
)  # fmt: skip
from profiles import examples

from lunguage_assets.implicit.encoders import cosines_of_groups
from lunguage_assets.implicit.merging.deduplicate import (
    blocks_of,
    deduplicate,
)
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    phrase_of,
    wording_of,
)
from lunguage_assets.implicit.rows import Row, by_study, read_rows
from lunguage_assets.settings import ImplicitSettings


def groups(frame: pd.DataFrame) -> set[frozenset[int]]:
    """Row numbers of every merged group."""
    numbers = frame["finding_id"].str.split(":").str[1].astype(int)
    into = frame["merged_into"].fillna(frame["finding_id"])
    sets = {frozenset(group) for _, group in numbers.groupby(into)}
    return {group for group in sets if len(group) > 1}


@pytest.mark.parametrize(
    ("row_1", "row_2", "may_merge"),
    [
        (stated("opacity", "tp"), stated("opacity", "tn"), False),
        (stated("opacity"), stated("opacity", study="s00000002", row=1), False),
        (stated("opacity", location="RUL"), stated("opacity", location="left"), False),
        (stated("fracture", location="T8"), stated("fracture", location="T9"), False),
        (stated("opacity", no_change="stable"), stated("opacity", worsened="worse"), False),
        (stated("tube", placement="4 cm above the carina"), stated("tube", placement="6 cm above the carina"), False),
        (stated("effusions"), stated("edema"), False),
        (stated("mass"), stated("mass", past_hx="old"), False),
        (stated("opacity"), stated("opacity", "tp"), True),
        (stated("opacity", improved="a"), stated("opacity"), True),
        (stated("tube", placement="4 cm above the carina"), stated("tube"), True),
        (stated("nodule", measurement="1 cm"), stated("nodule", measurement="10 mm"), True),
        (stated("opacity", location="bilateral"), stated("opacity", location="medial"), True),
    ],
)  # fmt: skip
def test_what_must_not_merge_does_not_whatever_the_encoder_finds(
    row_1: object, row_2: object, may_merge: bool
) -> None:
    merged = groups(deduplicated([row_1, row_2], embedder=AlikeEmbedder()))
    assert merged == ({frozenset({0, 1})} if may_merge else set())


def test_the_threshold_is_compared_with_the_rounded_cosine() -> None:
    rows = [stated("opacity"), stated("shadow")]
    for cosine, merged in ((0.8999996, 1), (0.8999994, 0)):
        embedder = TableEmbedder({("opacity", "shadow"): cosine})
        frame = deduplicated(rows, embedder=embedder, threshold=0.9)
        assert len(groups(frame)) == merged


@pytest.mark.parametrize(
    ("rows", "survivor"),
    [
        ([stated("opacity", "tp", p=0.6), stated("opacity", "tp", p=0.7)], 1),
        ([stated("opacity", "tn", p=0.3), stated("opacity", "tn", p=0.2)], 1),  # support is 1 - p
        ([stated("opacity"), stated("opacity", section="impr")], 1),
        ([stated("opacity", section="hist"), stated("opacity", past_hx="old")], 1),
        ([stated("opacity", sent_idx=4), stated("opacity", sent_idx=3)], 1),
        ([stated("opacity", "tp", p=None), stated("opacity", "tp", p=0.51)], 1),
        ([stated("opacity", "tp", p=0.41), stated("opacity", "tp", p=None)], 0),  # no information never wins
        ([stated("opacity", row=11, sent_idx=0), stated("opacity", row=2, sent_idx=0)], 2),
    ],
)  # fmt: skip
def test_the_survivor_is_best_claimed_then_in_the_impression_then_first(
    rows: list[object], survivor: int
) -> None:
    frame = deduplicated(rows, embedder=AlikeEmbedder(), history="keep")
    kept = frame[frame["disposition"] == "kept"]["finding_id"].tolist()
    assert kept == [identity(survivor)]


def test_the_survivor_keeps_its_own_words_and_probability_and_unites_the_rest() -> None:
    rows = [
        stated("shadow", "tp", p=0.4, location="base", severity="mild, Faint", morphology="hazy",
             evidence=[2, "~cough"], associate=[3]),
        stated("opacity", "tp", p=0.7, location="lung base", severity="moderate, mild",
             evidence=["~cough", 0, 1], section="impr"),
        stated("blunting", evidence=[0, 1]),
        stated("scar", associate=[0]),
    ]  # fmt: skip
    alike = ("shadow base hazy mild, faint", "opacity lung base moderate, mild")
    frame = deduplicated(rows, embedder=TableEmbedder({alike: 0.95}))
    survivor = record(frame, identity(1))
    merged = record(frame, identity(0))
    values = [survivor[name] for name in ("ent", "location", "prob", "sent_idx")]
    assert values == ["opacity", "lung base", 0.7, 1]
    assert survivor["severity"] == "moderate, mild"  # one severity
    assert survivor["morphology"] == "hazy"
    assert survivor["evidence"] == ["~cough", identity(2)]
    assert survivor["associate"] == [identity(3)]
    assert survivor["merged_ids"] == [identity(0)]
    kept = [merged[name] for name in ("ent", "location", "severity", "prob")]
    assert kept == ["shadow", "base", "mild, Faint", 0.4]
    assert record(frame, identity(2))["evidence"] == [identity(1)]
    assert record(frame, identity(3))["associate"] == [identity(1)]


def test_history_rows_are_excluded_unless_asked_for() -> None:
    rows = [
        stated("opacity", section="hist"),
        stated("opacity", past_hx="old"),
        stated("opacity"),
    ]
    excluded = deduplicated(rows)
    assert excluded["disposition"].tolist() == ["excluded", "kept", "kept"]
    kept = deduplicated(rows, history="keep")
    assert groups(kept) == {frozenset({0, 1})}  # both are past


def test_every_finding_gets_a_probability_an_interval_and_their_source() -> None:
    rows = [
        stated("a"),
        stated("b", "dn"),
        stated("c", "tp", p=0.4),
        stated("d", "tn", p=0.4),
        stated("e", "tp", p=None),
        stated("f", "tn", section="hist", p=None),
    ]
    frame = deduplicated(rows)
    probabilities = frame.set_index("ent")[
        ["prob", "p_low", "p_high", "support", "p_source"]
    ].T.to_dict("list")
    assert probabilities["a"] == [1.0, 1.0, 1.0, 1.0, "definitive"]
    assert probabilities["b"] == [0.0, 0.0, 0.0, 1.0, "definitive"]
    assert probabilities["c"] == [0.4, 0.2, 0.7, 0.4, "fitted"]
    assert probabilities["d"] == [0.4, 0.2, 0.7, 0.6, "fitted"]
    assert probabilities["e"] == probabilities["f"] == [0.5, 0.0, 1.0, 0.5, "none"]
    assert not frame["prob_is_bound"].any()
    assert set(frame["encoder"]) == {"lexical-1"}


# Reports that repeat themselves, under an encoder that says anything at all: merged
# as the plain rules merge them, however often

repeated = st.builds(
    stated,
    st.sampled_from(["opacity", "opacities", "nodule"]),
    st.sampled_from(["dp", "dp", "dn"]),
    location=st.sampled_from(["", "right", "right and left", "RUL", "upper and lower"]),
    section=st.just(
        "find"
    ),  # what both sections state is `test_repeated_across_sections.py`
    sent_idx=st.integers(0, 3),
    evidence=st.lists(st.integers(0, 12), max_size=2),
)
changed = st.builds(
    stated,
    st.sampled_from(["opacity", "shadow"]),
    measurement=st.sampled_from(["", "5 mm", "8 mm"]),
    severity=st.sampled_from(["", "mild", "severe"]),
    improved=st.sampled_from(["", "better"]),
    no_change=st.sampled_from(["", "", "stable"]),
    worsened=st.sampled_from(["", "", "worse"]),
    morphology=st.sampled_from(["", "hazy", "Hazy, round"]),
    sent_idx=st.integers(0, 3),
)


repeating_reports = st.lists(repeated, max_size=14) | st.lists(changed, max_size=14)


@examples(40)
@given(
    repeating_reports,
    st.builds(AnyCosines, st.integers(0, 10_000)),
    st.sampled_from([0.9, 0.97, 1.0]),
    st.sampled_from(["method", "method", "paper"]),
)
def test_all_rows_of_a_group_are_alike_and_no_two_groups_could_be_one(
    rows: list[StatedFinding], encoder: AnyCosines, threshold: float, mode: str
) -> None:
    findings, fitted, _ = frames(rows)
    options = ImplicitSettings(merge_threshold=threshold, mode=mode)
    listed = blacklist(mode)
    frame = deduplicate(findings, fitted, encoder, listed, options, labels())
    survivors = frame["merged_into"].fillna(frame["finding_id"])
    survivor_by_id = dict(zip(frame["finding_id"], survivors, strict=True))
    for study in by_study(read_rows(findings.assign(mode=mode))):
        for block in blocks_of(study):
            groups: dict[str, list[Row]] = {}
            for row in block:
                groups.setdefault(survivor_by_id[row.finding_id], []).append(row)

            def are_one(members: list[Row]) -> bool:
                pairs = combinations(members, 2)
                return all(alike(*pair, encoder, listed) >= threshold for pair in pairs)

            assert all(map(are_one, groups.values()))
            unions = combinations(groups.values(), 2)
            assert not any(are_one(first + second) for first, second in unions)


def alike(first: Row, second: Row, encoder: AnyCosines, listed: Blacklist) -> float:
    """The rounded cosine of two rows; -1 where something keeps them apart."""
    if wording_of(first, listed).separated(wording_of(second, listed)):
        return -1.0
    (cosines,) = cosines_of_groups(encoder, [[phrase_of(first), phrase_of(second)]])
    return float(cosines[0, 1])
