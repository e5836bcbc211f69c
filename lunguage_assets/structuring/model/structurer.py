"""A structurer by its key; and a language model as one: reports become prompts, the judges' engine gets the
answers, and what they claim is grounded in the report (method.md section 8).

A person may replace the templates: `structuring/` beside those of the other questions has `system.txt`,
`user.txt` and, for the second question, `repair.txt`. A folder without `structuring/` takes the bundled ones.
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
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.configuration import (
    OFFLINE_STRUCTURERS,
    RULES,
    JudgesConfiguration,
)
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger.attempts import model_identity, request_key
from lunguage_assets.judges.model_judge import read_templates
from lunguage_assets.judges.opening import JudgeContext, open_asker
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Request
from lunguage_assets.packaged_data import resource
from lunguage_assets.structuring.contract import (
    SectionedReport,
    Sentence,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.model import grounding
from lunguage_assets.structuring.radgraph import radgraph_identity
from lunguage_assets.structuring.rules.structurer import RuleStructurer, identity_of

REPAIR_SHARE = 0.25
"""Of an answer's claims; where more are refused, the report is asked about a second time."""

LONGEST_REPORT = 60_000
"""Characters of sentences that are sent; a longer report is not of one film, and is not sent."""

_TASK = "structuring"
_PLACES = {
    (_TASK, "system"): frozenset[str](),
    (_TASK, "user"): frozenset({"sentences"}),
    (_TASK, "repair"): frozenset({"question", "answer", "refused"}),
}


def open_structurer(
    key: str,
    configuration: JudgesConfiguration,
    terms: pd.DataFrame,
    around: Callable[[], JudgeContext],
    own_cues: Path | None = None,
) -> Structurer:
    """Open the structurer of a key.

    Args:
        key: `rules`, or a language model of the judges file.
        configuration: the judges file.
        terms: the delivered vocabulary, which widens the words of `rules`.
        around: what a language model needs of the home.
        own_cues: the home's cue file, which does as `terms` do.

    Raises:
        ConfigurationError: no such structurer, or unusable prompt templates or cues.
    """
    if key == RULES:
        return RuleStructurer(terms, own_cues)
    slot, context = _model_slot(key, configuration), around()
    prompts = load_structuring_prompts(context.prompts)
    return ModelStructurer(open_asker(key, slot, context), prompts, slot.mode)


def structurer_identity(
    key: str,
    configuration: JudgesConfiguration,
    prompts: Path | None = None,
    own_cues: Path | None = None,
) -> str:
    """Identity of the structurer with the bundled words, a home's cues, or these prompts.

    Errors are those of `open_structurer`.
    """
    if key == RULES:
        return identity_of(content_hash(own_cues=own_cues))
    if key in OFFLINE_STRUCTURERS:
        return radgraph_identity(content_hash(), key)
    slot = _model_slot(key, configuration)
    return ModelStructurer.identity_of(
        slot.binding, load_structuring_prompts(prompts), slot.mode
    )


def _model_slot(key: str, configuration: JudgesConfiguration) -> LLMJudgeConfig:
    slot = configuration.judge_config(key)
    if not isinstance(slot, LLMJudgeConfig):
        raise ConfigurationError(
            f"judge {key!r} is rule-based and reads hedges, not reports; expected a language model as "
            "structurer. Name one, or the offline structurer."
        )
    return slot


@dataclass(frozen=True, slots=True)
class StructuringPrompts:
    """The templates, ready to be filled; `version` is 12 hexadecimal digits of their content's hash."""

    version: str
    templates: Mapping[tuple[str, str], string.Template] = field(repr=False)

    def question(self, sentences: Sequence[Sentence]) -> Prompt:
        """What does this report state? A sentence is a line of JSON: no report can end its own quotation."""
        said = (
            {"id": one.name, "text": " ".join(one.text.split())} for one in sentences
        )
        lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in said)
        return self._prompt(self.templates[_TASK, "user"].substitute(sentences=lines))

    def repair(self, question: Prompt, answered: grounding.Grounded | None) -> Prompt:
        """The second question: the first one, what was answered (None: unreadable), and its faults."""
        points = (
            answered.points
            if answered
            else ["the answer is not one JSON object of the form above"]
        )
        refused = "\n".join(f"- {point}" for point in points)
        answer = answered.line if answered else "(not readable)"
        template = self.templates[_TASK, "repair"]
        return self._prompt(
            template.substitute(question=question.user, answer=answer, refused=refused)
        )

    def _prompt(self, user: str) -> Prompt:
        return Prompt(self.templates[_TASK, "system"].substitute(), user, self.version)


def structuring_request(prompt: Prompt, mode: Mode) -> Request:
    """How a report is asked about; only where the provider is told the schema is it part of the question."""
    return Request(
        "structure",
        prompt,
        mode,
        schema=grounding.ANSWER_SCHEMA if mode == "enum" else "",
    )


def load_structuring_prompts(folder: Path | None = None) -> StructuringPrompts:
    """The templates in `folder`, or the bundled ones; errors as in `judges.model_judge.load_prompts`."""
    root = (
        folder
        if folder is not None and (folder / _TASK).is_dir()
        else resource("prompts")
    )
    return StructuringPrompts(*read_templates(root, _PLACES))


class ModelStructurer:
    """A language model as a structurer; several threads may ask at once."""

    def __init__(
        self, asker: Asker, prompts: StructuringPrompts, mode: Mode = "text"
    ) -> None:
        self.key, self.identity = (
            asker.key,
            self.identity_of(asker.binding, prompts, mode),
        )
        self._asker, self._prompts, self._mode = asker, prompts, mode

    @staticmethod
    def identity_of(
        binding: ModelBinding, prompts: StructuringPrompts, mode: Mode
    ) -> str:
        """With a hash of all in a ledger key but the report, and of the rules that believe an answer."""
        blank = structuring_request(Prompt("", "", prompts.version), mode)
        rules = [
            request_key(binding, blank),
            grounding.VERSION,
            REPAIR_SHARE,
            LONGEST_REPORT,
        ]
        return model_identity(binding, mode, json.dumps(rules))

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order.

        Raises:
            LunguageError: see `Asker.ask`, or none of the answers can be read; the ledger has them.
        """
        lengths = [
            sum(len(one.text) for one in sentences_asked(report)) for report in reports
        ]
        sent = [
            one
            for one, length in zip(reports, lengths, strict=True)
            if 0 < length <= LONGEST_REPORT
        ]
        questions = [self._prompts.question(sentences_asked(report)) for report in sent]
        kept = self._kept(sent, questions)
        poor = [
            n
            for n, one in enumerate(kept)
            if one is None or one.refused_share > REPAIR_SHARE
        ]
        repairs = [self._prompts.repair(questions[n], kept[n]) for n in poor]
        for n, second in zip(
            poor, self._kept([sent[n] for n in poor], repairs), strict=True
        ):
            first = kept[n]
            # the second answer, unless it cannot be read, or more of it is refused than of the first
            if second is not None and (
                first is None or second.refused_share <= first.refused_share
            ):
                kept[n] = second
        self._asker.require_readable(kept)
        self._asker.require_one_readable(kept, "structure")
        answered = dict(zip(sent, kept, strict=True))
        answers = []
        for report in reports:
            one = answered.get(report)
            reason = "no answer" if report in answered else "too long"
            answers.append(
                one.report if one is not None else grounding.unread(report, reason)
            )
        return answers

    def _kept(
        self, reports: Sequence[SectionedReport], prompts: Sequence[Prompt]
    ) -> list[grounding.Grounded | None]:
        """What is kept of the answers about these reports; None: unreadable."""
        requests = [structuring_request(prompt, self._mode) for prompt in prompts]
        found = self._asker.ask(requests, grounding.parse_answer) if requests else []
        pairs = zip(reports, found, strict=True)
        return [
            None if answer is None else grounding.grounded(report, answer)
            for report, answer in pairs
        ]


def sentences_asked(report: SectionedReport) -> list[Sentence]:
    """The sentences that may state findings: those of history, findings and impression."""
    return [sentence for sentence in report.sentences if sentence.section != "other"]
