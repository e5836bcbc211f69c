"""Answers of structurers as rows: what is stored quotes the report, and comes back as
it was.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.structuring.contract import (
    Mention,
    RefusedValue,
    SentenceReading,
    Span,
    StructuredReport,
)
from lunguage_assets.structuring.rows import read_spans, structured_tables
from lunguage_assets.structuring.text.report import cut_report

TEXT = """HISTORY: Cough.
FINDINGS: Patchy opacities in the Left
base and right apex, likely pneumonia. No effusion.
IMPRESSION: Pneumonia. Told by phone.
"""


def span(words: str) -> Span:
    return Span(TEXT.index(words), TEXT.index(words) + len(words))


def test_rows_hold_words_characters_references_and_every_sentence_has_an_account() -> (
    None
):
    report = cut_report("s00000001", TEXT)
    patchy = {"morphology": (span("Patchy"),)}
    one = Mention(
        1, span("opacities"), "opacity", "PF", "dp", (), patchy, associate=(2,)
    )
    opacities = [
        replace(one, location=(span(words),)) for words in ("Left\nbase", "right apex")
    ]
    pneumonia = Mention(1, span("pneumonia"), "pneumonia", "CF", "tp", evidence=(0, 1))
    again = Mention(3, span("Pneumonia"), "pneumonia", "CF", "dp")
    accounts = (
        "nothing stated",
        "findings",
        "nothing stated",
        "findings",
        "not about the patient now",
    )
    readings = tuple(SentenceReading(account) for account in accounts)
    refused = (RefusedValue("find", 9, "location", "nowhere", "no-such-sentence"),)
    answer = StructuredReport(
        "s00000001", readings, (*opacities, pneumonia, again), refused
    )
    tables = structured_tables([report], [answer])
    rows = tables.structured_findings
    first = rows.iloc[0]
    assert (first["section"], first["sent_idx"], first["ent_idx"]) == ("find", 1, 1)
    assert (first["ent"], first["location"], first["morphology"]) == (
        "opacities",
        "left base",
        "patchy",
    )
    spans = read_spans(first["spans"])
    assert [one.of(TEXT) for one in spans["location"]] == ["Left\nbase"]
    assert list(spans) == ["ent", "location", "morphology"]
    assert list(rows["evidence"].iloc[2]) == ["find:1", "find:2"]
    assert [list(cell) for cell in rows["associate"]] == [
        ["find:3"],
        ["find:3"],
        [],
        [],
    ]
    assert rows["ent_idx"].tolist() == [1, 2, 3, 1]
    assert tables.sentence_accounts["rows"].tolist() == [0, 3, 0, 1, 0]
    assert tables.sentence_accounts["sent_idx"].tolist() == [
        one.number for one in report.sentences
    ]
    assert tables.refused_values[
        ["section", "sent_idx", "column", "found", "reason"]
    ].values.tolist() == [["find", 9, "location", "nowhere", "no-such-sentence"]]
