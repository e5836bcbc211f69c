"""How far the asking of language models has come, for people: counts, rate, time left; never a word of a
question or an answer. The questions are asked inside Dagster's run: whoever wants to see them listens here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

_ROUNDS_AT_MOST = 2
"""Rounds of a task whose questions are known beforehand: all of them, and those that are asked once more."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """How far a fit has got: of `sentences` so many are still `open`, after so many `rounds`."""

    open: int
    sentences: int
    rounds: int

    def line(self) -> str:
        """For a terminal."""
        return (
            f"{self.open:,} of {self.sentences:,} sentences are still being fitted, after {self.rounds} "
            "comparisons each"
        )


@dataclass(frozen=True, slots=True)
class Learning:
    """How far a distilled model has got with `what`: so many are `done` of a `total`."""

    what: str
    done: int
    total: int

    def line(self) -> str:
        """For a terminal."""
        return f"{self.what}: {self.done:,} of {self.total:,}"


@dataclass(frozen=True, slots=True)
class Progress:
    """What was added to the asking of a judge, or the sum of it.

    Args:
        questions: distinct within a round.
        hits: questions of which the ledger had the answer.
        settled: questions that are answered, or invalid for good.
        calls: that were sent.
        failures: calls without a reply after which their question was given up.
        cost_usd: of these calls, so far as is known.
        invalid: replies to these calls that were paid and cannot be used.
        retried: calls without a reply after which their question was asked again.
        invalid_before: replies that cannot be used to questions of which the ledger had the answer.
        void: questions that are settled as invalid for good.
        rounds: in which questions came; only of a sum.
        seconds: since the judge was first asked; only of a sum.
    """

    judge: str
    questions: int = 0
    hits: int = 0
    settled: int = 0
    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    invalid: int = 0
    retried: int = 0
    invalid_before: int = 0
    void: int = 0
    rounds: int = 0
    seconds: float = 0.0

    def __add__(self, more: Progress) -> Progress:
        names = [one.name for one in fields(self)][1:]
        return replace(
            self, **{name: getattr(self, name) + getattr(more, name) for name in names}
        )

    @property
    def replies(self) -> int:
        """Replies to these questions, whenever they came."""
        return self.settled - self.void + self.unusable

    @property
    def unusable(self) -> int:
        """Those of the replies that cannot be used."""
        return self.invalid + self.invalid_before

    def line(self) -> str:
        """For a log or a terminal. The time left is what is open at the rate of answers so far; where
        questions come round by round, as in a fit, nobody knows how many will follow.
        """
        rate = (self.settled - self.hits) / self.seconds if self.seconds > 0 else 0.0
        minutes = (self.questions - self.settled) / rate / 60 if rate > 0 else 0.0
        is_all_asked = self.rounds <= _ROUNDS_AT_MOST
        left = (
            f", about {max(1, round(minutes))} min left"
            if minutes and is_all_asked
            else ""
        )
        return (
            f"judge {self.judge}: {self.settled:,} of {self.questions:,} answered, {self.hits:,} of them "
            f"from the ledger; {self.calls:,} calls ({self.invalid:,} answers invalid, "
            f"{self.retried:,} tried again, {self.failures:,} failed), {self.input_tokens:,} + "
            f"{self.output_tokens:,} tokens, ${self.cost_usd:.4f}, {rate:.1f}/s{left}"
        )


class Meter:
    """Adds up reports of any number of judges and rounds; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._sums: dict[str, tuple[float, Progress]] = {}

    def note(self, progress: Progress) -> None:
        """Add a report."""
        with self._lock:
            began, before = self._sums.get(
                progress.judge, (self._clock(), Progress(progress.judge))
            )
            total = before + progress
            self._sums[progress.judge] = (
                began,
                replace(total, rounds=before.rounds + bool(progress.questions)),
            )

    def totals(self) -> list[Progress]:
        """One sum per judge, in the order in which they first reported."""
        with self._lock:
            return [
                replace(total, seconds=self._clock() - began)
                for began, total in self._sums.values()
            ]


Report = Progress | Fitting | Learning

_listeners: list[Callable[[Report], None]] = []


def announce(report: Report) -> None:
    """Tell everyone who listens in this process."""
    for listener in tuple(_listeners):
        listener(report)


def steps_of(what: str, total: int) -> Callable[[int], None]:
    """What counts and announces the steps of some work, when it is told how many more are done."""
    done = 0

    def step(more: int = 1) -> None:
        nonlocal done
        done += more
        announce(Learning(what, done, total))

    step(0)
    return step


@contextmanager
def listening(listener: Callable[[Report], None]) -> Iterator[None]:
    """Hear of every report in this process; called from the judges' threads."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
