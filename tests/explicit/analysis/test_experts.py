"""The expert study: reading what people filled in, and their agreement with ranking,
judges and each other.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from invented_answers import measured, winners_frame

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.experts import expert_agreement, load_responses
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

PLACES = pd.DataFrame(
    {"phrase": ["likely", "may", "or", "if any"], "mu": [38.0, 25.0, 20.0, 10.0]}
)


def responses(experts: str, rows: dict[tuple[str, str], list[int]]) -> pd.DataFrame:
    """Choices by pair: 1 or 2, 0 for none."""
    pairs = pd.MultiIndex.from_tuples(list(rows), names=["phrase_1", "phrase_2"])
    chosen = pd.DataFrame(list(rows.values()), pairs, experts.split(), dtype="float64")
    return chosen.where(chosen > 0)


STUDY = responses("ann bob cyd", {
    ("likely", "may"): [1, 1, 2],
    ("or", "may"): [2, 1, 2],
    ("if any", "likely"): [2, 2, 0],
    ("or", "if any"): [1, 1, 1],
    ("unheard", "may"): [2, 2, 2],
})  # fmt: skip
"""The ranking would choose: likely (first), may (second), likely (second), or (first),
nothing.
"""

LIKELY_OR_MAY = [("likely", "may", "likely")] * 6 + [("likely", "may", "may")] * 4
OTHERS = [*[("may", "or", "or")] * 3, ("if any", "likely", "")]
JUDGES = {
    "gpt": winners_frame([*LIKELY_OR_MAY, *OTHERS]),
    "none": winners_frame([("likely", "may", "")]),
}


def study(
    answers: pd.DataFrame = STUDY, ranking: pd.DataFrame = PLACES
) -> pd.DataFrame:
    frame = expert_agreement(answers, "panel", ranking, JUDGES)
    EXPERT_AGREEMENT.to_arrow(frame)
    return frame


def test_agreement_with_ranking_and_judges_by_hand() -> None:
    frame = study()
    ranking = [
        measured(frame, "with ranking", who, "panel")
        for who in ("ann", "bob", "cyd", "")
    ]
    shares = [1.0, 3 / 4, 2 / 3]
    expected = [*shares, sum(shares) / 3]
    assert [row["value"] for row in ranking] == pytest.approx(expected)
    assert [row["n"] for row in ranking] == [4, 4, 3, 11]
    judge = [
        measured(frame, "with judge", who, "gpt")["value"] for who in STUDY.columns
    ]
    assert judge == [1 / 2, 1.0, 0.0]
    assert measured(frame, "with judge", "ann", "none")["value"] is None
    assert measured(frame, "with judge", "", "none")["n"] == 0
    # Equal places choose nothing.
    level = study(ranking=PLACES.assign(mu=25.0))
    assert measured(level, "with ranking", "ann", "panel")["n"] == 0


def test_a_judge_with_as_many_wins_of_both_chooses_neither() -> None:
    answers = [("likely", "may", "likely"), ("likely", "may", "may")]
    tied = {"even": winners_frame(answers)}
    ann = responses("ann", {("likely", "may"): [1]})
    frame = expert_agreement(ann, "panel", PLACES, tied)
    assert measured(frame, "with judge", "ann", "even")["n"] == 0


def test_agreement_among_experts_by_hand() -> None:
    frame = study()
    shares = {("ann", "bob"): 4 / 5, ("ann", "cyd"): 3 / 4, ("bob", "cyd"): 2 / 4}
    for pair, share in shares.items():
        assert measured(frame, "with expert", *pair)["value"] == share
    mean = sum(shares.values()) / 3
    assert measured(frame, "with expert")["value"] == pytest.approx(mean)
    # Four pairs have all answers, as places 1 1 2, 2 1 2, 1 1 1, 2 2 2: half first.
    position = measured(frame, "fleiss kappa", coding="position")
    assert (position["value"], position["n"]) == (pytest.approx((2 / 3 - 0.5) / 0.5), 4)
    # As phrases: likely twice, may 1 + 2 + 3 times, or 1 + 3 times.
    chance = (2 / 12) ** 2 + (6 / 12) ** 2 + (4 / 12) ** 2
    phrase = measured(frame, "fleiss kappa", coding="phrase")["value"]
    assert phrase == pytest.approx((2 / 3 - chance) / (1 - chance))
    assert measured(frame, "krippendorff alpha", coding="phrase")["n"] == 5


def test_no_one_and_nobody_answering_give_rows_without_values() -> None:
    assert study(responses("ann", {("likely", "may"): [0]}))["value"].isna().all()
    alone = study(responses("ann", {("likely", "may"): [1]})).dropna(subset="value")
    assert set(alone["measure"]) == {"with ranking", "with judge"}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding, newline="")
    return path


FILLED = """pair,phrase_1,phrase_2,example_1_1,comment,Ann,bob,cyd
1,likely,may,a sentence,,1,May,
2, Or ,if any,a sentence,note,or,2.0,
,,,,,,,
"""
PUBLISHED = """,question,phrase_1,phrase_2,response_1,response_2
0,Which is surer?,likely,may,likely,likely
1,Which is surer?.1,or,if any,or,if any
"""


@pytest.mark.parametrize(
    ("text", "experts", "chosen"),
    [
        (FILLED.replace("\n", "\r\n"), ["Ann", "bob", "cyd"], [[1, 2, 0], [1, 2, 0]]),
        (PUBLISHED, ["response_1", "response_2"], [[1, 1], [1, 2]]),
    ],
    ids=["our form", "as the paper publishes it"],
)
def test_answers_are_phrases_or_numbers_or_nothing(
    tmp_path: Path, text: str, experts: list[str], chosen: list[list[int]]
) -> None:
    responses_read = load_responses(write(tmp_path / "r.csv", text, "utf-8-sig"))
    assert responses_read.columns.tolist() == experts
    assert responses_read.index.tolist() == [("likely", "may"), ("or", "if any")]
    assert responses_read.fillna(0).to_numpy().tolist() == chosen


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("phrase_1,phrase_2,ann\n", "no row"),
        ("phrase_1,phrase_2,example_1\na,b,c\n", "no expert's column"),
        ("phrase_1,phrase_2,ann,ann\na,b,1,2\n", "repeated columns"),
        ("phrase_1,phrase_2,ann\na,a,1\n", "row 1, column 'phrase_1'"),
        ("phrase_1,phrase_2,ann\na,b,1\na,,1\n", "row 2, column 'phrase_1'"),
        ("phrase_1,phrase_2,ann\na,b,1\nb,A,1\n", "row 2, column 'phrase_1'"),
        ("phrase_1,phrase_2,ann\na,b,1,,,\n", "row 1"),
        ("phrase_1,phrase_2,ann,ward\na,b,1,east wing\n", "row 1, column 'ward'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=r"filled\.csv") as refused:
        load_responses(write(tmp_path / "filled.csv", text))
    assert message in str(refused.value)
    assert "wing" not in str(refused.value)
