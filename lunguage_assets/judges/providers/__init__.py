"""Language models behind the providers' official SDKs (`sdks.py`), or in this process (`local.py`); no SDK is
imported until a provider is made.

Retries, limits, the ledger and the checks of what may be sent are not here.
"""

from __future__ import annotations

from collections.abc import Mapping

from lunguage_assets.judges.providers.base import resolve_endpoint
from lunguage_assets.judges.providers.local import local_provider
from lunguage_assets.judges.providers.sdks import SDKS
from lunguage_assets.judges.requests import Provider
from lunguage_assets.judges.slots import ModelSlot


def provider_of(key: str, slot: ModelSlot, environ: Mapping[str, str]) -> Provider:
    """The provider of a slot, ready to answer; nothing is sent yet. Keys and endpoints are read in `environ`.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if slot.provider == "transformers":
        return local_provider(key, slot)
    return SDKS[slot.provider](key, slot, resolve_endpoint(key, slot, environ))
