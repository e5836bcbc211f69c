"""Invented reports cut into sentences, and a model that reads them off the prompt: it knows six words."""

from __future__ import annotations

import json
import re
from typing import Any

from loopback import Call

from lunguage_assets.structuring.contract import SectionCode, SectionedReport, Sentence, Span

KNOWN = {"opacity": "PF", "effusion": "PF", "pneumonia": "CF", "tube": "OTH", "cough": "PATIENT INFO."}
PLACES = ("left base", "right apex", "right", "left")
_LINE = re.compile(r'^\{"id": "[a-z]+:\d+", "text": ".*"\}$', re.MULTILINE)


def report_of(study: str, **sections: list[str]) -> SectionedReport:
    """A report whose sections (`hist`, `find`, `impr`, `other`) have these sentences."""
    text, sentences = "", list[Sentence]()
    for section, those in sections.items():
        for number, words in enumerate(those, start=1):
            span = Span(len(text), len(text) + len(words))
            sentences.append(Sentence(_section(section), number, span, words))
            text += words + " "
    return SectionedReport(study, text, tuple(sentences))


def _section(name: str) -> SectionCode:
    codes: dict[str, SectionCode] = {"hist": "hist", "find": "find", "impr": "impr", "other": "other"}
    return codes[name]


def reports(count: int = 3) -> list[SectionedReport]:
    """Reports that differ in a number, so that each is a question of its own."""
    return [
        report_of(
            f"s{number:08d}",
            hist=["Cough."],
            other=["Two views, opacity of the cassette."],
            find=[f"Small opacity in the left base, level {number}.", "No effusion on the right."],
            impr=["The opacity at the left base may be pneumonia.", "Repeat film in a week."],
        )
        for number in range(1, count + 1)
    ]


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


def account(sentence: str, account: str = "nothing stated", reason: str = "other") -> dict[str, str]:
    return {"sentence": sentence, "account": account, "reason": reason}


def answer_text(findings: list[Any], sentences: list[Any] | None = None) -> str:
    return json.dumps({"findings": findings, "sentences": sentences or []})


def read_off(user: str) -> str:
    """What the model answers: its words, where they stand, and an account of every other sentence."""
    findings, silent = list[dict[str, Any]](), list[dict[str, str]]()
    for name, text in asked_sentences(user).items():
        own = [word for word in KNOWN if word in text.lower()]
        for word in own:
            start = text.lower().index(word)
            entry = finding(
                len(findings) + 1,
                name,
                text[start : start + len(word)],
                category=KNOWN[word],
                polarity="negative" if text.startswith("No ") else "positive",
                certainty="tentative" if "may be" in text else "definitive",
                places=[place for place in PLACES if place in text][:1],
                attributes=[{"column": "measurement", "words": "small"}] if "Small" in text else [],
            )
            if word == "pneumonia" and "opacity" in own:
                entry["evidence"] = [len(findings)]
            findings.append(entry)
        if not own:
            silent.append(account(name, "not about the patient now", "recommendation"))
    return answer_text(findings, silent)


def model_like(call: Call) -> str:
    """The same for a loopback server."""
    return read_off(call.user)
