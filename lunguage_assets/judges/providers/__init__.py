"""Language models behind the providers' official SDKs, one module per SDK, or in this process; no SDK is
imported until a provider is made.

What a provider is asked and what it gives back is in `requests.py`; where it is reached and with which key in
`endpoints.py`; how SDK errors become a `ProviderFailure` in `failures.py`; HTTP clients, one per event loop,
in `clients.py`. Retries, limits, the ledger and the checks of what may be sent are not here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.requests import BatchProvider, ModelBinding, Provider, Reply, Request
from lunguage_assets.judges.providers.endpoints import Endpoint, resolve_endpoint
from lunguage_assets.judges.slots import ModelSlot

if TYPE_CHECKING:
    from lunguage_assets.judges.providers.anthropic import AnthropicProvider
    from lunguage_assets.judges.providers.gemini import GeminiProvider
    from lunguage_assets.judges.providers.openai import OpenAIProvider


def provider_of(key: str, slot: ModelSlot, environ: Mapping[str, str] | None = None) -> Provider:
    """The provider of a slot, ready to answer; nothing is sent yet.

    Args:
        key: the slot's name, for messages.
        slot: what is configured.
        environ: where keys and endpoints are read, `os.environ` by default.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if slot.provider == "transformers":
        from lunguage_assets.judges.providers.local import local_provider

        return local_provider(key, slot, binding_of(slot))
    endpoint = resolve_endpoint(key, slot, os.environ if environ is None else environ)
    return _provider(key, slot, binding_of(slot), endpoint)


def binding_of(slot: ModelSlot) -> ModelBinding:
    """What of a slot decides its answers; needs no key, no endpoint and no SDK."""
    parameters = dict(slot.params)
    if (
        slot.provider == "transformers"
    ):  # other weights, or coarser ones, answer otherwise; a device or a batch does not
        parameters |= {"revision": slot.revision, "dtype": slot.dtype}
    return ModelBinding(
        slot.provider, slot.provider, slot.model, tuple(sorted(parameters.items())), slot.aliases
    )


class DeferredProvider:
    """A provider that is made at its first question: a run that finds every answer in the ledger needs
    neither key nor SDK.
    """

    def __init__(self, binding: ModelBinding, make: Callable[[], Provider]) -> None:
        self._binding, self._make = binding, make
        self._made: Provider | None = None

    @property
    def binding(self) -> ModelBinding:
        return self._binding

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        Raises:
            ProviderFailure: no reply.
            ConfigurationError: a key, an endpoint or the SDK is missing; nothing was sent.
        """
        return await self.made().answer(request)

    def made(self) -> Provider:
        """The provider itself, made now if it has not been.

        Raises:
            ConfigurationError: a key, an endpoint or the SDK is missing.
        """
        if self._made is None:
            self._made = self._make()
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


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


def _provider(key: str, slot: ModelSlot, binding: ModelBinding, endpoint: Endpoint) -> Provider:
    if slot.provider == "anthropic":
        from lunguage_assets.judges.providers.anthropic import AnthropicProvider

        return AnthropicProvider(key, binding, endpoint, slot.limits.timeout_s, slot.limits.in_flight)
    if slot.provider in ("gemini", "vertex"):
        from lunguage_assets.judges.providers.gemini import GeminiProvider

        return GeminiProvider(key, binding, endpoint, slot.limits.timeout_s, slot.limits.in_flight)
    from lunguage_assets.judges.providers.openai import OpenAIProvider

    return OpenAIProvider(key, binding, endpoint, slot.limits.timeout_s, slot.limits.in_flight)
