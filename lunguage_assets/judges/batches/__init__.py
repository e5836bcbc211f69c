"""Batch endpoints of the providers: cheaper, and answered within a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.requests import BatchProvider, Provider

if TYPE_CHECKING:
    from lunguage_assets.judges.providers.anthropic import AnthropicProvider
    from lunguage_assets.judges.providers.gemini import GeminiProvider
    from lunguage_assets.judges.providers.openai import OpenAIProvider


def batches_of(key: str, provider: Provider) -> BatchProvider:
    """The batch endpoint of a provider.

    Raises:
        ConfigurationError: it has none that is supported.
    """
    kind = provider.binding.provider
    if kind == "openai":
        from lunguage_assets.judges.batches.openai import OpenAIBatches

        return OpenAIBatches(cast("OpenAIProvider", provider))
    if kind == "anthropic":
        from lunguage_assets.judges.batches.anthropic import AnthropicBatches

        return AnthropicBatches(cast("AnthropicProvider", provider))
    if kind == "gemini":
        from lunguage_assets.judges.batches.gemini import GeminiBatches

        return GeminiBatches(cast("GeminiProvider", provider))
    raise ConfigurationError(
        f"judge {key!r}: provider {kind!r} has no batch endpoint that is supported. Set "
        "batch_allowed = false."
    )
