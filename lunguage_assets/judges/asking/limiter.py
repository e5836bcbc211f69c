"""When a judge's next call may be sent: its rate limits, its calls in flight, its pauses after failures.

Knows nothing of prompts, answers or money. Clock and sleep are given, so that tests do not wait. What this
process sends is counted here; that all who share a ledger keep to the limits together is seen to where a call
is claimed (`ledger/claims.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable

from lunguage_assets.judges.requests import ProviderFailure
from lunguage_assets.judges.slots import Limits

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]

WINDOW_S = 60.0
_LOOK_AGAIN_S = 0.25
"""A call that waits looks this often whether tokens were given back, or the run has stopped."""


class _SlidingSum:
    """Amounts of the last minute; a noted amount can be corrected while it counts."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._entries: deque[list[float]] = deque()
        self._total = 0.0

    def delay(self, amount: float, now: float) -> float:
        """Seconds until `amount` fits. What is larger than the whole limit goes alone."""
        if self._limit is None:
            return 0.0
        while self._entries and self._entries[0][0] <= now - WINDOW_S:
            self._total -= self._entries.popleft()[1]
        excess = self._total + amount - self._limit
        if excess <= 0 or not self._entries:
            return 0.0
        for moment, noted in self._entries:
            excess -= noted
            if excess <= 0:
                return moment + WINDOW_S - now
        return self._entries[-1][0] + WINDOW_S - now

    def note(self, amount: float, now: float) -> list[float]:
        entry = [now, amount]
        if self._limit is not None:
            self._entries.append(entry)
            self._total += amount
        return entry

    def correct(self, entry: list[float], amount: float, now: float) -> None:
        if self._limit is not None and entry[0] > now - WINDOW_S:  # else it no longer counts
            self._total += amount - entry[1]
            entry[1] = amount


class _Breaker:
    """Stops a judge whose calls all fail: closed (calls pass), open (none until a time), probing (one
    passes).
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._row = 0
        self._failed_probes = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def broken(self) -> bool:
        return self._failed_probes >= self._limits.breaker_probes

    def delay(self, now: float) -> float:
        if self._open_until is None:
            return 0.0
        return _LOOK_AGAIN_S if self._probing else max(0.0, self._open_until - now)

    def sent(self) -> bool:
        """A call goes out; whether it is the probe."""
        self._probing = self._open_until is not None
        return self._probing

    def lost(self, probe: bool) -> None:
        """A call came to no end at all (cancelled): if it was the probe, another may go."""
        self._probing = self._probing and not probe

    def succeeded(self) -> None:
        self._row, self._failed_probes, self._open_until, self._probing = 0, 0, None, False

    def failed(self, probe: bool, now: float) -> None:
        self._row += 1
        if probe:
            self._failed_probes += 1
            self._probing = False
            self._open_until = now + self._limits.breaker_pause_s * 2.0**self._failed_probes
        elif self._open_until is None and self._row >= self._limits.breaker_failures:
            self._open_until = now + self._limits.breaker_pause_s

    def try_again(self) -> None:
        """A new run: a judge that had failed gets one probe before anything else."""
        if self.broken:
            self._failed_probes, self._open_until, self._probing = 0, 0.0, False


class Leave:
    """Leave to send one call; ends with exactly one of `succeeded`, `failed`, `put_off` or `lost`."""

    def __init__(self, limiter: Limiter, request: list[float], tokens: list[float], probe: bool) -> None:
        self._limiter, self._probe, self._ended = limiter, probe, False
        self._request, self._tokens = request, tokens

    def succeeded(self, tokens: int | None) -> None:
        """A reply came that used `tokens` in all; None: it did not say, and the estimate stands."""
        self._end(tokens)
        self._limiter._breaker.succeeded()

    def failed(self, failure: ProviderFailure) -> None:
        """No reply. A refusal to serve used no tokens; otherwise the estimate stands."""
        self._end(0 if failure.kind in ("rate_limited", "overloaded", "rejected", "authentication") else None)
        self._limiter._note_failure(failure, self._probe)

    def put_off(self, wait_s: float) -> None:
        """The call is not sent; the judge's next one goes in `wait_s` seconds at the earliest."""
        limiter = self._limiter
        limiter._requests.correct(self._request, 0, limiter.clock())
        limiter._paused_until = max(limiter._paused_until, limiter.clock() + wait_s)
        self._end(0)
        limiter._breaker.lost(self._probe)

    def lost(self) -> None:
        """Nothing is known of the call; harmless when it ended otherwise."""
        if not self._ended:
            self._end(None)
            self._limiter._breaker.lost(self._probe)

    def _end(self, tokens: int | None) -> None:
        self._ended = True
        self._limiter._free_slot(self._tokens, tokens)


class Limiter:
    """Flow control of one judge, over all its calls of `engine.ask`; used in one event loop at a time."""

    def __init__(
        self, limits: Limits | None = None, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.limits = limits if limits is not None else Limits()
        self.clock, self.sleep = clock, sleep
        self.name = uuid.uuid4().hex
        self._requests = _SlidingSum(self.limits.requests_per_minute)
        self._tokens = _SlidingSum(self.limits.tokens_per_minute)
        self._breaker = _Breaker(self.limits)
        self._paused_until = 0.0
        self._active = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free: asyncio.Semaphore
        self._turn: asyncio.Lock

    @property
    def broken(self) -> bool:
        """The judge has failed: so many failures in a row, and so many failed probes."""
        return self._breaker.broken

    def begin(self) -> None:
        """A new run of questions starts in the current event loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._active:
                raise RuntimeError("a limiter works in one event loop at a time")
            self._loop, self._free, self._turn = (
                loop,
                asyncio.Semaphore(self.limits.in_flight),
                asyncio.Lock(),
            )
        self._breaker.try_again()

    async def acquire(self, tokens: int, stopped: Callable[[], bool]) -> Leave | None:
        """Wait, first come first served, until a call of about `tokens` may go; None as soon as
        `stopped()`.
        """
        await self._free.acquire()
        self._active += 1
        leave = None
        try:
            async with self._turn:
                while not stopped():
                    delay = self._delay(tokens)
                    if delay <= 0:
                        now = self.clock()
                        noted = self._requests.note(1, now), self._tokens.note(tokens, now)
                        leave = Leave(self, *noted, self._breaker.sent())
                        break
                    await self.sleep(min(delay, _LOOK_AGAIN_S))
        finally:
            if leave is None:
                self._active -= 1
                self._free.release()
        return leave

    def backoff(self, key: str, failures: int, failure: ProviderFailure) -> float | None:
        """Seconds before a request that failed for the `failures`-th time (from 1) may try again; None: it is
        given up.

        Full jitter: uniform between 0 and the doubled bound, drawn from the request's key, so that a test can
        repeat it.
        """
        limits = self.limits
        wait = failure.retry_after if failure.retry_after is not None and failure.retry_after > 0 else 0.0
        if (
            not failure.retryable
            or failures >= limits.failures_per_request
            or not wait <= limits.longest_wait_s
        ):
            return None
        bound = min(limits.longest_backoff_s, limits.backoff_s * 2.0 ** min(failures - 1, 60))
        digest = hashlib.sha256(f"{key}:{failures}".encode()).digest()
        return wait + bound * int.from_bytes(digest[:8], "big") / 2.0**64

    def _delay(self, tokens: int) -> float:
        now = self.clock()
        return max(
            self._paused_until - now, self._breaker.delay(now), self._requests.delay(1, now),
            self._tokens.delay(tokens, now)
        )  # fmt: skip

    def _free_slot(self, entry: list[float], tokens: int | None) -> None:
        if tokens is not None:
            self._tokens.correct(entry, tokens, self.clock())
        self._active -= 1
        self._free.release()

    def _note_failure(self, failure: ProviderFailure, probe: bool) -> None:
        """Retry-After holds for the whole judge: its other requests would only be refused too."""
        now = self.clock()
        self._breaker.failed(probe, now)
        if (
            failure.retryable
            and failure.retry_after is not None
            and 0 < failure.retry_after <= self.limits.longest_wait_s
        ):
            self._paused_until = max(self._paused_until, now + failure.retry_after)
