"""What the language models of a partition were asked and what it cost.

The log of a run, the metadata of its asset and the check `answers_usable` show it.
Budgets and prices are not here, but in `judges`.
"""

from __future__ import annotations

import time
from functools import reduce
from operator import add
from typing import Any

import dagster as dg

from lunguage_assets.judges.progress import Meter, Progress, Report

LOG_EVERY_S = 30.0
"""Judges that are being asked report so often in the run's log."""

SHOWN_COUNTS = (
    "questions",
    "hits",
    "calls",
    "invalid",
    "failures",
    "input_tokens",
    "output_tokens",
    "cost_usd",
)
"""Fields of a judge's `Progress` that are shown."""


class Spending(Meter):
    """What the language models of a partition were asked and what it cost.

    It listens to what judges announce while a step asks them. Rule-based ones leave
    nothing to show. What an earlier run had paid before it was killed counts as found
    in the ledger; `lunguage ledger stats` has it.

    Args:
        is_paid: whether a language model is among the judges.
    """

    def __init__(self, *, is_paid: bool) -> None:
        super().__init__()
        self.is_paid = is_paid
        # Judges report from their own threads, which know of no step.
        self._log = dg.AssetExecutionContext.get().log
        self._logged_at = 0.0

    def note(self, report: Report) -> None:
        """Record a judge's progress; log all at first and then every half minute."""
        if not isinstance(report, Progress):
            return
        super().note(report)
        if time.monotonic() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = time.monotonic()
            self._log_totals()

    @property
    def asked(self) -> list[Progress]:
        """What was asked for the partition in all, by judge, once everything was."""
        return sorted(self.values(), key=lambda total: total.judge)

    def _log_totals(self) -> None:
        for total in self.asked:
            self._log.info(total.line())

    def metadata(self) -> dict[str, Any]:
        """Return questions, calls, tokens and US dollars in all; log them by judge."""
        self._log_totals()
        if not self.asked:
            return {}
        total = reduce(add, self.asked)
        return {f"llm_{name}": round(getattr(total, name), 6) for name in SHOWN_COUNTS}
