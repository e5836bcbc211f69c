"""The expert study: reading what people filled in, and their agreement with ranking,
judges and each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from invented_answers import measured, winners_frame

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.experts import (
    Expert,
    expert_agreement,
    load_experts,
    load_responses,
)
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

JUDGES = {
    "gpt": winners_frame(
        [("likely", "may", "likely")] * 6
        + [("likely", "may", "may")] * 4
        + [("may", "or", "or")] * 3
        + [("if any", "likely", "")]
    ),
    "none": winners_frame([("likely", "may", "")]),
}


def study(
    answers: pd.DataFrame = STUDY,
    experts: dict[str, Expert] | None = None,
    ranking: pd.DataFrame = PLACES,
    seed: int = 0,
) -> pd.DataFrame:
    frame = expert_agreement(answers, experts or {}, "panel", ranking, JUDGES, seed)
    EXPERT_AGREEMENT.to_arrow(frame)
    return frame


def found(
    frame: pd.DataFrame, *wanted: str, group: str = "all", coding: str = "none"
) -> dict[str, Any]:
    return measured(frame, *wanted, coding=coding, group=group)


def test_agreement_with_ranking_and_judges_by_hand() -> None:
    frame = study()
    ann, bob, cyd = (
        found(frame, "with ranking", expert, "panel") for expert in STUDY.columns
    )
    assert (ann["value"], ann["n"]) == (1.0, 4)
    assert bob["value"] == 3 / 4
    assert (cyd["value"], cyd["n"]) == (pytest.approx(2 / 3), 3)
    average = found(frame, "with ranking", "", "panel")
    assert (average["value"], average["n"]) == (
        pytest.approx((1.0 + 3 / 4 + 2 / 3) / 3),
        11,
    )
    shares = [
        found(frame, "with judge", expert, "gpt")["value"] for expert in STUDY.columns
    ]
    assert shares == [1 / 2, 1.0, 0.0]
    assert found(frame, "with judge", "ann", "none")["value"] is None
    assert found(frame, "with judge", "", "none")["n"] == 0
    level = PLACES.assign(mu=25.0)
    assert found(study(ranking=level), "with ranking", "ann", "panel")["n"] == 0, (
        "equal places choose nothing"
    )


def test_a_tie_of_a_judge_is_a_coin_of_the_seed() -> None:
    tied = {
        "even": winners_frame([("likely", "may", "likely"), ("likely", "may", "may")])
    }
    answers = responses("ann", {("likely", "may"): [1]})
    shares = [
        found(
            expert_agreement(answers, {}, "panel", PLACES, tied, seed),
            "with judge",
            "ann",
            "even",
        )["value"]
        for seed in range(8)
    ]
    assert set(shares) == {0.0, 1.0}


def test_agreement_among_experts_by_hand() -> None:
    frame = study()
    assert found(frame, "with expert", "ann", "bob")["value"] == 4 / 5
    assert found(frame, "with expert", "ann", "cyd")["value"] == 3 / 4
    assert found(frame, "with expert", "bob", "cyd")["value"] == 2 / 4
    assert found(frame, "with expert")["value"] == pytest.approx(
        (4 / 5 + 3 / 4 + 2 / 4) / 3
    )
    # Four pairs have all answers, as places 1 1 2, 2 1 2, 1 1 1, 2 2 2: half of them
    # first.
    position = found(frame, "fleiss kappa", coding="position")
    assert (position["value"], position["n"]) == (pytest.approx((2 / 3 - 0.5) / 0.5), 4)
    # As phrases: likely twice, may 1 + 2 + 3 times, or 1 + 3 times.
    chance = (2 / 12) ** 2 + (6 / 12) ** 2 + (4 / 12) ** 2
    assert found(frame, "fleiss kappa", coding="phrase")["value"] == pytest.approx(
        (2 / 3 - chance) / (1 - chance)
    )
    assert found(frame, "krippendorff alpha", coding="phrase")["n"] == 5


def test_no_one_and_nobody_answering_give_rows_without_values() -> None:
    assert study(responses("ann", {("likely", "may"): [0]}))["value"].isna().all()
    alone = study(responses("ann", {("likely", "may"): [1]}))
    assert set(alone.loc[alone["value"].notna(), "measure"]) == {
        "with ranking",
        "with judge",
    }


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
        ("expert,occupation\nann,radiologist\n", "role"),
        ("expert,role,occupation\nann,wing,\n", "row 1, column 'role'"),
        ("expert,role,occupation\nann,,\nann,reader,\n", "row 2, column 'expert'"),
        ("expert,role,occupation\n,reader,\n", "row 1, column 'expert'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    loader = load_experts if text.startswith("expert") else load_responses
    with pytest.raises(InputError, match=r"filled\.csv") as refused:
        loader(write(tmp_path / "filled.csv", text))
    assert message in str(refused.value)
    assert refused.value.remedy
    assert "wing" not in str(refused.value)


def test_experts_are_averaged_by_role_and_by_occupation_however_it_is_spelled(
    tmp_path: Path,
) -> None:
    text = "expert,role,occupation\nann,Writer,Radiologist\nbob,reader, radiologist\ncyd,reader,surgeon\n,,\n"
    assert load_experts(None) == {}
    frame = study(experts=load_experts(write(tmp_path / "e.csv", text)))
    assert found(frame, "with ranking", "", "panel", group="writer")["value"] == 1.0
    assert found(frame, "with expert", group="reader")["value"] == 2 / 4
    assert not (
        frame.loc[frame["measure"] == "fleiss kappa", "group"] == "writer"
    ).any()
    both = found(frame, "with ranking", "", "panel", group="occupation: radiologist")
    assert (both["value"], both["experts"]) == (pytest.approx((1.0 + 3 / 4) / 2), 2)
