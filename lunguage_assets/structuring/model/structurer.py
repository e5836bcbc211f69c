"""A language model as a structurer: reports become prompts, the judges' engine gets the answers, and what
they claim is anchored in the report (structure.md section 8).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from lunguage_assets.judges.asking.engine import Settled
from lunguage_assets.judges.asking.recording import Parse
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Request
from lunguage_assets.structuring.contract import SectionedReport, Sentence, StructuredReport
from lunguage_assets.structuring.model import anchoring
from lunguage_assets.structuring.model.anchoring import Anchored, anchored
from lunguage_assets.structuring.model.answers import Answer, parse_answer
from lunguage_assets.structuring.model.assembling import assembled, unreadable
from lunguage_assets.structuring.model.prompts import StructuringPrompts, structuring_request

T = TypeVar("T")

REPAIR_SHARE = 0.25
"""A report is asked about a second time when its answer is unreadable, or when more than this share of what
it claims is refused.
"""

LONGEST_REPORT = 60_000
"""Characters of sentences that are sent; a longer report is not of one film, and is not sent."""


def identity_of(binding: ModelBinding, prompts: StructuringPrompts, mode: Mode) -> str:
    """A language model's identity as a structurer: provider, model, mode, and a hash of everything in a
    ledger key but the report, and of the rules by which an answer is believed.
    """
    blank = structuring_request(Prompt("", "", prompts.version), mode)
    rules = json.dumps([request_key(binding, blank), anchoring.VERSION, REPAIR_SHARE, LONGEST_REPORT])
    digest = hashlib.sha256(rules.encode("ascii")).hexdigest()[:12]
    return f"{binding.endpoint_class}/{binding.model}/{mode}/{digest}"


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


class Asks(Protocol):
    """An `Asker`, or what stands in for one."""

    @property
    def key(self) -> str: ...

    @property
    def binding(self) -> ModelBinding: ...

    def ask_patiently(self, requests: Sequence[Request], parse: Parse[T], /) -> list[Settled[T]]: ...

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


class ModelStructurer:
    """A slot that is bound to a language model, asked about reports; several threads may ask at once.

    Reports may wait: where the slot has leave to use the provider's batch endpoint, they go there.
    """

    def __init__(self, asker: Asks, prompts: StructuringPrompts, mode: Mode = "text") -> None:
        self._asker, self._prompts, self._mode = asker, prompts, mode

    @property
    def key(self) -> str:
        return self._asker.key

    @property
    def identity(self) -> str:
        """See `identity_of`."""
        return identity_of(self._asker.binding, self._prompts, self._mode)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order.

        Raises:
            LunguageError: see `Asker.ask` and `Asker.ask_patiently`; what was answered is in the ledger.
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

    def interrupt(self) -> None:
        """End what other threads are asking; see `Asker.interrupt`."""
        self._asker.interrupt()

    def close(self) -> None:
        """Close the connections and let go of the thread."""
        self._asker.close()

    def _repair(self, one: _Asked) -> Prompt:
        points = one.kept.points if one.kept is not None else []
        return self._prompts.repair(one.question, one.answer.line if one.answer is not None else None, points)

    def _answered(self, asked: Sequence[_Asked], prompts: Sequence[Prompt]) -> list[_Asked]:
        if not asked:
            return []
        requests = [structuring_request(prompt, self._mode) for prompt in prompts]
        settled = self._asker.ask_patiently(requests, parse_answer)
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
