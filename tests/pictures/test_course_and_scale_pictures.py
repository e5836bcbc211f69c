"""Pictures of findings over time and of the probability scale: also of rounded counts and of no counts."""

from __future__ import annotations

import io

import pandas as pd
from PIL import Image

from lunguage_assets.implicit.statements.courses import course_counts
from lunguage_assets.pictures.bars import course_bars
from lunguage_assets.pictures.plots import scale_plot
from lunguage_assets.release.bundle.disclosure import Disclosure
from lunguage_assets.release.report.scales import published_scales, scale_marks
from lunguage_assets.tables import FINDING_COURSES
from lunguage_assets.tables.analyses import PHRASE_SCALE

PNG = b"\x89PNG"


def counts(confirmed: int) -> pd.DataFrame:
    frame = course_counts(FINDING_COURSES.frame())
    return frame.assign(confirmed=confirmed, statements=confirmed)


def pixels(png: bytes) -> bytes:
    return Image.open(io.BytesIO(png), formats=["png"]).tobytes()


def test_counts_of_patients_are_rounded_and_small_ones_only_say_so() -> None:
    shown = Disclosure(5).courses(counts(3))
    assert set(shown["confirmed"]) == {"<5"}
    assert set(Disclosure(5).courses(counts(13))["confirmed"]) == {"15"}
    pd.testing.assert_frame_equal(Disclosure(1).courses(counts(3)), counts(3))


def test_a_withheld_count_is_drawn_as_none() -> None:
    nothing = pixels(course_bars(counts(0)))
    assert pixels(course_bars(Disclosure(5).courses(counts(3)))) == nothing
    assert pixels(course_bars(counts(3))) != nothing


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
