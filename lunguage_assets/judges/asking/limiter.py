"""When a judge's next call may go: its calls in flight, its rates by the minute, its pauses after failures.

Clock and sleep are given, so that tests do not wait. Of all who share a ledger one at a time asks a model, so
what others have sent in the last minute is all that has to be known of them (`Limiter.note_recent`).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from lunguage_assets.judges.requests import ProviderFailure
from lunguage_assets.judges.slots import Limits

WINDOW_S = 60.0
_TICK_S = 1e-6
_LOOK_AGAIN_S = 0.25
"""A call that waits looks this often whether the run has stopped."""

_NOT_SERVED = frozenset({"rate_limited", "overloaded", "rejected", "authentication"})
"""Failures that use no tokens; after any other one the estimate stands."""


class Limiter:
    """Flow control of one judge, over all its calls of `engine.ask`; used in one event loop at a time."""

    def __init__(
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.limits, self.clock, self.sleep = limits, clock, sleep
        self.rated = limits.requests_per_minute is not None or limits.tokens_per_minute is not None
        self._minute: dict[str, tuple[float, int]] = {}
        """Calls of the last minute by receipt, oldest first: when each went, and its tokens."""
        self._paused_until = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free: asyncio.Semaphore
        self._turn: asyncio.Lock

    def note_recent(self, calls: Sequence[tuple[str, float, int]]) -> None:
        """Calls of the last minute by whomever: receipt, seconds ago, tokens; its own are known already."""
        now = self.clock()
        known = {receipt: (now - ago_s, tokens) for receipt, ago_s, tokens in calls} | self._minute
        self._minute = dict(sorted(known.items(), key=lambda one: one[1][0]))

    async def acquire(self, stopped: Callable[[], bool], tokens: int = 0, receipt: str = "") -> bool:
        """Wait, first come first served, until a call of about so many tokens may go; false as soon as
        `stopped()`. `receipt` names the call, which `release` ends.
        """
        if (loop := asyncio.get_running_loop()) is not self._loop:
            self._loop, self._turn = loop, asyncio.Lock()
            self._free = asyncio.Semaphore(self.limits.in_flight)
        await self._free.acquire()
        try:
            async with self._turn:
                while not stopped():
                    if (delay := self._delay(tokens)) <= 0:
                        if self.rated:
                            self._minute[receipt] = self.clock(), tokens
                        return True
                    await self.sleep(min(delay, _LOOK_AGAIN_S))
        except BaseException:
            self.release()
            raise
        self.release()
        return False

    def release(self) -> None:
        """A call that `acquire` let go is in flight no more."""
        self._free.release()

    def replied(self, receipt: str, tokens: int) -> None:
        """A reply used so many tokens (0: nobody says, and the estimate stands)."""
        if tokens and receipt in self._minute:
            self._minute[receipt] = self._minute[receipt][0], tokens

    def failed(self, receipt: str, failure: ProviderFailure) -> None:
        """No reply. Retry-After holds for the whole judge: its other requests would only be refused too."""
        if failure.kind in _NOT_SERVED and receipt in self._minute:
            self._minute[receipt] = self._minute[receipt][0], 0
        wait_s = failure.retry_after or 0.0
        if failure.retryable and wait_s <= self.limits.longest_wait_s:
            self._paused_until = max(self._paused_until, self.clock() + wait_s)

    def put_off(self, receipt: str, wait_s: float) -> None:
        """The call is not sent; the judge's next one goes in `wait_s` seconds at the earliest."""
        self._minute.pop(receipt, None)
        self._paused_until = max(self._paused_until, self.clock() + wait_s)

    def backoff(self, failures: int, failure: ProviderFailure) -> float | None:
        """Seconds before a request that failed for the `failures`-th time (from 1) may try again, drawn
        between Retry-After and a bound that doubles beyond it; None: it is given up.
        """
        limits, wait = self.limits, max(0.0, failure.retry_after or 0.0)
        again = failure.retryable and failures < limits.failures_per_request
        if not again or not wait <= limits.longest_wait_s:
            return None
        bound = min(limits.longest_backoff_s, limits.backoff_s * 2.0 ** min(failures - 1, 60))
        return wait + random.uniform(0.0, bound)

    def _delay(self, tokens: int) -> float:
        """Seconds until a call with so many tokens may go; one that is larger than a limit goes alone."""
        now = self.clock()
        self._minute = {name: one for name, one in self._minute.items() if one[0] > now - WINDOW_S}
        delay = self._paused_until - now
        for limit, amount, used in (
            (self.limits.requests_per_minute, 1, len(self._minute)),
            (self.limits.tokens_per_minute, tokens, sum(count for _, count in self._minute.values())),
        ):
            if limit is not None and used > 0 and used + amount > limit:
                oldest = next(iter(self._minute.values()))[0]
                delay = max(delay, oldest + WINDOW_S - now + _TICK_S)
        return delay
