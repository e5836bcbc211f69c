"""What the language models of a partition were asked and what it cost, as the run's log, its metadata and its
checks tell it. Calls and money are those of the ledger: what a killed or failed run had paid for the same
partition, or was paid ahead of it, is on its bill.
"""

from __future__ import annotations

import logging
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
from lunguage_assets.orchestration.metadata import markdown
from lunguage_assets.workspace.store import fingerprint

LOG_EVERY_S = 30.0
"""A judge that is being asked reports so often in the run's log."""

_SHOWN = (
    "questions",
    "hits",
    "calls",
    "invalid",
    "retried",
    "failures",
    "input_tokens",
    "output_tokens",
)
"""Fields of a judge's total that are shown."""

RunState = Literal["told", "unfinished", "unknown"]
"""Of a run with a bill: its cost stands in the partition's metadata; it ended without that; or it is at work,
or of another home that shares the ledger.
"""


def bill_ahead(configuration: Configuration, step: str, *keys: str) -> Bill:
    """For what a home asks before the run of a partition has begun."""
    return Bill(
        _account(step, keys), f"ahead {fingerprint(str(configuration.home.root))}"
    )


def _account(step: str, keys: Collection[str]) -> str:
    return "/".join((step, *keys))


@dataclass(frozen=True)
class Account:
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

    @classmethod
    def of(
        cls,
        context: dg.AssetExecutionContext,
        configuration: Configuration,
        step: str,
        keys: Collection[str],
    ) -> Account:
        """The account of the partition that a run makes."""

        def run_state(run_id: str) -> RunState:
            return _run_state(
                context.instance, run_id, dg.AssetKey(step), context.partition_key
            )

        return cls(
            Bill(_account(step, keys), context.run_id),
            bill_ahead(configuration, step, *keys),
            lambda: configuration.judge_context().open_ledger(),
            run_state,
        )

    def settled(self) -> tuple[ByJudge, ByJudge]:
        """What was done for the partition in all, and how much of it by others than this run: those who ended
        without telling of it, whose bills are taken over.
        """
        ledger = self.open_ledger()
        by_run = ledger.bills(self.bill.account)
        own = by_run.pop(self.bill.run, {})
        states = {
            run: "unfinished" if run == self.ahead.run else self.run_state(run)
            for run in by_run
        }
        unfinished = [run for run, state in states.items() if state == "unfinished"]
        told = [run for run, state in states.items() if state == "told"]
        if unfinished or told:
            ledger.take_over(self.bill, unfinished, told)
        taken = _summed(*(by_run[run] for run in unfinished))
        return _summed(own, taken), taken


def _summed(*bills: ByJudge) -> ByJudge:
    whole: ByJudge = {}
    for bill in bills:
        for judge, charges in bill.items():
            whole[judge] = whole.get(judge, Charges()) + charges
    return whole


def _run_state(
    instance: dg.DagsterInstance, run_id: str, asset: dg.AssetKey, partition: str
) -> RunState:
    run = instance.get_run_by_id(run_id)
    if run is None or not run.is_finished:
        return "unknown"
    for entry in instance.all_logs(
        run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
    ):
        made = entry.get_dagster_event().step_materialization_data.materialization
        if made.asset_key == asset and made.partition == partition:
            return "told"
    return "unfinished"


class Spending:
    """What the language models of a partition were asked and what it cost; rule-based judges leave nothing to
    show. Counts go to the run's log now and then, and to whoever listens in this process.
    """

    def __init__(self, log: logging.Logger, account: Account | None = None) -> None:
        self._log, self._account = log, account
        self._meter, self._logged = Meter(), dict[str, float]()

    @property
    def bill(self) -> Bill | None:
        """On which the judges of the partition charge their calls."""
        return self._account.bill if self._account is not None else None

    def note(self, progress: Progress) -> None:
        """Take note of where a judge stands; a line in the log at first and then every half minute."""
        self._meter.note(progress)
        announce(progress)
        now = time.monotonic()
        if now - self._logged.get(progress.judge, -LOG_EVERY_S) >= LOG_EVERY_S:
            self._logged[progress.judge] = now
            (total,) = (
                one for one in self._meter.totals() if one.judge == progress.judge
            )
            self._log.info(total.line())

    @cached_property
    def asked(self) -> list[Progress]:
        """What was asked for the partition in all, by judge, when everything was; nothing where no language
        model was asked.
        """
        noted = {total.judge: total for total in self._meter.totals()}
        if not noted or self._account is None:
            return sorted(noted.values(), key=lambda total: total.judge)
        charged, taken = self._account.settled()
        return [
            _with_charges(
                noted.get(judge, Progress(judge)),
                charged.get(judge, Charges()),
                taken.get(judge, Charges()),
            )
            for judge in sorted(noted.keys() | charged.keys())
        ]

    def metadata(self) -> dict[str, Any]:
        """Questions, calls, tokens and US dollars, in all and per language model."""
        for total in self.asked:
            self._log.info(total.line())
        if not self.asked:
            return {}
        rows = [
            (
                total.judge,
                *(getattr(total, name) for name in _SHOWN),
                round(total.cost_usd, 4),
            )
            for total in self.asked
        ]
        return {
            **{
                f"llm_{name}": sum(getattr(total, name) for total in self.asked)
                for name in _SHOWN
            },
            "llm_cost_usd": round(sum(total.cost_usd for total in self.asked), 6),
            "llm_by_judge": markdown(["judge", *_SHOWN, "US dollars"], rows),
        }


def _with_charges(noted: Progress, charged: Charges, taken: Charges) -> Progress:
    """What a run has noted of a judge, with the calls and the money that the ledger has charged.

    Args:
        noted: by this run: what others had paid for the partition, it found in the ledger.
        charged: for the partition in all.
        taken: the part of it that others had done.
    """
    return replace(
        noted,
        hits=max(noted.hits - taken.settled, 0),
        calls=charged.calls,
        invalid=charged.invalid,
        invalid_before=max(noted.invalid_before - taken.invalid, 0),
        retried=max(charged.unanswered - noted.failures, 0),
        input_tokens=charged.input_tokens,
        output_tokens=charged.output_tokens,
        cost_usd=charged.cost_usd,
    )
