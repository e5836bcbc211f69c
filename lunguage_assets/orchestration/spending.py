"""What the language models of a partition were asked and what it cost.

The log of a run, the metadata of its asset and the check `answers_usable` show it.

Calls and money are those of the ledger, which charges each call to the bill of the run
that made it (`judges.ledger.bills`). A run that was killed left a bill that nobody has
shown; the next run of the same partition takes it over. So does it with what was asked
ahead of the run. Budgets and prices are not here, but in `judges`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
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
from lunguage_assets.workspace.table_record import fingerprint

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

RunState = Literal["told", "unfinished", "unknown"]
"""Of another run with a bill for the partition. `told`: its cost stands in the
partition's metadata. `unfinished`: it ended without that. `unknown`: it is at work, or
of another home that shares the ledger.
"""


def bill_ahead(configuration: Configuration, step: str, *keys: str) -> Bill:
    """Return the bill for what a home asks before the run of a partition has begun.

    Args:
        configuration: of the home that asks; another home with the same ledger has
            a bill of its own.
        step: that is made.
        keys: of the partition, in the order of the store.
    """
    return Bill(
        _account_name(step, keys), f"ahead {fingerprint(str(configuration.home.root))}"
    )


def _account_name(step: str, keys: Collection[str]) -> str:
    return "/".join((step, *keys))


@dataclass(frozen=True)
class PartitionAccount:
    """Where the calls for one partition are charged.

    Args:
        bill: of the run that makes the partition.
        ahead: of what was asked before the run began.
        open_ledger: opens the ledger; not called unless a language model was asked.
        run_state: says of another run what became of its bill.
    """

    bill: Bill
    ahead: Bill
    open_ledger: Callable[[], Ledger]
    run_state: Callable[[str], RunState]

    def settle(self) -> Settlement:
        """Take over the bills of runs that ended without showing them."""
        ledger = self.open_ledger()
        by_run = ledger.bills(self.bill.account)
        charged_here = by_run.pop(self.bill.run, {})
        unfinished = []
        shown_already = []
        for run in by_run:
            state = "unfinished" if run == self.ahead.run else self.run_state(run)
            if state == "unfinished":
                unfinished.append(run)
            elif state == "told":
                shown_already.append(run)
        # Bills that were told of already are closed, and no sum counts them again.
        if unfinished or shown_already:
            ledger.take_over(self.bill, unfinished, shown_already)
        taken_over = _sum_of_bills(*(by_run[run] for run in unfinished))
        return Settlement(_sum_of_bills(charged_here, taken_over), taken_over)


@dataclass(frozen=True)
class Settlement:
    """What was done for a partition, by judge.

    Args:
        charged: in all.
        taken_over: the part of it that others than this run had done.
    """

    charged: ByJudge
    taken_over: ByJudge


def _sum_of_bills(*bills: ByJudge) -> ByJudge:
    total: ByJudge = {}
    for bill in bills:
        for judge, charges in bill.items():
            total[judge] = total.get(judge, Charges()) + charges
    return total


def _run_state(
    instance: dg.DagsterInstance, run_id: str, asset: dg.AssetKey, partition: str
) -> RunState:
    run = instance.get_run_by_id(run_id)
    if run is None or not run.is_finished:
        return "unknown"
    materializations = instance.all_logs(
        run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
    )
    for entry in materializations:
        event = entry.get_dagster_event()
        materialization = event.step_materialization_data.materialization
        if materialization.asset_key != asset:
            continue
        if materialization.partition == partition:
            return "told"
    return "unfinished"


class Spending:
    """What the language models of a partition were asked and what it cost.

    Rule-based judges leave nothing to show. Counts go to the run's log now and then,
    and to whoever listens in this process.
    """

    def __init__(self, log: dg.DagsterLogManager, account: PartitionAccount) -> None:
        self._log = log
        self._account = account
        self._meter = Meter()
        self._logged_at: dict[str, float] = {}

    @classmethod
    def of_partition(
        cls, context: dg.AssetExecutionContext, configuration: Configuration
    ) -> Spending:
        """Return the spending of the partition that a run makes."""
        step = context.asset_key.path[-1]
        keys = store_keys(context.partition_key, RECIPES[step].dimensions)

        def run_state(run_id: str) -> RunState:
            return _run_state(
                context.instance, run_id, context.asset_key, context.partition_key
            )

        account = PartitionAccount(
            bill=Bill(_account_name(step, keys), context.run_id),
            ahead=bill_ahead(configuration, step, *keys),
            open_ledger=lambda: configuration.judge_context().open_ledger(),
            run_state=run_state,
        )
        return cls(context.log, account)

    @property
    def bill(self) -> Bill:
        """The bill on which the judges of the partition charge their calls."""
        return self._account.bill

    def note(self, progress: Progress) -> None:
        """Record a judge's progress; log it at first and then every half minute."""
        self._meter.note(progress)
        announce(progress)
        now = time.monotonic()
        logged_at = self._logged_at.get(progress.judge, -LOG_EVERY_S)
        if now - logged_at >= LOG_EVERY_S:
            self._logged_at[progress.judge] = now
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
        settlement = self._account.settle()
        return [
            _with_charges(
                noted.get(judge, Progress(judge)),
                settlement.charged.get(judge, Charges()),
                settlement.taken_over.get(judge, Charges()),
            )
            for judge in sorted(noted.keys() | settlement.charged.keys())
        ]

    def metadata(self) -> dict[str, Any]:
        """Return questions, calls, tokens and US dollars, in all and by judge."""
        for total in self.asked:
            self._log.info(total.line())
        if not self.asked:
            return {}
        metadata: dict[str, Any] = {
            f"llm_{name}": sum(getattr(total, name) for total in self.asked)
            for name in SHOWN_COUNTS
        }
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
        charged: for the partition in all.
        taken_over: the part of it that others had done.
    """
    return replace(
        noted,
        # What a killed run had paid for this partition is a call of it, and no hit.
        hits=max(noted.hits - taken_over.settled, 0),
        calls=charged.calls,
        invalid=charged.invalid,
        invalid_before=max(noted.invalid_before - taken_over.invalid, 0),
        retried=max(charged.unanswered - noted.failures, 0),
        input_tokens=charged.input_tokens,
        output_tokens=charged.output_tokens,
        cost_usd=charged.cost_usd,
    )
