"""A language model as a judge: questions become prompts, `asking/engine.py` gets the answers, parsers read
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from lunguage_assets.judges.asking.answers import parse_label, parse_phrase_list
from lunguage_assets.judges.asking.background import Background
from lunguage_assets.judges.asking.budget import Budget, Pricing
from lunguage_assets.judges.asking.engine import GRACE_S, Settled, ask
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.asking.recording import Parse
from lunguage_assets.judges.batches.batching import Batching, ask_in_batches
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.prompts import LABELS, Prompts, comparison_request, extraction_request
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Provider, Request
from lunguage_assets.judges.slots import Limits

T = TypeVar("T")


class _Ask(Protocol):
    def __call__(self, requests: Sequence[Request], parse: Parse[T], /) -> list[Settled[T]]: ...


def identity_of(binding: ModelBinding, prompts: Prompts, mode: Mode) -> str:
    """A language model's identity as a judge: provider, model, mode, and a hash of everything in a ledger key
    but the question.
    """
    versions = json.dumps(
        [prompts.version, prompts.version]
    )  # of both tasks: one version since the first release
    blank = Request("compare", Prompt("", "", versions), mode, LABELS)
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
        prompts: Prompts,
        limits: Limits,
        *,
        mode: Mode = "text",
        budget: Budget | None = None,
        price: Pricing | None = None,
        progress: Callable[[Progress], None] | None = None,
        batching: Batching | None = None,
    ) -> None:
        self._key, self._provider, self._ledger, self._prompts = key, provider, ledger, prompts
        self._limiter, self._batching = Limiter(limits), batching
        self._mode, self._budget, self._price, self._progress = mode, budget, price, progress
        self._background = Background(GRACE_S)

    @property
    def key(self) -> str:
        return self._key

    @property
    def identity(self) -> str:
        """See `identity_of`."""
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
        settled: list[Settled[tuple[str, ...]]] = ask_all(requests, _phrases)
        return [ExtractionAnswer(tuple(one.value or ()), one.valid, one.tries) for one in settled]

    def _compare(self, questions: Sequence[ComparisonQuestion], ask_all: _Ask) -> list[ComparisonAnswer]:
        requests = [
            comparison_request(self._prompts.comparison(q), self._mode, q.replicate) for q in questions
        ]
        settled: list[Settled[Choice]] = ask_all(requests, _choice)
        return [_compared(one) for one in settled]

    def _ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
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

    def _ask_in_batches(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
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


def _phrases(text: str) -> tuple[str, ...] | None:
    phrases = parse_phrase_list(text)
    return None if phrases is None else tuple(phrases)


def _choice(text: str) -> Choice | None:
    return cast(Choice | None, parse_label(text, LABELS))


def _compared(one: Settled[Choice]) -> ComparisonAnswer:
    answer: Choice = "invalid" if one.value is None else one.value
    return ComparisonAnswer(answer, one.tries)
