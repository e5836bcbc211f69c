"""The expert study: reading what people filled in, and their agreement with ranking, judges and each
other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_answers import winners_frame
from profiles import examples

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.experts import (
    Expert,
    Responses,
    by_group,
    expert_agreement,
    load_experts,
    load_responses,
    undescribed,
)
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

NOBODY: dict[str, Expert] = {}
PLACES = {"likely": 38.0, "may": 25.0, "or": 20.0, "if any": 10.0}


def ranking(places: dict[str, float]) -> pd.DataFrame:
    return pd.DataFrame({"phrase": list(places), "mu": list(places.values())})


def responses(experts: str, rows: dict[tuple[str, str], list[int]], **more: Any) -> Responses:
    return Responses(
        tuple(experts.split()),
        tuple(a for a, _ in rows),
        tuple(b for _, b in rows),
        np.array(list(rows.values())).reshape(len(rows), -1),
        **more,
    )


STUDY = responses("ann bob cyd", {
    ("likely", "may"): [0, 0, 1],
    ("or", "may"): [1, 0, 1],
    ("if any", "likely"): [1, 1, -1],
    ("or", "if any"): [0, 0, 0],
    ("unheard", "may"): [1, 1, 1],
})  # fmt: skip
"""The ranking would choose: likely (first), may (second), likely (second), or (first), nothing."""

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
    answers: Responses = STUDY,
    experts: dict[str, Expert] = NOBODY,
    judges: dict[str, pd.DataFrame] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    frame = expert_agreement(
        answers, experts, "panel", ranking(PLACES), JUDGES if judges is None else judges, seed
    )
    EXPERT_AGREEMENT.to_arrow(frame)
    return frame


def measured(
    frame: pd.DataFrame,
    measure: str,
    first: str = "",
    second: str = "",
    coding: str = "none",
    group: str = "all",
) -> dict[str, Any]:
    rows = frame[
        (
            frame[["measure", "first", "second", "coding", "group"]]
            == [measure, first, second, coding, group]
        ).all(axis=1)
    ]
    assert len(rows) == 1, f"{measure} {first!r} {second!r} {coding} {group}: {len(rows)} rows"
    return {str(name): None if pd.isna(value) else value for name, value in rows.iloc[0].items()}


def test_agreement_with_the_ranking_by_hand() -> None:
    frame = study()
    ann, bob, cyd = (measured(frame, "with ranking", expert, "panel") for expert in STUDY.experts)
    assert (ann["value"], ann["n"], ann["reasons"]) == (1.0, 4, "phrase not ranked: 1")
    assert bob["value"] == 3 / 4
    assert (cyd["value"], cyd["n"], cyd["left_out"]) == (pytest.approx(2 / 3), 3, 2)
    assert cyd["reasons"] == "missing answer: 1; phrase not ranked: 1"
    average = measured(frame, "with ranking", "", "panel")
    assert average["value"] == pytest.approx((1.0 + 3 / 4 + 2 / 3) / 3)
    assert (average["n"], average["left_out"]) == (11, 4)


def test_agreement_with_a_judges_majority_by_hand() -> None:
    frame = study()
    ann, bob, cyd = (measured(frame, "with judge", expert, "gpt") for expert in STUDY.experts)
    assert [row["value"] for row in (ann, bob, cyd)] == [1 / 2, 1.0, 0.0]
    assert ann["reasons"] == "no valid comparison by that judge: 3"
    assert cyd["reasons"] == "missing answer: 1; no valid comparison by that judge: 2"
    assert measured(frame, "with judge", "ann", "none")["value"] is None
    assert measured(frame, "with judge", "", "none")["n"] == 0


def test_agreement_among_experts_by_hand() -> None:
    frame = study()
    assert measured(frame, "with expert", "ann", "bob")["value"] == 4 / 5
    assert measured(frame, "with expert", "ann", "cyd")["value"] == 3 / 4
    assert measured(frame, "with expert", "bob", "cyd")["value"] == 2 / 4
    assert measured(frame, "with expert")["value"] == pytest.approx((4 / 5 + 3 / 4 + 2 / 4) / 3)
    # Four pairs have all answers, as places 1 1 2, 2 1 2, 1 1 1, 2 2 2: half of them first.
    position = measured(frame, "fleiss kappa", coding="position")
    assert position["value"] == pytest.approx((2 / 3 - 0.5) / 0.5)
    assert (position["n"], position["left_out"]) == (4, 1)
    # As phrases: likely twice, may 1 + 2 + 3 times, or 1 + 3 times.
    chance = (2 / 12) ** 2 + (6 / 12) ** 2 + (4 / 12) ** 2
    assert measured(frame, "fleiss kappa", coding="phrase")["value"] == pytest.approx(
        (2 / 3 - chance) / (1 - chance)
    )
    assert measured(frame, "krippendorff alpha", coding="phrase")["n"] == 5


def test_equal_places_in_the_ranking_choose_nothing() -> None:
    level = ranking({"likely": 25.0, "may": 25.0})
    frame = expert_agreement(responses("ann", {("likely", "may"): [0]}), NOBODY, "panel", level, {}, 0)
    assert measured(frame, "with ranking", "ann", "panel")["reasons"] == "same place in the ranking: 1"


def test_no_one_and_nobody_answering_give_rows_without_values() -> None:
    nobody = Responses((), ("likely",), ("may",), np.zeros((1, 0), dtype=np.int64), silent=("ann",))
    frame = study(nobody)
    assert frame["value"].isna().all()
    alone = study(responses("ann", {("likely", "may"): [0]}))
    assert measured(alone, "with ranking", "", "panel")["value"] == 1.0
    assert measured(alone, "with expert")["value"] is None
    assert alone.loc[alone["measure"].isin(["fleiss kappa", "krippendorff alpha"]), "value"].isna().all()


@given(
    st.lists(st.lists(st.sampled_from([0, 1, -1]), min_size=3, max_size=3), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
@examples(30)
def test_showing_pairs_the_other_way_round_changes_no_agreement(
    chosen: list[list[int]], turned: list[bool]
) -> None:
    pairs = [("likely", "may"), ("may", "or"), ("if any", "likely"), ("or", "if any")]
    straight = responses("ann bob cyd", dict(zip(pairs, chosen, strict=True)))
    mirrored = responses("ann bob cyd", {
        (b, a) if turn else (a, b): [1 - c if turn and c >= 0 else c for c in row]
        for (a, b), row, turn in zip(pairs, chosen, turned, strict=True)
    })  # fmt: skip
    before, after = (study(answers) for answers in (straight, mirrored))
    unchanged = before["coding"] != "position"
    pd.testing.assert_frame_equal(before[unchanged], after[unchanged])
    if all(turned):
        pd.testing.assert_frame_equal(before, after)


FILLED = """pair,phrase_1,phrase_2,example_1_1,comment,Ann,bob,cyd
1,likely,may,a sentence,,1,May,
2, Or ,if any,a sentence,note,or,2.0,
,,,,,,,
3,could,may,,,2,2,1
"""


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding, newline="")
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_answers_are_phrases_or_numbers_or_nothing(tmp_path: Path, encoding: str) -> None:
    found = load_responses(write(tmp_path / "r.csv", FILLED.replace("\n", "\r\n"), encoding))
    assert found.experts == ("Ann", "bob", "cyd")
    assert list(zip(found.phrase_1, found.phrase_2, strict=True)) == [
        ("likely", "may"),
        ("or", "if any"),
        ("could", "may"),
    ]
    assert found.chosen.tolist() == [[0, 1, -1], [0, 1, -1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column"),
        ("phrase_1,phrase_2,ann\n", "no row"),
        ("phrase_1,ann,bob\na,1,2\n", "phrase_2"),
        ("phrase_1,phrase_2,example_1\na,b,c\n", "no expert's column"),
        ("phrase_1;phrase_2;ann\na;b;1\n", "no column"),
        ("phrase_1,phrase_2,ann,ann\na,b,1,2\n", "two columns of one name"),
        ("phrase_1,phrase_2,ann\na,a,1\n", "row 1, column 'phrase_1'"),
        ("phrase_1,phrase_2,ann\na,b,1\na,,1\n", "row 2, column 'phrase_1'"),
        ("phrase_1,phrase_2,ann\na,b,1\nb,A,1\n", "row 2, column 'phrase_1'"),
        ("phrase_1,phrase_2,ann\na,b,1,,,\n", "row 1"),
        ("phrase_1,phrase_2,ann,ward\na,b,1,east wing\n", "row 1, column 'ward'"),
    ],
)
def test_a_file_of_answers_that_cannot_be_used_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError, match=r"filled\.csv") as refused:
        load_responses(write(tmp_path / "filled.csv", text))
    assert said in str(refused.value)
    assert refused.value.remedy
    assert "wing" not in str(refused.value)


def test_experts_are_described_by_their_file(tmp_path: Path) -> None:
    text = "expert,role,occupation,years_of_experience\nann,Writer,radiologist,7.5\ncyd,reader,,\n,,,\n"
    found = load_experts(write(tmp_path / "e.csv", text))
    assert found == {"ann": Expert("writer", "radiologist"), "cyd": Expert("reader")}
    answered = responses("ann bob dan", {("a", "b"): [0, 0, 0]})
    assert undescribed(answered, found) == (["bob", "dan"], ["cyd"])
    assert load_experts(tmp_path / "nothing.csv") == load_experts(None) == {}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("expert,occupation\nann,radiologist\n", "role"),
        ("expert,role,occupation\nann,boss,\n", "row 1, column 'role'"),
        ("expert,role,occupation\nann,,\nann,reader,\n", "row 2, column 'expert'"),
        ("expert,role,occupation\n,reader,\n", "row 1, column 'expert'"),
    ],
)
def test_a_description_that_cannot_be_used_is_refused(tmp_path: Path, rows: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        load_experts(write(tmp_path / "e.csv", rows))
    assert said in str(refused.value)
    assert "boss" not in str(refused.value)


def test_the_answers_as_the_paper_publishes_them_are_read_and_the_question_is_no_expert(
    tmp_path: Path,
) -> None:
    text = """,question,phrase_1,phrase_2,response_1,response_2
0,Which is surer?,likely,may,likely,likely
1,Which is surer?.1,or,if any,or,if any
"""
    found = load_responses(write(tmp_path / "wide.csv", text))
    assert found.experts == ("response_1", "response_2")
    assert found.chosen.tolist() == [[0, 0], [0, 1]]
    assert measured(study(found), "fleiss kappa", coding="phrase")["value"] is not None


def test_experts_are_averaged_by_role_and_by_occupation_however_it_is_spelled(tmp_path: Path) -> None:
    text = "expert,role,occupation\nann,writer,Radiologist\nbob,reader, radiologist\ncyd,reader,surgeon\n"
    frame = study(experts=load_experts(write(tmp_path / "e.csv", text)))
    assert measured(frame, "with ranking", "", "panel", group="writer")["value"] == 1.0
    assert measured(frame, "with expert", group="reader")["value"] == 2 / 4
    assert not (frame.loc[frame["measure"] == "fleiss kappa", "group"] == "writer").any()
    both = measured(frame, "with ranking", "", "panel", group="occupation: radiologist")
    assert (both["value"], both["experts"]) == (pytest.approx((1.0 + 3 / 4) / 2), 2)
    assert measured(frame, "with expert", group="occupation: radiologist")["value"] == 4 / 5
    shares = by_group(frame)
    assert shares.index.tolist() == ["all (3)", "radiologist (2)", "reader (2)"], "one is a person"
    assert shares.columns.tolist() == ["panel", "gpt", "none"]
    assert shares.loc["radiologist (2)", "panel"] == both["value"]
