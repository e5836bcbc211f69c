"""Answers of structurers as rows: what is stored quotes the report, and comes back as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.errors import InvalidTable
from lunguage_assets.structuring.contract import (
    Mention,
    RefusedValue,
    SectionedReport,
    SentenceReading,
    Span,
    StructuredReport,
    Value,
)
from lunguage_assets.structuring.rows import read_spans, structured_tables
from lunguage_assets.structuring.text.read import sectioned
from lunguage_assets.tables import ATTRIBUTES

TEXT = """HISTORY: Cough.
FINDINGS: Patchy opacities in the Left
base and right apex, likely pneumonia. No effusion.
IMPRESSION: Pneumonia. Told by phone.
"""


def _value(text: str, words: str) -> Value:
    begin = text.index(words)
    return Value(words, Span(begin, begin + len(words)))


def _report() -> SectionedReport:
    return sectioned("s00000001", TEXT)


def _answer(report: SectionedReport) -> StructuredReport:
    text = report.sentences[1].text
    patchy = {"morphology": (_value(text, "Patchy"),)}
    one = Mention(_value(text, "opacities"), "opacity", "PF", "dp", (), patchy, associate=(2,))
    opacities = [replace(one, location=(_value(text, place),)) for place in ("Left\nbase", "right apex")]
    pneumonia = Mention(_value(text, "pneumonia"), "pneumonia", "CF", "tp", evidence=(0, 1))
    again = Mention(_value("Pneumonia.", "Pneumonia"), "pneumonia", "CF", "dp")
    found = [(1, opacities[0]), (1, opacities[1]), (1, pneumonia), (3, again)]
    accounts = ["nothing stated", "findings", "nothing stated", "findings", "not about the patient now"]
    readings = tuple(SentenceReading(account) for account in accounts)  # type: ignore[arg-type]
    refused = (RefusedValue("find", 9, "location", "x" * 200, "no-such-sentence"),)
    return StructuredReport("s00000001", readings, tuple(found), refused)


def test_rows_hold_words_and_their_characters_references_by_number_and_an_account_of_every_sentence() -> None:
    report = _report()
    tables = structured_tables([report], [_answer(report)])
    found = tables.structured_findings
    first = found.iloc[0]
    assert (first["section"], first["sent_idx"], first["ent_idx"]) == ("find", 1, 1)
    assert (first["ent"], first["location"], first["morphology"]) == ("opacities", "left base", "patchy")
    spans = read_spans(first["spans"])
    assert [TEXT[span.begin : span.end] for span in spans["location"]] == ["Left\nbase"]
    assert list(spans) == ["ent", "location", "morphology"]
    assert list(found["evidence"].iloc[2]) == ["find:1", "find:2"]
    assert [list(cell) for cell in found["associate"]] == [["find:3"], ["find:3"], [], []]
    assert found["ent_idx"].tolist() == [1, 2, 3, 1]
    accounts, refused = tables.sentence_accounts, tables.refused_values
    assert accounts["rows"].tolist() == [0, 3, 0, 1, 0]
    assert accounts["sent_idx"].tolist() == [one.number for one in report.sentences]
    assert refused[["section", "sent_idx", "column", "reason"]].values.tolist() == [
        ["find", 9, "location", "no-such-sentence"]
    ]
    assert len(refused["found"].iloc[0]) == 80


@pytest.mark.parametrize("moved", [Span(0, 8), Span(3, 3), Span(900, 909)])
def test_a_value_that_does_not_stand_at_its_characters_is_not_stored(moved: Span) -> None:
    report = _report()
    answer = _answer(report)
    place, mention = answer.mentions[3]
    wrong = replace(mention, ent=Value(mention.ent.words, moved))
    with pytest.raises(InvalidTable, match="column ent: a value is not what stands at its characters"):
        structured_tables([report], [replace(answer, mentions=(*answer.mentions[:3], (place, wrong)))])


def test_an_answer_to_another_report_is_not_stored() -> None:
    report = _report()
    with pytest.raises(InvalidTable, match="not of this report"):
        structured_tables([report], [replace(_answer(report), study_id="s00000002")])


@given(st.data())
@examples(60)
def test_whatever_pieces_of_a_sentence_are_claimed_their_cells_quote_the_report(data: st.DataObject) -> None:
    report = _report()
    place = data.draw(st.sampled_from([1, 2, 3]))
    sentence = report.sentences[place].text

    def piece() -> Value:
        begin = data.draw(st.integers(0, len(sentence) - 1))
        end = data.draw(st.integers(begin + 1, len(sentence)))
        words = sentence[begin:end]
        return Value(words, Span(begin, end)) if words.strip() else _value(sentence, sentence.split()[0])

    columns = data.draw(st.sets(st.sampled_from(sorted(ATTRIBUTES)), max_size=4))
    places = tuple(piece() for _ in range(data.draw(st.integers(0, 3))))
    attributes = {column: (piece(),) for column in sorted(columns)}
    mention = Mention(piece(), "name", "PF", "dp", places, attributes)
    readings = tuple(SentenceReading("findings") for _ in report.sentences)
    rows = structured_tables([report], [StructuredReport(report.study_id, readings, ((place, mention),))])
    (stored,) = rows.structured_findings.to_dict("records")
    for column, spans in read_spans(stored["spans"]).items():
        quoted = ", ".join(" ".join(span.of(report.text).split()) for span in spans)
        assert stored[column] == quoted.lower()
