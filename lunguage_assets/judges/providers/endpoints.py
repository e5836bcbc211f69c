"""Where a model is reached, and with which key.

Every address is written out: the SDKs read variables of their own (such as
OPENAI_BASE_URL) that could send report text to a server that nobody declared in the
judges file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig, checked_base_url

_KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "azure-openai": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Variable that holds the key, unless the judge names another by `api_key_env`. An
OpenAI-compatible server needs none; Vertex AI takes Google's application default
credentials (GOOGLE_APPLICATION_CREDENTIALS).
"""

_OFFICIAL_URLS: Mapping[str, str] = {
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


def variables_of(config: LLMJudgeConfig) -> dict[str, str]:
    """Name the environment variables without which a judge cannot answer.

    Returns:
        Field of its `Endpoint` -> variable.
    """
    provider = config.provider
    variables = {
        "api_key": config.api_key_env or _KEY_VARIABLES.get(provider, ""),
        "base_url": config.base_url_env,
    }
    # Every customer of Azure has an address of his own. The variables are those that
    # the SDK would read.
    if provider == "azure-openai" and not config.base_url:
        variables["base_url"] = config.base_url_env or "AZURE_OPENAI_ENDPOINT"
    if provider == "azure-openai" and not config.api_version:
        variables["api_version"] = "OPENAI_API_VERSION"
    if provider == "vertex":
        variables["project"] = "GOOGLE_CLOUD_PROJECT"
        variables["location"] = "GOOGLE_CLOUD_LOCATION"
    return {field: variable for field, variable in variables.items() if variable}


def resolve_endpoint(
    key: str, config: LLMJudgeConfig, environ: Mapping[str, str]
) -> Endpoint:
    """Find address and key of a judge.

    Args:
        key: of the judge, for messages.
        config: its table.
        environ: variables.

    Raises:
        ConfigurationError: names the variable that is not set, or whose address is not
            usable.
    """
    values = {
        "base_url": config.base_url or _OFFICIAL_URLS.get(config.provider, ""),
        "api_version": config.api_version,
    }
    for name, variable in variables_of(config).items():
        values[name] = environ.get(variable, "").strip()
        problem = "" if values[name] else "is not set"
        if name == "base_url" and values[name]:
            try:
                checked_base_url(values[name])
            except ValueError as error:
                problem = f"holds another address than expected: {error}"
        if problem:
            raise ConfigurationError(
                f"judge {key!r}: environment variable {variable} {problem}. Set it, or "
                "choose another preset."
            )
    values["base_url"] = values["base_url"] or _vertex_url(values["location"])
    return Endpoint(**values)


def _vertex_url(location: str) -> str:
    # Hosts of single regions begin with the region; those of several do not.
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
