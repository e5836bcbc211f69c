"""Processes that ask through the real SDK and share a ledger. They are forked from one that has imported
everything, and so begin at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from sdk_run import KEYS, LIMITS, PRICE, pairs

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.asker import Asker
from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.slots import ModelSlot

LEASE_S = 1.0


@dataclass
class Asking:
    """A process that asks."""

    process: BaseProcess
    connection: Connection

    def said(self) -> dict[str, Any]:
        """Its `answers`, or its `error`, when it has ended."""
        if not self.connection.poll(60):
            self.process.kill()
            raise AssertionError("it should have ended")
        told: dict[str, Any] = self.connection.recv()
        self.process.join()
        return told

    def signal(self, number: signal.Signals) -> None:
        """Stop it, wake it up, or kill it."""
        os.kill(self.process.pid or 0, number)
        if number == signal.SIGKILL:
            self.process.join()


def started(place: str, url: str, **options: Any) -> Asking:
    """A process that asks; options: `count` and `start` of the questions, `daily` dollars, `limits`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "openai"])
    here, there = context.Pipe()
    process = context.Process(target=_ask, args=(there, place, url, options), daemon=True)
    process.start()
    there.close()
    return Asking(process, here)


def judge_of(ledger: Ledger, url: str, *, daily: float | None = None, **limits: Any) -> ModelJudge:
    """The judge that all of them ask."""
    slot = ModelSlot(
        provider="openai",
        model="model-1",
        base_url=f"{url}/v1",
        params={"max_tokens": 100},
        limits=LIMITS.model_copy(update={"timeout_s": 60.0, **limits}),
    )
    budget = None if daily is None else Budget(None, daily)
    asker = Asker("one", provider_of("one", slot, KEYS), ledger, slot.limits, price=PRICE, budget=budget)
    return ModelJudge(asker, load_prompts())


def _ask(connection: Connection, place: str, url: str, options: dict[str, Any]) -> None:
    judge = judge_of(
        Ledger.open(place, lease_s=LEASE_S),
        url,
        daily=options.get("daily"),
        **options.get("limits", {}),
    )
    start = options.get("start", 0)
    try:
        answers = judge.compare(pairs(start + options["count"])[start:])
        connection.send({"answers": [answer.answer for answer in answers]})
    except LunguageError as error:
        connection.send({"error": str(error)})
