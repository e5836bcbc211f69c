"""A language model as a structurer: reports become prompts, the judges' engine gets the answers, and what
they claim is anchored in the report (structure.md section 8).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from lunguage_assets.judges.asker import AskedModel, model_identity
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt
from lunguage_assets.structuring.contract import SectionedReport, Sentence, StructuredReport
from lunguage_assets.structuring.model import anchoring
from lunguage_assets.structuring.model.anchoring import Anchored, anchored
from lunguage_assets.structuring.model.answers import Answer, parse_answer
from lunguage_assets.structuring.model.assembling import assembled, unreadable
from lunguage_assets.structuring.model.prompts import StructuringPrompts, structuring_request

REPAIR_SHARE = 0.25
"""A report is asked about a second time when its answer is unreadable, or when more than this share of what
it claims is refused.
"""

LONGEST_REPORT = 60_000
"""Characters of sentences that are sent; a longer report is not of one film, and is not sent."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A report that was asked about, and what is kept of its answer; None: unreadable."""

    report: SectionedReport
    question: Prompt
    answer: Answer | None = None
    kept: Anchored | None = None

    @property
    def repairable(self) -> bool:
        return self.kept is None or self.kept.refused_share > REPAIR_SHARE


class ModelStructurer(AskedModel[StructuringPrompts]):
    """A language model as a structurer.

    Reports may wait: where the slot has leave to use the provider's batch endpoint, they go there.
    """

    @staticmethod
    def identity_of(binding: ModelBinding, prompts: StructuringPrompts, mode: Mode) -> str:
        """With a hash of everything in a ledger key but the report, and of the rules by which an answer is
        believed.
        """
        blank = structuring_request(Prompt("", "", prompts.version), mode)
        rules = [request_key(binding, blank), anchoring.VERSION, REPAIR_SHARE, LONGEST_REPORT]
        return model_identity(binding, mode, json.dumps(rules))

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order.

        Raises:
            LunguageError: see `Asker.ask`; what was answered is in the ledger.
        """
        answers = [_without_asking(report) for report in reports]
        open_ = [place for place, answer in enumerate(answers) if answer is None]
        questions = {place: self._prompts.question(sentences_asked(reports[place])) for place in open_}
        first = [_Asked(reports[place], questions[place]) for place in open_]
        asked = dict(zip(open_, self._answered(first, list(questions.values())), strict=True))
        again = {place: one for place, one in asked.items() if one.repairable}
        repairs = [self._repair(one) for one in again.values()]
        for place, second in zip(again, self._answered(list(again.values()), repairs), strict=True):
            asked[place] = _better(asked[place], second)
        return [
            answer if answer is not None else _result(asked[place]) for place, answer in enumerate(answers)
        ]

    def _repair(self, one: _Asked) -> Prompt:
        points = one.kept.points if one.kept is not None else []
        return self._prompts.repair(one.question, one.answer.line if one.answer is not None else None, points)

    def _answered(self, asked: Sequence[_Asked], prompts: Sequence[Prompt]) -> list[_Asked]:
        if not asked:
            return []
        requests = [structuring_request(prompt, self._mode) for prompt in prompts]
        settled = self._asker.ask(requests, parse_answer, may_wait=True)
        return [
            _Asked(
                one.report,
                one.question,
                found.value,
                anchored(one.report, found.value) if found.value is not None else None,
            )
            for one, found in zip(asked, settled, strict=True)
        ]


def sentences_asked(report: SectionedReport) -> list[Sentence]:
    """The sentences that may state findings: those of history, findings and impression."""
    return [sentence for sentence in report.sentences if sentence.section != "other"]


def _without_asking(report: SectionedReport) -> StructuredReport | None:
    """The answer about a report that is not sent: nothing in it to ask about, or far too much."""
    asked = sentences_asked(report)
    if not asked:
        return assembled(report, (), {}, ())
    if sum(len(sentence.text) for sentence in asked) > LONGEST_REPORT:
        return unreadable(report, "too long")
    return None


def _better(first: _Asked, second: _Asked) -> _Asked:
    """The second answer, unless it cannot be read, or more of it is refused than of the first."""
    if second.kept is None:
        return first
    if first.kept is None or second.kept.refused_share <= first.kept.refused_share:
        return second
    return first


def _result(one: _Asked) -> StructuredReport:
    return one.kept.report if one.kept is not None else unreadable(one.report, "no answer")
