"""A language model as structurer: reports become prompts, and its answers are grounded.

`open_structurer` opens any structurer by its key, the offline one too (method.md
section 8).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pandas as pd

from lunguage_assets.assertion.vocabulary import content_hash
from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.configuration import (
    RULES,
    JudgesConfiguration,
)
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.judges.opening import JudgeContext, open_asker
from lunguage_assets.judges.requests import Mode, Request
from lunguage_assets.structuring.contract import (
    SectionedReport,
    Sentence,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.model import grounding
from lunguage_assets.structuring.model.claims import ANSWER_SCHEMA, parse_answer
from lunguage_assets.structuring.model.grounding import ground_answer, unread_report
from lunguage_assets.structuring.model.second_reader import SecondReader
from lunguage_assets.structuring.rules.structurer import RuleStructurer, identity_of

LONGEST_REPORT = 60_000
"""Characters of sentences that are sent.

A longer report is not of one film, and is not sent.
"""

_TASK = "structuring"


# --- structurers by key


def open_structurer(
    key: str,
    configuration: JudgesConfiguration,
    terms: pd.DataFrame,
    open_context: Callable[[], JudgeContext],
    own_cues: Path | None = None,
) -> Structurer:
    """Open the structurer of a key.

    Args:
        key: `rules`, behind which the preset's second reader stands, or a language
            model of the judges file.
        configuration: the judges file.
        terms: the delivered vocabulary, which widens the words of `rules`.
        open_context: opens what a language model needs of the home; `rules` need none
            of it.
        own_cues: the home's cue file, which does as `terms` do.

    Raises:
        ConfigurationError: no such structurer, or unusable cues.
    """
    if key == RULES:
        rules = RuleStructurer(terms, own_cues)
        second = configuration.second_reader
        if not second:
            return rules
        model = open_structurer(second, configuration, terms, open_context)
        return SecondReader(rules, model)
    config = configuration.models[key]
    return ModelStructurer(open_asker(key, config, open_context()))


def structurer_identity(
    key: str, configuration: JudgesConfiguration, own_cues: Path | None = None
) -> str:
    """Name everything that changes the answers of the structurer of a key.

    Args:
        key: of the structurer.
        configuration: the judges file.
        own_cues: a home's cue file, for `rules`.

    Raises:
        ConfigurationError: as of `open_structurer`.
    """
    if key == RULES:
        identity = identity_of(content_hash(own_cues=own_cues))
        second = configuration.second_reader
        if second:
            identity += "/" + structurer_identity(second, configuration)
        return identity
    return ModelStructurer.identity_of(configuration.models[key])


# --- questions


def question_about(sentences: Sequence[Sentence], mode: Mode) -> Request:
    """Ask what these sentences state.

    A sentence is a line of JSON: no report can end its own quotation.
    """
    contents = [
        {"id": sentence.name, "text": " ".join(sentence.text.split())}
        for sentence in sentences
    ]
    lines = [json.dumps(content, ensure_ascii=False) for content in contents]
    texts = {"sentences": "\n".join(lines)}
    # Only where the provider is told the schema is it a part of the question.
    schema = ANSWER_SCHEMA if mode == "enum" else ""
    return load_prompts(_TASK).filled(
        "structure", _TASK, texts, mode=mode, schema=schema
    )


# --- answers


class ModelStructurer:
    """A language model as a structurer.

    Args:
        asker: that asks the model.
    """

    def __init__(self, asker: Asker) -> None:
        self.key = asker.key
        self.identity = self.identity_of(asker.config)
        self._asker = asker
        self._mode = asker.config.mode

    @staticmethod
    def identity_of(config: LLMJudgeConfig) -> str:
        """Name all in a ledger key but the report, and the rules of grounding."""
        # An empty question stands for any: its key has the model, the templates and the
        # mode. The rest is what turns an answer into rows.
        blank = replace(question_about([], config.mode), system="", user="")
        rules = [config.key_of(blank), grounding.VERSION, LONGEST_REPORT]
        return config.identity(json.dumps(rules))

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """Give one answer per report, in the reports' order.

        Raises:
            LunguageError: see `Asker.ask_in_looks`; the ledger has what was answered.
        """
        requests: dict[int, Request] = {}
        for number, report in enumerate(reports):
            sentences = [it for it in report.sentences if it.section != "other"]
            # A report without a sentence to ask about is not sent either.
            if 0 < sum(len(it.text) for it in sentences) <= LONGEST_REPORT:
                requests[number] = question_about(sentences, self._mode)
        looks = self._asker.ask_in_looks(list(requests.values()), parse_answer)
        structured = [unread_report(report, "too long") for report in reports]
        for number, settled in zip(requests, chain.from_iterable(looks), strict=True):
            answer = parse_answer(settled.answer or "")
            if answer is None:
                structured[number] = unread_report(reports[number], "no answer")
            else:
                structured[number] = ground_answer(reports[number], answer)
        return structured
