"""A language model as second reader gets the sentences that the rules leave unresolved,
and no others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from asked_reports import (
    asked_sentences,
    asking,
    configured,
    judges_file,
    loaded,
    model_like,
    report_of,
)
from commands import lunguage
from loopback import KEYS, Call, LoopbackServer
from platform_support import without_expectations

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
from lunguage_assets.structuring.model.second_reader import (
    CHANGED_ROWS,
    SENTENCES,
    SecondReader,
)
from lunguage_assets.structuring.model.structurer import structurer_identity

ODD = "The right lung argues against pneumonia, opacity aside."
REPORT = report_of("s00000001", find=["No effusion.", ODD, "There is a tube."])
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
        if report.study_id == REPORT.study_id:
            unread = (CueUse(f"{UNANSWERED}words", Span(30, 36)),)
            mentions += [
                mention(1, "pneumonia", "tp", cues=unread, associate=(2,)),
                mention(2, "tube", "dp", associate=(0, 1)),
            ]
        return StructuredReport(report.study_id, found, tuple(mentions))


@contextlib.contextmanager
def reading(
    folder: Path, answer: Callable[[Call], str] = model_like
) -> Iterator[tuple[LoopbackServer, SecondReader]]:
    with asking(folder, answer) as (server, model):
        yield server, SecondReader(Rules(), model)


def test_what_the_rules_leave_open_is_read_by_the_model_alone(tmp_path: Path) -> None:
    with reading(tmp_path) as (server, reader):
        clear, answer = reader.structure([CLEAR, REPORT])
    asked = [list(asked_sentences(call.user)) for call in server.calls]
    assert asked == [["find:2"]]
    assert reader.metadata == {SENTENCES: 1, CHANGED_ROWS: 2}
    stated = [f"{it.normed_ent} {it.status}" for it in answer.mentions]
    assert stated == ["effusion dn", "pneumonia dp", "opacity dp", "tube dp"]
    assert clear.mentions == (mention(0, "effusion", "dn"),)
    # A reference to the row that is gone is gone, the others lead where they led.
    assert answer.mentions[3].associate == (0,)
    assert answer.mentions[1].evidence == (2,)
    assert not any(it.is_unresolved for it in answer.mentions)
    with reading(tmp_path) as (server, again):
        assert again.structure([CLEAR, REPORT]) == [clear, answer]
    assert server.calls == [], "an answer is paid once"


def test_a_sentence_that_the_model_does_not_read_either_stays_open(
    tmp_path: Path,
) -> None:
    with reading(tmp_path) as (_, reader):
        reader._model.structure([report_of("s00000009", find=["Opacity."])])
    with reading(tmp_path, lambda call: "I cannot say.") as (_, reader):
        _, answer = reader.structure([CLEAR, REPORT])
    assert reader.metadata == {SENTENCES: 1, CHANGED_ROWS: 0}
    assert answer.mentions[1].is_unresolved


def with_reader(key: str) -> JudgesConfiguration:
    content = judges_file("openai", "http://127.0.0.1:1")
    content["presets"]["p"]["second_reader"] = key
    return loaded(content)


def test_a_second_reader_is_a_language_model_and_a_part_of_who_reads() -> None:
    with_one = with_reader("one")
    without = configured("openai", "http://127.0.0.1:1")
    assert with_one.second_reader in with_one.models
    assert structurer_identity(RULES, with_one) != structurer_identity(RULES, without)
    for key in ("lexicon", RULES, "nobody"):
        with pytest.raises(ConfigurationError, match=r"second_reader names .*one of"):
            with_reader(key)


RAW = [
    "FINDINGS: Possible pneumonia. No effusion.",
    "FINDINGS: The film argues against pneumonia.",
]
READER = """
[judges.lexicon]
provider = "lexicon"
[panels.p]
members = ["lexicon"]
[presets.p]
panel = "p"
extractor = "lexicon"
second_reader = "one"
[judges.one]
"""
OVER_HTTP = """
provider = "openai"
model = "model-1"
base_url = "{url}/v1"
params = {{ max_tokens = 900 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-01-01 }}
"""


def home_with(reader: str, folder: Path) -> tuple[Path, Path]:
    """A home whose second reader this is, and a delivery of `RAW`."""
    home = without_expectations(folder / "home")
    (home / "settings.toml").write_text("[explicit]\nreference_scale = 'published'\n")
    (home / "judges.toml").write_text(f'preset = "p"\n{READER}{reader}')
    delivered = folder / "delivered"
    delivered.mkdir()
    studies = [f"s5000000{number}" for number in range(len(RAW))]
    table = pd.DataFrame({"study_id": studies, "report": RAW})
    table.to_csv(delivered / "reports.csv", index=False)
    (delivered / "corpus.toml").write_text('data_class = "synthetic"\n')
    return home, delivered


@pytest.mark.lengthy
def test_a_run_estimates_asks_and_counts_what_is_read_again(tmp_path: Path) -> None:
    with LoopbackServer(answer=model_like) as server:
        home, delivered = home_with(OVER_HTTP.format(url=server.url), tmp_path)
        around = KEYS | {"LUNGUAGE_JUDGES": str(home / "judges.toml")}
        estimated = lunguage(home, "estimate", "--data", delivered, **around)
        assert (estimated.returncode, server.calls) == (0, [])
        assert "structure" in estimated.stdout
        done = lunguage(home, "run", "--data", delivered, **around)
        assert done.returncode == 0, done.stderr
        asked = [list(asked_sentences(call.user).values()) for call in server.calls]
        assert asked == [["The film argues against pneumonia."]]
    assert "1 sentences that the rules left open, 1 rows changed" in done.stdout
    labels = pd.read_csv(home / "release/panel/v1/restricted/labels.csv")
    pneumonia = labels[labels["label"] == "pneumonia"].set_index("study_id")
    assert pneumonia["source"].tolist() == ["stated", "stated"]
    assert "was not understood" not in done.stdout
