"""p of hedging phrases beside what people say that they mean, as the release and its
report have it.
"""

from __future__ import annotations

import pandas as pd
import pytest
from pydantic import ValidationError

from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.release.phrase_scales import (
    ScaleEntry,
    people_distance,
    phrase_scale,
    published_scales,
    rated_phrases,
    widest_gap,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES

RANKING = reference_ranking(
    hedge_vocabulary(HEDGE_PHRASES.frame(), ExplicitSettings()),
    {"lexicon": pd.DataFrame()},
    ExplicitSettings(),
)
"""The published one, of 42 phrases."""

SCALE = phrase_scale(RANKING, chosen_anchors("published"))


def scale_of(**p_by_phrase: float) -> pd.DataFrame:
    """A scale with these p, none of them an anchor's."""
    return pd.DataFrame(
        {"phrase": list(p_by_phrase), "p": p_by_phrase.values(), "is_anchor": False}
    )


def row(phrase: str) -> dict[str, object]:
    return SCALE[SCALE["phrase"] == phrase].iloc[0].to_dict()


def test_a_phrase_has_the_mean_and_the_middle_of_people() -> None:
    likely = row("likely")
    numbers = [likely[name] for name in ("people", "people_low", "people_high")]
    assert numbers == pytest.approx([0.7288, 0.60, 0.85])


def test_the_other_scales_stand_in_words_with_their_names() -> None:
    words = str(row("probable")["published"])
    assert "123 and 46 people: 68 and 72" in words
    assert "review, 2024: 70 (60 to 80)" in words
    assert "5,174" not in words, "these have a column"


def test_a_published_phrase_that_is_not_ranked_comes_last_without_p() -> None:
    unranked = SCALE.loc[SCALE["p"].isna(), "phrase"].tolist()
    assert SCALE["phrase"].tolist()[-len(unranked) :] == unranked
    assert {"unlikely", "doubtful", "almost certain", "very likely"} <= set(unranked)


def test_the_published_ranking_is_seven_points_from_people() -> None:
    distance = people_distance(SCALE)
    assert distance is not None
    assert (round(distance.points), distance.n) == (7, 20)


def test_the_largest_gap_of_the_published_ranking_is_probable_and_probably() -> None:
    gap = widest_gap(SCALE)
    assert gap is not None
    assert (gap.higher, gap.lower) == ("probable", "probably")
    assert gap.p_higher - gap.p_lower == pytest.approx(0.156, abs=1e-3)
    assert gap.means == ((68.0, 69.0), (72.0, 72.0))


def test_phrases_that_people_tell_apart_are_no_gap() -> None:
    assert widest_gap(scale_of(likely=0.8, unlikely=0.2)) is None


def test_the_gap_is_named_from_the_higher_phrase_in_any_order() -> None:
    gap = widest_gap(scale_of(probable=0.5, probably=0.7))
    assert gap is not None
    assert (gap.higher, gap.lower) == ("probably", "probable")


def test_phrases_of_no_scale_have_nothing_beside_them() -> None:
    invented = scale_of(hazy=0.4)
    assert people_distance(invented) is None
    assert rated_phrases(invented).empty


def test_an_anchor_at_its_own_number_is_no_agreement() -> None:
    anchored = SCALE.assign(
        is_anchor=SCALE["phrase"].isin(["likely", "less likely", "most likely"])
    )
    distance = people_distance(anchored)
    assert distance is not None
    assert distance.n == 14


@pytest.mark.parametrize("entry", [{}, {"low": 5.0}, {"means": [5.0], "high": 9.0}])
def test_an_entry_says_something_whole(entry: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="expected"):
        ScaleEntry.model_validate({"phrase": "likely", **entry})


def test_every_scale_names_its_source() -> None:
    sources = " ".join(scale.source for scale in published_scales())
    for reference in (
        "2511.04506",
        "Brigham",
        "Clinical Radiology",
        "zenodo.18750055",
        "wadefagen",
        "Hashim",
    ):
        assert reference in sources
