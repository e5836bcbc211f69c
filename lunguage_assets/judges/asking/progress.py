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
from dataclasses import dataclass, field

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
    questions: int
    hits: int
    settled: int
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


@dataclass
class Calls:
    """What the attempts of one round come to so far; an attempt without an answer has failed."""

    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def add(self, attempt: Attempt) -> None:
        self.calls += 1
        self.failures += attempt.answer is None
        self.input_tokens += attempt.input_tokens
        self.output_tokens += attempt.output_tokens
        self.cost_usd += attempt.cost_usd or 0.0

    def progress(
        self, judge: str, task: str, round_: int, questions: int, hits: int, settled: int
    ) -> Progress:
        """The report of a round that stands so."""
        counts = (self.calls, self.failures, self.input_tokens, self.output_tokens, self.cost_usd)
        return Progress(judge, task, round_, questions, hits, settled, *counts)


@dataclass(frozen=True, slots=True)
class Standing:
    """One judge's rounds added up. `open`: questions of the current round without an answer; `rate`: answers
    a second of late; `left_s`:
    seconds to the end of the current round at that rate, None when unknown."""

    judge: str
    rounds: int
    questions: int
    settled: int
    hits: int
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    open: int
    rate: float
    left_s: float | None

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
    """Of one judge: the latest report of every round, answers that were asked for, and samples of their
    number over time.
    """

    latest: dict[int, Progress] = field(default_factory=dict)
    asked: int = 0
    samples: deque[tuple[float, int]] = field(default_factory=deque)


class Meter:
    """Adds up reports of any number of judges and rounds; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tallies: dict[str, _Rounds] = {}

    def note(self, progress: Progress) -> None:
        """Take note of a report; a later one of the same round replaces it."""
        now = self._clock()
        with self._lock:
            tally = self._tallies.setdefault(progress.judge, _Rounds())
            before = tally.latest.get(progress.round)
            tally.asked += (
                progress.settled - progress.hits - (before.settled - before.hits if before is not None else 0)
            )
            tally.latest[progress.round] = progress
            if not tally.samples or now - tally.samples[-1][0] >= _SAMPLE_S:
                tally.samples.append((now, tally.asked))
            while tally.samples[0][0] < now - WINDOW_S and len(tally.samples) > 1:
                tally.samples.popleft()

    def standings(self) -> list[Standing]:
        """One per judge, in the order in which they first reported."""
        now = self._clock()
        with self._lock:
            return [_standing(judge, tally, now) for judge, tally in self._tallies.items()]


def _standing(judge: str, tally: _Rounds, now: float) -> Standing:
    rounds = list(tally.latest.values())
    since, before = tally.samples[0]
    rate = (tally.asked - before) / (now - since) if now > since else 0.0
    open_ = rounds[-1].questions - rounds[-1].settled
    return Standing(
        judge=judge,
        rounds=len(rounds),
        questions=sum(r.questions for r in rounds),
        settled=sum(r.settled for r in rounds),
        hits=sum(r.hits for r in rounds),
        calls=sum(r.calls for r in rounds),
        failures=sum(r.failures for r in rounds),
        input_tokens=sum(r.input_tokens for r in rounds),
        output_tokens=sum(r.output_tokens for r in rounds),
        cost_usd=sum(r.cost_usd for r in rounds),
        open=open_,
        rate=rate,
        left_s=open_ / rate if open_ and rate > 0 else None,
    )


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
