"""Pictures of the probability scale."""

from __future__ import annotations

from lunguage_assets.pictures.plots import scale_plot
from lunguage_assets.release.report.scales import published_scales, scale_marks
from lunguage_assets.tables.analyses import PHRASE_SCALE

PNG = b"\x89PNG"


def test_published_scales_are_drawn_without_a_ranking_of_our_own() -> None:
    said = {"mu": None, "p": None, "p_low": None, "p_high": None, "reader_low": None, "reader_high": None}
    row = said | {"number": 0, "phrase": "very unlikely", "is_anchor": False, "published": "0 to 5"}
    assert scale_plot(PHRASE_SCALE.frame([row]), scale_marks(published_scales())).startswith(PNG)


def test_published_scales_say_where_each_number_stands() -> None:
    scales = published_scales()
    assert all(scale.source for scale in scales)
    assert {one.told for scale in scales for one in scale.phrases if one.phrase == "less likely"} == {
        "17 (15.6 to 18.5)"
    }
