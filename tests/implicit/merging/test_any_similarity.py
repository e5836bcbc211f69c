"""Merging under an encoder that says anything at all: what holds whatever the similarities."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
from any_cosines import AnyCosines
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import AlikeEmbedder, Said, blacklist, deduplicated, frames, said
from plain_merging import plain_groups
from profiles import examples

from lunguage_assets.implicit.merging.apart import linearised, stated_values, values_differ
from lunguage_assets.implicit.merging.deduplicate import blocks_of, compared_phrases, deduplicate
from lunguage_assets.implicit.rows import by_study, read_rows
from lunguage_assets.settings import ImplicitSettings

SIDES_AND_LOBES = ("right", "left", "upper", "lower")
findings_said = st.builds(
    said,
    st.sampled_from(["opacity", "opacities", "nodule", "effusion", "pleural effusion", "shadow", "mass"]),
    st.sampled_from(["dp", "dp", "dn", "tp", "tn"]),
    location=st.sampled_from(
        ["", "", "RUL", "right upper lobe", "left", "left-sided", "RLL", "lower lung", "lung", "T8", "T9"]
    ),
    p=st.sampled_from([None, 0.3, 0.5, 0.7]),
    section=st.sampled_from(["find", "find", "hist"]),  # what both sections state is `test_restated.py`
    sent_idx=st.integers(0, 2),
    measurement=st.sampled_from(["", "", "5 mm", "0.8 cm"]),
    past_hx=st.sampled_from(["", "", "", "history of"]),
    evidence=st.lists(st.sampled_from([0, 1, 3, 11, "~cough"]), max_size=2),
    associate=st.lists(st.sampled_from([0, 2, 4, "~opacity, idx1"]), max_size=2),
)
reports = st.lists(findings_said, max_size=10)
any_cosines = st.builds(AnyCosines, st.integers(0, 10_000))


def merged_groups(rows: list[Said], frame: pd.DataFrame) -> list[list[object]]:
    """The delivered rows of every group, survivor first."""
    findings, _, _ = frames(rows)
    delivered = {row.finding_id: row for row in read_rows(findings)}
    return [
        [delivered[own] for own in (survivor, *merged)]
        for survivor, merged in zip(frame["finding_id"], frame["merged_ids"], strict=True)
        if merged
    ]


@examples(40)
@given(reports, any_cosines, st.sampled_from(["exclude", "keep"]), st.sampled_from([0.9, 0.97, 1.0]))
def test_whatever_the_similarities_no_group_holds_what_must_stay_apart(
    rows: list[Said], encoder: AnyCosines, history: str, threshold: float
) -> None:
    frame = deduplicated(rows, embedder=encoder, history=history, threshold=threshold)
    for group in merged_groups(rows, frame):
        for one, other in combinations(group, 2):
            said_one, said_other = linearised(one), linearised(other)
            kind, kind_of_other = ((row.study_id, row.positive, row.currency) for row in (one, other))
            assert kind == kind_of_other
            assert not blacklist().separates(said_one, said_other)
            assert not blacklist().separates(", ".join(one.location_parts), ", ".join(other.location_parts))
            assert not values_differ(stated_values(said_one), stated_values(said_other))
            assert said_one == said_other or round(encoder.cosine(said_one, said_other), 6) >= threshold
        sides = {
            word for row in group for word in " ".join(row.location_parts).split() if word in SIDES_AND_LOBES
        }
        assert not {"right", "left"} <= sides
        assert not {"upper", "lower"} <= sides


@examples(40)
@given(reports, any_cosines, st.sampled_from(["exclude", "keep"]), st.sampled_from(["method", "paper"]))
def test_the_phrases_that_are_exported_are_those_that_an_encoder_is_asked(
    rows: list[Said], encoder: AnyCosines, history: str, mode: str
) -> None:
    findings, fitted, _ = frames(rows)
    options = ImplicitSettings(history=history, mode=mode)
    deduplicate(findings, fitted, encoder, blacklist(), options)
    assert compared_phrases(findings, blacklist(), options) == sorted(encoder.asked)
    assert len(set(encoder.asked)) == len(encoder.asked)


# reports that repeat themselves: merged as the plain rules merge them, however often

repeated = st.builds(
    said,
    st.sampled_from(["opacity", "opacities", "nodule"]),
    st.sampled_from(["dp", "dp", "dn"]),
    location=st.sampled_from(["", "right", "right and left", "RUL", "upper and lower"]),
    section=st.just("find"),  # what both sections state is `test_restated.py`
    sent_idx=st.integers(0, 3),
    evidence=st.lists(st.integers(0, 12), max_size=2),
)
changed = st.builds(
    said,
    st.sampled_from(["opacity", "shadow"]),
    measurement=st.sampled_from(["", "5 mm", "8 mm"]),
    severity=st.sampled_from(["", "mild", "severe"]),
    improved=st.sampled_from(["", "better"]),
    no_change=st.sampled_from(["", "", "stable"]),
    worsened=st.sampled_from(["", "", "worse"]),
    morphology=st.sampled_from(["", "hazy", "Hazy, round"]),
    sent_idx=st.integers(0, 3),
)


@examples(100)
@given(
    st.one_of(st.lists(repeated, max_size=14), st.lists(changed, max_size=14)),
    st.builds(AnyCosines, st.integers(0, 10_000)),
    st.sampled_from([0.9, 0.97, 1.0]),
    st.sampled_from(["method", "method", "paper"]),
)
def test_groups_are_those_of_the_plain_rules(
    rows: list[Said], encoder: AnyCosines, threshold: float, mode: str
) -> None:
    findings, fitted, _ = frames(rows)
    options = ImplicitSettings(merge_threshold=threshold, mode=mode)
    frame = deduplicate(findings, fitted, encoder, blacklist(), options)
    found = {row.finding_id: row.merge_similarity for row in read_rows(frame) if row.merged_into is not None}
    groups = {
        frozenset({own, *merged})
        for own, merged in zip(frame["finding_id"], frame["merged_ids"], strict=True)
        if len(merged)
    }
    listed = blacklist().of_the_paper() if mode == "paper" else blacklist()
    studies = by_study(read_rows(findings.assign(mode=mode)))
    expected = [
        group
        for study in studies
        for block in blocks_of(study)
        for group in plain_groups(block, encoder, listed, threshold)
    ]
    assert groups == {frozenset(group) for group in expected}
    closest = {own: cosine for group in expected for own, cosine in group.items()}
    assert found == {own: closest[own] for own in found}


def test_hundreds_of_rows_that_say_the_same_become_one() -> None:
    rows = [said("opacity", location="RUL", severity="mild", evidence=[number // 2]) for number in range(300)]
    rows += [said("opacity", location="right upper lobe"), said("nodule")]
    frame = deduplicated(rows, embedder=AlikeEmbedder())
    assert frame["disposition"].value_counts().to_dict() == {"merged": 301, "kept": 1}
