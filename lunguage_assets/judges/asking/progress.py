"""How far the asking of language models has come, for people: counts, rate, time left; never a word of a
question or an answer.

The engine reports; a `Meter` adds up over rounds and judges, from any thread. Whoever wants to see the asking
of this process (the command line's display) listens here, because the questions are asked somewhere inside
Dagster's run.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

from lunguage_assets.judges.ledger.attempts import Attempt

WINDOW_S = 60.0
"""Seconds over which the present rate is measured."""

_SAMPLE_S = 0.5


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
    """One judge's rounds added up. `rate`: answers a second of late; `left_s`: seconds to the end of the
    current round at that rate, None when unknown.
    """

    rate: float = 0.0
    left_s: float | None = None

    def line(self) -> str:
        """For a log or a terminal without a live display."""
        left = f", about {spell(self.left_s)} left" if self.left_s else ""
        return (
            f"judge {self.judge}: {self.settled:,} of {self.questions:,} answered, {self.hits:,} "
            f"of them from the ledger; {self.calls:,} calls"
            f" ({self.failures:,} failed), {self.input_tokens:,} + {self.output_tokens:,} tokens, "
            f"${self.cost_usd:.4f}, {self.rate:.1f}/s{left}"
        )


@dataclass
class _Rounds:
    """Of one judge: the latest report of every round, and samples over time of the answers asked for."""

    latest: dict[int, Progress] = field(default_factory=dict)
    samples: deque[tuple[float, int]] = field(default_factory=deque)

    @property
    def asked(self) -> int:
        return sum(one.settled - one.hits for one in self.latest.values())

    def note(self, progress: Progress, now: float) -> None:
        self.latest[progress.round] = progress
        if not self.samples or now - self.samples[-1][0] >= _SAMPLE_S:
            self.samples.append((now, self.asked))
        while self.samples[0][0] < now - WINDOW_S and len(self.samples) > 1:
            self.samples.popleft()

    def total(self, now: float) -> JudgeTotal:
        *_, last = reports = list(self.latest.values())
        since, before = self.samples[0]
        rate = (self.asked - before) / (now - since) if now > since else 0.0
        left = last.questions - last.settled
        sums = {name: sum(getattr(report, name) for report in reports) for name in _COUNTS}
        left_s = left / rate if left and rate > 0 else None
        return JudgeTotal(last.judge, last.task, last.round, **sums, rate=rate, left_s=left_s)


class Meter:
    """Adds up reports of any number of judges and rounds; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._judges: dict[str, _Rounds] = {}

    def note(self, progress: Progress) -> None:
        """Take note of a report; a later one of the same round replaces it."""
        with self._lock:
            self._judges.setdefault(progress.judge, _Rounds()).note(progress, self._clock())

    def totals(self) -> list[JudgeTotal]:
        """One per judge, in the order in which they first reported."""
        now = self._clock()
        with self._lock:
            return [rounds.total(now) for rounds in self._judges.values()]


def spell(seconds: float | None) -> str:
    """A duration as people say it: 40 s, 12 min, 3 h 20 min; empty for None."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


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
