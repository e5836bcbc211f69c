"""Judges behind a real SDK, at a loopback server."""

from __future__ import annotations

from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.budget import Budget
from lunguage_assets.judges.judge_config import Limits, LLMJudgeConfig, Price
from lunguage_assets.judges.ledger import Ledger
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
