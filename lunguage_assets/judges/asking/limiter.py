"""When a judge's next call may go: its calls in flight, its rates by the minute, its pauses after failures.

Knows nothing of prompts, answers or money. Clock and sleep are given, so that tests do not wait. Of all who
share a ledger one at a time asks a model, so that what others have sent in the last minute is all that has to
be known of them (`Limiter.note_recent`).
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence

from lunguage_assets.judges.requests import ProviderFailure
from lunguage_assets.judges.slots import Limits

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]

_TICK_S = 1e-6
_LOOK_AGAIN_S = 0.25
"""A call that waits looks this often whether the run has stopped."""


WINDOW_S = 60.0

_NOT_SERVED = frozenset({"rate_limited", "overloaded", "rejected", "authentication"})
"""Failures that use no tokens; after any other one the estimate stands."""


class _Minute:
    """Calls of the last minute by receipt, oldest first: when each went, and its tokens, expected or used."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.calls: dict[str, tuple[float, int]] = {}

    def delay(self, now: float, tokens: int) -> float:
        """Seconds until a call with so many tokens may go; one that is larger than a limit goes alone."""
        while self.calls and self.calls[first := next(iter(self.calls))][0] <= now - WINDOW_S:
            del self.calls[first]
        for limit, amount, used in (
            (self._limits.requests_per_minute, 1, len(self.calls)),
            (self._limits.tokens_per_minute, tokens, sum(count for _, count in self.calls.values())),
        ):
            if limit is not None and used > 0 and used + amount > limit:
                return max(0.0, next(iter(self.calls.values()))[0] + WINDOW_S - now) + _TICK_S
        return 0.0


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

    def __init__(self, limiter: Limiter, probe: bool, receipt: str) -> None:
        self._limiter, self._probe, self._receipt, self._ended = limiter, probe, receipt, False

    def succeeded(self, tokens: int = 0) -> None:
        """A reply came, which used so many tokens (0: nobody says, and the estimate stands)."""
        self._end()
        if tokens:
            self._used(tokens)
        self._limiter._breaker.succeeded()

    def failed(self, failure: ProviderFailure) -> None:
        """No reply. Retry-After holds for the whole judge: its other requests would only be refused too."""
        self._end()
        limiter = self._limiter
        if failure.kind in _NOT_SERVED:
            self._used(0)
        limiter._breaker.failed(self._probe, limiter.clock())
        wait_s = failure.retry_after or 0.0
        if failure.retryable and 0 < wait_s <= limiter.limits.longest_wait_s:
            limiter._pause(wait_s)

    def put_off(self, wait_s: float) -> None:
        """The call is not sent; the judge's next one goes in `wait_s` seconds at the earliest."""
        self.lost()
        self._limiter._minute.calls.pop(self._receipt, None)
        self._limiter._pause(wait_s)

    def lost(self) -> None:
        """Nothing is known of the call; harmless when it ended otherwise."""
        if not self._ended:
            self._end()
            self._limiter._breaker.lost(self._probe)

    def _used(self, tokens: int) -> None:
        calls = self._limiter._minute.calls
        if self._receipt in calls:
            calls[self._receipt] = calls[self._receipt][0], tokens

    def _end(self) -> None:
        self._ended = True
        self._limiter._free_slot()


class Limiter:
    """Flow control of one judge, over all its calls of `engine.ask`; used in one event loop at a time."""

    def __init__(
        self, limits: Limits | None = None, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.limits = limits if limits is not None else Limits()
        self.clock, self.sleep = clock, sleep
        self._minute = _Minute(self.limits)
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

    @property
    def rated(self) -> bool:
        """Whether there is a limit by the minute."""
        return self.limits.requests_per_minute is not None or self.limits.tokens_per_minute is not None

    def note_recent(self, calls: Sequence[tuple[str, float, int]]) -> None:
        """Calls of the last minute by whomever: receipt, seconds ago, tokens; its own are known already."""
        now, own = self.clock(), self._minute.calls
        known = own | {name: (now - ago_s, tokens) for name, ago_s, tokens in calls if name not in own}
        self._minute.calls = dict(sorted(known.items(), key=lambda one: one[1][0]))

    def begin(self) -> None:
        """A new run of questions starts in the current event loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._active:
                raise RuntimeError("a limiter works in one event loop at a time")
            self._loop, self._turn = loop, asyncio.Lock()
            self._free = asyncio.Semaphore(self.limits.in_flight)
        self._breaker.try_again()

    async def acquire(self, stopped: Callable[[], bool], tokens: int = 0, receipt: str = "") -> Leave | None:
        """Wait, first come first served, until a call of about so many tokens may go; None as soon as
        `stopped()`. `receipt` names the call.
        """
        await self._free.acquire()
        self._active += 1
        leave = None
        try:
            async with self._turn:
                while not stopped():
                    now = self.clock()
                    rate = self._minute.delay(now, tokens)
                    if (delay := max(self._paused_until - now, self._breaker.delay(now), rate)) <= 0:
                        if self.rated:
                            self._minute.calls[receipt] = now, tokens
                        leave = Leave(self, self._breaker.sent(), receipt)
                        break
                    await self.sleep(min(delay, _LOOK_AGAIN_S))
        finally:
            if leave is None:
                self._free_slot()
        return leave

    def backoff(self, key: str, failures: int, failure: ProviderFailure) -> float | None:
        """Seconds before a request that failed for the `failures`-th time (from 1) may try again; None: it is
        given up.

        Full jitter: uniform between 0 and the doubled bound, drawn from the request's key, so that a test can
        repeat it.
        """
        limits = self.limits
        wait = max(0.0, failure.retry_after or 0.0)
        again = failure.retryable and failures < limits.failures_per_request
        if not again or not wait <= limits.longest_wait_s:
            return None
        bound = min(limits.longest_backoff_s, limits.backoff_s * 2.0 ** min(failures - 1, 60))
        digest = hashlib.sha256(f"{key}:{failures}".encode()).digest()
        return wait + bound * int.from_bytes(digest[:8], "big") / 2.0**64

    def _pause(self, wait_s: float) -> None:
        self._paused_until = max(self._paused_until, self.clock() + wait_s)

    def _free_slot(self) -> None:
        self._active -= 1
        self._free.release()
