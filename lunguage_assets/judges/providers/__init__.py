"""Language models behind the providers' official SDKs, one module per SDK, or in this process; no SDK is
imported until a provider is made.

What providers share is in `base.py`. Retries, limits, the ledger and the checks of what may be sent are not
here.
"""

from __future__ import annotations

from collections.abc import Mapping

from lunguage_assets.judges.providers.base import resolve_endpoint
from lunguage_assets.judges.requests import Provider
from lunguage_assets.judges.slots import ModelSlot


def provider_of(key: str, slot: ModelSlot, environ: Mapping[str, str]) -> Provider:
    """The provider of a slot, ready to answer; nothing is sent yet.

    `environ` is where keys and endpoints are read.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if slot.provider == "transformers":
        from lunguage_assets.judges.providers.local import local_provider

        return local_provider(key, slot)
    endpoint = resolve_endpoint(key, slot, environ)
    if slot.provider == "anthropic":
        from lunguage_assets.judges.providers.anthropic import AnthropicProvider

        return AnthropicProvider(key, slot, endpoint)
    if slot.provider in ("gemini", "vertex"):
        from lunguage_assets.judges.providers.gemini import GeminiProvider

        return GeminiProvider(key, slot, endpoint)
    from lunguage_assets.judges.providers.openai import OpenAIProvider

    return OpenAIProvider(key, slot, endpoint)
