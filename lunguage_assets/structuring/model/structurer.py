"""A language model as structurer: reports become prompts, and its answers are grounded.

`open_structurer` opens any structurer by its key, the offline one too (method.md
section 8).

A person may replace the templates: `structuring/` beside those of the other questions
has `system.txt` and `user.txt`. A folder without `structuring/` takes the bundled ones.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lunguage_assets.assertion.vocabulary import content_hash
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.configuration import (
    RULES,
    JudgesConfiguration,
)
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import read_templates
from lunguage_assets.judges.opening import JudgeContext, open_asker
from lunguage_assets.judges.requests import (
    Mode,
    ModelBinding,
    Prompt,
    Request,
    model_identity,
    request_key,
)
from lunguage_assets.packaged_data import resource
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
_PLACEHOLDERS = {
    (_TASK, "system"): frozenset[str](),
    (_TASK, "user"): frozenset({"sentences"}),
}
"""What each template has to be filled with."""


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
        ConfigurationError: no such structurer, or unusable prompt templates or cues.
    """
    if key == RULES:
        rules = RuleStructurer(terms, own_cues)
        if not configuration.second_reader:
            return rules
        second = configuration.second_reader
        model = open_structurer(second, configuration, terms, open_context)
        return SecondReader(rules, model)
    judge_config = _judge_config(key, configuration)
    context = open_context()
    prompts = load_structuring_prompts(context.prompts)
    asker = open_asker(key, judge_config, context)
    return ModelStructurer(asker, prompts, judge_config.mode)


def structurer_identity(
    key: str,
    configuration: JudgesConfiguration,
    prompts: Path | None = None,
    own_cues: Path | None = None,
) -> str:
    """Name everything that changes the answers of the structurer of a key.

    Args:
        key: of the structurer.
        configuration: the judges file.
        prompts: folder of templates of a language model; None: the bundled ones.
        own_cues: a home's cue file, for `rules`.

    Raises:
        ConfigurationError: as of `open_structurer`.
    """
    if key == RULES:
        identity = identity_of(content_hash(own_cues=own_cues))
        if configuration.second_reader:
            second = configuration.second_reader
            identity += "/" + structurer_identity(second, configuration, prompts)
        return identity
    judge_config = _judge_config(key, configuration)
    binding = judge_config.binding
    templates = load_structuring_prompts(prompts)
    return ModelStructurer.identity_of(binding, templates, judge_config.mode)


def _judge_config(key: str, configuration: JudgesConfiguration) -> LLMJudgeConfig:
    judge_config = configuration.judge_config(key)
    if not isinstance(judge_config, LLMJudgeConfig):
        raise ConfigurationError(
            f"judge {key!r} is rule-based and reads hedges, not reports; expected a "
            "language model as structurer. Name one, or the offline structurer."
        )
    return judge_config


# --- questions


@dataclass(frozen=True, slots=True)
class StructuringPrompts:
    """The templates, ready to be filled.

    Attributes:
        version: 12 hexadecimal digits of their content's hash.
        templates: by task and name.
    """

    version: str
    templates: Mapping[tuple[str, str], string.Template] = field(repr=False)

    def question(self, sentences: Sequence[Sentence]) -> Prompt:
        """Ask what these sentences state.

        A sentence is a line of JSON: no report can end its own quotation.
        """
        lines: list[str] = []
        for sentence in sentences:
            content = {"id": sentence.name, "text": " ".join(sentence.text.split())}
            lines.append(json.dumps(content, ensure_ascii=False))
        system = self.templates[_TASK, "system"].substitute()
        template = self.templates[_TASK, "user"]
        user = template.substitute(sentences="\n".join(lines))
        return Prompt(system, user, self.version)


def structuring_request(prompt: Prompt, mode: Mode) -> Request:
    """Make a request of a question.

    Only where the provider is told the schema is it a part of the question.
    """
    if mode == "enum":
        return Request("structure", prompt, mode, schema=ANSWER_SCHEMA)
    return Request("structure", prompt, mode, schema="")


def load_structuring_prompts(folder: Path | None = None) -> StructuringPrompts:
    """Read the templates in a folder, or the bundled ones.

    Raises:
        ConfigurationError: as of `judges.model_judge.load_prompts`.
    """
    root = resource("prompts")
    if folder is not None and (folder / _TASK).is_dir():
        root = folder
    return StructuringPrompts(*read_templates(root, _PLACEHOLDERS))


def sentences_asked(report: SectionedReport) -> list[Sentence]:
    """Take the sentences that may state findings, which are all but `other`."""
    return [sentence for sentence in report.sentences if sentence.section != "other"]


# --- answers


class ModelStructurer:
    """A language model as a structurer; several threads may ask at once.

    Args:
        asker: that asks the model.
        prompts: the templates.
        mode: how answers are asked for.
    """

    def __init__(
        self, asker: Asker, prompts: StructuringPrompts, mode: Mode = "text"
    ) -> None:
        self.key = asker.key
        self.identity = self.identity_of(asker.binding, prompts, mode)
        self._asker = asker
        self._prompts = prompts
        self._mode = mode

    @staticmethod
    def identity_of(
        binding: ModelBinding, prompts: StructuringPrompts, mode: Mode
    ) -> str:
        """Name all in a ledger key but the report, and the rules of grounding.

        Args:
            binding: of the model.
            prompts: the templates.
            mode: how answers are asked for.
        """
        # An empty question stands for any: its key has the model, the templates and the
        # mode. The rest is what turns an answer into rows.
        blank = structuring_request(Prompt("", "", prompts.version), mode)
        rules = [
            request_key(binding, blank),
            grounding.VERSION,
            LONGEST_REPORT,
        ]
        return model_identity(binding, mode, json.dumps(rules))

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """Give one answer per report, in the reports' order.

        Raises:
            LunguageError: see `Asker.ask`, or none of the answers can be read; the
                ledger has them.
        """
        sent = [report for report in reports if 0 < _length(report) <= LONGEST_REPORT]
        requests = [
            structuring_request(
                self._prompts.question(sentences_asked(report)), self._mode
            )
            for report in sent
        ]
        answers = [settled.value for settled in self._asker.ask(requests, parse_answer)]
        self._asker.require_readable(answers)
        answer_by_report = dict(zip(sent, answers, strict=True))
        structured: list[StructuredReport] = []
        for report in reports:
            answer = answer_by_report.get(report)
            if answer is not None:
                structured.append(ground_answer(report, answer))
                continue
            # A report without a sentence to ask about is not sent either; it has no
            # sentence that the reason is shown of.
            reason = "no answer" if report in answer_by_report else "too long"
            structured.append(unread_report(report, reason))
        return structured


def _length(report: SectionedReport) -> int:
    return sum(len(sentence.text) for sentence in sentences_asked(report))
