"""Merging what says the same inside one study."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from hashlib import blake2b
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from implicit_reports import (
    STUDY,
    AlikeEmbedder,
    Said,
    TableEmbedder,
    blacklist,
    deduplicated,
    frames,
    identity,
    mixed,
    record,
    said,
)

from lunguage_assets.errors import MethodError
from lunguage_assets.implicit.blacklist import Blacklist
from lunguage_assets.implicit.deduplicate import compared_phrases, complete_link, deduplicate
from lunguage_assets.implicit.distinctions import marks
from lunguage_assets.implicit.linearise import linearised
from lunguage_assets.implicit.rows import claim_preference, read_rows
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import ATTRIBUTES, DEDUPLICATED_FINDINGS, FINDING_COLUMNS, FINDINGS, FITTED_PROBABILITIES


def groups(frame: pd.DataFrame) -> set[frozenset[int]]:
    """Row numbers of every merged group."""
    found = frame[frame["merged_ids"].str.len() > 0]
    ids = ([row_id, *merged] for row_id, merged in zip(found["finding_id"], found["merged_ids"], strict=True))
    return {frozenset(int(one.split(":")[1]) for one in group) for group in ids}


def test_the_same_finding_in_other_words_is_merged() -> None:
    frame = deduplicated([said("effusion", location="RUL"), said("pleural effusion", location="right upper lobe", section="impr")])
    assert groups(frame) == {frozenset({0, 1})}
    assert record(frame, identity(0))["merged_into"] == identity(1)
    assert record(frame, identity(0))["merge_similarity"] == 1.0
    DEDUPLICATED_FINDINGS.to_arrow(frame)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("opacity"), said("opacity", "dn")),
        (said("opacity", "tp"), said("opacity", "tn")),
        (said("opacity"), said("opacity", past_hx="old")),
        (said("opacity"), said("opacity", study="s00000002", row=1)),
        (said("opacity", location="right"), said("opacity", location="left")),
        (said("opacity", location="RUL"), said("opacity", location="left")),
        (said("opacity", location="RUL"), said("opacity", location="RLL")),
        (said("nodule", measurement="5 mm"), said("nodule", measurement="8 mm")),
        (said("fracture", location="T8"), said("fracture", location="T9")),
        (said("opacity", improved="improved"), said("opacity", worsened="worse")),
        (said("opacity", worsened="worse"), said("opacity", improved="better")),
        (said("opacity", improved="a", worsened="b"), said("opacity", improved="a")),
        (said("opacity", no_change="stable"), said("opacity", worsened="worse")),
        (said("opacity", improved="better"), said("opacity", no_change="unchanged")),
        (said("tube", placement="4 cm above the carina"), said("tube", placement="6 cm above the carina")),
        (said("mass"), said("opacity")),
        (said("effusions"), said("edema")),
    ],
)
def test_what_must_not_merge_does_not_even_for_an_encoder_that_finds_all_alike(one: object, other: object) -> None:
    assert groups(deduplicated([one, other], embedder=AlikeEmbedder())) == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("opacity"), said("opacity", "tp")),
        (said("opacity", "dn"), said("nodule", "tn")),
        (said("opacity", improved="a"), said("opacity")),
        (said("opacity", no_change="stable"), said("opacity", no_change="unchanged", worsened="minimally worse")),
        (said("tube", placement="4 cm above the carina"), said("tube")),
        (said("nodule", measurement="1 cm"), said("nodule", measurement="10 mm")),
        (said("opacity", location="bilateral"), said("opacity", location="medial")),
        (said("opacity"), said("opacity", section="impr")),
    ],
)
def test_everything_else_may(one: object, other: object) -> None:
    assert groups(deduplicated([one, other], embedder=AlikeEmbedder())) == {frozenset({0, 1})}


def test_a_chain_through_a_neutral_location_never_changes_the_side() -> None:
    rows = [
        said("opacity", location="right lower lung"),
        said("opacity", location="lower lung"),
        said("opacity", location="left lower lung"),
    ]
    frame = deduplicated(rows, embedder=AlikeEmbedder())
    assert groups(frame) == {frozenset({0, 1})}
    assert frame["location"].tolist() == [row.location for row in rows]


def test_groups_are_complete_links_taken_by_cosine_then_position() -> None:
    assert complete_link(3, [(0, 1, 0.95), (1, 2, 0.96)]) == [[1, 2]]
    assert complete_link(3, [(0, 1, 0.95), (1, 2, 0.95)]) == [[0, 1]]
    assert complete_link(3, [(0, 1, 0.91), (1, 2, 0.95), (0, 2, 0.9)]) == [[0, 1, 2]]
    assert complete_link(4, [(0, 1, 0.99), (2, 3, 0.98), (1, 2, 0.97), (0, 2, 0.96), (0, 3, 0.95)]) == [[0, 1], [2, 3]]
    assert complete_link(2, []) == []


def test_the_threshold_is_compared_with_the_rounded_cosine() -> None:
    rows = [said("opacity"), said("shadow")]
    assert groups(deduplicated(rows, embedder=TableEmbedder({("opacity", "shadow"): 0.8999996}))) == {frozenset({0, 1})}
    assert groups(deduplicated(rows, embedder=TableEmbedder({("opacity", "shadow"): 0.8999994}))) == set()
    assert groups(deduplicated(rows, embedder=TableEmbedder({("opacity", "shadow"): 0.94}), threshold=0.95)) == set()


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
        ([said("opacity", "tp", p=0.7), said("opacity")], 1),
        ([said("opacity", "tn", p=0.3), said("opacity", "tn", p=0.2)], 1),  # support is 1 - p
        ([said("opacity"), said("opacity", section="impr")], 1),
        ([said("opacity", section="hist"), said("opacity", past_hx="old")], 1),
        ([said("opacity"), said("opacity")], 0),
        ([said("opacity", sent_idx=4), said("opacity", sent_idx=3)], 1),
        ([said("opacity", "tp", p=None), said("opacity", "tp", p=0.51)], 1),
        ([said("opacity", "tp", p=0.49), said("opacity", "tp", p=None)], 1),  # no information counts as one half
        ([said("opacity", row=11, sent_idx=0), said("opacity", row=2, sent_idx=0)], 2),
    ],
)
def test_the_survivor_is_best_claimed_then_in_the_impression_then_first(rows: list[object], survivor: int) -> None:
    frame = deduplicated(rows, embedder=AlikeEmbedder(), history="keep")
    kept = frame[frame["disposition"] == "kept"]["finding_id"].tolist()
    assert kept == [identity(survivor)]


def test_the_survivor_keeps_its_own_words_and_probability_and_unites_the_rest() -> None:
    rows = [
        said(
            "shadow",
            "tp",
            p=0.4,
            location="base",
            severity="mild, Faint",
            morphology="hazy",
            evidence=[2, "~cough"],
            associate=[3],
            view="pa",
        ),
        said("opacity", "tp", p=0.7, location="lung base", severity="moderate, mild", evidence=["~cough", 0, 1], section="impr"),
        said("blunting", evidence=[0, 1]),
        said("scar", associate=[0]),
    ]
    frame = deduplicated(rows, embedder=TableEmbedder({("shadow base hazy mild, faint", "opacity lung base moderate, mild"): 0.95}))
    survivor, merged = record(frame, identity(1)), record(frame, identity(0))
    assert (survivor["ent"], survivor["location"], survivor["prob"], survivor["sent_idx"]) == ("opacity", "lung base", 0.7, 1)
    assert (survivor["severity"], survivor["morphology"]) == ("moderate, mild, Faint", "hazy")
    assert survivor["evidence"] == ["~cough", identity(2)]
    assert survivor["associate"] == [identity(3)]
    assert survivor["merged_ids"] == [identity(0)]
    assert (merged["ent"], merged["location"], merged["severity"], merged["prob"]) == ("shadow", "base", "mild, Faint", 0.4)
    assert record(frame, identity(2))["evidence"] == [identity(1)]
    assert record(frame, identity(3))["associate"] == [identity(1)]


def test_references_are_moved_token_by_token() -> None:
    """Row 1 is merged; row 11, and a bare name that reads like a reference, are not touched."""
    filler = [said(f"filler{number}", "dn") for number in range(2, 11)]
    rows = [said("opacity"), said("opacity"), *filler, said("pleural effusion"), said("scar", evidence=[11, 1, f"~{identity(1)}"])]
    frame = deduplicated(rows)
    assert record(frame, identity(12))["evidence"] == [identity(11), identity(0), f"~{identity(1)}"]


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


def test_every_distinct_phrase_is_encoded_once_for_the_whole_batch() -> None:
    rows = [
        said(ent, study=f"s0000000{study}", row=number)
        for study in range(3)
        for number, ent in enumerate(["opacity", "scar", "opacity", "nodule"])
    ]
    embedder = AlikeEmbedder()
    deduplicated(rows, embedder=embedder)
    assert sorted(embedder.encoded) == ["nodule", "opacity", "scar"]


def test_exact_pairs_of_a_user_count() -> None:
    listed = Blacklist([], [("scar", "opacity")])
    assert groups(deduplicated([said("scar"), said("opacity")], embedder=AlikeEmbedder(), listed=listed)) == set()


def test_a_stage_that_fails_leaves_the_garbage_collector_as_it_was() -> None:
    class BrokenEmbedder(AlikeEmbedder):
        def encode(self, phrases: Sequence[str]) -> np.ndarray:
            assert not gc.isenabled()
            raise MethodError("broken")

    rows = [said("opacity"), said("opacity", location="left")]
    with pytest.raises(MethodError, match="broken"):
        deduplicated(rows, embedder=BrokenEmbedder())
    assert gc.isenabled()


def test_an_empty_batch_is_a_valid_batch() -> None:
    frame = deduplicated([])
    assert len(frame) == 0
    DEDUPLICATED_FINDINGS.to_arrow(frame)


def test_nothing_that_a_row_says_is_lost_or_rewritten() -> None:
    rows = [said("opacity", location="RUL ( apex ) > x & y \\ z / w"), said("a > b & (c) / d\\e")]
    findings, _, _ = frames(rows)
    frame = deduplicated(rows)
    fixed = [name for name in FINDINGS.names if name in frame.columns and name not in (*ATTRIBUTES, "evidence", "associate")]
    pd.testing.assert_frame_equal(frame[fixed], findings[fixed], check_dtype=False)
    assert set(frame["study_id"]) == {STUDY}
    assert len(FITTED_PROBABILITIES.frame()) == 0


def test_a_phrase_is_like_itself_and_one_that_is_compared_with_no_other_is_not_encoded() -> None:
    """A chest tube on the left and one on the right are kept apart before any encoder is asked."""
    rows = [said("opacity"), said("opacity", section="impr"), said("tube", "dn", location="left"), said("tube", "dn", location="right")]
    embedder = AlikeEmbedder()
    assert groups(deduplicated(rows, embedder=embedder)) == {frozenset({0, 1})}
    assert embedder.encoded == []


class AnyCosines:
    """Cosines of pairs that mean nothing, many of them alike and many at the threshold: what the worst encoder may say."""

    def __init__(self, salt: int) -> None:
        self.identity, self._salt = f"any-{salt}", salt
        self.asked: list[str] = []

    def encode(self, phrases: Sequence[str]) -> np.ndarray:
        raise AssertionError("pairs are asked for")

    def cosine(self, one: str, other: str) -> float:
        said_ = f"{self._salt} {min(one, other)} | {max(one, other)}"
        return (0.0, 0.9, 0.9, 0.95, 0.9999999, 1.0, 1.0000002)[blake2b(said_.encode(), digest_size=4).digest()[0] % 7]

    def cosines(self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]) -> np.ndarray:
        self.asked = list(phrases)
        pairs = {frozenset((a, b)) for a, b in zip(first, second, strict=True)}
        assert len(pairs) == len(first), "a pair of phrases is asked for once"
        assert all(len(pair) == 2 for pair in pairs), "a phrase is not compared with itself"
        return np.array([self.cosine(phrases[a], phrases[b]) for a, b in zip(first, second, strict=True)])


SIDES_AND_LOBES = ("right", "left", "upper", "lower")
findings_said = st.builds(
    said,
    st.sampled_from(["opacity", "opacities", "nodule", "effusion", "pleural effusion", "shadow", "mass"]),
    st.sampled_from(["dp", "dp", "dn", "tp", "tn"]),
    location=st.sampled_from(["", "", "RUL", "right upper lobe", "left", "left-sided", "RLL", "lower lung", "lung", "T8", "T9"]),
    p=st.sampled_from([None, 0.3, 0.5, 0.7]),
    section=st.sampled_from(["find", "find", "impr", "hist"]),
    sent_idx=st.integers(0, 2),
    measurement=st.sampled_from(["", "", "5 mm", "0.8 cm"]),
    past_hx=st.sampled_from(["", "", "", "history of"]),
    evidence=st.lists(st.sampled_from([0, 1, 3, 11, "~cough"]), max_size=2),
    associate=st.lists(st.sampled_from([0, 2, 4, "~opacity, idx1"]), max_size=2),
)
reports = st.lists(findings_said, max_size=10)
any_cosines = st.builds(AnyCosines, st.integers(0, 10_000))
own_lists = st.builds(
    Blacklist,
    st.lists(st.sampled_from([("opacity", "shadow"), ("nodule", "effusion"), ("lung", "lobe")]), unique=True, max_size=3),
    st.lists(st.sampled_from([("opacity", "nodule"), ("mass", "shadow lung"), ("opacity rul", "opacity lung")]), unique=True, max_size=3),
)
thorough = settings(max_examples=60, deadline=None)


def merged_groups(rows: list[Said], frame: pd.DataFrame) -> list[list[object]]:
    """The delivered rows of every group, survivor first."""
    findings, _, _ = frames(rows)
    delivered = {row.finding_id: row for row in read_rows(findings, FINDING_COLUMNS)}
    return [
        [delivered[own] for own in (survivor, *merged)]
        for survivor, merged in zip(frame["finding_id"], frame["merged_ids"], strict=True)
        if merged
    ]


@thorough
@given(reports, any_cosines, st.sampled_from(["exclude", "keep"]), st.sampled_from([0.9, 0.97, 1.0]))
def test_whatever_the_similarities_no_group_holds_what_must_stay_apart(
    rows: list[Said], encoder: AnyCosines, history: str, threshold: float
) -> None:
    frame = deduplicated(rows, embedder=encoder, history=history, threshold=threshold)
    for group in merged_groups(rows, frame):
        for one, other in combinations(group, 2):
            said_one, said_other = linearised(one), linearised(other)
            assert (one.study_id, one.positive, one.currency) == (other.study_id, other.positive, other.currency)
            assert not blacklist().separates_phrases(said_one, said_other)
            assert not blacklist().separates_phrases(", ".join(one.location_parts), ", ".join(other.location_parts))
            assert not marks(said_one).differ(marks(said_other))
            assert said_one == said_other or round(encoder.cosine(said_one, said_other), 6) >= threshold
        sides = {word for row in group for word in " ".join(row.location_parts).split() if word in SIDES_AND_LOBES}
        assert not {"right", "left"} <= sides
        assert not {"upper", "lower"} <= sides


@thorough
@given(reports, any_cosines, own_lists)
def test_whatever_the_similarities_a_users_own_lists_are_kept(rows: list[Said], encoder: AnyCosines, listed: Blacklist) -> None:
    for group in merged_groups(rows, deduplicated(rows, embedder=encoder, listed=listed)):
        for one, other in combinations(group, 2):
            assert not listed.separates_phrases(linearised(one), linearised(other))
            assert not listed.separates_phrases(one.name, other.name)


UNITED = (*ATTRIBUTES, "evidence", "associate")


@thorough
@given(reports, any_cosines, st.sampled_from(["exclude", "keep"]))
def test_whatever_the_similarities_nothing_said_changes_and_every_row_has_one_place(
    rows: list[Said], encoder: AnyCosines, history: str
) -> None:
    """Side, lobe, wording, polarity and currency above all; and every merged row points to a row that stays."""
    findings, _, _ = frames(rows)
    frame = deduplicated(rows, embedder=encoder, history=history).set_index("finding_id")
    delivered = findings.set_index("finding_id").loc[frame.index]
    fixed = [name for name in delivered.columns if name in frame.columns and name not in UNITED]
    assert {"status", "location", "location_parts", "currency", "sent", "ent"} <= set(fixed)
    pd.testing.assert_frame_equal(frame[fixed], delivered[fixed], check_dtype=False)
    others = frame.index[frame["merged_ids"].str.len() == 0]
    pd.testing.assert_frame_equal(frame.loc[others, list(ATTRIBUTES)], delivered.loc[others, list(ATTRIBUTES)], check_dtype=False)
    merged = frame[frame["disposition"] == "merged"]
    assert (frame.loc[merged["merged_into"], "disposition"] == "kept").all()
    assert sorted(merged.index) == sorted(one for ids in frame["merged_ids"] for one in ids)
    assert merged["merge_similarity"].between(0.9, 1.0).all()
    for column in ("evidence", "associate"):
        assert not {token for tokens in frame[column] for token in tokens} & set(merged.index)
        assert not any(own in tokens for own, tokens in zip(frame.index, frame[column], strict=True))


@thorough
@given(reports, any_cosines)
def test_the_survivor_is_the_preferred_row_of_its_group(rows: list[Said], encoder: AnyCosines) -> None:
    frame = deduplicated(rows, embedder=encoder, history="keep")
    support = dict(zip(frame["finding_id"], frame["support"], strict=True))
    for group in merged_groups(rows, frame):
        for row in group:
            row.support = support[row.finding_id]
        assert min(group, key=claim_preference) is group[0]


@thorough
@given(reports, any_cosines, st.integers(0, 1000))
def test_merging_does_not_depend_on_the_order_of_the_rows(rows: list[Said], encoder: AnyCosines, seed: int) -> None:
    findings, fitted, _ = frames(rows)
    options = ImplicitSettings(history="keep")
    one = deduplicate(findings, fitted, encoder, blacklist(), options)
    other = deduplicate(mixed(findings, seed), mixed(fitted, seed + 1), encoder, blacklist(), options)
    pd.testing.assert_frame_equal(one, other)


@thorough
@given(reports, any_cosines, st.sampled_from(["exclude", "keep"]), st.sampled_from(["method", "paper"]))
def test_the_phrases_that_are_exported_are_those_that_an_encoder_is_asked(
    rows: list[Said], encoder: AnyCosines, history: str, mode: str
) -> None:
    findings, fitted, _ = frames(rows)
    options = ImplicitSettings(history=history, mode=mode)
    deduplicate(findings, fitted, encoder, blacklist(), options)
    assert compared_phrases(findings, blacklist(), options) == sorted(encoder.asked)
    assert len(set(encoder.asked)) == len(encoder.asked)


pair_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([0.9, 0.95, 1.0])).filter(lambda pair: pair[0] < pair[1]),
    unique_by=lambda pair: pair[:2],
)


@settings(max_examples=300, deadline=None)
@given(pair_lists, st.randoms(use_true_random=False))
def test_complete_links_are_complete_and_cannot_grow(pairs: list[tuple[int, int, float]], dice: object) -> None:
    listed = {(a, b) for a, b, _ in pairs}
    found = complete_link(7, pairs)
    members = [member for group in found for member in group]
    assert len(set(members)) == len(members)
    assert all(pair in listed for group in found for pair in combinations(group, 2))
    everything = [*found, *([alone] for alone in range(7) if alone not in members)]
    for one, other in combinations(everything, 2):
        assert any((min(a, b), max(a, b)) not in listed for a in one for b in other)
    shuffled = list(pairs)
    dice.shuffle(shuffled)
    assert complete_link(7, shuffled) == found
