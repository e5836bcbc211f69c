"""When a judge's next call may go, by its rate and after failures; what it may cost at most, and the ceilings
that are not passed.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.judge_config import Limits
from lunguage_assets.judges.requests import ModelBinding, Prompt, ProviderFailure

LONGEST_BACKOFF_S = 60.0
LONGEST_WAIT_S = 300.0
"""Asked to wait longer, a request is given up."""

_FRAME_TOKENS, _EXPECTED_FRAME_TOKENS = 32, 8
"""Tokens that roles, separators and a constrained answer's schema add to a short prompt; of these, what two
roles and their separators take.
"""

_OUTPUT_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
)


class BudgetExceeded(LunguageError):
    """The next call could pass the ceiling, or its cost cannot be known. What was answered is in the
    ledger.
    """


def estimated_input_tokens(prompt: Prompt) -> int:
    """Tokens of a prompt, rather too many, so that a budget holds: three letters a token (English has about
    four), two tokens for any other character.
    """
    plain, other = _letters(prompt)
    return math.ceil(plain / 3) + 2 * other + _FRAME_TOKENS


def expected_input_tokens(prompt: Prompt) -> float:
    """Tokens of a prompt, about: four letters a token in English, one token for any other character."""
    plain, other = _letters(prompt)
    return plain / 4 + other + _EXPECTED_FRAME_TOKENS


def _letters(prompt: Prompt) -> tuple[int, int]:
    """Plain (ASCII) and other characters of a prompt."""
    text = prompt.system + prompt.user
    plain = len(text.encode("ascii", "ignore"))
    return plain, len(text) - plain


def output_limit(binding: ModelBinding) -> int | None:
    """Output tokens that the judge's parameters allow at most, None when they do not say."""
    found, tables = list[int](), [dict(binding.parameters)]
    for table in tables:
        tables += [value for value in table.values() if isinstance(value, dict)]
        found += [
            table[name] for name in _OUTPUT_LIMITS if type(table.get(name)) is int
        ]
    return max(found, default=None)


class Budget:
    """A ceiling in US dollars shared by all judges of a run, whose calls go from one event loop, and one for
    everybody who shares the ledger (kept by `ledger.begin`). A call is reserved at its worst case before
    it is sent and settled at its cost afterwards; of unknown cost, at its worst case.

    Args:
        ceiling_usd: of this run, in this process; None: any.
        daily_usd: of the last 24 hours, for all who share the ledger; None: any.
    """

    def __init__(
        self, ceiling_usd: float | None, daily_usd: float | None = None
    ) -> None:
        for ceiling in (ceiling_usd, daily_usd):
            if ceiling is not None and not 0 <= ceiling < math.inf:
                raise ConfigurationError(
                    "invalid budget; expected US dollars, zero or more."
                )
        self.ceiling_usd = math.inf if ceiling_usd is None else ceiling_usd
        self.daily_usd = daily_usd
        self.spent_usd = 0.0  # settled so far in this run
        self._reserved: list[float] = []

    def reserve(self, judge: str, worst_usd: float | None) -> bool:
        """Take leave to send a call, which `settle` ends; False when calls in flight must be settled first to
        know.

        Raises:
            BudgetExceeded: even when all of them turn out free, this call could pass the ceiling; or its cost
                is unknown.
        """
        if worst_usd is None:
            raise BudgetExceeded(
                f"judge {judge!r} has no price, or no limit on output tokens in its parameters, so a budget "
                "cannot be kept. Give both in the judges file, or run without a budget."
            )
        if self.spent_usd + worst_usd > self.ceiling_usd:
            raise BudgetExceeded(
                f"budget of ${self.ceiling_usd:.2f}: ${self.spent_usd:.4f} are spent in this run, and the "
                f"next call of judge {judge!r} could cost up to ${worst_usd:.4f}. All answers are kept; run "
                "again with a higher budget, and only the rest is asked."
            )
        if math.fsum((self.spent_usd, worst_usd, *self._reserved)) > self.ceiling_usd:
            return False
        self._reserved.append(worst_usd)
        return True

    def settle(self, worst_usd: float, cost_usd: float | None) -> None:
        """A call reserved at `worst_usd` has ended at this cost; None: unknown, the worst case is taken."""
        self._reserved.remove(worst_usd)
        self.spent_usd += worst_usd if cost_usd is None else cost_usd


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
        if (
            not failure.retryable
            or failures >= self._limits.failures_per_request
            or wait_s > LONGEST_WAIT_S
        ):
            return None
        bound = min(
            LONGEST_BACKOFF_S, self._limits.backoff_s * 2.0 ** min(failures - 1, 60)
        )
        return wait_s + random.uniform(0.0, bound)
