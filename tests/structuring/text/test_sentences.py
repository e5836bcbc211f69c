"""Sentences of a report: every word of findings and impression is in exactly one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.structuring.text.read import sectioned

_PIECES = st.sampled_from(
    ["The lungs are clear", "no effusion", "Dr. Roe", "approx. 2.5 cm", "___", "XXXX", "1.", "2)", "-", ".",
     "...", "?", ": ", "\n", "\n\n", " ", "  ", "\r\n", "Heart:", "FINDINGS:", "IMPRESSION", "Impression:",
     "WET READ:",     "HISTORY:", "a.m.", "vs.", "(e.g. edema)", "J. Roe", "segment 2.", "AP CHEST",
     "_______", "\t", "ß", "Dictated by", "\u2022"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Clear. No edema.", ["Clear.", "No edema."]),
        ("lungs are clear. no edema.", ["lungs are clear.", "no edema."]),
        ("Clear lungs.No edema.", ["Clear lungs.", "No edema."]),
        ("A nodule of approx. 2.5 cm. It is new.", ["A nodule of approx. 2.5 cm.", "It is new."]),
        ("Edema vs. Pneumonia. Dr. J. Roe knows.", ["Edema vs. Pneumonia.", "Dr. J. Roe knows."]),
        ("Seen at 5 a.m. by Dr. Roe.", ["Seen at 5 a.m. by Dr. Roe."]),
        ("Told at 5 p.m. Lungs clear.", ["Told at 5 p.m.", "Lungs clear."]),
        ("A tube 5 cm. above the carina.", ["A tube 5 cm. above the carina."]),
        ("Compared to ___. ___ lungs are clear.", ["Compared to ___.", "___ lungs are clear."]),
        ("No acute XXXX. XXXX sternotomy.", ["No acute XXXX.", "XXXX sternotomy."]),
        ("Hepatitis C. Clear lungs.", ["Hepatitis C.", "Clear lungs."]),
        ("Clear lungs... small heart.", ["Clear lungs... small heart."]),
        ("Fever, ? pneumonia. Pneumonia? No.", ["Fever, ? pneumonia.", "Pneumonia?", "No."]),
        ("Large heart; no edema.", ["Large heart; no edema."]),
        ("The heart\nis large. The\n lungs are clear.", ["The heart\nis large.", "The\n lungs are clear."]),
        ("Lungs clear\nHeart normal\nNo edema", ["Lungs clear", "Heart normal", "No edema"]),
        ("Lungs:\nClear. Heart: Large.", ["Lungs:\nClear.", "Heart: Large."]),
        ("1. Edema. 2. Effusion.", ["Edema.", "Effusion."]),
        ("1. Edema 2. Effusion", ["Edema", "Effusion"]),
        ("1.Edema.2.Effusion.", ["Edema.", "Effusion."]),
        ("1) Edema\n2) Effusion", ["Edema", "Effusion"]),
        ("- Edema\n- Effusion in\n  the left base", ["Edema", "Effusion in\n  the left base"]),
        ("\u2022 Edema\n\u2022 Effusion", ["Edema", "Effusion"]),
        ("1. Opacity in segment 2. New.", ["Opacity in segment 2.", "New."]),
        ("The tip is at T6. 2.5 cm nodule.", ["The tip is at T6.", "2.5 cm nodule."]),
        ("No. 3 catheter.", ["No. 3 catheter."]),
        ("(Limited.) Clear.", ["(Limited.)", "Clear."]),
    ],
)  # fmt: skip
def test_text_is_cut_where_a_reader_would_cut_it(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sectioned("1", text).sentences] == expected


def test_a_wrapped_line_does_not_end_a_sentence_and_a_short_one_does() -> None:
    text = (
        "There is a small effusion in the left base, which is new compared to the film of\n"
        "March, and the heart is large\n"
        "No edema"
    )
    assert len(sectioned("1", text).sentences) == 2


@given(st.lists(_PIECES, max_size=40))
@examples(150)
def test_sentences_are_in_order_disjoint_and_quote_the_report(pieces: list[str]) -> None:
    text = "".join(pieces)
    report = sectioned("1", text)
    at = 0
    numbers: dict[str, int] = {}
    for sentence in report.sentences:
        assert at <= sentence.span.begin < sentence.span.end <= len(text)
        assert sentence.span.of(text) == sentence.text == sentence.text.strip()
        assert sentence.number == numbers.get(sentence.section, 0) + 1
        numbers[sentence.section], at = sentence.number, sentence.span.end


@given(st.lists(_PIECES.filter(lambda piece: not piece.isupper() or len(piece) < 7), max_size=40))
@examples(150)
def test_every_word_behind_the_heading_is_in_a_sentence(pieces: list[str]) -> None:
    body = " ".join(piece for piece in pieces if ":" not in piece and piece != "Dictated by")
    text = "FINDINGS: " + body
    covered = set()
    for sentence in sectioned("1", text).sentences:
        covered.update(range(sentence.span.begin, sentence.span.end))
    left = [
        word.group()
        for word in re.finditer(r"[^\W_]+", text)
        if word.start() > 9 and not covered.issuperset(range(*word.span()))
    ]
    assert all(word in ("1", "2") for word in left)  # enumeration


@given(st.text(max_size=300))
@examples(100)
def test_no_text_raises(text: str) -> None:
    sectioned("1", text)


@pytest.mark.parametrize(
    "piece",
    ["\n", ":", "a. ", "_", "(1) ", "\n - ", "AP:\n", "\n\n a", "IMPRESSION ", "a.a."],
)
def test_a_long_text_of_one_piece_is_cut_to_the_end(piece: str) -> None:
    """A pattern that looks back over the whole text at every character would not come back from this."""
    text = piece * (100_000 // len(piece))
    assert all(sentence.text.strip() for sentence in sectioned("1", text).sentences)
