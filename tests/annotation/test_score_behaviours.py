"""What a radiologist expects of the score, on ladders of invented reports from the best
to the worst.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

import lunguage_assets

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
LADDERS = FIXTURES / "score_ladders.csv"
LADDER_NAMES = pd.read_csv(LADDERS)["ladder"].unique().tolist()
NOTHING = 0.1
"""What a score may fall short of 1 by where words are read less exactly than they were
meant.
"""


@pytest.fixture(scope="module")
def ladders() -> pd.DataFrame:
    """The ladders, with a score in every row."""
    rows = pd.read_csv(LADDERS)
    scores = lunguage_assets.rewards(
        rows["reference"].tolist(), rows["candidate"].tolist()
    )
    return rows.assign(score=scores)


def reward(reference: str, generated: str) -> float:
    return lunguage_assets.rewards([reference], [generated])[0]


def falls(reference: str, *generated: str) -> bool:
    """Whether each generated report scores less than the one before."""
    scores = [reward(reference, report) for report in generated]
    return all(better > worse for better, worse in pairwise(scores))


@pytest.mark.parametrize("name", LADDER_NAMES)
def test_a_report_that_is_rated_better_scores_better(
    ladders: pd.DataFrame, name: str
) -> None:
    rungs = ladders[ladders["ladder"] == name]
    worst_by_rating = rungs.groupby("rating")["score"].min()
    best_by_rating = rungs.groupby("rating")["score"].max()
    for rating in worst_by_rating.index[1:]:
        below = best_by_rating[best_by_rating.index < rating].max()
        assert worst_by_rating[rating] > below


@pytest.mark.parametrize("behaviour", ["normal statements", "paraphrase"])
def test_what_is_as_good_as_the_reference_costs_nothing(
    ladders: pd.DataFrame, behaviour: str
) -> None:
    as_good = ladders[(ladders["behaviour"] == behaviour) & (ladders["rating"] == 5)]
    assert as_good["score"].min() > 1.0 - NOTHING
    assert as_good["score"].median() == 1.0


def test_the_score_follows_the_ratings_over_all_ladders(ladders: pd.DataFrame) -> None:
    assert ladders["score"].corr(ladders["rating"], method="kendall") > 0.75


def test_the_score_follows_the_ratings_of_whole_reports() -> None:
    rows = pd.read_csv(FIXTURES / "score_ward_films.csv")
    scores = lunguage_assets.rewards(
        rows["reference"].tolist(), rows["candidate"].tolist()
    )
    assert rows["rating"].corr(pd.Series(scores), method="kendall") > 0.7


def test_every_further_invention_costs() -> None:
    inventions = [
        "Right lower lobe pneumonia.",
        "Left pneumothorax.",
        "Rib fracture.",
        "Hilar mass.",
    ]
    reports = [
        "The heart is normal. " + " ".join(inventions[:count]) for count in range(5)
    ]
    assert falls("The heart is normal in size.", *reports)


def test_every_further_omission_costs() -> None:
    sentences = [
        "Right lower lobe pneumonia.",
        "Left pneumothorax.",
        "Rib fracture.",
        "Hilar mass.",
    ]
    reports = [
        " ".join(sentences[count:]) + " Heart size is normal." for count in range(5)
    ]
    assert falls(" ".join(sentences), *reports)


@pytest.mark.parametrize(
    "statement",
    [
        "No pneumothorax.",
        "The heart is normal in size.",
        "The bones are intact.",
        "Endotracheal tube in standard position.",
        "Right picc line in place.",
        "Sternotomy wires are intact.",
    ],
)
def test_normal_statements_and_devices_in_place_cost_nothing(statement: str) -> None:
    finding = "Left lower lobe pneumonia."
    assert reward(finding, f"{finding} {statement}") == 1.0
    assert reward(f"{finding} {statement}", finding) == 1.0


def test_unchanged_costs_nothing_whichever_report_says_it() -> None:
    assert reward("Unchanged left pleural effusion.", "Left pleural effusion.") == 1.0
    assert reward("Left pleural effusion.", "Stable left pleural effusion.") == 1.0


def test_both_sides_are_the_left_and_the_right() -> None:
    bilateral = "Small bilateral pleural effusions."
    left_and_right = "Small left pleural effusion. Small right pleural effusion."
    assert reward(bilateral, left_and_right) == reward(left_and_right, bilateral) == 1.0


def test_candidates_that_say_the_same_score_the_same() -> None:
    reference = "Large right pneumothorax. Left rib fracture."
    wordings = [
        "Small right ptx.",
        "There is a small right pneumothorax.",
        "Small right-sided pleural air.",
    ]
    scores = {round(reward(reference, wording), 9) for wording in wordings}
    assert len(scores) == 1


@pytest.mark.parametrize(
    ("wording", "other_wording"),
    [
        ("The heart is enlarged.", "Cardiomegaly."),
        ("Right hilar fullness.", "Prominent right hilum."),
        (
            "Blunted left costophrenic angle.",
            "Blunting of the left costophrenic angle.",
        ),
        ("Widened mediastinum.", "Mediastinal fullness."),
        ("Low lung volumes.", "Lung volumes are low."),
    ],
)
def test_an_abnormal_organ_is_the_finding_that_it_shows(
    wording: str, other_wording: str
) -> None:
    assert reward(wording, other_wording) == 1.0


def test_one_measure_in_two_units_is_one_measure() -> None:
    assert (
        reward("A 12 mm nodule in the left lung.", "A 1.2 cm nodule in the left lung.")
        == 1.0
    )


def test_the_farther_a_measured_size_the_more_it_costs() -> None:
    sizes = ["6 mm", "7 mm", "9 mm", "15 mm", "30 mm"]
    reports = [f"A {size} nodule in the right upper lobe." for size in sizes]
    assert falls(reports[0], *reports)


def test_an_absurd_size_costs_beside_a_report_without_one() -> None:
    reference = "A mass in the right upper lobe."
    assert falls(
        reference,
        "A 4 cm mass in the right upper lobe.",
        "A 40 cm mass in the right upper lobe.",
    )


def test_a_finding_costs_by_how_much_it_matters() -> None:
    omitted = [
        "Degenerative changes of the spine.",
        "Calcified granuloma in the left lung.",
        "Left lower lobe pneumonia.",
        "Left pneumothorax.",
    ]
    reference = "Cardiomegaly."
    scores = [reward(f"{reference} {finding}", reference) for finding in omitted]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_an_invention_costs_by_how_much_it_matters() -> None:
    reports = [
        "Cardiomegaly. Degenerative changes of the spine.",
        "Cardiomegaly. Calcified granuloma in the left lung.",
        "Cardiomegaly. Left lower lobe pneumonia.",
        "Cardiomegaly. Left pneumothorax.",
    ]
    assert falls("Cardiomegaly.", *reports)


def test_a_device_out_of_place_matters_and_one_in_place_does_not() -> None:
    misplaced = "The endotracheal tube is in the right mainstem bronchus."
    assert reward(misplaced, "Endotracheal tube in standard position.") < 0.6
    assert reward("Right picc line in place.", "The heart is normal.") == 1.0


def test_a_pair_never_costs_more_than_an_omission_and_an_invention() -> None:
    wrong_in_all = "Possible tiny left basilar pneumothorax, decreased."
    reference = "Large right apical pneumothorax, increased."
    assert reward(reference, wrong_in_all) > reward(
        reference, "Left pneumonia. Left rib fracture. Mass."
    )


def test_a_wrong_side_costs_between_no_side_and_a_denial() -> None:
    assert falls(
        "Right pneumothorax.",
        "Pneumothorax.",
        "Left pneumothorax.",
        "No pneumothorax. Lungs are clear.",
    )


def test_what_a_more_exact_name_implies_is_no_omission() -> None:
    reference = "Left lower lobe opacity. Left lower lobe consolidation."
    assert reward(reference, "Left lower lobe consolidation.") == 1.0


def test_doubt_that_is_added_costs_by_how_much() -> None:
    assert falls(
        "Right lower lobe pneumonia.",
        "Right lower lobe pneumonia.",
        "Probable right lower lobe pneumonia.",
        "Possible right lower lobe pneumonia.",
        "Right lower lobe pneumonia is unlikely.",
        "No pneumonia.",
    )


def test_doubt_that_is_removed_costs_by_how_much() -> None:
    assert falls(
        "Possible right lower lobe pneumonia.",
        "Possible right lower lobe pneumonia.",
        "Probable right lower lobe pneumonia.",
        "Right lower lobe pneumonia.",
        "No pneumonia.",
    )


def test_a_possible_invention_costs_less_than_a_sure_one() -> None:
    assert falls("Heart size is normal.", "Possible left pneumonia.", "Left pneumonia.")


def test_words_that_cannot_be_read_agree_with_nothing() -> None:
    assert lunguage_assets.rewards(
        ["No acute process.", "Left pneumonia."], ["lorem ipsum"] * 2
    ) == [
        0.0,
        0.0,
    ]
