"""Invented reports cut into sentences, a model that reads them off the prompt (it knows
six words), and structurers behind real SDKs at a loopback server, opened as a run opens
them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pandas as pd
from loopback import KEYS, Call, LoopbackServer

from lunguage_assets.judges.budget import Budget
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.opening import JudgeContext
from lunguage_assets.settings import DataClass
from lunguage_assets.structuring.contract import (
    SectionCode,
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
)
from lunguage_assets.structuring.model.structurer import (
    ModelStructurer,
    open_structurer,
)

KNOWN = {
    "opacity": "PF",
    "effusion": "PF",
    "pneumonia": "CF",
    "tube": "OTH",
    "cough": "PATIENT INFO.",
}
PLACES = ("left base", "right apex", "right", "left")
_LINE = re.compile(r'^\{"id": "[a-z]+:\d+", "text": ".*"\}$', re.MULTILINE)


def report_of(study: str, **sections: list[str]) -> SectionedReport:
    """A report whose sections (`hist`, `find`, `impr`, `other`) have these
    sentences.
    """
    text = ""
    sentences = list[Sentence]()
    for section, sentences_of_section in sections.items():
        for number, words in enumerate(sentences_of_section, start=1):
            span = Span(len(text), len(text) + len(words))
            sentences.append(Sentence(cast(SectionCode, section), number, span, words))
            text += words + " "
    return SectionedReport(study, text, tuple(sentences))


def reports(count: int = 3) -> list[SectionedReport]:
    """Reports that differ in a number, so that each is a question of its own."""
    history = {"hist": ["Cough."], "other": ["Two views, opacity of the cassette."]}
    supposed = "The opacity at the left base may be pneumonia."
    cut_reports = []
    for number in range(1, count + 1):
        small = f"Small opacity in the left base, level {number}."
        sections = {**history, "find": [small, "No effusion on the right."]}
        sections["impr"] = [supposed, "Repeat film in a week."]
        cut_reports.append(report_of(f"s{number:08d}", **sections))
    return cut_reports


def asked_sentences(user: str) -> dict[str, str]:
    """Sentences of the report that a prompt asks about, by id."""
    report = user.rpartition("Now this report.")[2]
    lines = [json.loads(line) for line in _LINE.findall(report)]
    return {line["id"]: line["text"] for line in lines}


def finding(number: int, sentence: str, words: str, **fields: Any) -> dict[str, Any]:
    """An entry of an answer, with everything that is not given plain."""
    plain = {
        "number": number, "sentence": sentence, "words": words, "name": words.lower(), "category": "PF",
        "polarity": "positive", "certainty": "definitive", "places": [], "attributes": [],
        "evidence": [], "associate": [],
    }  # fmt: skip
    return plain | fields


def account(
    sentence: str, account: str = "nothing stated", reason: str = "other"
) -> dict[str, str]:
    return {"sentence": sentence, "account": account, "reason": reason}


def answer_text(findings: list[Any], sentences: list[Any] | None = None) -> str:
    return json.dumps({"findings": findings, "sentences": sentences or []})


def model_like(call: Call) -> str:
    """What the model answers: its words, where they stand, and an account of every
    other sentence.
    """
    findings = list[dict[str, Any]]()
    silent = list[dict[str, str]]()
    for name, text in asked_sentences(call.user).items():
        known_words = [word for word in KNOWN if word in text.lower()]
        for word in known_words:
            start = text.lower().index(word)
            entry = finding(
                len(findings) + 1,
                name,
                text[start : start + len(word)],
                category=KNOWN[word],
                polarity="negative" if text.startswith("No ") else "positive",
                certainty="tentative" if "may be" in text else "definitive",
                places=[location for location in PLACES if location in text][:1],
            )
            if "Small" in text:
                entry["attributes"] = [{"column": "measurement", "words": "small"}]
            if word == "pneumonia" and "opacity" in known_words:
                entry["evidence"] = [len(findings)]
            findings.append(entry)
        if not known_words:
            silent.append(account(name, "not about the patient now", "recommendation"))
    return answer_text(findings, silent)


PROVIDERS = ("openai", "azure-openai", "openai-compatible", "anthropic", "gemini")
LIMITS = {"in_flight": 4, "backoff_s": 0.001, "timeout_s": 5.0}
PRICE = {"input": 1.0, "output": 2.0, "as_of": "2026-01-01"}


def configured(provider: str, url: str, **fields: Any) -> JudgesConfiguration:
    return loaded(judges_file(provider, url, **fields))


def loaded(content: dict[str, Any]) -> JudgesConfiguration:
    """A judges file of this content, as it is read."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(content, file, default=str)
        file.flush()
        return load_judges(Path(file.name))


def judges_file(provider: str, url: str, **fields: Any) -> dict[str, Any]:
    """What a judges file says with one language model, `one`, beside the rules."""
    address = f"{url}/v1" if provider in ("openai", "openai-compatible") else url
    output = {"gemini": "max_output_tokens", "transformers": "max_new_tokens"}.get(
        provider, "max_tokens"
    )
    slot = {
        "provider": provider, "model": "model-1", "params": {output: 900}, "limits": LIMITS, "price": PRICE,
    } | ({} if provider == "transformers" else {"base_url": address})  # fmt: skip
    judges = {"lexicon": {"provider": "lexicon"}, "one": slot | fields}
    preset = {"panel": "p", "extractor": "lexicon", "candidates": ["one"]}
    table = {"preset": "p", "judges": judges, "presets": {"p": preset}}
    return {**table, "panels": {"p": {"members": ["lexicon"]}}}


@contextlib.contextmanager
def opened(
    configuration: JudgesConfiguration,
    ledger: Path,
    data_class: DataClass = "synthetic",
) -> Iterator[ModelStructurer]:
    """Structurer `one` over the ledger in a file."""
    around = JudgeContext(data_class, lambda: Ledger.open(ledger), Budget())
    structurer = open_structurer("one", configuration, pd.DataFrame(), lambda: around)
    assert isinstance(structurer, ModelStructurer)
    with mock.patch.dict(os.environ, KEYS):
        yield structurer


@contextlib.contextmanager
def asking(
    folder: Path,
    answer: Callable[[Call], str] = model_like,
    provider: str = "openai",
    **around: Any,
) -> Iterator[tuple[LoopbackServer, ModelStructurer]]:
    """A structurer with its ledger in a folder, and the server that it asks."""
    ledger = folder / "ledger.sqlite"
    with (
        LoopbackServer(answer=answer) as server,
        opened(configured(provider, server.url), ledger, **around) as structurer,
    ):
        yield server, structurer


def plain(answers: list[StructuredReport]) -> list[dict[str, Any]]:
    """Everything of the answers, to be compared and searched."""
    return [asdict(answer) for answer in answers]
