"""Processes that ask through the real SDK and share a ledger."""

from __future__ import annotations

from typing import Any

from forked import Forked, forked
from sdk_run import KEYS, LIMITS, PRICE, pairs

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.asker import Asker
from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.slots import ModelSlot


def started(place: str, url: str, **options: Any) -> Forked:
    """A process that tells its `answers` or its `error`; options: `count` and `start` of the questions,
    `daily` dollars, `limits`.
    """
    return forked(_ask, place, url, **options)


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


def _ask(
    place: str,
    url: str,
    count: int,
    start: int = 0,
    daily: float | None = None,
    limits: dict[str, Any] | None = None,
) -> dict[str, Any]:
    judge = judge_of(Ledger.open(place), url, daily=daily, **(limits or {}))
    try:
        return {"answers": [answer.answer for answer in judge.compare(pairs(start + count)[start:])]}
    except LunguageError as error:
        return {"error": str(error)}
