"""A language model as a judge: questions become prompts, an asker gets the answers from `asking/engine.py`,
parsers read them. Structurers ask through the same asker.
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


class Asker:
    """Asks the model of one slot.

    The calls run in one event loop, in a thread apart, for as long as the asker lives: connections are kept
    from one round of questions to the next, and a caller that itself runs in an event loop can use it too.
    Several threads may ask at once.
    """

    def __init__(
        self,
        key: str,
        provider: Provider,
        ledger: Ledger,
        limits: Limits,
        *,
        budget: Budget | None = None,
        price: Pricing | None = None,
        progress: Callable[[Progress], None] | None = None,
        batching: Batching | None = None,
    ) -> None:
        self.key, self._provider, self._ledger = key, provider, ledger
        self._limiter, self._batching = Limiter(limits), batching
        self._budget, self._price, self._progress = budget, price, progress
        self._background = Background(GRACE_S)

    @property
    def binding(self) -> ModelBinding:
        """What of the slot decides its answers."""
        return self._provider.binding

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
        """One `Settled` per request, in their order, by single calls.

        Raises:
            LunguageError: see `engine.ask`; what was answered is in the ledger.
        """
        return self._background.run(
            ask(
                requests,
                self._provider,
                self._ledger,
                self._limiter,
                self._budget,
                parse,
                judge=self.key,
                price=self._price,
                progress=self._progress,
            )
        )

    def ask_patiently(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
        """As `ask`, through the provider's batch endpoint where there is leave to use it.

        Raises:
            LunguageError: see `batching.ask_in_batches`; what was answered is in the ledger.
        """
        if self._batching is None:
            return self.ask(requests, parse)
        return self._background.run(
            ask_in_batches(
                requests,
                self._batching,
                self.binding,
                self._ledger,
                self._limiter,
                self._budget,
                parse,
                judge=self.key,
                progress=self._progress,
            )
        )

    def interrupt(self) -> None:
        """End what other threads are asking: calls in flight are recorded, nothing more is sent, and the
        asking threads get an error.
        """
        self._background.interrupt()

    def close(self) -> None:
        """Close the connections and let go of the thread."""
        self._background.close(self._provider.close)


class ModelJudge:
    """A slot that is bound to a language model, asked by its asker; several threads may ask at once."""

    def __init__(self, asker: Asker, prompts: Prompts, mode: Mode = "text") -> None:
        self._asker, self._prompts, self._mode = asker, prompts, mode

    @property
    def key(self) -> str:
        return self._asker.key

    @property
    def identity(self) -> str:
        """See `identity_of`."""
        return identity_of(self._asker.binding, self._prompts, self._mode)

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

    def interrupt(self) -> None:
        """End what other threads are asking: calls in flight are recorded, nothing more is sent, and the
        asking threads get an error.
        """
        self._asker.interrupt()

    def close(self) -> None:
        """Close the connections and let go of the thread."""
        self._asker.close()

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
