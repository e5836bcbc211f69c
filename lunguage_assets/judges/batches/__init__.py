"""Batch endpoints of the providers: cheaper, and answered within a day."""

from __future__ import annotations

from importlib import import_module

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.requests import BatchProvider, Provider

_CLASSES = {"anthropic": "AnthropicBatches", "gemini": "GeminiBatches", "openai": "OpenAIBatches"}


def batches_of(key: str, provider: Provider) -> BatchProvider:
    """The batch endpoint of a provider.

    Raises:
        ConfigurationError: it has none that is supported.
    """
    kind = provider.binding.provider
    if kind not in _CLASSES:
        raise ConfigurationError(
            f"judge {key!r}: provider {kind!r} has no batch endpoint that is supported. Set "
            "batch_allowed = false."
        )
    endpoint: BatchProvider = getattr(import_module(f"{__name__}.{kind}"), _CLASSES[kind])(provider)
    return endpoint
