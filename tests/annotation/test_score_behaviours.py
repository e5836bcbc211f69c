"""What a radiologist expects of the score: ladders of invented reports, and single
errors.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

import lunguage_assets
from lunguage_assets.annotation.scoring import PARTS

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
NOTHING = 0.1
"""What a score may fall short of 1 by where words are read less exactly than they were
meant.
"""


def scored(file: str) -> pd.DataFrame:
    rows = pd.read_csv(FIXTURES / file)
    scores = lunguage_assets.rewards(
        rows["reference"].tolist(), rows["candidate"].tolist()
    )
    return rows.assign(score=scores)


@pytest.fixture(scope="module")
def ladders() -> pd.DataFrame:
    return scored("score_ladders.csv")


def reward(reference: str, generated: str) -> float:
    return lunguage_assets.rewards([reference], [generated])[0]


def falls(reference: str, *generated: str) -> bool:
    """Whether each generated report scores less than the one before."""
    scores = [reward(reference, report) for report in generated]
    return all(better > worse for better, worse in pairwise(scores))


def test_a_report_that_is_rated_better_scores_better(ladders: pd.DataFrame) -> None:
    failing = []
    for name, rungs in ladders.groupby("ladder"):
        by_rating = rungs.groupby("rating")["score"].agg(["min", "max"])
        if (by_rating["min"].iloc[1:] <= by_rating["max"].iloc[:-1].to_numpy()).any():
            failing.append(name)
    assert failing == []


def test_what_is_as_good_as_the_reference_costs_nothing(ladders: pd.DataFrame) -> None:
    is_as_good = ladders["behaviour"].isin(["normal statements", "paraphrase"])
    as_good = ladders.loc[is_as_good & (ladders["rating"] == 5), "score"]
    assert as_good.min() > 1.0 - NOTHING
    assert as_good.median() == 1.0


@pytest.mark.parametrize(
    ("file", "floor"), [("score_ladders.csv", 0.85), ("score_ward_films.csv", 0.78)]
)
def test_the_score_follows_the_ratings(file: str, floor: float) -> None:
    rows = scored(file)
    assert rows["score"].corr(rows["rating"], method="kendall") > floor


def test_what_says_the_same_costs_nothing() -> None:
    pneumonia = "Left lower lobe pneumonia."
    pairs = [
        ("Unchanged left pleural effusion.", "Left pleural effusion."),
        ("Bilateral pleural effusions.", "Left effusion. Right effusion."),
        ("The heart is enlarged.", "Cardiomegaly."),
        ("Right hilar fullness.", "Prominent right hilum."),
        (
            "Blunted left costophrenic angle.",
            "Blunting of the left costophrenic angle.",
        ),
        ("Widened mediastinum.", "Mediastinal fullness."),
        ("Low lung volumes.", "Lung volumes are low."),
        ("A 12 mm nodule in the left lung.", "A 1.2 cm nodule in the left lung."),
        (pneumonia, f"{pneumonia} No pneumothorax."),
        (pneumonia, f"{pneumonia} The bones are intact."),
        (pneumonia, f"{pneumonia} Right picc line in place."),
    ]
    costly = [
        pair for pair in pairs if reward(*pair) < 1.0 or reward(*reversed(pair)) < 1.0
    ]
    assert costly == []


LADDERS = [
    ("The heart is normal.", "Right lower lobe pneumonia.",
     "Right lower lobe pneumonia. Left pneumothorax.",
     "Right lower lobe pneumonia. Left pneumothorax. Rib fracture."),
    ("Cardiomegaly.", "Cardiomegaly. Degenerative changes of the spine.",
     "Cardiomegaly. Calcified granuloma in the left lung.",
     "Cardiomegaly. Left lower lobe pneumonia.", "Cardiomegaly. Left pneumothorax."),
    ("Cardiomegaly. Left pneumothorax.", "Cardiomegaly. Possible left pneumothorax.",
     "Cardiomegaly.", "Cardiomegaly. No pneumothorax."),
    ("A 6 mm nodule in the right upper lobe.", "A 7 mm nodule in the right upper lobe.",
     "A 15 mm nodule in the right upper lobe.", "A 30 mm nodule in the right upper lobe."),
    ("Right pneumothorax.", "Pneumothorax.", "Left pneumothorax.", "No pneumothorax. Lungs are clear."),
    ("Right lower lobe pneumonia.", "Probable right lower lobe pneumonia.",
     "Possible right lower lobe pneumonia.", "No pneumonia."),
    ("Possible right lower lobe pneumonia.", "Probable right lower lobe pneumonia.",
     "Right lower lobe pneumonia.", "No pneumonia."),
    ("Large right apical pneumothorax, increased.", "Possible tiny left basilar pneumothorax, decreased.",
     "Left pneumonia. Left rib fracture. Mass."),
]  # fmt: skip


@pytest.mark.lengthy
def test_every_further_error_costs() -> None:
    assert [reports for reports in LADDERS if not falls(reports[0], *reports)] == []


def test_a_finding_that_is_denied_or_stated_wrongly_costs_more_than_one_left_out() -> (
    None
):
    heart = "The heart is normal."
    denied = "No pleural effusion."
    stated = "Left pleural effusion."
    assert falls(stated, heart, denied)
    assert reward(denied, stated) < reward(heart, stated) < 0.8


def test_a_device_out_of_place_matters_and_one_in_place_does_not() -> None:
    misplaced = "The endotracheal tube is in the right mainstem bronchus."
    assert reward(misplaced, "Endotracheal tube in standard position.") < 0.6
    assert reward("Right picc line in place.", "The heart is normal.") == 1.0


def test_what_a_more_exact_name_implies_is_no_omission() -> None:
    reference = "Left lower lobe opacity. Left lower lobe consolidation."
    assert reward(reference, "Left lower lobe consolidation.") == 1.0


ERRORS = {
    "Large right pleural effusion.": "place",
    "Small left pleural effusion.": "description",
    "Large left pleural effusion, decreased.": "description",
    "Possible large left pleural effusion.": "certainty",
    "No pleural effusion.": "presence",
    "The heart is normal.": "omission",
    "Large left pleural effusion. Left rib fracture.": "invention",
    "Large left hemothorax.": "name",
}


def test_every_kind_of_error_has_its_own_column() -> None:
    reference = "Large left pleural effusion."
    studies = lunguage_assets.score([reference] * len(ERRORS), [*ERRORS]).studies
    for column, row in zip(ERRORS.values(), studies.to_dict("records"), strict=True):
        assert [name for name in PARTS if row[name] > 0.0] == [column]
        assert row["findings"] + row[column] == pytest.approx(1.0)
