"""The chain from comparisons to probabilities holds against 5,174 people, and would not
if they chose at random (docs/people.md).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import people
import pytest
from people import ChainResult, PeopleSet

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.probability import CalibrationError, reader_spread
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import ExplicitSettings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "people.md").read_text(encoding="utf-8")
PICTURE = (DOCS / "pictures" / "people.svg").read_text(encoding="utf-8")
WITHOUT_BOOTSTRAP = ExplicitSettings(bootstrap=0)
"""The same mu and p in a third of the time; intervals are points."""

HEADER = "shown_first,shown_second,comparisons,first_chosen\n"


@pytest.fixture(scope="module")
def everybody() -> PeopleSet:
    return PeopleSet.read()


@pytest.fixture(scope="module")
def result(everybody: PeopleSet) -> ChainResult:
    """All 51,740 comparisons."""
    ranking = everybody.ranking(everybody.matches, WITHOUT_BOOTSTRAP)
    return everybody.result(ranking)


def test_the_ranking_and_p_are_those_of_peoples_own_numbers(
    result: ChainResult,
) -> None:
    assert result.rank_correlation >= 0.98
    assert result.mean_error <= 0.035
    assert (result.others["p"] - result.others["people"]).abs().max() <= 0.08


def test_the_page_states_what_comes_out(result: ChainResult) -> None:
    assert f"rank correlation **{result.rank_correlation:.3f}**" in PAGE
    assert f"mean error of p **{result.mean_error:.3f}**" in PAGE
    assert f"straight line: {result.straight_error:.3f}" in PAGE


def test_a_thousand_comparisons_suffice_and_their_intervals_hold(
    everybody: PeopleSet,
) -> None:
    (row,) = people.by_size(everybody, [1_000], draws=4).to_dict("records")
    assert row["rank correlation"] >= 0.96
    assert row["error of p"] <= 0.05
    assert row["coverage"] >= 0.85


def test_choices_by_a_coin_would_not_pass(everybody: PeopleSet) -> None:
    """The bounds above can fail: nothing but people's choices carries the ranking."""
    matches = everybody.matches.sample(5_000, random_state=0)
    is_a = np.random.default_rng(0).random(len(matches)) < 0.5
    winner = np.where(is_a, matches["phrase_a"], matches["phrase_b"])
    ranking = everybody.ranking(matches.assign(winner=winner), WITHOUT_BOOTSTRAP)
    try:
        by_chance = everybody.result(ranking)
    except CalibrationError:
        return
    assert by_chance.rank_correlation < 0.7
    assert by_chance.mean_error > 0.1


def test_every_comparison_becomes_a_match_in_its_position(everybody: PeopleSet) -> None:
    comparisons = people.read_comparisons(resource("people", "people_comparisons.csv"))
    matches = everybody.matches
    assert len(matches) == comparisons["comparisons"].sum() == 51_740
    is_first = matches["answer"] == "sentence_1"
    assert is_first.sum() == comparisons["first_chosen"].sum()
    shown_first = matches["phrase_a"].where(~matches["swapped"], matches["phrase_b"])
    assert (matches["winner"] == shown_first).equals(is_first)


def test_the_range_of_another_reader_is_nearer_to_people_by_position(
    everybody: PeopleSet,
) -> None:
    """Each phrase by the people of the others: what is measured is no copy of
    itself.
    """
    ranges = people.reader_ranges(everybody.numbers)
    by_position = people.range_error(ranges, "by_position")
    assert by_position <= 0.03
    assert by_position < 0.8 * people.range_error(ranges, "everywhere")


def test_the_packaged_spread_is_what_the_numbers_give(everybody: PeopleSet) -> None:
    pd.testing.assert_frame_equal(
        people.spread_of_numbers(everybody.numbers), reader_spread()
    )


def test_the_published_ranking_is_seven_points_from_people() -> None:
    compared = people.published_beside_people()
    assert (round(compared["distance"].mean()), len(compared)) == (7, 20)
    assert "is 7 points from people's means on average, over 20 numbers" in PAGE


def test_the_widest_gap_is_between_phrases_that_people_hold_equal() -> None:
    compared = people.published_beside_people()
    assert people.widest_gap(compared) == ("probable", "probably")
    told_apart = compared[compared["phrase"].isin(["likely", "unlikely"])]
    assert people.widest_gap(told_apart) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEADER.replace("comparisons", "n"), "no column"),
        (HEADER + "Likely,Unlikely,5,many\n", "row 1: found no counts"),
        (
            HEADER + "Likely,Unlikely,5,6\n",
            "row 1: found more choices than comparisons",
        ),
    ],
)
def test_wrong_comparisons_are_refused_with_their_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "people_comparisons.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        people.read_comparisons(path)


def test_anchors_that_people_hold_equal_give_no_line_or_a_bad_one(
    everybody: PeopleSet,
) -> None:
    ranking = everybody.ranking(everybody.matches.head(3_000), WITHOUT_BOOTSTRAP)
    errors = people.by_anchors(everybody, ranking)["error of p"]
    assert len(errors) == 171
    assert errors.is_monotonic_increasing
    assert errors.iloc[-1] > 3.0 * errors.iloc[0]


def test_anchors_have_the_interval_of_peoples_mean() -> None:
    numbers = pd.DataFrame(
        {"phrase": ["likely"], "mean": [0.7], "sd": [0.1], "people": [100]}
    )
    (anchor,) = people.people_anchors(numbers, ["likely"])
    assert (anchor.low, anchor.high) == pytest.approx((0.6804, 0.7196), abs=1e-4)
