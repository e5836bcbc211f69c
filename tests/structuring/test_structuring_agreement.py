"""Agreement of structurers: rows are matched by their words, then compared column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.structuring.agreement import GOLD, gold_rows, structuring_agreement
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.corpus import AGREEMENT_FIELDS, STRUCTURED_FINDINGS

SENTENCE = "Small opacity in the left base and an opacity at the right apex."


def row(number: int, ent: str, **fields: Any) -> dict[str, Any]:
    plain = {
        "study_id": "s00000001", "section": "find", "sent_idx": 1, "sent": SENTENCE, "ent_idx": number,
        "ent": ent, "normed_ent": ent, "cat": "PF", "status": "dp", "location": "", "evidence": [],
        "associate": [], "spans": "ent 0-1", "cues": "",
        **dict.fromkeys(ATTRIBUTES, ""),
    }  # fmt: skip
    return plain | fields


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return STRUCTURED_FINDINGS.frame(rows)


TWO = (
    row(1, "opacity", location="left base", measurement="small"),
    row(2, "opacity", location="right apex", status="tp"),
)


def compared(
    *frames: pd.DataFrame, gold: pd.DataFrame | None = None
) -> dict[str, dict[str, Any]]:
    """Lines of the first comparison, by field; None where a measure is not defined."""
    names = [f"s{n}" for n in range(len(frames))]
    found = structuring_agreement(dict(zip(names, frames, strict=True)), gold)
    one, other = found.iloc[0][["structurer_1", "structurer_2"]]
    own = found[(found["structurer_1"] == one) & (found["structurer_2"] == other)]
    lines = own.astype(object).where(own.notna(), None).to_dict("records")
    return {
        str(line["field"]): {str(name): value for name, value in line.items()}
        for line in lines
    }


def counts(line: dict[str, Any]) -> tuple[int, int, int]:
    return line["first"], line["second"], line["agreed"]


def test_rows_of_the_same_words_are_matched_by_their_locations() -> None:
    turned = (TWO[1] | {"ent_idx": 1}, TWO[0] | {"ent_idx": 2})
    found = compared(frame(*TWO), frame(*turned))
    assert counts(found["finding"]) == (2, 2, 2)
    assert counts(found["location"]) == (4, 4, 4)
    assert (found["status"]["f1"], found["status"]["kappa"]) == (1.0, 1.0)
    assert (found["cat"]["f1"], found["cat"]["kappa"]) == (1.0, None)
    assert (found["severity"]["f1"], counts(found["severity"])) == (None, (0, 0, 0))


def test_recall_of_one_reading_is_precision_of_the_other() -> None:
    more = (*TWO, row(3, "apex", status="dn"))
    less = (TWO[0] | {"status": "tn", "location": "base, lower", "measurement": ""},)
    found = compared(frame(*more), frame(*less))
    assert counts(found["finding"]) == (3, 1, 1)
    assert (found["finding"]["precision"], found["finding"]["recall"]) == (1.0, 1 / 3)
    assert (counts(found["status"]), found["status"]["f1"]) == ((3, 1, 0), 0.0)
    assert counts(found["location"]) == (2, 2, 1)
    assert (counts(found["measurement"]), found["measurement"]["precision"]) == (
        (1, 0, 0),
        None,
    )


def test_rows_are_matched_only_within_a_sentence_and_by_a_common_word() -> None:
    first = frame(row(1, "opacity"), row(2, "mass", section="impr", sent="A mass."))
    for other in (
        row(1, "density"),
        row(1, "opacity", study_id="s00000002"),
        row(1, "opacity", sent="No opacity."),
        row(1, "mass", sent="A mass."),
    ):
        assert compared(first, frame(other))["finding"]["agreed"] == 0


def test_references_agree_when_they_lead_to_matched_rows() -> None:
    def linked(*numbers: int) -> pd.DataFrame:
        one, two, three = numbers
        rows = [
            row(one, "opacity", associate=[f"find:{two}"]),
            row(two, "pneumonia", evidence=[f"find:{one}", f"find:{three}"]),
            row(three, "fever"),
        ]
        return frame(*sorted(rows, key=lambda one: one["ent_idx"]))

    found = compared(linked(1, 2, 3), linked(3, 1, 2))
    assert (counts(found["evidence"]), counts(found["associate"])) == (
        (2, 2, 2),
        (1, 1, 1),
    )
    without = linked(3, 1, 2).iloc[[0, 2]]
    found = compared(linked(1, 2, 3), without)
    assert counts(found["evidence"]) == (
        2,
        2,
        1,
    )  # the one without a partner is no link of the first


def test_gold_comes_first_counts_its_own_studies_only_and_finds_reworded_sentences() -> (
    None
):
    gold = frame(*(one | {"sent": SENTENCE.replace(" an", "").upper()} for one in TWO))
    read = frame(*TWO, row(1, "opacity", study_id="s00000002"))
    table = structuring_agreement({"a": read, "b": read}, gold)
    assert list(dict.fromkeys(zip(table["structurer_1"], table["structurer_2"], strict=True))) == [
        (GOLD, "a"), (GOLD, "b"), ("a", "b"),
    ]  # fmt: skip
    found = compared(read, gold=gold)
    assert counts(found["finding"]) == (2, 2, 2)
    assert compared(read, read)["finding"]["agreed"] == 3


def test_delivered_findings_are_gold_with_their_references_by_section_and_number() -> (
    None
):
    delivered = pd.DataFrame(
        {
            "finding_id": ["s00000001:4", "s00000001:9"], "study_id": ["s00000001"] * 2,
            "section": ["find", "impr"], "sent": ["Opacity.", "Pneumonia."], "ent_idx": [1, 1],
            "ent": ["opacity", "pneumonia"], "name": ["opacity", "pneumonia"], "cat": ["PF", "CF"],
            "status": ["dp", "tp"], "location": ["", ""], "evidence": [[], ["s00000001:4", "~fever"]],
            "associate": [["s00000001:9"], []], **dict.fromkeys(ATTRIBUTES, ""),
        }
    )  # fmt: skip
    gold = gold_rows(delivered)
    assert gold["evidence"].tolist() == [[], ["find:1"]]
    assert gold["associate"].tolist() == [["impr:1"], []]
    assert delivered["evidence"].tolist()[1] == ["s00000001:4", "~fever"]
    read = frame(
        row(1, "opacity", sent="Opacity.", associate=["impr:1"]),
        row(
            1,
            "pneumonia",
            section="impr",
            sent="Pneumonia.",
            cat="CF",
            evidence=["find:1"],
        ),
    )
    found = compared(read, gold=gold)
    assert [
        found[name]["f1"] for name in ("finding", "cat", "evidence", "associate")
    ] == [1.0] * 4
    assert found["status"]["agreed"] == 1


_WORDS = st.sampled_from(["opacity", "effusion", "left base", "right apex", "mass"])
_ROWS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.integers(0, 2),
        _WORDS,
        _WORDS,
        st.sampled_from(["dp", "tp", "dn"]),
        _WORDS,
    ),
    max_size=8,
    unique_by=lambda values: values[:4],
)


def read(rows: Sequence[tuple[int, int, str, str, str, str]]) -> pd.DataFrame:
    made = [
        row(n, ent, study_id=f"s{study:08d}", sent=f"Sentence {sent}.", location=place, status=status,
            severity=word)
        for n, (study, sent, ent, place, status, word) in enumerate(rows, start=1)
    ]  # fmt: skip
    return frame(*made)


@examples(40)
@given(_ROWS, _ROWS)
def test_a_reading_agrees_with_itself_and_counts_fit_each_other(
    mine: list[Any], theirs: list[Any]
) -> None:
    one = compared(read(mine), read(theirs))
    other = compared(read(theirs), read(mine))
    assert list(one) == list(AGREEMENT_FIELDS)
    for name in AGREEMENT_FIELDS:
        assert one[name]["agreed"] <= min(one[name]["first"], one[name]["second"])
        assert (
            one[name]["rows"] == one["finding"]["agreed"] <= min(len(mine), len(theirs))
        )
    same = compared(read(mine), read(mine))
    for name in ("finding", "status", "location", "severity"):
        assert len(set(counts(same[name]))) == 1
    assert counts(one["finding"])[:2] == counts(other["finding"])[1::-1]
    assert one["finding"]["precision"] == other["finding"]["recall"]
