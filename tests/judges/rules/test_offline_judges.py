"""The offline judges read the hedge of the finding asked about, and answer comparisons
deterministically.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tentative_findings import published_scale

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.assertion.named import governing_cues
from lunguage_assets.explicit.probability import (
    calibrate,
    probability,
    published_anchors,
)
from lunguage_assets.judges.protocol import (
    ComparisonQuestion,
    ExtractionQuestion,
    Judge,
)
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge, reference_sentences

LEXICON = LexiconJudge("lexicon")
CUES = CuesJudge("cues")
JUDGES: list[Judge] = [LEXICON, CUES]
both = pytest.mark.parametrize("judge", JUDGES, ids=["lexicon", "cues"])
LINE = calibrate(published_scale()[1], published_anchors().anchors)
SENTENCES = [
    (entry.phrase, sentence)
    for entry in published_ranking()
    for sentence in reference_sentences()[entry.phrase]
]


def phrases(judge: Judge, sentence: str, finding: str) -> tuple[str, ...]:
    question = ExtractionQuestion(
        finding, sentence, sentence.replace(finding, "<finding>")
    )
    return judge.extract([question])[0].phrases


@both
def test_every_published_phrase_is_extracted_and_no_part_of_it(judge: Judge) -> None:
    answers = judge.extract(
        [ExtractionQuestion("x", sentence, sentence) for _, sentence in SENTENCES]
    )
    expected = [
        ("either", "or") if phrase == "either" else (phrase,) for phrase, _ in SENTENCES
    ]
    assert [answer.phrases for answer in answers] == expected
    compared = judge.compare(
        [ComparisonQuestion(sentence, "Likely <finding>.") for _, sentence in SENTENCES]
    )
    assert "invalid" not in compared


HEDGES_BY_FINDING: dict[str, dict[str, tuple[str, ...]]] = {
    "Likely atelectasis and possible pneumonia.": {"atelectasis": ("likely",), "pneumonia": ("possible",)},
    "Atelectasis is likely and pneumonia cannot be excluded.":
     {"Atelectasis": ("likely",), "pneumonia": ("cannot be excluded",)},
    "Edema is likely; pneumonia is less likely; effusion cannot be entirely excluded.":
     {"Edema": ("likely",), "pneumonia": ("less likely",), "effusion": ("cannot be entirely excluded",)},
    "Probable pneumonia, suspected effusion, and possible pneumothorax.":
     {"pneumonia": ("probable",), "effusion": ("suspected",), "pneumothorax": ("possible",)},
    "Opacity may represent pneumonia, although atelectasis is more likely.":
     {"pneumonia": ("may represent",), "atelectasis": ("more likely",)},
    "This suggests edema; effusion could be present.": {"edema": ("suggests",), "effusion": ("could be",)},
    "A fracture of the left sixth rib is possible; effusion is not excluded.":
     {"fracture": ("possible",), "effusion": ("not excluded",)},
    "Opacity may represent atelectasis or pneumonia.":
     {"atelectasis": ("may represent", "or"), "pneumonia": ("may represent", "or")},
    "No effusion or pneumothorax.": {"pneumothorax": ()},
    "Opacity could possibly represent pneumonia.": {"pneumonia": ("could", "possibly")},
    "Pneumonia cannot be confidently excluded.": {"Pneumonia": ("cannot be excluded",)},
    "There is pneumonia.": {"pneumonia": ()},
}  # fmt: skip


@both
def test_each_finding_of_a_sentence_gets_its_own_hedges(judge: Judge) -> None:
    read = {
        sentence: {finding: phrases(judge, sentence, finding) for finding in expected}
        for sentence, expected in HEDGES_BY_FINDING.items()
    }
    assert read == HEDGES_BY_FINDING


@both
def test_without_a_known_place_all_hedges_of_the_sentence_are_given(
    judge: Judge,
) -> None:
    question = ExtractionQuestion(
        "infiltrate", "Likely edema. Pneumonia cannot be excluded.", None
    )
    assert judge.extract([question])[0].phrases == ("likely", "cannot be excluded")


@both
@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES), st.integers(0, 20))
@examples(40)
def test_which_sentence_is_shown_first_does_not_matter(
    judge: Judge, entry_1: tuple[str, str], entry_2: tuple[str, str], replicate: int
) -> None:
    (_, first), (_, second) = entry_1, entry_2
    shown = [(first, second, replicate), (second, first, replicate)]
    chosen = judge.compare([ComparisonQuestion(*pair) for pair in shown])
    assert first == second or set(chosen) == {"sentence_1", "sentence_2"}


@both
def test_ties_are_a_fair_coin(judge: Judge) -> None:
    tied = [
        ComparisonQuestion(f"Possible <finding> {a}.", f"Possible <finding> {b}.")
        for a, b in combinations("bcdefghijklmnopqrstuvwxyz", 2)
    ]
    first = sum(answer == "sentence_1" for answer in judge.compare(tied))
    assert 0.4 < first / len(tied) < 0.6


@both
@given(st.text(max_size=80), st.text(max_size=80))
@examples(40)
def test_any_text_is_answered(judge: Judge, sentence_1: str, sentence_2: str) -> None:
    (choice,) = judge.compare([ComparisonQuestion(sentence_1, sentence_2)])
    assert choice in {"sentence_1", "sentence_2", "invalid"}
    for masked in (sentence_1, None):
        (answer,) = judge.extract([ExtractionQuestion("x", sentence_1, masked)])
        assert answer.valid


SURER_AND_LESS_SURE = [
    ("Most likely <finding>.", "Consider <finding>."),
    ("Suspicious for <finding>.", "Atelectasis versus <finding>."),
    ("Cannot rule out <finding>.", "No definite <finding>."),
    ("Borderline for <finding>.", "Doubt <finding>."),
    ("Possible <finding>.", "Probably not <finding>."),
    ("Findings are consistent with <finding>.", "Opacity may represent <finding>."),
    ("Opacity may represent <finding>.", "The differential includes <finding>."),
    ("Likely <finding>.", "Likely atelectasis; <finding> is unlikely."),
    ("This is likely <finding>.", "This is likely <finding> or edema."),
    ("Possible <finding>.", "Scarring is most likely, <finding> less likely."),
    # The weaker of two chained hedges counts.
    ("Changes suggestive of <finding>.", "Changes could be consistent with <finding>."),
]


@both
def test_of_two_sentences_the_surer_is_chosen(judge: Judge) -> None:
    questions = [ComparisonQuestion(*pair) for pair in SURER_AND_LESS_SURE]
    answers = zip(questions, judge.compare(questions), strict=True)
    assert [question for question, answer in answers if answer != "sentence_1"] == []


@both
def test_an_unknown_hedge_is_no_certainty_but_an_invalid_answer(judge: Judge) -> None:
    known = "Possible <finding>."
    unknown = [
        "There is <finding>.", "No <finding>.", "Plausibly-ish <finding>.",
        "<finding> for what it is worth.", "Likely edema; the <finding> comes to mind.",
    ]  # fmt: skip
    questions = [ComparisonQuestion(sentence, known) for sentence in unknown]
    questions += [ComparisonQuestion(known, sentence) for sentence in unknown]
    assert set(judge.compare(questions)) == {"invalid"}


def test_the_cue_words_follow_the_published_scores_as_documented() -> None:
    published = published_ranking()
    score = CuesJudge("cues").score
    examples_of = reference_sentences()
    scores = [
        np.mean([score(sentence) or 0.0 for sentence in examples_of[entry.phrase]])
        for entry in published
    ]
    correlation = np.corrcoef([entry.mu for entry in published], scores)[0, 1]
    assert correlation == pytest.approx(0.940, abs=0.005)


@both
def test_a_list_is_read_in_steps_that_grow_with_its_length(judge):
    """Lists of 278 alternatives are in real reports. Lines that are run are counted,
    not seconds.
    """
    judge.score("Possible <finding>.")
    for text in ("possible <finding> or ", "edema, ", "no <finding>, ",
                 "more likely <finding> than "):  # fmt: skip
        counts = [
            lines_run(judge.score, f"Possible {judge.key} " + text * length + ".")
            for length in (139, 278)
        ]
        assert counts[1] < 2.5 * counts[0], text


def lines_run(function: Callable[[str], object], text: str) -> int:
    """Count the lines of the package that a call runs."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace if "lunguage_assets" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(text)
    finally:
        sys.settrace(before)
    return count


P_BY_SIDE = {"low": (0.0, 0.4), "open": (0.2, 0.6), "high": (0.5, 1.0)}
SUM_BY_SIDE = {"low": (-9.0, -1.2), "open": (-3.1, 0.5), "high": (-0.2, 9.0)}


def test_every_hedge_is_named_and_goes_to_its_side_with_both_judges() -> None:
    """A line of the file: where its sentence leaves the finding, by which words."""
    path = Path(__file__).with_name("hedges_of_findings.txt")
    wrong = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line[0] in "#[":
            continue
        side, words, sentence = line.split(" | ")
        cues = governing_cues(sentence).cues
        said = [sentence[cue.begin : cue.end].lower() for cue in cues]
        if not any(words.lower() in governing for governing in said):
            wrong.append(f"{sentence} not governed by {words!r}")
        p = probability(LEXICON.score(sentence), 0.0, LINE)[0]
        score = CUES.score(sentence)
        low, high = P_BY_SIDE[side]
        lowest, highest = SUM_BY_SIDE[side]
        if not (low < p < high and lowest < score < highest):
            wrong.append(f"{line}: lexicon p {p:.2f}, cues {score:.1f}")
    assert not wrong, "\n".join(wrong)
