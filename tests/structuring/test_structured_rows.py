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
    opacity = Mention(
        1, span("opacities"), "opacity", "PF", "dp", (), patchy, associate=(2,)
    )
    opacities = [
        replace(opacity, location=(span(words),))
        for words in ("Left\nbase", "right apex")
    ]
    pneumonia = Mention(1, span("pneumonia"), "pneumonia", "CF", "tp", evidence=(0, 1))
    again = Mention(3, span("Pneumonia"), "pneumonia", "CF", "dp")
    silent = SentenceReading("nothing stated")
    stated = SentenceReading("findings")
    readings = (silent, stated, silent, stated, SentenceReading("unreadable"))
    refused = (RefusedValue("find", 9, "location", "nowhere", "no-such-sentence"),)
    mentions = (*opacities, pneumonia, again)
    answer = StructuredReport("s00000001", readings, mentions, refused)
    tables = structured_tables([report], [answer])
    rows = tables.structured_findings
    shown = ["section", "sent_idx", "ent_idx", "ent", "location", "morphology"]
    assert rows.loc[0, shown].tolist() == [
        "find", 1, 1, "opacities", "left base", "patchy",
    ]  # fmt: skip
    spans = read_spans(rows.loc[0, "spans"])
    assert [one.of(TEXT) for one in spans["location"]] == ["Left\nbase"]
    assert list(spans) == ["ent", "location", "morphology"]
    assert list(rows["evidence"].iloc[2]) == ["find:1", "find:2"]
    associates = [list(cell) for cell in rows["associate"]]
    assert associates == [["find:3"], ["find:3"], [], []]
    assert rows["ent_idx"].tolist() == [1, 2, 3, 1]
    accounts = tables.sentence_accounts
    assert accounts["rows"].tolist() == [0, 3, 0, 1, 0]
    assert accounts["sent_idx"].tolist() == [one.number for one in report.sentences]
    refused_columns = ["section", "sent_idx", "column", "found", "reason"]
    assert tables.refused_values[refused_columns].values.tolist() == [
        ["find", 9, "location", "nowhere", "no-such-sentence"]
    ]
