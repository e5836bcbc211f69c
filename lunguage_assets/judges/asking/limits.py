"""When a judge's next call may go, and what it may cost.

`Limiter` spaces calls by the rate of a judge and waits after failures. `Budget` holds
the ceilings in US dollars; the daily one, which all who share a ledger keep together,
is enforced by `ledger/calls.py`.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.judge_config import Limits
from lunguage_assets.judges.requests import ModelBinding, Prompt, ProviderFailure

LONGEST_BACKOFF_S = 60.0
LONGEST_WAIT_S = 300.0
"""A service that asks to wait longer is not waited for: the request is given up."""

MOST_FRAME_TOKENS = 32
"""Tokens that roles, separators and the schema of a constrained answer add at most."""

EXPECTED_FRAME_TOKENS = 8
"""Tokens that two roles and their separators add."""

_OUTPUT_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
)
"""Parameters that bound an answer, of whichever service."""


class BudgetExceeded(LunguageError):
    """The next call could pass a ceiling, or its cost cannot be known.

    What was answered is in the ledger.
    """


class _Characters(NamedTuple):
    """How many characters a prompt has."""

    ascii: int
    non_ascii: int


def estimated_input_tokens(prompt: Prompt) -> int:
    """Estimate the tokens of a prompt, rather too many, so that a budget holds.

    Three ASCII characters a token (English text has about four), and two tokens for any
    other character.
    """
    characters = _count_characters(prompt)
    return (
        math.ceil(characters.ascii / 3) + 2 * characters.non_ascii + MOST_FRAME_TOKENS
    )


def expected_input_tokens(prompt: Prompt) -> float:
    """Estimate the tokens of a prompt, as near as one can without a tokenizer.

    Four ASCII characters a token, one token for any other character.
    """
    characters = _count_characters(prompt)
    return characters.ascii / 4 + characters.non_ascii + EXPECTED_FRAME_TOKENS


def _count_characters(prompt: Prompt) -> _Characters:
    text = prompt.system + prompt.user
    ascii_count = len(text.encode("ascii", "ignore"))
    return _Characters(ascii_count, len(text) - ascii_count)


def shown_usd(usd: float) -> str:
    """Write US dollars with the digits that a small sum needs: $0.006, not $0.01."""
    if usd >= 1.0 or usd == 0.0:
        return f"${usd:,.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}"


def output_limit(binding: ModelBinding) -> int | None:
    """Find how many output tokens a judge's parameters allow; None: they do not say."""
    limits = _output_limits(dict(binding.parameters))
    return max(limits, default=None)


def _output_limits(parameters: Mapping[str, Any]) -> list[int]:
    # `type`, not `isinstance`: `max_tokens = true` is no number.
    limits = [
        parameters[name] for name in _OUTPUT_LIMITS if type(parameters.get(name)) is int
    ]
    for value in parameters.values():
        if isinstance(value, dict):
            limits += _output_limits(value)
    return limits


class Budget:
    """Ceilings in US dollars, shared by all judges of a run.

    A call is reserved at its worst case before it is sent, and settled at its cost
    afterwards; when nobody knows what it cost, at its worst case. Calls go from one
    event loop, so that nothing here is locked.

    Args:
        ceiling_usd: of this run, in this process; None: none.
        daily_usd: of the last 24 hours, for all who share the ledger; None: none.

    Raises:
        ConfigurationError: a ceiling is not a number of zero or more.
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
        self.spent_usd = 0.0
        self._reserved_usd: list[float] = []

    def reserve(self, judge: str, worst_usd: float | None) -> bool:
        """Reserve the money for a call, which `settle` ends.

        Args:
            judge: whose call it is, for messages.
            worst_usd: the most that the call can cost; None: unknown.

        Returns:
            False: calls in flight must be settled first to know.

        Raises:
            BudgetExceeded: even when all of them turn out free, this call could pass
                the ceiling; or its cost is unknown.
        """
        if worst_usd is None:
            raise BudgetExceeded(
                f"judge {judge!r} has no price, or no limit on output tokens in its "
                "parameters, so a budget cannot be kept. Give both in the judges file, "
                "or run without a budget."
            )
        if self.spent_usd + worst_usd > self.ceiling_usd:
            raise BudgetExceeded(
                f"budget of {shown_usd(self.ceiling_usd)}: "
                f"{shown_usd(self.spent_usd)} are spent in this run, and the next call "
                f"of judge {judge!r} could cost up to {shown_usd(worst_usd)}. All "
                "answers are kept; run again with a higher budget, and only the rest "
                "is asked."
            )
        # Calls in flight hold more than they will cost: whoever waits for them may go
        # after all.
        at_worst_usd = math.fsum((self.spent_usd, worst_usd, *self._reserved_usd))
        if at_worst_usd > self.ceiling_usd:
            return False
        self._reserved_usd.append(worst_usd)
        return True

    def settle(self, worst_usd: float, cost_usd: float | None) -> None:
        """End a call that was reserved.

        Args:
            worst_usd: at which it was reserved.
            cost_usd: what it cost; None: unknown, and the worst case is taken.
        """
        self._reserved_usd.remove(worst_usd)
        self.spent_usd += worst_usd if cost_usd is None else cost_usd


class Limiter:
    """Flow control of one judge.

    Calls are spaced evenly, so that no minute has more than its rate allows.

    Args:
        limits: of the judge.
        clock: seconds that pass; tests have their own.
        sleep: waits for seconds; tests do not wait.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._next_turn = clock()
        self._paused_until = clock()

    async def turn(self) -> None:
        """Wait, first come first served, until a call may go."""
        my_turn = max(self._clock(), self._next_turn)
        calls_per_minute = self._limits.requests_per_minute or math.inf
        self._next_turn = my_turn + 60.0 / calls_per_minute
        # A failure may pause the judge again while one waits.
        while (wait_s := max(my_turn, self._paused_until) - self._clock()) > 0:
            await self._sleep(wait_s)

    def failed(self, failure: ProviderFailure) -> None:
        """Note that a call brought no reply.

        Retry-After holds for the whole judge: its other requests would only be refused
        too.
        """
        wait_s = failure.retry_after or 0.0
        if failure.retryable and wait_s <= LONGEST_WAIT_S:
            self._paused_until = max(self._paused_until, self._clock() + wait_s)

    def backoff(self, failures: int, failure: ProviderFailure) -> float | None:
        """Draw the seconds before a request that failed may try again.

        Args:
            failures: how often it has failed, from 1.
            failure: the last one.

        Returns:
            Seconds between Retry-After and a bound beyond it that doubles with every
            failure; None: it is given up.
        """
        wait_s = failure.retry_after or 0.0
        is_exhausted = failures >= self._limits.failures_per_request
        if not failure.retryable or is_exhausted or wait_s > LONGEST_WAIT_S:
            return None
        # More doublings would overflow, and the bound was met long before.
        doublings = min(failures - 1, 60)
        bound_s = min(LONGEST_BACKOFF_S, self._limits.backoff_s * 2.0**doublings)
        return wait_s + random.uniform(0.0, bound_s)
