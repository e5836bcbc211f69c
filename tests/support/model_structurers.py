"""Structurers behind real SDKs at a loopback server, opened as a run opens them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings
from lunguage_assets.structuring.contract import StructuredReport
from lunguage_assets.structuring.model.structurer import ModelStructurer
from lunguage_assets.structuring.opening import open_model

KEYS = {
    "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k",
    "OPENAI_API_VERSION": "2024-10-21",
}  # fmt: skip
PROVIDERS = ("openai", "azure-openai", "openai-compatible", "anthropic", "gemini")
LIMITS = {"in_flight": 4, "backoff_s": 0.001, "timeout_s": 5.0}
PRICE = {"input": 1.0, "output": 2.0, "as_of": "2026-01-01"}


def configured(provider: str, url: str, **fields: Any) -> JudgesConfiguration:
    """A judges file with one language model, `one`, beside the rule-based judges."""
    address = f"{url}/v1" if provider in ("openai", "openai-compatible") else url
    output = {"gemini": "max_output_tokens", "transformers": "max_new_tokens"}.get(provider, "max_tokens")
    slot = {
        "provider": provider, "model": "model-1", "params": {output: 900}, "limits": LIMITS, "price": PRICE,
    } | ({} if provider == "transformers" else {"base_url": address})  # fmt: skip
    return JudgesConfiguration.model_validate(
        {
            "preset": "p",
            "judges": {"lexicon": {"provider": "lexicon"}, "one": slot | fields},
            "panels": {"p": {"members": ["lexicon"]}},
            "presets": {"p": {"panel": "p", "extractor": "lexicon"}},
        }
    )


@contextlib.contextmanager
def opened(
    configuration: JudgesConfiguration, ledger: Path, budget: Budget | None = None, **surroundings: Any
) -> Iterator[ModelStructurer]:
    """Structurer `one` over the ledger in a file."""
    around = Surroundings(
        surroundings.pop("data_class", "synthetic"),
        lambda: Ledger.open(ledger),
        budget,
        environ=surroundings.pop("environ", KEYS),
        **surroundings,
    )
    structurer = open_model("one", configuration, around)
    try:
        yield structurer
    finally:
        structurer.close()


def plain(answers: list[StructuredReport]) -> list[dict[str, Any]]:
    """Everything of the answers, to be compared and searched."""
    return [asdict(answer) for answer in answers]
