"""Extraction: strict parsing, filters, review flags, corrections (explicit.md section 1)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tentative_findings import ScriptedJudge, finding, findings_frame

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges.hedging import (
    hedge_phrases,
    load_corrections,
    review_queue,
)
from lunguage_assets.judges.model_judge import parse_phrase_list
from lunguage_assets.judges.protocol import ExtractionAnswer
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.tables import HEDGE_PHRASES

LEXICON = LexiconJudge.bundled("lexicon")


def saying(*phrases: str, valid: bool = True) -> ScriptedJudge:
    return ScriptedJudge(phrases=lambda question: ExtractionAnswer(phrases, valid))


def extracted(
    judge: ScriptedJudge | LexiconJudge,
    *rows: dict[str, object],
    corrections: dict[str, list[str]] | None = None,
) -> pd.DataFrame:
    frame = hedge_phrases(findings_frame(rows), judge, corrections)
    HEDGE_PHRASES.to_arrow(frame)
    return frame


@pytest.mark.parametrize(("text", "expected"), [
    ('["likely"]', ["likely"]),
    ("[]", []),
    ('  ["may represent", "or"]\n', ["may represent", "or"]),
    ('Answer: ["likely"]', ["likely"]),
    ('Uncertainty phrases: ["likely"]', ["likely"]),
    ('```json\n["likely"]\n```', ["likely"]),
    ('Output:\n```\n["likely"]\n```', ["likely"]),
    ('```json\nAnswer: ["likely"]\n```', ["likely"]),
    ('["a: b"]', ["a: b"]),
])  # fmt: skip
def test_a_json_list_is_read_with_a_label_or_a_fence(text: str, expected: list[str]) -> None:
    assert parse_phrase_list(text) == expected


@pytest.mark.parametrize("text", [
    "", "likely", "['likely']", '["likely"', '["likely"] because', '{"phrases": ["likely"]}', '["likely", 1]',
    '"likely"', "null", "[null]",
    '["likely"]["or"]', "__import__('os').getcwd()", "[" * 100_000,
])  # fmt: skip
def test_anything_else_is_an_invalid_answer(text: str) -> None:
    assert parse_phrase_list(text) is None


@pytest.mark.parametrize("cell", ["measurement", "severity", "onset"])
def test_a_phrase_that_the_row_states_otherwise_is_dropped(cell: str) -> None:
    frame = extracted(
        saying("Possible", "mild"), finding(0, sent="Possible mild pneumonia.", **{cell: "Mild, stable"})
    )
    assert frame[["phrases", "dropped"]].to_numpy().tolist() == [[["possible"], ["mild"]]]
    whole_words = extracted(saying("mild"), finding(0, sent="Mild pneumonia.", severity="mildly increased"))
    assert whole_words["phrases"].tolist() == [["mild"]]


def test_or_and_to_are_never_dropped_and_difficult_to_assess_always() -> None:
    frame = extracted(
        saying("or", "to", "Difficult to  assess"),
        finding(0, sent="One or two to three cm pneumonia.", measurement="one or two to three cm"),
    )
    assert frame["phrases"].tolist() == [["or", "to"]]
    assert frame["dropped"].tolist() == [["difficult to assess"]]


def test_phrases_are_lower_case_distinct_and_in_order_of_appearance() -> None:
    frame = extracted(
        saying("Or", "LIKELY", "likely.", "may"), finding(0, sent="May be edema, likely, or pneumonia.")
    )
    assert frame["phrases"].tolist() == [["may", "likely", "or"]]


@pytest.mark.parametrize(("judge", "row", "reason"), [
    (saying("likely"), finding(0), ""),
    (saying("likely", "or"), finding(0), "several phrases"),
    (saying(), finding(0), "no phrase"),
    (saying("likely"), finding(0, same_name_in_sentence=True), "same name twice"),
    (saying("likely"), finding(0, masked_sentence=None, mask_state="not located"), "not located"),
    (saying("likely", valid=False), finding(0), "invalid answer"),
    (saying("likely", "or"), finding(0, same_name_in_sentence=True), "several phrases; same name twice"),
])  # fmt: skip
def test_error_prone_pairs_are_flagged_with_the_reason(
    judge: ScriptedJudge, row: dict[str, object], reason: str
) -> None:
    frame = extracted(judge, row)
    assert frame["review_reason"].tolist() == [reason]
    assert frame["needs_review"].tolist() == [bool(reason)]


def test_definite_and_history_rows_are_not_asked_about() -> None:
    judge = saying("likely")
    frame = extracted(
        judge, finding(0, status="dp"), finding(1, section="hist"), finding(2, status="tn", section="impr")
    )
    assert len(frame) == len(judge.extracted) == 1


def test_rows_come_in_the_same_order_whatever_the_order_of_the_findings() -> None:
    rows = [finding(i, sent=f"Possible pneumonia {i}.") for i in range(12)]
    pd.testing.assert_frame_equal(extracted(LEXICON, *rows), extracted(LEXICON, *reversed(rows)))


def corrections_file(folder: Path, text: str) -> Path:
    path = folder / "corrections.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_correction_overrides_needs_no_review_and_may_say_that_there_is_no_hedge(tmp_path: Path) -> None:
    rows = [finding(0, severity="mild"), finding(1)]
    given = f"{rows[0]['finding_id']},May Represent; mild,by me\n{rows[1]['finding_id']},,\ns1:9,or,\n"
    corrections = load_corrections(corrections_file(tmp_path, "finding_id,phrases,remark\n" + given))
    frame = extracted(saying("likely", "or"), *rows, corrections=corrections)
    assert frame["phrases"].tolist() == [["may represent", "mild"], []]
    assert frame["corrected"].tolist() == [True, True]
    assert frame["needs_review"].tolist() == [False, False]
    assert corrections["s1:9"] == ["or"], "of another batch"


@pytest.mark.parametrize(("text", "problem"), [
    ("finding_id\ns1:1\n", "no column"),
    ("finding_id,phrases\ns1:1,or\ns1:1,may\n", "row 2"),
    ("finding_id,phrases\n ,or\n", "row 1"),
    ("finding_id,phrases\ns1:1,or\ns1:2,or, may\n", "row 2"),
    ("finding_id,phrases\ns1:1\n", "row 1"),
    ('finding_id,phrases\ns1:1,"or\ns1:2,"may"\n', "unreadable"),
])  # fmt: skip
def test_a_wrong_corrections_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        load_corrections(corrections_file(tmp_path, text))
    assert "s1:" not in str(caught.value), "no cell is quoted"


def test_the_review_queue_has_the_pairs_with_a_reason() -> None:
    judge = ScriptedJudge(
        phrases=lambda q: ExtractionAnswer(("likely", "or") if "while" in q.sentence else ("likely",))
    )
    rows = [finding(0, sent="Likely or edema, while pneumonia."), finding(1, sent="Likely pneumonia.")]
    queue = review_queue(extracted(judge, *rows))
    assert queue[["phrases", "review_reason"]].to_numpy().tolist() == [["likely;or", "several phrases"]]
