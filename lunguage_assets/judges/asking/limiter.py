"""When a judge's next call may go: its rate by the minute, its pauses after failures."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable

from lunguage_assets.judges.requests import ProviderFailure
from lunguage_assets.judges.slots import Limits

LONGEST_BACKOFF_S = 60.0
LONGEST_WAIT_S = 300.0
"""Asked to wait longer, a request is given up."""


class Limiter:
    """Flow control of one judge. Calls are spaced evenly, so that no minute has more than its rate allows.

    Args:
        limits: of the judge.
        clock, sleep: given by tests, which do not wait.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._limits, self._clock, self._sleep = limits, clock, sleep
        self._next = self._paused_until = clock()

    async def turn(self) -> None:
        """Wait, first come first served, until a call may go."""
        begin = max(self._clock(), self._next)
        self._next = begin + 60.0 / (self._limits.requests_per_minute or math.inf)
        while (wait_s := max(begin, self._paused_until) - self._clock()) > 0:
            await self._sleep(wait_s)

    def failed(self, failure: ProviderFailure) -> None:
        """No reply. Retry-After holds for the whole judge: its other requests would only be refused too."""
        wait_s = failure.retry_after or 0.0
        if failure.retryable and wait_s <= LONGEST_WAIT_S:
            self._paused_until = max(self._paused_until, self._clock() + wait_s)

    def backoff(self, failures: int, failure: ProviderFailure) -> float | None:
        """Seconds before a request that failed for the `failures`-th time (from 1) may try again, drawn
        between Retry-After and a bound that doubles beyond it; None: it is given up.
        """
        wait_s = failure.retry_after or 0.0
        if not failure.retryable or failures >= self._limits.failures_per_request or wait_s > LONGEST_WAIT_S:
            return None
        bound = min(LONGEST_BACKOFF_S, self._limits.backoff_s * 2.0 ** min(failures - 1, 60))
        return wait_s + random.uniform(0.0, bound)
