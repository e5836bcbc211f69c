"""How far the asking of judges has come, for people.

Questions are asked inside Dagster's runs, far from whoever shows progress: reports are
announced, and whoever shows them listens (`listening`). No report holds a word of a
question or an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from operator import add


@dataclass(frozen=True, slots=True)
class Progress:
    """What was added to the asking of a judge, or the sum of it.

    Attributes:
        judge: key of the judge.
        questions: distinct within a batch.
        hits: questions of which the ledger had the answer.
        settled: questions that are answered, or invalid for good.
        calls: that were sent.
        invalid: replies to these calls that were paid and cannot be used.
        failures: calls without a reply.
        input_tokens: billed for these calls.
        output_tokens: billed for these calls.
        cost_usd: of these calls, so far as is known.
        decided: answers that chose one of two sentences that differ.
        first: of these, the sentence that was shown first.
        pairs: of sentences that were compared in both orders.
        agreed: of these, with the same sentence in both.
    """

    judge: str
    questions: int = 0
    hits: int = 0
    settled: int = 0
    calls: int = 0
    invalid: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    decided: int = 0
    first: int = 0
    pairs: int = 0
    agreed: int = 0

    def __add__(self, more: Progress) -> Progress:
        _, *counts = astuple(self)
        _, *more_counts = astuple(more)
        return Progress(self.judge, *map(add, counts, more_counts))

    def line(self) -> str:
        """Describe it for a log or a terminal."""
        return (
            f"judge {self.judge}: {self.settled:,} of {self.questions:,} answered, "
            f"{self.hits:,} of them from the ledger; {self.calls:,} calls "
            f"({self.invalid:,} answers invalid, {self.failures:,} without a reply), "
            f"{self.input_tokens:,} + {self.output_tokens:,} tokens, "
            f"${self.cost_usd:.4f}"
        )


class Meter(dict[str, Progress]):
    """The sum of the reports of each judge, in the order in which they first came."""

    def note(self, progress: Progress) -> None:
        """Add a report."""
        # One judge reports from one thread at a time.
        total = self.get(progress.judge, Progress(progress.judge))
        self[progress.judge] = total + progress


Report = Progress | str
"""A judge's progress, or a line about other work."""

_listeners: list[Callable[[Report], None]] = []


def announce(report: Report) -> None:
    """Tell everyone who listens in this process."""
    # Copied: another thread may stop listening meanwhile.
    for listener in tuple(_listeners):
        listener(report)


@contextmanager
def listening(listener: Callable[[Report], None]) -> Iterator[None]:
    """Hear of every report in this process; called from the judges' threads."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
