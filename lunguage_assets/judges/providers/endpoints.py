"""Where a model is reached, and with which key.

Every address is written out: the SDKs read variables of their own (such as
OPENAI_BASE_URL) that could send report text to a server that nobody declared in the
judges file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig, unusable_address

_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "openai": {"api_key": "OPENAI_API_KEY"},
    "azure-openai": {
        "api_key": "AZURE_OPENAI_API_KEY",
        "base_url": "AZURE_OPENAI_ENDPOINT",
        "api_version": "OPENAI_API_VERSION",
    },
    "anthropic": {"api_key": "ANTHROPIC_API_KEY"},
    "gemini": {"api_key": "GEMINI_API_KEY"},
    "vertex": {
        "project": "GOOGLE_CLOUD_PROJECT",
        "location": "GOOGLE_CLOUD_LOCATION",
    },
}
"""Variables without which a judge cannot answer, unless its table says otherwise. An
OpenAI-compatible server needs none; Vertex AI takes Google's application default
credentials (GOOGLE_APPLICATION_CREDENTIALS).
"""

_OFFICIAL_URLS: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}

_GOOGLE_CREDENTIALS = (
    "Google's application default credentials are used: set "
    "GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A resolved address with its key.

    Attributes:
        key_source: where the key comes from, in words.
    """

    base_url: str
    api_key: str = field(repr=False, default="")
    api_version: str = ""
    project: str = ""
    location: str = ""
    key_source: str = "no api_key_env is named"


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
    variables = dict(_VARIABLES.get(config.provider, {}))
    of_table = {"api_key": config.api_key_env, "base_url": config.base_url_env}
    variables |= {name: variable for name, variable in of_table.items() if variable}
    values = {"base_url": config.base_url, "api_version": config.api_version}
    for name, variable in variables.items():
        values[name] = values.get(name) or environ.get(variable, "").strip()
        problem = "" if values[name] else "is not set"
        if name == "base_url" and not problem:
            problem = unusable_address(values[name])
        if problem:
            raise ConfigurationError(
                f"judge {key!r}: environment variable {variable} {problem}. Set it, or "
                "choose another preset."
            )
    official_url = _OFFICIAL_URLS.get(config.provider, "")
    if config.provider == "vertex":
        official_url = _vertex_url(values["location"])
        values["key_source"] = _GOOGLE_CREDENTIALS
    elif "api_key" in variables:
        values["key_source"] = f"the key is read from ${variables['api_key']}"
    values["base_url"] = values["base_url"] or official_url
    return Endpoint(**values)


def _vertex_url(location: str) -> str:
    # Hosts of single regions begin with the region; those of several do not.
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
