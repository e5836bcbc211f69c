"""Extraction: strict parsing, filters, review flags, corrections; the vocabulary: ten
examples, usable ones, and the published ruler for a corpus too small (explicit.md
section 1).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tentative_findings import ScriptedJudge, finding, findings_frame

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges import (
    hedge_phrases,
    load_corrections,
    review_queue,
)
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.explicit.vocabulary import (
    CHOSEN,
    NO_EXAMPLE,
    PUBLISHED_SCALE,
    TOO_FEW,
    hedge_vocabulary,
    newest_only,
)
from lunguage_assets.judges.model_judge import parse_phrase_list
from lunguage_assets.judges.protocol import ExtractionAnswer
from lunguage_assets.judges.rules.lexicon import LexiconJudge, reference_sentences
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES, HEDGE_VOCABULARY

LEXICON = LexiconJudge("lexicon")


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


LIKELY = ["likely"]


@pytest.mark.parametrize(("text", "expected"), [
    ('["likely"]', LIKELY), ("[]", []), ('  ["may represent", "or"]\n', ["may represent", "or"]),
    ('Uncertainty phrases: ["likely"]', LIKELY), ('```json\n["likely"]\n```', LIKELY),
    ('```json\nAnswer: ["likely"]\n```', LIKELY), ('["a: b"]', ["a: b"]),
    *((text, None) for text in (
        "", "likely", "['likely']", '["likely"', '["likely"] because', '{"phrases": ["likely"]}',
        '["likely", 1]', '"likely"', "null", "[null]", '["likely"]["or"]', "__import__('os').getcwd()",
        "[" * 100_000,
    )),
], ids=lambda value: str(value)[:30])  # fmt: skip
def test_a_json_list_is_read_with_a_label_or_a_fence_and_nothing_else(
    text: str, expected: list[str] | None
) -> None:
    assert parse_phrase_list(text) == expected


@pytest.mark.parametrize(("said", "row", "phrases", "dropped"), [
    *((["mild", "possible"], {"sent": "Possible mild pneumonia.", cell: "Mild, stable"}, ["possible"], ["mild"])
      for cell in ("measurement", "severity", "onset")),
    (["mild"], {"sent": "Mild pneumonia.", "severity": "mildly increased"}, ["mild"], []),  # whole words
    (["or", "to", "Difficult to  assess"],
     {"sent": "One or two to three cm pneumonia.", "measurement": "one or two to three cm"},
     ["or", "to"], ["difficult to assess"]),
    (["Or", "LIKELY", "likely.", "may"], {"sent": "May be edema, likely, or pneumonia."},
     ["may", "likely", "or"], []),
])  # fmt: skip
def test_phrases_are_distinct_in_order_without_what_the_row_states_otherwise(
    said: list[str], row: dict[str, str], phrases: list[str], dropped: list[str]
) -> None:
    frame = extracted(saying(*said), finding(0, **row))
    assert frame[["phrases", "dropped"]].to_numpy().tolist() == [[phrases, dropped]]


@pytest.mark.parametrize(("judge", "row", "reason"), [
    (saying("likely"), finding(0), ""),
    (saying("likely", "or"), finding(0), "several phrases"),
    (saying(), finding(0), "no phrase"),
    (saying("likely"), finding(0, same_name_in_sentence=True), "same name twice"),
    (saying("likely"), finding(0, masked_sentence=None, mask_state="not located"), "not located"),
    (saying(valid=False), finding(0), "invalid answer"),
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
    tentative = finding(2, status="tn", section="impr")
    rows = [finding(0, status="dp"), finding(1, section="hist"), tentative]
    frame = extracted(judge, *rows)
    assert len(frame) == len(judge.extracted) == 1


def corrections_file(folder: Path, text: str) -> Path:
    path = folder / "corrections.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_correction_overrides_needs_no_review_and_may_be_empty(
    tmp_path: Path,
) -> None:
    rows = [finding(0, severity="mild"), finding(1)]
    ids = [row["finding_id"] for row in rows]
    text = f"{ids[0]},May Represent; mild,by me\n{ids[1]},,\ns1:9,or,\n"
    file = corrections_file(tmp_path, f"finding_id,phrases,remark\n{text}")
    corrections = load_corrections(file)
    frame = extracted(saying("likely", "or"), *rows, corrections=corrections)
    assert frame["phrases"].tolist() == [["may represent", "mild"], []]
    assert frame["corrected"].tolist() == [True, True]
    assert frame["needs_review"].tolist() == [False, False]
    assert corrections["s1:9"] == ["or"], "of another batch"


@pytest.mark.parametrize(("text", "problem"), [
    ("finding_id\ns1:1\n", "a single column"),
    ("finding_id,phrases\ns1:1,or\ns1:1,may\n", "row 2"),
    ("finding_id,phrases\n ,or\n", "row 1"),
    ("finding_id,phrases\ns1:1,or\ns1:2,or, may\n", "row 2"),
    ("finding_id,phrases\ns1:1\n", "row 1"),
    ('finding_id,phrases\ns1:1,"or\ns1:2,"may"\n', "unreadable"),
])  # fmt: skip
def test_a_wrong_corrections_file_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        load_corrections(corrections_file(tmp_path, text))
    assert "s1:" not in str(caught.value), "no cell is quoted"


def test_the_review_queue_has_the_pairs_with_a_reason() -> None:
    rows = [finding(0), finding(1, sent="Pneumonia.", masked_sentence="<finding>.")]
    judge = ScriptedJudge(
        phrases=lambda q: ExtractionAnswer(("likely", "or")[: len(q.sentence.split())])
    )
    queue = review_queue(extracted(judge, *rows))
    shown = queue[["phrases", "review_reason"]].to_numpy().tolist()
    assert shown == [["likely;or", "several phrases"]]


OWN = ExplicitSettings(reference_scale_minimum=2)


def hedges(counts: dict[str, int], **values: object) -> pd.DataFrame:
    rows = []
    for phrase, n in counts.items():
        for i in range(n):
            sent = f"Patchy opacity, {phrase} pneumonia, film {i}."
            rows.append(finding(len(rows), study_id="s5", sent=sent, **values))
    return hedge_phrases(findings_frame(rows), LEXICON)


def vocabulary(frame: pd.DataFrame, settings: ExplicitSettings = OWN) -> pd.DataFrame:
    result = hedge_vocabulary(frame, settings)
    HEDGE_VOCABULARY.to_arrow(result)
    return result.set_index("phrase")


def test_phrases_with_ten_examples_are_retained_and_others_have_a_reason() -> None:
    counts = {"likely": 12, "possible": 10, "probable": 9}
    result = vocabulary(hedges(counts))
    assert result["retained"].tolist() == [True, True, False]
    assert result["n_examples"].to_dict() == counts
    assert result.loc["probable", "reason"] == TOO_FEW
    for column in ("example_sentences", "example_ids"):
        assert result[column].map(len).tolist() == [12, 10, 9]


@pytest.mark.parametrize("values", [
    {"masked_sentence": None, "mask_state": "not located"}, {"same_name_in_sentence": True},
])  # fmt: skip
def test_a_phrase_whose_examples_cannot_be_masked_is_not_retained(
    values: dict[str, object],
) -> None:
    unusable = hedges({"probable": 10}, **values)
    unusable["finding_id"] = "u" + unusable["finding_id"]
    usable = hedges({"likely": 10, "possible": 10})
    row = vocabulary(pd.concat([usable, unusable], ignore_index=True)).loc["probable"]
    cells = [row[name] for name in ("reason", "retained", "n_examples")]
    assert cells == [NO_EXAMPLE, False, 10]


@pytest.mark.parametrize(
    "counts", [{}, {"likely": 10}, {"likely": 10, "possible": 10}, {"likely": 2}]
)
def test_a_vocabulary_of_few_phrases_falls_back_to_the_published_scale(
    counts: dict[str, int],
) -> None:
    result = vocabulary(hedges(counts), ExplicitSettings())
    assert result["retained"].sum() == 42
    assert result["ruler"].eq("published").all()
    assert result.loc["likely", "n_examples"] == counts.get("likely", 0)
    enough = sum(n >= 10 for n in counts.values())
    reason = f"{enough} phrases of its own; 20 are the least"
    assert set(result["ruler_reason"]) == {reason}


@pytest.mark.parametrize(("counts", "reason"), [
    ({"likely": 10, "possible": 10}, "2 phrases of its own, but no anchor phrase 'less likely', 'most likely'"),
    ({"likely": 10, "most likely": 10, "less likely": 9},
     "2 phrases of its own, but no anchor phrase 'less likely'"),
    ({"most likely": 10, "less likely": 10}, ""),
])  # fmt: skip
def test_a_corpus_without_the_anchor_phrases_is_measured_with_the_published_ruler(
    counts: dict[str, int], reason: str
) -> None:
    result = hedge_vocabulary(hedges(counts), OWN, published_anchors().anchors)
    assert set(result["ruler_reason"]) == {reason}
    assert set(result["ruler"]) == {"published" if reason else "own"}


def test_the_published_ruler_lists_the_corpus_phrases_that_it_lacks() -> None:
    published = OWN.model_copy(update={"reference_scale": "published"})
    counts = {"likely": 10, "possible": 10, "presumably": 11}
    result = vocabulary(hedges(counts), published)
    assert result["retained"].sum() == 42
    assert result.loc["presumably", "reason"] == PUBLISHED_SCALE
    assert not result.loc["presumably", "retained"]
    assert set(result["ruler_reason"]) == {CHOSEN}


def test_the_bundled_ruler_has_ten_masked_sentences_of_its_own_per_phrase() -> None:
    sentences = reference_sentences()
    everything = [sentence for examples in sentences for sentence in examples]
    assert len(sentences) == 42
    assert len(set(everything)) == len(everything)
    for phrase, examples in sentences.items():
        assert len(examples) >= 10, phrase
        for sentence in examples:
            assert sentence.count("<finding>") == 1
            assert f" {phrase}" in f" {sentence.lower()}"


def test_the_newest_rows_of_a_study_that_came_again_count() -> None:
    first = pd.DataFrame({"study_id": ["s1", "s2"], "value": [1, 2]})
    second = pd.DataFrame({"study_id": ["s2", "s3"], "value": [3, 4]})
    assert newest_only([first, second])["value"].tolist() == [1, 3, 4]


def test_the_version_follows_the_retained_examples_only() -> None:
    counts = {"likely": 10, "possible": 10}
    first, same, other = (
        vocabulary(hedges(counts | more))["vocabulary_version"].iloc[0]
        for more in ({}, {"probable": 3}, {"likely": 11})
    )
    assert first == same != other
