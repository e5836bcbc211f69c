"""Where a model is reached and with which key: the judges file names places, the environment holds the
secrets.

Every address is written out, because the SDKs read variables of their own (OPENAI_BASE_URL,
ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL) that could send report text to a server that nobody declared in
the judges file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.slots import ModelProvider, ModelSlot, checked_base_url

KEY_VARIABLES: Mapping[ModelProvider, str] = {
    "openai": "OPENAI_API_KEY",
    "azure-openai": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Variable that holds the key, unless the slot names another by `api_key_env`. An OpenAI-compatible server
needs none unless the slot
names one; Vertex AI takes Google's application default credentials (GOOGLE_APPLICATION_CREDENTIALS)."""

AZURE_ENDPOINT, AZURE_VERSION = "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"
VERTEX_PROJECT, VERTEX_LOCATION = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"

_OFFICIAL: Mapping[ModelProvider, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A resolved address with its key."""

    base_url: str
    api_key: str = field(repr=False, default="")
    api_version: str = ""
    project: str = ""
    location: str = ""


def required_variables(slot: ModelSlot) -> tuple[str, ...]:
    """Environment variables without which a slot cannot answer, in the order in which they are read."""
    names = [slot.api_key_env or KEY_VARIABLES.get(slot.provider, "")]
    if slot.base_url_env:
        names.append(slot.base_url_env)
    elif slot.provider == "azure-openai" and not slot.base_url:
        names.append(AZURE_ENDPOINT)
    if slot.provider == "azure-openai" and not slot.api_version:
        names.append(AZURE_VERSION)
    if slot.provider == "vertex":
        names += [VERTEX_PROJECT, VERTEX_LOCATION]
    return tuple(name for name in names if name)


def resolve_endpoint(key: str, slot: ModelSlot, environ: Mapping[str, str]) -> Endpoint:
    """Address and key of a slot.

    Raises:
        ConfigurationError: names the variable that is not set, or whose address is not usable.
    """
    for name in required_variables(slot):
        if not environ.get(name, "").strip():
            raise ConfigurationError(
                f"judge {key!r}: environment variable {name} is not set. Set it, or choose another preset."
            )

    def read(variable: str) -> str:
        return environ.get(variable, "").strip()

    is_azure, is_vertex = slot.provider == "azure-openai", slot.provider == "vertex"
    variable = slot.base_url_env or (AZURE_ENDPOINT if is_azure and not slot.base_url else "")
    try:
        base_url = checked_base_url(read(variable)) if variable else slot.base_url
    except ValueError as error:
        raise ConfigurationError(f"judge {key!r}: environment variable {variable}: {error}.") from None
    location = read(VERTEX_LOCATION) if is_vertex else ""
    official = _vertex_url(location) if is_vertex else _OFFICIAL.get(slot.provider, "")
    return Endpoint(
        base_url=base_url or official,
        api_key=read(slot.api_key_env or KEY_VARIABLES.get(slot.provider, "")),
        api_version=slot.api_version or read(AZURE_VERSION) if is_azure else "",
        project=read(VERTEX_PROJECT) if is_vertex else "",
        location=location,
    )


def _vertex_url(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
