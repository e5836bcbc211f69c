"""p of hedging phrases, as the release and its report have it."""

from __future__ import annotations

import pytest
from tentative_findings import published_scale

from lunguage_assets.explicit.probability import chosen_anchors
from lunguage_assets.release.phrase_scale import phrase_scale


def test_every_phrase_of_the_published_ranking_has_its_p_and_anchors_keep_theirs() -> (
    None
):
    scale = phrase_scale(published_scale()[1], chosen_anchors("published"))
    assert len(scale) == 42
    assert scale["p"].is_monotonic_decreasing
    anchors = scale[scale["is_anchor"].astype(bool)].set_index("phrase")["p"]
    assert anchors.to_dict() == pytest.approx(
        {"less likely": 0.17, "most likely": 0.839}, abs=0.001
    )
