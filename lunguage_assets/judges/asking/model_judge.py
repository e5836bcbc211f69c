"""A language model as a judge: questions become prompts, the engine gets the answers, parsers read them.

Prompts and parsers are given; how answers come about is in `engine.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from lunguage_assets.judges.asking.attempts import request_key
from lunguage_assets.judges.asking.background import Background
from lunguage_assets.judges.asking.budget import Budget, Pricing
from lunguage_assets.judges.asking.engine import GRACE_S, Outcome, ask
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.asking.requests import Mode, ModelBinding, Prompt, Provider, Request
from lunguage_assets.judges.batches.batching import Batching, ask_in_batches
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.recording import Parse
from lunguage_assets.judges.prompts import LABELS, comparison_request, extraction_request
from lunguage_assets.judges.protocol import (
    MASK,
    Choice,
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)

T = TypeVar("T")


class _Ask(Protocol):
    def __call__(self, requests: Sequence[Request], parse: Parse[T], /) -> list[Outcome[T]]: ...


class PromptMaker(Protocol):
    """How the two questions are put."""

    def extraction(self, question: ExtractionQuestion, /) -> Prompt: ...

    def comparison(self, question: ComparisonQuestion, /) -> Prompt: ...


def identity_of(binding: ModelBinding, prompts: PromptMaker, mode: Mode) -> str:
    """A language model's identity as a judge; see `ModelJudge.identity`."""
    versions = [
        prompts.extraction(ExtractionQuestion("finding", "sentence", MASK)).template_version,
        prompts.comparison(ComparisonQuestion(MASK, MASK)).template_version,
    ]
    blank = Request("compare", Prompt("", "", json.dumps(versions)), mode, LABELS)
    digest = hashlib.sha256(request_key(binding, blank).encode("ascii")).hexdigest()[:12]
    return f"{binding.endpoint_class}/{binding.model}/{mode}/{digest}"


class ModelJudge:
    """A slot that is bound to a language model.

    The calls of a judge run in one event loop, in a thread apart, for as long as the judge lives: connections
    are kept from one round of questions to the next, and a caller that itself runs in an event loop can use
    it too. Several threads may ask at once.
    """

    def __init__(
        self,
        key: str,
        provider: Provider,
        ledger: Ledger,
        limiter: Limiter,
        prompts: PromptMaker,
        parse_phrases: Callable[[str], Sequence[str] | None],
        parse_label: Callable[[str, Sequence[str]], str | None],
        *,
        mode: Mode = "text",
        budget: Budget | None = None,
        price: Pricing | None = None,
        progress: Callable[[Progress], None] | None = None,
        batching: Batching | None = None,
    ) -> None:
        self._batching = batching
        self._key, self._provider, self._ledger, self._limiter = key, provider, ledger, limiter
        self._prompts, self._parse_phrases, self._parse_label = prompts, parse_phrases, parse_label
        self._mode, self._budget, self._price, self._progress = mode, budget, price, progress
        self._background = Background(GRACE_S)

    @property
    def key(self) -> str:
        return self._key

    @property
    def identity(self) -> str:
        """Provider, model, mode, and a hash of binding, prompt templates and mode: everything in a ledger key
        but the question.
        """
        return identity_of(self._provider.binding, self._prompts, self._mode)

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order.

        Raises:
            LunguageError: see `engine.ask`; what was answered is in the ledger.
        """
        return self._extract(questions, self._ask)

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """A label per question, in the questions' order.

        Raises:
            LunguageError: see `engine.ask`; what was answered is in the ledger.
        """
        return self._compare(questions, self._ask)

    def extract_patiently(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """As `extract`, through the provider's batch endpoint where the judge has leave to use it.

        Raises:
            LunguageError: see `batching.ask_in_batches`; what was answered is in the ledger.
        """
        return self._extract(questions, self._ask_in_batches)

    def compare_patiently(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """As `compare`, through the provider's batch endpoint where the judge has leave to use it.

        Raises:
            LunguageError: see `batching.ask_in_batches`; what was answered is in the ledger.
        """
        return self._compare(questions, self._ask_in_batches)

    def interrupt(self) -> None:
        """End what other threads are asking: calls in flight are recorded, nothing more is sent, and the
        asking threads get an error.
        """
        self._background.interrupt()

    def close(self) -> None:
        """Close the connections and let go of the thread."""
        self._background.close(self._provider.close)

    def _extract(self, questions: Sequence[ExtractionQuestion], ask_all: _Ask) -> list[ExtractionAnswer]:
        requests = [extraction_request(self._prompts.extraction(question)) for question in questions]
        outcomes: list[Outcome[tuple[str, ...]]] = ask_all(requests, self._phrases)
        return [
            ExtractionAnswer(tuple(outcome.value or ()), outcome.valid, outcome.tries) for outcome in outcomes
        ]

    def _compare(self, questions: Sequence[ComparisonQuestion], ask_all: _Ask) -> list[ComparisonAnswer]:
        requests = [
            comparison_request(self._prompts.comparison(q), self._mode, q.replicate) for q in questions
        ]
        outcomes: list[Outcome[Choice]] = ask_all(requests, self._choice)
        return [_compared(outcome) for outcome in outcomes]

    def _phrases(self, text: str) -> tuple[str, ...] | None:
        phrases = self._parse_phrases(text)
        return None if phrases is None else tuple(phrases)

    def _choice(self, text: str) -> Choice | None:
        label = self._parse_label(text, LABELS)
        return cast(Choice, label) if label in LABELS else None

    def _ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Outcome[T]]:
        return self._background.run(
            ask(
                requests,
                self._provider,
                self._ledger,
                self._limiter,
                self._budget,
                parse,
                judge=self._key,
                price=self._price,
                progress=self._progress,
            )
        )

    def _ask_in_batches(self, requests: Sequence[Request], parse: Parse[T]) -> list[Outcome[T]]:
        if self._batching is None:
            return self._ask(requests, parse)
        return self._background.run(
            ask_in_batches(
                requests,
                self._batching,
                self._provider.binding,
                self._ledger,
                self._limiter,
                self._budget,
                parse,
                judge=self._key,
                progress=self._progress,
            )
        )


def _compared(outcome: Outcome[Choice]) -> ComparisonAnswer:
    answer: Choice = "invalid" if outcome.value is None else outcome.value
    return ComparisonAnswer(answer, outcome.tries)
