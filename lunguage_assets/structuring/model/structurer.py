"""A language model as a structurer: reports become prompts, the judges' engine gets the answers, and what
they claim is grounded in the report (method.md section 8).

A person may replace the templates: `structuring/` beside those of the other questions has `system.txt`;
`user.txt` with a place for the `$sentences`; and `repair.txt`, the second question, with places for the first
`$question`, the `$answer` to it and what was `$refused`. A folder without `structuring/` takes the bundled
ones.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lunguage_assets.data_files import resource
from lunguage_assets.judges.asker import AskedModel, model_identity
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.prompts import read_templates
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Request
from lunguage_assets.structuring.contract import SectionedReport, Sentence, StructuredReport
from lunguage_assets.structuring.model.grounding import VERSION, Grounded, assembled, grounded, unreadable
from lunguage_assets.structuring.model.schema import ANSWER_SCHEMA, parse_answer

REPAIR_SHARE = 0.25
"""A report is asked about a second time when its answer is unreadable, or when more than this share of what
it claims is refused.
"""

LONGEST_REPORT = 60_000
"""Characters of sentences that are sent; a longer report is not of one film, and is not sent."""

_TASK = "structuring"
_PLACES: Mapping[tuple[str, str], frozenset[str]] = {
    (_TASK, "system"): frozenset(),
    (_TASK, "user"): frozenset({"sentences"}),
    (_TASK, "repair"): frozenset({"question", "answer", "refused"}),
}


@dataclass(frozen=True, slots=True)
class StructuringPrompts:
    """The templates, ready to be filled; `version` is 12 hexadecimal digits of their content's hash."""

    version: str
    templates: Mapping[tuple[str, str], string.Template] = field(repr=False)

    def question(self, sentences: Sequence[Sentence]) -> Prompt:
        """What does this report state?

        Each sentence is one line of JSON, so that no report can end its own quotation.
        """
        said = ({"id": one.name, "text": " ".join(one.text.split())} for one in sentences)
        lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in said)
        return self._prompt(self.templates[_TASK, "user"].substitute(sentences=lines))

    def repair(self, question: Prompt, answer: str | None, refused: Sequence[str]) -> Prompt:
        """The second question: the first one, what was answered (None: nothing that can be read), and what is
        wrong with it, point by point.
        """
        points = refused if answer is not None else ["the answer is not one JSON object of the form above"]
        return self._prompt(
            self.templates[_TASK, "repair"].substitute(
                question=question.user,
                answer=answer if answer is not None else "(not readable)",
                refused="\n".join(f"- {point}" for point in points),
            )
        )

    def _prompt(self, user: str) -> Prompt:
        return Prompt(self.templates[_TASK, "system"].substitute(), user, self.version)


def structuring_request(prompt: Prompt, mode: Mode) -> Request:
    """How a report is asked about; only where the provider is told the schema is it part of the question."""
    return Request("structure", prompt, mode, schema=ANSWER_SCHEMA if mode == "enum" else "")


def load_structuring_prompts(folder: Path | None = None) -> StructuringPrompts:
    """The templates in `folder`, or the bundled ones.

    Raises:
        ConfigurationError: as in `judges.prompts.load_prompts`.
    """
    own = folder is not None and (folder / _TASK).is_dir()
    return StructuringPrompts(*read_templates(folder if own and folder else resource("prompts"), _PLACES))


class ModelStructurer(AskedModel[StructuringPrompts]):
    """A language model as a structurer."""

    @staticmethod
    def identity_of(binding: ModelBinding, prompts: StructuringPrompts, mode: Mode) -> str:
        """With a hash of everything in a ledger key but the report, and of the rules by which an answer is
        believed.
        """
        blank = structuring_request(Prompt("", "", prompts.version), mode)
        rules = [request_key(binding, blank), VERSION, REPAIR_SHARE, LONGEST_REPORT]
        return model_identity(binding, mode, json.dumps(rules))

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order.

        Raises:
            LunguageError: see `Asker.ask`, or none of many answers can be read; what was answered is in the
                ledger.
        """
        answers = {place: _without_asking(report) for place, report in enumerate(reports)}
        unasked = (place for place, answer in answers.items() if answer is None)
        questions = {place: self._prompts.question(sentences_asked(reports[place])) for place in unasked}
        kept = self._kept(reports, questions)
        repairs = {
            place: self._prompts.repair(
                questions[place], one.line if one else None, one.points if one else ()
            )
            for place, one in kept.items()
            if one is None or one.refused_share > REPAIR_SHARE
        }
        for place, second in self._kept(reports, repairs).items():
            first = kept[place]
            # the second answer, unless it cannot be read, or more of it is refused than of the first
            if second is not None and (first is None or second.refused_share <= first.refused_share):
                kept[place] = second
        self._require_readable([one is not None for one in kept.values()])
        for place, one in kept.items():
            answers[place] = one.report if one is not None else unreadable(reports[place], "no answer")
        return [answer for answer in answers.values() if answer is not None]

    def _kept(
        self, reports: Sequence[SectionedReport], prompts: Mapping[int, Prompt]
    ) -> dict[int, Grounded | None]:
        """What is kept of the answers about the reports at these places; None: unreadable."""
        if not prompts:
            return {}
        requests = [structuring_request(prompt, self._mode) for prompt in prompts.values()]
        found = zip(prompts, self._asker.ask(requests, parse_answer), strict=True)
        return {
            place: None if one.value is None else grounded(reports[place], one.value) for place, one in found
        }


def sentences_asked(report: SectionedReport) -> list[Sentence]:
    """The sentences that may state findings: those of history, findings and impression."""
    return [sentence for sentence in report.sentences if sentence.section != "other"]


def _without_asking(report: SectionedReport) -> StructuredReport | None:
    """The answer about a report that is not sent: nothing in it to ask about, or far too much."""
    asked = sentences_asked(report)
    if not asked:
        return assembled(report, (), {})
    if sum(len(sentence.text) for sentence in asked) > LONGEST_REPORT:
        return unreadable(report, "too long")
    return None
