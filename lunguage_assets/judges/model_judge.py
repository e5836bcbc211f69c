"""A language model as a judge: questions become prompts, an asker gets the answers from `asking/engine.py`,
parsers read them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol, TypeVar, cast

from lunguage_assets.judges.asker import AskedModel, model_identity
from lunguage_assets.judges.asking.answers import parse_label, parse_phrase_list
from lunguage_assets.judges.asking.round import Parse, Settled
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.prompts import LABELS, Prompts, comparison_request, extraction_request
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Request

T = TypeVar("T")


class _Ask(Protocol):
    def __call__(self, requests: Sequence[Request], parse: Parse[T], /) -> list[Settled[T]]: ...


class ModelJudge(AskedModel[Prompts]):
    """A language model as a judge."""

    @staticmethod
    def identity_of(binding: ModelBinding, prompts: Prompts, mode: Mode) -> str:
        """With a hash of everything in a ledger key but the question."""
        versions = json.dumps(
            [prompts.version, prompts.version]
        )  # of both tasks: one version since the first release
        blank = Request("compare", Prompt("", "", versions), mode, LABELS)
        return model_identity(binding, mode, request_key(binding, blank))

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order.

        Raises:
            LunguageError: see `engine.ask`; what was answered is in the ledger.
        """
        return self._extract(questions, self._asker.ask)

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """A label per question, in the questions' order.

        Raises:
            LunguageError: see `engine.ask`; what was answered is in the ledger.
        """
        return self._compare(questions, self._asker.ask)

    def extract_patiently(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """As `extract`, through the provider's batch endpoint where the judge has leave to use it.

        Raises:
            LunguageError: see `batching.ask_in_batches`; what was answered is in the ledger.
        """
        return self._extract(questions, self._asker.ask_patiently)

    def compare_patiently(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """As `compare`, through the provider's batch endpoint where the judge has leave to use it.

        Raises:
            LunguageError: see `batching.ask_in_batches`; what was answered is in the ledger.
        """
        return self._compare(questions, self._asker.ask_patiently)

    def _extract(self, questions: Sequence[ExtractionQuestion], ask_all: _Ask) -> list[ExtractionAnswer]:
        requests = [extraction_request(self._prompts.extraction(question)) for question in questions]
        settled: list[Settled[tuple[str, ...]]] = ask_all(requests, _phrases)
        return [ExtractionAnswer(tuple(one.value or ()), one.valid, one.tries) for one in settled]

    def _compare(self, questions: Sequence[ComparisonQuestion], ask_all: _Ask) -> list[ComparisonAnswer]:
        requests = [
            comparison_request(self._prompts.comparison(q), self._mode, q.replicate) for q in questions
        ]
        settled: list[Settled[Choice]] = ask_all(requests, _choice)
        return [_compared(one) for one in settled]


def _phrases(text: str) -> tuple[str, ...] | None:
    phrases = parse_phrase_list(text)
    return None if phrases is None else tuple(phrases)


def _choice(text: str) -> Choice | None:
    return cast(Choice | None, parse_label(text, LABELS))


def _compared(one: Settled[Choice]) -> ComparisonAnswer:
    answer: Choice = "invalid" if one.value is None else one.value
    return ComparisonAnswer(answer, one.tries)
