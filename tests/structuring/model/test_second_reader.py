"""A language model as second reader gets the sentences that the rules leave unresolved,
and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from asked_reports import asked_sentences, configured, model_like, opened, report_of
from loopback import Call, LoopbackServer

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import RULES, JudgesConfiguration
from lunguage_assets.structuring.contract import (
    UNANSWERED,
    CueUse,
    Mention,
    SectionedReport,
    SentenceReading,
    Span,
    StructuredReport,
)
from lunguage_assets.structuring.model.second_reader import SecondReader
from lunguage_assets.structuring.model.structurer import structurer_identity
from lunguage_assets.structuring.rows import is_unresolved, structured_tables

REPORT = report_of(
    "s00000001",
    find=[
        "No effusion.",
        "The right lung argues against pneumonia, opacity aside.",
        "There is a tube.",
    ],
)
CLEAR = report_of("s00000002", find=["No effusion."])


def mention(sentence: int, word: str, status: str, **fields: object) -> Mention:
    begin = REPORT.text.index(word)
    ent = Span(begin, begin + len(word))
    return replace(Mention(sentence, ent, word, "PF", status), **fields)  # type: ignore[arg-type]


class Rules:
    """Rules that did not understand the second sentence of `REPORT`."""

    key = RULES
    identity = "rules"

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        return [self._read(report) for report in reports]

    def _read(self, report: SectionedReport) -> StructuredReport:
        found = tuple(SentenceReading("findings") for _ in report.sentences)
        mentions = [mention(0, "effusion", "dn")]
        if report is REPORT:
            unread = (CueUse(f"{UNANSWERED}words", Span(30, 36)),)
            mentions += [
                mention(1, "pneumonia", "tp", cues=unread, associate=(2,)),
                mention(2, "tube", "dp", associate=(0, 1)),
            ]
        return StructuredReport(report.study_id, found, tuple(mentions))


def read(
    answer: str, ledger: Path
) -> tuple[SecondReader, list[Call], list[StructuredReport]]:
    def answered(call: Call) -> str:
        return answer or model_like(call)

    with (
        LoopbackServer(answer=answered) as server,
        opened(configured("openai", server.url), ledger) as model,
    ):
        reader = SecondReader(Rules(), model)
        return reader, server.calls, reader.structure([CLEAR, REPORT])


def test_what_the_rules_leave_open_is_read_by_the_model_alone(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    reader, calls, (clear, answer) = read("", ledger)
    assert [list(asked_sentences(call.user)) for call in calls] == [["find:2"]]
    assert (reader.sentences, reader.changed_rows) == (1, 2)
    stated = [(it.normed_ent, it.status) for it in answer.mentions]
    assert stated == [
        ("effusion", "dn"),
        ("pneumonia", "dp"),
        ("opacity", "dp"),
        ("tube", "dp"),
    ]
    assert clear.mentions == (mention(0, "effusion", "dn"),)
    # A reference to the row that is gone is gone, the others lead where they led.
    assert answer.mentions[3].associate == (0,)
    assert answer.mentions[1].evidence == (2,)
    tables = structured_tables([CLEAR, REPORT], [clear, answer])
    assert not tables.structured_findings["cues"].map(is_unresolved).any()
    again, calls, second = read("", ledger)
    assert (second, calls) == ([clear, answer], []), "an answer is paid once"
    assert again.sentences == 1


def test_a_sentence_that_the_model_does_not_read_either_stays_open(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with (
        LoopbackServer(answer=model_like) as server,
        opened(configured("openai", server.url), ledger) as model,
    ):
        model.structure([report_of("s00000009", find=["Opacity."])])
    reader, _, (_, answer) = read("I cannot say.", ledger)
    assert (reader.sentences, reader.changed_rows) == (1, 0)
    assert answer.mentions[1].is_unresolved


def test_only_studies_with_an_open_row_are_read_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    reports = [CLEAR, REPORT]
    structured = structured_tables(reports, Rules().structure(reports))
    texts = pd.DataFrame(
        {
            "study_id": [report.study_id for report in reports],
            "report": [report.text for report in reports],
            "view_information": ["", ""],
        }
    )
    rows = [
        (report.study_id, it.section, it.number, "", *it.span, it.text)
        for report in reports
        for it in report.sentences
    ]
    names = ["study_id", "section", "sent_idx", "heading", "begin", "end", "sent"]
    sentences = pd.DataFrame(rows, columns=names)

    class Seen(Rules):
        def structure(
            self, reports: Sequence[SectionedReport]
        ) -> list[StructuredReport]:
            assert [report.study_id for report in reports] == [REPORT.study_id]
            return super().structure([REPORT])

    with (
        LoopbackServer(answer=model_like) as server,
        opened(configured("openai", server.url), ledger) as model,
    ):
        reader = SecondReader(Seen(), model)
        again = reader.read_again(structured, texts, sentences)
    assert again.structured_findings["normed_ent"].tolist() == [
        "effusion", "pneumonia", "opacity", "tube", "effusion",
    ]  # fmt: skip
    assert len(again.sentence_accounts) == len(structured.sentence_accounts)
    assert reader.metadata == {
        "second_reader_sentences": 1,
        "second_reader_changed_rows": 2,
    }


def with_reader(key: str) -> JudgesConfiguration:
    plain = configured("openai", "http://127.0.0.1:1").model_dump()
    for preset in plain["presets"].values():
        preset["second_reader"] = key
    return JudgesConfiguration.model_validate(plain)


def test_a_second_reader_is_a_language_model_and_a_part_of_who_reads() -> None:
    with_one = with_reader("one")
    without = configured("openai", "http://127.0.0.1:1")
    assert with_one.second_reader in with_one.models
    assert structurer_identity(RULES, with_one) != structurer_identity(RULES, without)
    for key in ("lexicon", RULES, "nobody"):
        with pytest.raises(ValueError, match=r"second_reader names .*expected one of"):
            with_reader(key)
    with pytest.raises(ConfigurationError):
        structurer_identity("nobody", without)
