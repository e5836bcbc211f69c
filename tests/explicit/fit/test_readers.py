"""How far readers differ, by position on the scale, and the range in which another
reader's p would lie.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy.special import expit, logit

from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.fit.readers import (
    ReaderSpread,
    people_numbers,
    reader_range,
    spread_between,
    spread_of_numbers,
    spread_of_points,
)
from lunguage_assets.packaged_data import resource

HEADER = "phrase,people,mean,sd,p10,p25,median,p75,p90\n"
LIKELY = "Likely,90,73,9,60,67,75,80,85\n"
RATINGS = "rater,phrase,sentence,rating\n"
SET = """
[sets.mine]
source = "invented"
anchors = [
  {{ phrase = "may be", probability = 0.5, low = 0.4, high = 0.6 }},
  {{ phrase = "likely", probability = 0.8, low = 0.75, high = 0.85 }},
]
[readers]
source = "invented"
{readers}
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def middle_80(p: float, spread: ReaderSpread) -> list[float]:
    """The range of 80% of readers around a p that is known exactly, in hundredths."""
    return [100.0 * float(end) for end in reader_range(p, p, p, spread, share=0.8)]


def test_raters_that_agree_have_no_spread(tmp_path: Path) -> None:
    rows = [f"{rater},may be,{number},50\n" for rater in "abc" for number in range(3)]
    ratings = written(tmp_path / "anchor_ratings.csv", RATINGS + "".join(rows))
    assert chosen_anchors("", ratings).spread == ReaderSpread.everywhere(
        0.0, 2.0, "3 raters in anchor_ratings.csv"
    )


def test_one_rater_alone_tells_nothing_of_others(tmp_path: Path) -> None:
    ratings = written(
        tmp_path / "anchor_ratings.csv", f"{RATINGS}a,may be,1,50\na,may be,2,60\n"
    )
    assert chosen_anchors("", ratings).spread == chosen_anchors("published").spread


def test_without_raters_the_spread_is_that_of_people() -> None:
    assert "Kucharski 2026" in chosen_anchors("published").spread.source


@pytest.mark.parametrize(
    ("p", "people"),
    [(0.729, (60, 85)), (0.717, (60, 85)), (0.400, (15, 60)), (0.187, (5, 30))],
)
def test_the_middle_80_percent_are_where_people_have_them(
    p: float,
    people: tuple[int, int],
) -> None:
    """Likely, probable, might, unlikely; neighbouring phrases are pooled, so not to the
    point.
    """
    assert middle_80(p, chosen_anchors("published").spread) == pytest.approx(
        people, abs=5.5
    )


def test_a_single_phrase_has_its_own_people_exactly(tmp_path: Path) -> None:
    numbers = people_numbers(written(tmp_path / "numbers.csv", HEADER + LIKELY))
    assert middle_80(0.73, spread_of_numbers(numbers, (), "invented")) == pytest.approx(
        [60, 85]
    )


def test_a_phrase_that_names_its_number_does_not_narrow_the_spread() -> None:
    numbers = people_numbers(resource("people", "people_numbers.csv"))
    with_even = spread_of_numbers(numbers, (), "invented")
    below, above = with_even.deviations(0.0)
    packaged_below, packaged_above = chosen_anchors("published").spread.deviations(0.0)
    assert below < packaged_below
    assert above < packaged_above


def test_beyond_the_outermost_phrase_the_spread_stays() -> None:
    spread = ReaderSpread((-1.0, 1.0), (0.5, 0.7), (0.6, 0.8), math.inf, "invented")
    assert spread.deviations([1.0, 60.0])[0] == pytest.approx(
        [spread.deviations(1.0)[0]] * 2
    )


def test_points_are_what_the_middle_80_percent_span_around_one_half() -> None:
    assert middle_80(0.5, spread_of_points(40.0, "invented")) == pytest.approx([30, 70])


def test_a_file_of_ones_own_may_state_points(tmp_path: Path) -> None:
    written(tmp_path / "mine.toml", SET.format(readers="points = 40"))
    spread = chosen_anchors("mine.toml", None, tmp_path).spread
    assert middle_80(0.5, spread) == pytest.approx([30, 70])


def test_a_file_of_ones_own_may_name_numbers_beside_it(tmp_path: Path) -> None:
    written(tmp_path / "ours.csv", HEADER + LIKELY)
    written(tmp_path / "mine.toml", SET.format(readers='numbers = "ours.csv"'))
    spread = chosen_anchors("mine.toml", None, tmp_path).spread
    assert middle_80(0.73, spread) == pytest.approx([60, 85])


@pytest.mark.parametrize("readers", ["", 'points = 40\nnumbers = "ours.csv"'])
def test_readers_come_in_exactly_one_form(tmp_path: Path, readers: str) -> None:
    written(tmp_path / "mine.toml", SET.format(readers=readers))
    with pytest.raises(ConfigurationError, match="expected either points or numbers"):
        chosen_anchors("mine.toml", None, tmp_path)


def test_leaving_every_phrase_out_is_refused(tmp_path: Path) -> None:
    numbers = people_numbers(written(tmp_path / "numbers.csv", HEADER + LIKELY))
    with pytest.raises(ConfigurationError, match="left_out"):
        spread_of_numbers(numbers, ("likely",), "invented")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEADER, "no phrase"),
        (HEADER.replace(",sd", ""), "no column"),
        (HEADER + LIKELY + LIKELY, "row 2, column 'phrase'"),
        (HEADER + LIKELY.replace("73", "many"), "row 1, column 'mean'"),
        (HEADER + LIKELY.replace("73", "173"), "row 1, column 'mean'"),
        (HEADER + LIKELY.replace("90", "-1"), "row 1, column 'people'"),
        (HEADER + LIKELY.replace("60", "70"), "row 1: found quantiles that fall"),
    ],
)
def test_wrong_numbers_are_refused_with_their_place(
    tmp_path: Path,
    text: str,
    problem: str,
) -> None:
    with pytest.raises(InputError, match=problem):
        people_numbers(written(tmp_path / "numbers.csv", text))


shares = st.floats(0.02, 0.98)


@given(shares, shares, shares, st.floats(0.0, 2.0), st.integers(1, 50))
@examples(100)
def test_the_range_of_another_reader_holds_the_interval_of_the_mean(
    a: float, b: float, c: float, sd: float, df: int
) -> None:
    low, p, high = sorted((a, b, c))
    for freedom in (float(df), math.inf):
        spread = ReaderSpread.everywhere(sd, freedom, "invented")
        reader_low, reader_high = reader_range(p, low, high, spread)
        assert 0.0 <= reader_low <= low <= p <= high <= reader_high <= 1.0


def test_the_range_holds_19_of_20_further_readers() -> None:
    """Invented raters of two phrases; a further one is asked each time."""
    draw = np.random.default_rng(7)
    inside = 0
    readers = 1000
    sd = 0.7
    for _ in range(readers):
        truth = draw.normal(0.0, 1.0, 2)
        answers = truth[:, None] + draw.normal(0.0, sd, (2, 6))
        spread = spread_between(answers, "invented")
        assert spread is not None
        mean = answers[0].mean()
        error = sd / math.sqrt(6)
        ends = [float(expit(mean + z * error)) for z in (0.0, -1.96, 1.96)]
        low, high = reader_range(*ends, spread)
        inside += bool(low <= expit(truth[0] + draw.normal(0.0, sd)) <= high)
    assert 0.93 < inside / readers < 0.97


def test_a_reader_of_the_mean_is_no_further_away_than_readers_differ() -> None:
    spread = ReaderSpread.everywhere(0.5, math.inf, "invented")
    low, high = reader_range(0.5, 0.5, 0.5, spread)
    assert logit([float(low), float(high)]) == pytest.approx([-0.98, 0.98], abs=1e-3)
