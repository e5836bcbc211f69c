"""How far the asking of language models has come, for people: counts, rate, time left; never a word of a
question or an answer.

The engine reports; a `Meter` adds up over rounds and judges. Whoever wants to see the asking of this process
listens here, because the questions are asked somewhere inside Dagster's run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from lunguage_assets.judges.ledger.attempts import Attempt


@dataclass(frozen=True, slots=True)
class Progress:
    """Where one round of questions to one judge stands.

    `round` numbers the rounds of this process. `questions` are distinct; `hits` of them came from the ledger;
    `calls` include `failures`.
    """

    judge: str
    task: str
    round: int
    questions: int = 0
    hits: int = 0
    settled: int = 0
    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def after(self, attempt: Attempt) -> Progress:
        """The same with one more recorded call; an attempt without an answer has failed."""
        return replace(
            self,
            calls=self.calls + 1,
            failures=self.failures + (attempt.answer is None),
            input_tokens=self.input_tokens + attempt.input_tokens,
            output_tokens=self.output_tokens + attempt.output_tokens,
            cost_usd=self.cost_usd + (attempt.cost_usd or 0.0),
        )


_COUNTS = tuple(one.name for one in fields(Progress))[3:]


@dataclass(frozen=True, slots=True)
class JudgeTotal(Progress):
    """One judge's rounds added up. `rate`: answers a second since the judge was first asked; `left_s`:
    seconds to the end of the current round at that rate, None when unknown.
    """

    rate: float = 0.0
    left_s: float | None = None

    def line(self) -> str:
        """For a log or a terminal without a live display."""
        left = f", about {self.left_s / 60:.0f} min left" if self.left_s else ""
        return (
            f"judge {self.judge}: {self.settled:,} of {self.questions:,} answered, {self.hits:,} of them "
            f"from the ledger; {self.calls:,} calls ({self.failures:,} failed), {self.input_tokens:,} + "
            f"{self.output_tokens:,} tokens, ${self.cost_usd:.4f}, {self.rate:.1f}/s{left}"
        )


class Meter:
    """Adds up reports of any number of judges and rounds; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began: dict[str, float] = {}
        self._latest: dict[str, dict[int, Progress]] = {}

    def note(self, progress: Progress) -> None:
        """Take note of a report; a later one of the same round replaces it."""
        with self._lock:
            self._began.setdefault(progress.judge, self._clock())
            self._latest.setdefault(progress.judge, {})[progress.round] = progress

    def totals(self) -> list[JudgeTotal]:
        """One per judge, in the order in which they first reported."""
        with self._lock:
            return [self._total(judge, list(rounds.values())) for judge, rounds in self._latest.items()]

    def _total(self, judge: str, reports: list[Progress]) -> JudgeTotal:
        sums = {name: sum(getattr(report, name) for report in reports) for name in _COUNTS}
        seconds = self._clock() - self._began[judge]
        rate = (sums["settled"] - sums["hits"]) / seconds if seconds > 0 else 0.0
        last = reports[-1]
        left = last.questions - last.settled
        left_s = left / rate if left and rate > 0 else None
        return JudgeTotal(judge, last.task, last.round, **sums, rate=rate, left_s=left_s)


_listeners: list[Callable[[Progress], None]] = []


def announce(progress: Progress) -> None:
    """Tell everyone who listens in this process."""
    for listener in tuple(_listeners):
        listener(progress)


@contextmanager
def listening(listener: Callable[[Progress], None]) -> Iterator[None]:
    """Hear of every report in this process; called from the judges' threads."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
