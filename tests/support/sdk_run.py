"""Judges behind a real SDK, processes that ask them and share a ledger, and one that
asks a fake model until it is killed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fake_model import FakeModel, questions, read_label
from forked import Forked, forked

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.asking.limits import Budget
from lunguage_assets.judges.judge_config import Limits, LLMJudgeConfig, Price
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.protocol import ComparisonQuestion

KEYS = {
    "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k",
    "OPENAI_API_VERSION": "2024-10-21",
}  # fmt: skip
PRICE = Price.model_validate({"input": 1.0, "output": 2.0, "as_of": "2026-01-01"})
LIMITS = Limits(in_flight=16, timeout_s=2.0, backoff_s=0.001, failures_per_request=30)


def pairs(count: int) -> list[ComparisonQuestion]:
    return [
        ComparisonQuestion(
            f"There may be <finding> number {n}.",
            f"There is likely <finding> number {n}.",
        )
        for n in range(count)
    ]


def judge_of(
    wire: str,
    url: str,
    ledger: Ledger,
    limits: Limits = LIMITS,
    budget: Budget | None = None,
) -> ModelJudge:
    """A judge of provider `wire` at a loopback server."""
    address = f"{url}/v1" if wire == "openai" else url
    params = {"max_output_tokens" if wire == "gemini" else "max_tokens": 100}
    slot = LLMJudgeConfig(
        provider=wire, model="model-1", base_url=address, params=params, limits=limits
    )  # type: ignore[arg-type]
    provider = provider_of("one", slot, KEYS)
    return ModelJudge(
        Asker("one", provider, ledger, limits, price=PRICE, budget=budget),
        load_prompts(),
    )


def started(ledger_location: str, url: str, **options: Any) -> Forked:
    """A process that tells its `answers` or its `error`; options: `count` and `start`
    of the questions, `daily` dollars, `limits`.
    """
    return forked(_ask, ledger_location, url, **options)


def _ask(
    ledger_location: str,
    url: str,
    count: int,
    start: int = 0,
    daily: float | None = None,
    **limits: Any,
) -> dict[str, Any]:
    budget = None if daily is None else Budget(None, daily)
    patient = LIMITS.model_copy(update={"timeout_s": 60.0, **limits})
    judge = judge_of("openai", url, Ledger.open(ledger_location), patient, budget)
    try:
        return {"answers": judge.compare(pairs(start + count)[start:])}
    except LunguageError as error:
        return {"error": str(error)}


def ask_fake(ledger_file: Path, log: Path, count: int, in_flight: int) -> None:
    """Ask `count` questions; `log` gets the key of every call that is sent."""
    model = FakeModel(0.1, latency=0.02, log=log)
    limits = Limits(in_flight=in_flight, backoff_s=0.001)
    Asker("one", model, Ledger.open(ledger_file), limits).ask(
        questions(count), read_label
    )
