"""Reports that repeat themselves: merged as the plain rules merge them, however often."""

from __future__ import annotations

import pandas as pd
from any_cosines import AnyCosines
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import AlikeEmbedder, Said, blacklist, deduplicated, frames, said
from plain_merging import plain_complete_link, plainly_deduplicated
from profiles import examples

from lunguage_assets.implicit.merging.candidates import complete_link
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.settings import ImplicitSettings

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
def test_rows_of_equal_wording_as_one_candidate_change_nothing(
    rows: list[Said], encoder: AnyCosines, threshold: float, mode: str
) -> None:
    findings, fitted, _ = frames(rows)
    options = ImplicitSettings(merge_threshold=threshold, mode=mode)
    pd.testing.assert_frame_equal(
        deduplicate(findings, fitted, encoder, blacklist(), options),
        plainly_deduplicated(findings, fitted, encoder, blacklist(), options),
    )


pair_lists = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.9, 0.95, 1.0])).filter(
        lambda pair: pair[0] < pair[1]
    ),
    unique_by=lambda pair: pair[:2],
    max_size=45,
)


@examples(150)
@given(pair_lists)
def test_counted_links_unite_what_looked_at_links_unite(pairs: list[tuple[int, int, float]]) -> None:
    assert complete_link(10, pairs) == plain_complete_link(10, pairs)


def test_thousands_of_rows_that_say_the_same_become_one() -> None:
    rows = [
        said("opacity", location="RUL", severity="mild", evidence=[number // 2]) for number in range(2_998)
    ]
    rows += [said("opacity", location="right upper lobe"), said("nodule")]
    frame = deduplicated(rows, embedder=AlikeEmbedder())
    assert frame["disposition"].value_counts().to_dict() == {"merged": 2_999, "kept": 1}
