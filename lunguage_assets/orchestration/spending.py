"""What the language models of a partition were asked and what it cost.

The log of a run, the metadata of its asset and the check `answers_usable` show it.

Budgets and prices are not here, but in `judges`.
"""

from __future__ import annotations

import time
from typing import Any

import dagster as dg

from lunguage_assets.judges.progress import Meter, Progress, announce
from lunguage_assets.orchestration.metadata import markdown

LOG_EVERY_S = 30.0
"""A judge that is being asked reports so often in the run's log."""

SHOWN_COUNTS = (
    "questions",
    "hits",
    "calls",
    "invalid",
    "retried",
    "failures",
    "input_tokens",
    "output_tokens",
)
"""Fields of a judge's `Progress` that are shown."""


class Spending:
    """What the language models of a partition were asked and what it cost.

    Rule-based judges leave nothing to show. Counts go to the run's log now and then,
    and to whoever listens in this process. What an earlier run had paid before it was
    killed counts as found in the ledger; `lunguage ledger stats` has it.

    Args:
        context: of the run that makes the partition.
    """

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        # Judges report from their own threads.
        self._log = context.log
        self._meter = Meter()
        self._logged_at: dict[str, float] = {}

    def note(self, progress: Progress) -> None:
        """Record a judge's progress; log it at first and then every half minute."""
        self._meter.note(progress)
        announce(progress)
        seconds = time.monotonic()
        logged_at = self._logged_at.get(progress.judge, -LOG_EVERY_S)
        if seconds - logged_at >= LOG_EVERY_S:
            self._logged_at[progress.judge] = seconds
            totals = {total.judge: total for total in self._meter.totals()}
            self._log.info(totals[progress.judge].line())

    @property
    def asked(self) -> list[Progress]:
        """What was asked for the partition in all, by judge, once everything was."""
        return sorted(self._meter.totals(), key=lambda total: total.judge)

    def metadata(self) -> dict[str, Any]:
        """Return questions, calls, tokens and US dollars, in all and by judge."""
        for total in self.asked:
            self._log.info(total.line())
        if not self.asked:
            return {}
        metadata: dict[str, Any] = {}
        for name in SHOWN_COUNTS:
            counts = [getattr(total, name) for total in self.asked]
            metadata[f"llm_{name}"] = sum(counts)
        cost_usd = sum(total.cost_usd for total in self.asked)
        metadata["llm_cost_usd"] = round(cost_usd, 6)
        metadata["llm_by_judge"] = markdown(
            ["judge", *SHOWN_COUNTS, "US dollars"], map(_judge_row, self.asked)
        )
        return metadata


def _judge_row(total: Progress) -> tuple[object, ...]:
    counts = [getattr(total, name) for name in SHOWN_COUNTS]
    return (total.judge, *counts, round(total.cost_usd, 4))
