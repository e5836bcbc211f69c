"""What the language models of a partition were asked and what it cost.

The log of a run, the metadata of its asset and the check `answers_usable` show it.

Calls and money are those of the ledger, which charges each call to the bill of the run
that made it (`judges.ledger.bills`). A run that was killed left a bill that nobody has
shown; the next run of the same partition takes it over. Budgets and prices are not
here, but in `judges`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.judges.asking.progress import Meter, Progress, announce
from lunguage_assets.judges.ledger.bills import Bill, ByJudge, Charges
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.lineage.recipes import RECIPES
from lunguage_assets.orchestration.metadata import markdown
from lunguage_assets.orchestration.partitions import store_keys

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

RunState = Literal["shown", "unfinished", "unknown"]
"""Of another run with a bill for the partition. `shown`: its cost stands in the
partition's metadata. `unfinished`: it ended without that. `unknown`: it is at work, or
of another home that shares the ledger.
"""


class Spending:
    """What the language models of a partition were asked and what it cost.

    Rule-based judges leave nothing to show. Counts go to the run's log now and then,
    and to whoever listens in this process.

    Args:
        context: of the run that makes the partition.
        configuration: of the home, whose ledger is opened only if a language model was
            asked.

    Attributes:
        bill: on which the judges of the partition charge their calls.
    """

    def __init__(
        self, context: dg.AssetExecutionContext, configuration: Configuration
    ) -> None:
        step = context.asset_key.path[-1]
        keys = store_keys(context.partition_key, RECIPES[step].dimensions)
        self._context = context
        # Judges report from their own threads.
        self._log = context.log
        self._configuration = configuration
        self.bill = Bill("/".join((step, *keys)), context.run_id)
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

    @cached_property
    def asked(self) -> list[Progress]:
        """What was asked for the partition in all, by judge, once everything was.

        Empty where no language model was asked: the ledger is not opened then.
        """
        noted = {total.judge: total for total in self._meter.totals()}
        if not noted:
            return []
        ledger = self._configuration.judge_context().open_ledger()
        bills = ledger.bills(self.bill.account)
        charged = bills.pop(self.bill.run, {})
        taken_over = self._take_over(ledger, bills)
        return [
            _with_charges(
                noted.get(judge, Progress(judge)),
                charged.get(judge, Charges()),
                taken_over.get(judge, Charges()),
            )
            for judge in sorted(noted.keys() | charged.keys() | taken_over.keys())
        ]

    def _take_over(self, ledger: Ledger, bills: Mapping[str, ByJudge]) -> ByJudge:
        """Take over the bills of runs that ended without showing them; return the sum.

        Args:
            ledger: that has the bills.
            bills: of other runs for the same partition, by run.
        """
        unfinished = []
        shown_already = []
        for run in bills:
            state = self._run_state(run)
            if state == "unfinished":
                unfinished.append(run)
            elif state == "shown":
                shown_already.append(run)
        # Bills that were shown already are closed, and no sum counts them again.
        if unfinished or shown_already:
            ledger.take_over(self.bill, unfinished, shown_already)
        total: ByJudge = {}
        for run in unfinished:
            for judge, charges in bills[run].items():
                total[judge] = total.get(judge, Charges()) + charges
        return total

    def _run_state(self, run_id: str) -> RunState:
        instance = self._context.instance
        run = instance.get_run_by_id(run_id)
        # No run of this instance: of another home that shares the ledger.
        if run is None or not run.is_finished:
            return "unknown"
        entries = instance.all_logs(
            run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
        )
        for entry in entries:
            event = entry.get_dagster_event()
            materialization = event.step_materialization_data.materialization
            is_same_asset = materialization.asset_key == self._context.asset_key
            partition = self._context.partition_key
            if is_same_asset and materialization.partition == partition:
                return "shown"
        return "unfinished"

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


def _with_charges(noted: Progress, charged: Charges, taken_over: Charges) -> Progress:
    """Return what a run noted of a judge, with calls and money as the ledger has them.

    Args:
        noted: by this run. What others had paid for the partition, it found in the
            ledger and counted as hits.
        charged: by this run.
        taken_over: what others had done for the partition.
    """
    total = charged + taken_over
    return replace(
        noted,
        # What a killed run had paid for this partition is a call of it, and no hit.
        hits=max(noted.hits - taken_over.settled, 0),
        calls=total.calls,
        invalid=total.invalid,
        invalid_before=max(noted.invalid_before - taken_over.invalid, 0),
        retried=max(total.unanswered - noted.failures, 0),
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost_usd=total.cost_usd,
    )
