"""What invented sentences state, rule by rule (method.md sections 6 and 7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lunguage_assets.structuring.contract import Mention, SectionCode, Span
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report

_ROW = re.compile(
    r"(?P<status>[dt][pn]) (?P<name>[^@\[<]+?)(?: @(?P<place>[^\[<]+?))?"
    r"(?: \[(?P<column>\w+): (?P<words>[^\]]*)\])?(?: <-(?P<support>\d))?"
)
STRUCTURER = RuleStructurer()


def _cases(group: str) -> list[tuple[str, str]]:
    """The sentences of a group of statements.txt, and what they state."""
    table = (Path(__file__).parent / "statements.txt").read_text(encoding="utf-8")
    lines = table.split(f"[{group}]\n")[1].split("\n\n")[0].splitlines()
    return [
        (sentence.strip(), rows.strip())
        for sentence, _, rows in (line.partition("->") for line in lines)
    ]


def check(sentence: str, expected: str, section: SectionCode = "find") -> None:
    reading = STRUCTURER.read_sentence(sentence, section)
    check_rows(sentence, reading.mentions, expected)
    assert (reading.account == "findings") == bool(reading.mentions)


def check_rows(text: str, mentions: Sequence[Mention], expected: str) -> None:
    """Compare mentions with rows in the notation of statements.txt."""
    rows = [
        _parsed(row) for row in (cells.strip() for cells in expected.split(";")) if row
    ]
    assert [f"{m.status} {m.normed_ent}" for m in mentions] == [
        f"{r['status']} {r['name']}" for r in rows
    ]
    for mention, row in zip(mentions, rows, strict=True):
        if row["place"]:
            assert _words(text, mention.location) == row["place"].strip("-")
        if row["column"]:
            assert (
                _words(text, mention.attributes.get(row["column"], ())) == row["words"]
            )
        if row["support"]:
            assert mention.evidence == (int(row["support"]),)


def _parsed(row: str) -> re.Match[str]:
    match = _ROW.fullmatch(row)
    assert match is not None, row
    return match


def _words(text: str, spans: Sequence[Span]) -> str:
    return ", ".join(span.of(text) for span in spans)


GROUPS = (
    "denials", "parts_of_devices", "moves", "gone", "settings", "one_statement", "denials_end",
    "change_denied", "hedges", "doubts", "anatomy", "places", "attributes", "devices", "asides", "history",
    "conclusions", "names", "spellings", "reports", "words", "then_and_elsewhere", "hidden", "causes",
)  # fmt: skip
"""Rules of the method, one group of sentences each."""


@pytest.mark.parametrize(
    ("group", "sentence", "expected"),
    [(group, *case) for group in GROUPS for case in _cases(group)],
)
def test_a_sentence_states_its_rows(group, sentence, expected):
    check(
        sentence,
        expected,
        {"history": "hist", "conclusions": "impr"}.get(group, "find"),
    )


@pytest.mark.parametrize(("sentences", "expected"), _cases("across_sentences"))
def test_a_sentence_may_speak_of_the_finding_before(sentences, expected):
    text = f"FINDINGS: {sentences}"
    (answer,) = STRUCTURER.structure([cut_report("1", text)])
    check_rows(text, answer.mentions, expected)


@pytest.mark.parametrize(
    ("before", "addendum", "taken_back"),
    [
        ("Small right pneumothorax.", "There is no pneumothorax.", True),
        ("No fracture.", "There is a fracture of the right seventh rib.", True),
        ("Right effusion.", "There is no left effusion.", False),
        ("No large effusion.", "Small effusion.", False),
        ("Right effusion.", "The effusion is small.", False),
    ],
)
def test_what_an_addendum_takes_back_is_past_by_its_heading(
    before, addendum, taken_back
):
    text = f"IMPRESSION: {before}\n\nADDENDUM: {addendum}"
    (answer,) = STRUCTURER.structure([cut_report("1", text)])
    first = answer.mentions[0]
    last = answer.mentions[-1]
    assert [span.of(text) for span in first.attributes.get("past_hx", ())] == [
        "ADDENDUM"
    ] * taken_back
    assert "past_hx" not in last.attributes
