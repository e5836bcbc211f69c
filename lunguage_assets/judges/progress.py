"""How far the asking of judges has come, for people: counts, rate, time left.

Questions are asked inside Dagster's runs, far from whoever shows progress: reports are
announced, and whoever shows them listens (`listening`). No report holds a word of a
question or an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

_MAX_FORESEEABLE_ROUNDS = 2
"""Rounds of a task whose questions are known beforehand: all, and those asked again."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """How far a fit of sentences has got.

    Attributes:
        open: sentences that are still being fitted.
        sentences: all sentences.
        rounds: of comparisons so far.
    """

    open: int
    sentences: int
    rounds: int

    def line(self) -> str:
        """Describe it for a terminal."""
        return (
            f"{self.open:,} of {self.sentences:,} sentences are still being fitted, "
            f"after {self.rounds} comparisons each"
        )


@dataclass(frozen=True, slots=True)
class Learning:
    """How far a distilled model has got with a piece of work.

    Attributes:
        work: what it does.
        done: steps that are done.
        total: all its steps.
    """

    work: str
    done: int
    total: int

    def line(self) -> str:
        """Describe it for a terminal."""
        return f"{self.work}: {self.done:,} of {self.total:,}"


@dataclass(frozen=True, slots=True)
class Progress:
    """What was added to the asking of a judge, or the sum of it.

    Attributes:
        judge: key of the judge.
        questions: distinct within a batch.
        hits: questions of which the ledger had the answer.
        settled: questions that are answered, or invalid for good.
        calls: that were sent.
        failures: calls without a reply after which their question was given up.
        input_tokens: billed for these calls.
        output_tokens: billed for these calls.
        cost_usd: of these calls, so far as is known.
        invalid: replies to these calls that were paid and cannot be used.
        retried: calls without a reply after which their question was asked again.
        invalid_before: replies that cannot be used to questions of which the ledger had
            the answer.
        void: questions that are settled as invalid for good.
        decided: answers that chose one of two sentences that differ.
        first: of these, the sentence that was shown first.
        pairs: of sentences that were compared in both orders.
        agreed: of these, with the same sentence in both.
        rounds: batches in which questions came; only of a sum.
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
    decided: int = 0
    first: int = 0
    pairs: int = 0
    agreed: int = 0
    rounds: int = 0
    seconds: float = 0.0

    def __add__(self, more: Progress) -> Progress:
        counts = [field.name for field in fields(self) if field.name != "judge"]
        sums = {name: getattr(self, name) + getattr(more, name) for name in counts}
        return replace(self, **sums)

    @property
    def replies(self) -> int:
        """Replies to these questions, whenever they came."""
        # All replies to a void question are among those that cannot be used.
        return self.settled - self.void + self.unusable

    @property
    def unusable(self) -> int:
        """Those of the replies that cannot be used."""
        return self.invalid + self.invalid_before

    def line(self) -> str:
        """Describe it for a log or a terminal."""
        return (
            f"judge {self.judge}: {self.settled:,} of {self.questions:,} answered, "
            f"{self.hits:,} of them from the ledger; {self.calls:,} calls "
            f"({self.invalid:,} answers invalid, {self.retried:,} tried again, "
            f"{self.failures:,} failed), {self.input_tokens:,} + "
            f"{self.output_tokens:,} tokens, ${self.cost_usd:.4f}, "
            f"{self._answers_per_second():.1f}/s{self._time_left()}"
        )

    def _answers_per_second(self) -> float:
        if self.seconds <= 0:
            return 0.0
        # The ledger answers at once, and says nothing of how fast the judge is.
        return (self.settled - self.hits) / self.seconds

    def _time_left(self) -> str:
        """Say how long the open questions take at the rate of answers so far.

        Where questions come round by round, as in a fit, nobody knows how many follow.
        """
        rate = self._answers_per_second()
        if rate <= 0 or self.rounds > _MAX_FORESEEABLE_ROUNDS:
            return ""
        minutes = (self.questions - self.settled) / rate / 60
        return f", about {max(1, round(minutes))} min left" if minutes else ""


class Meter:
    """Adds up reports of any number of judges and rounds; threads may share one.

    Args:
        clock: seconds that pass.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._total_by_judge: dict[str, Progress] = {}
        self._began_at: dict[str, float] = {}

    def note(self, progress: Progress) -> None:
        """Add a report."""
        judge = progress.judge
        with self._lock:
            self._began_at.setdefault(judge, self._clock())
            total = self._total_by_judge.get(judge, Progress(judge)) + progress
            # A further look into the ledger brings no questions: it is no round.
            rounds = total.rounds + bool(progress.questions)
            self._total_by_judge[judge] = replace(total, rounds=rounds)

    def totals(self) -> list[Progress]:
        """Give one sum per judge, in the order in which they first reported."""
        with self._lock:
            return [
                replace(total, seconds=self._clock() - self._began_at[judge])
                for judge, total in self._total_by_judge.items()
            ]


Report = Progress | Fitting | Learning

_listeners: list[Callable[[Report], None]] = []


def announce(report: Report) -> None:
    """Tell everyone who listens in this process."""
    # Copied: another thread may stop listening meanwhile.
    for listener in tuple(_listeners):
        listener(report)


def steps_of(work: str, total: int) -> Callable[[int], None]:
    """Begin to announce the steps of some work.

    Returns:
        A function that is told how many more steps are done.
    """
    done = 0

    def step(more: int = 1) -> None:
        nonlocal done
        done += more
        announce(Learning(work, done, total))

    # The work is shown before its first step is done.
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
