"""What asking may cost: ceilings in US dollars, and the most that a call can cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.requests import Request

# Commands that ask nobody read a configuration too, and need no database for it.
if TYPE_CHECKING:
    from lunguage_assets.judges.ledger import Ledger

_MOST_FRAME_TOKENS = 32
"""Tokens that roles, separators and the schema of a constrained answer add at most."""

_OUTPUT_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
)
"""Parameters that bound an answer, of whichever service."""


class BudgetExceeded(LunguageError):
    """A ceiling is reached, or what a call costs cannot be known.

    What was answered is in the ledger.
    """


def estimated_input_tokens(request: Request) -> int:
    """Estimate the tokens of a prompt, rather too many, so that a budget holds.

    Three characters a token; English text has about four.
    """
    return len(request.system + request.user) // 3 + _MOST_FRAME_TOKENS


def output_limit(parameters: Mapping[str, Any]) -> int | None:
    """Find how many output tokens a judge's parameters allow; None: they do not say."""
    limits = (parameters.get(name) for name in _OUTPUT_LIMITS)
    return next((limit for limit in limits if isinstance(limit, int)), None)


def most_usd(config: LLMJudgeConfig, request: Request) -> float | None:
    """Compute the most that a call can cost; None: unknown."""
    most_output_tokens = output_limit(config.params)
    if config.price is None or most_output_tokens is None:
        return None
    return config.price.cost(estimated_input_tokens(request), most_output_tokens)


@dataclass
class Budget:
    """Ceilings in US dollars, shared by all judges of a run.

    Attributes:
        ceiling_usd: of this run, in this process; None: none.
        daily_usd: of the last 24 hours, for all who share the ledger; None: none.
        spent_usd: by calls that have ended.
        in_flight_usd: the most that the calls in flight can cost.
        others_today_usd: what others have spent in the last 24 hours.
    """

    ceiling_usd: float | None = None
    daily_usd: float | None = None
    spent_usd: float = 0.0
    in_flight_usd: float = 0.0
    others_today_usd: float = 0.0

    def look_at(self, ledger: Ledger) -> None:
        """Sum up what others have spent today, before a round of calls."""
        if self.daily_usd is not None:
            self.others_today_usd = ledger.spent_today() - self.spent_usd

    def begin(self, judge: str, worst_usd: float | None) -> None:
        """Refuse a call that could pass a ceiling; `end` ends one that may go.

        Args:
            judge: whose call it is, for messages.
            worst_usd: the most that the call can cost; None: unknown.

        Raises:
            BudgetExceeded: it could, or its cost is unknown.
        """
        today_usd = self.others_today_usd + self.spent_usd
        all_that_share = "in the last 24 hours by all that share the ledger"
        for name, ceiling_usd, spent_usd, since in (
            ("budget", self.ceiling_usd, self.spent_usd, "in this run"),
            ("daily budget", self.daily_usd, today_usd, all_that_share),
        ):
            if ceiling_usd is None:
                continue
            if worst_usd is None:
                raise BudgetExceeded(
                    f"judge {judge!r} has no price, or no limit on output tokens in "
                    "its parameters, so a budget cannot be kept. Give both in the "
                    "judges file, or run without a budget."
                )
            if spent_usd + worst_usd > ceiling_usd:
                raise BudgetExceeded(
                    f"{name} of ${ceiling_usd:,.4f}: ${spent_usd:,.4f} are spent "
                    f"{since}, and the next call of judge {judge!r} could cost up to "
                    f"${worst_usd:,.4f}. Calls in flight add "
                    f"${self.in_flight_usd:,.4f} at most; a higher budget asks the "
                    "rest"
                )
        self.in_flight_usd += worst_usd or 0.0

    def end(self, worst_usd: float | None, cost_usd: float | None) -> None:
        """End a call that was begun; of unknown cost, at its worst."""
        worst_usd = worst_usd or 0.0
        # The sum of many begun and ended calls is nothing only but for its last digit.
        self.in_flight_usd = max(0.0, self.in_flight_usd - worst_usd)
        self.spent_usd += worst_usd if cost_usd is None else cost_usd
