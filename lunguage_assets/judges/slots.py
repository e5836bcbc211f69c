"""One `[judges.KEY]` table of the judges file: a rule-based judge, or a language model with everything that has to be known before it is asked.

Names and numbers only: no SDK, no key, nothing is read from the environment.
"""

from __future__ import annotations

import ipaddress
import math
from datetime import date
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from lunguage_assets.judges.requests import Mode

OfflineProvider = Literal["cues", "lexicon"]
ModelProvider = Literal["anthropic", "azure-openai", "gemini", "openai", "openai-compatible", "vertex"]
DataClass = Literal["synthetic", "credentialed"]

OFFLINE_PROVIDERS: tuple[str, ...] = get_args(OfflineProvider)
MODEL_PROVIDERS: tuple[str, ...] = get_args(ModelProvider)

_NOT_PARAMETERS = frozenset(
    {
        "model", "messages", "contents", "system", "system_instruction", "stream", "n", "candidate_count", "tools", "response_format",
        "response_mime_type", "response_schema", "response_json_schema", "structured_outputs", "http_options", "extra_body", "extra_headers",
        "api_key", "timeout",
    }
)  # fmt: skip
"""Fields of a request that the package sets itself, or that would bring several answers or none in text."""


class Part(BaseModel):
    """A table of the judges file: no field that is not known, no change after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Price(Part):
    """US dollars per million tokens as of a date; reasoning is billed as output."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    as_of: date

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """US dollars for that many tokens, reasoning counted among the output."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class Limits(Part):
    """What a judge may be asked at once: per minute (none: unlimited), in flight, and seconds for one answer."""

    requests_per_minute: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    tokens_per_minute: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    in_flight: int = Field(default=8, ge=1, le=4096)
    timeout_s: float = Field(default=60.0, gt=0, le=3600)


class OfflineSlot(Part):
    """A rule-based judge: no network, no cost."""

    provider: OfflineProvider
    description: str = ""


def on_this_machine(base_url: str) -> bool:
    """Whether an address is this machine's own (localhost, 127.0.0.0/8, ::1)."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_base_url(base_url: str, provider: ModelProvider) -> str:
    """The address, if text may be sent there.

    Raises:
        ValueError: it is not an http(s) address, holds a user name or password, or would carry text to a public service unencrypted.
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("base_url is not usable; expected an address such as https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("base_url holds more than an address; expected no user name, password or query: keys come from the environment")
    if parts.scheme == "http" and provider != "openai-compatible" and not on_this_machine(base_url):
        raise ValueError("base_url is http; expected https for this provider")
    return base_url


def _checked_parameters(params: dict[str, Any]) -> dict[str, Any]:
    taken = sorted(_NOT_PARAMETERS & params.keys())
    if taken:
        raise ValueError(f"{taken[0]!r} is not a parameter that a judge may set; expected only how the model draws its answer")
    if not _plain(params):
        raise ValueError("expected text, finite numbers, true or false, lists and tables only")
    return params


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


class ModelSlot(Part):
    """A language model.

    `params` go into the request as they are. `aliases`: names under which the same model may say that it answered. `allowed_data`: classes of
    corpus whose text may be sent; `credentialed` needs somebody's attestation that the endpoint keeps nothing, or a server on this machine.
    `base_url_env`, `api_key_env`: names of environment variables, never values.
    """

    provider: ModelProvider
    model: str = Field(min_length=1)
    description: str = ""
    params: Annotated[dict[str, Any], AfterValidator(_checked_parameters)] = Field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    mode: Mode = "text"
    base_url: str = ""
    base_url_env: str = Field(default="", pattern=r"^([A-Z_][A-Z0-9_]*)?$")
    api_key_env: str = Field(default="", pattern=r"^([A-Z_][A-Z0-9_]*)?$")
    api_version: str = ""
    price: Price | None = None
    limits: Limits = Limits()
    retires_on: date | None = None
    allowed_data: tuple[DataClass, ...] = ("synthetic",)
    zero_retention_attested_on: date | None = None
    zero_retention_attested_by: str = ""
    batch_allowed: bool = False

    @property
    def leaves_machine(self) -> bool:
        """Whether what is sent goes to somebody else; a gateway on this machine to a public service does, an own server here does not."""
        return not (self.provider == "openai-compatible" and on_this_machine(self.base_url))

    @field_validator("model")
    @classmethod
    def _trimmed(cls, model: str) -> str:
        if model != model.strip():
            raise ValueError("the model's name begins or ends with white space")
        return model

    @model_validator(mode="after")
    def _reachable(self) -> ModelSlot:
        if self.base_url:
            checked_base_url(self.base_url, self.provider)
        if self.base_url and self.base_url_env:
            raise ValueError("base_url and base_url_env are both given; expected one of them")
        if self.provider == "openai-compatible" and not (self.base_url or self.base_url_env):
            raise ValueError("base_url is missing; expected the server's address, or base_url_env with the variable that holds it")
        if self.api_version and self.provider != "azure-openai":
            raise ValueError("api_version is given; expected for azure-openai only")
        if self.api_key_env and self.provider == "vertex":
            raise ValueError("api_key_env is given; Vertex AI takes Google's application default credentials")
        if self.provider == "anthropic" and not _positive(self.params.get("max_tokens")):
            raise ValueError("params.max_tokens is missing; anthropic expects a whole number of at least 1")
        return self

    @model_validator(mode="after")
    def _trusted(self) -> ModelSlot:
        if (self.zero_retention_attested_on is None) != (not self.zero_retention_attested_by.strip()):
            raise ValueError("zero_retention_attested_on and zero_retention_attested_by belong together; one of them is missing")
        if "credentialed" in self.allowed_data and self.zero_retention_attested_on is None and self.leaves_machine:
            raise ValueError(
                "allowed_data names 'credentialed'; expected zero_retention_attested_on and zero_retention_attested_by, "
                "or an openai-compatible server whose base_url is on this machine"
            )
        if self.batch_allowed and self.provider == "openai-compatible":
            raise ValueError("batch_allowed is true; an openai-compatible server has no batch endpoint")
        return self


JudgeSlot = Annotated[OfflineSlot | ModelSlot, Field(discriminator="provider")]


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
