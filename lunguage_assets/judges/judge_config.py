"""One `[judges.KEY]` table of the judges file: an offline judge, or a language model.

It has everything that has to be known before a model is asked, as names and numbers: no
SDK is imported, no key is held, and nothing is read from the environment. The whole
file is `configuration.py`; what a model may be sent is decided in `opening.py`.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from lunguage_assets.judges.requests import Mode, Order, Request
from lunguage_assets.settings import DataClass

OfflineProvider = Literal["cues", "distilled", "lexicon"]
ModelProvider = Literal[
    "anthropic",
    "azure-openai",
    "gemini",
    "openai",
    "openai-compatible",
    "transformers",
]

OWN_CONSTRAINTS = frozenset(
    {"response_format", "structured_outputs", "guided_choice", "grammar"}
)
"""Fields of compatible servers that constrain an answer: given among a judge's
parameters, they take the place of the schema that is sent.
"""


class TomlTable(BaseModel):
    """A table of the judges file: no unknown field, no change after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Price(TomlTable):
    """US dollars per million tokens as of a date; reasoning is billed as output."""

    input: NonNegativeFloat
    output: NonNegativeFloat
    as_of: date

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """Compute US dollars for tokens, with reasoning counted among the output."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class Limits(TomlTable):
    """What a judge's service and its user allow.

    Attributes:
        in_flight: calls at the same time.
        timeout_s: for one answer.
        failures_per_request: after so many in a row, for each call in flight, the judge
            is given up.
        backoff_s: after a failure a call waits a random time up to this, doubled for
            every such round before.
    """

    in_flight: PositiveInt = 8
    timeout_s: PositiveFloat = 60.0
    failures_per_request: PositiveInt = 10
    backoff_s: NonNegativeFloat = 1.0


class OfflineJudgeConfig(TomlTable):
    """A judge that asks nobody: no network, no cost.

    Attributes:
        provider: rules, or a model that was distilled from judges.
        folder: of a distilled model.
    """

    provider: OfflineProvider
    folder: str = ""


class GenerationParameters(TomlTable):
    """Parameters of a model in this process.

    Unless given, plain sampling, as in the paper (explicit.md section 2). `do_sample`
    false: always the likeliest token.
    """

    max_new_tokens: int
    do_sample: bool = True
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    chat_template_kwargs: dict[str, Any] = {}


def on_this_machine(base_url: str) -> bool:
    """Whether an address is this machine's own (localhost, 127.0.0.0/8, ::1)."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def unusable_address(base_url: str) -> str:
    """Say why text may not be sent to an address; empty: it may.

    It has to be http(s), without a password, and no text leaves this machine
    unencrypted.
    """
    is_address = re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", base_url)
    # HTTP clients leave out a tab or line end silently: another address than was
    # checked.
    if not base_url.isprintable() or not is_address:
        return (
            "is not usable; expected an address such as https://host/v1 and no user "
            "name, password or query: keys come from the environment"
        )
    if base_url.startswith("http:") and not on_this_machine(base_url):
        return (
            "is http and leads off this machine; expected https. Let the server speak "
            "TLS, or reach it through a tunnel that ends on this machine (ssh -L)"
        )
    return ""


class LLMJudgeConfig(TomlTable):
    """A language model; the comments of `resources/judges.toml` explain each field."""

    provider: ModelProvider
    model: str = Field(pattern=r"^\S(.*\S)?$")
    params: dict[str, JsonValue] = {}
    mode: Mode = "text"
    order: Order = "one"
    let_in: str = ""
    base_url: str = ""
    api_key_env: str = Field(default="", pattern=r"^([A-Z_][A-Z0-9_]*)?$")
    api_version: str = ""
    price: Price | None = None
    limits: Limits = Limits()
    allowed_data: tuple[DataClass, ...] = ("synthetic",)
    zero_retention_attested_on: date | None = None
    zero_retention_attested_by: str = ""
    revision: str = "main"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Give a judge price, limits and order of where it runs, unless told."""
        is_in_process = values.get("provider") == "transformers"
        defaults: dict[str, Any] = {}
        if is_in_process or on_this_machine(str(values.get("base_url"))):
            # What runs here has one place, and costs nothing: small models, which are
            # the ones that prefer a position, are asked in both orders.
            defaults |= {"limits": {"in_flight": 1}, "order": "both"}
        if is_in_process:
            defaults["price"] = {"input": 0.0, "output": 0.0, "as_of": "2026-11-20"}
        return defaults | values

    def key_of(self, request: Request) -> str:
        """Compute the ledger's key of a question: 64 hexadecimal digits.

        It is the SHA-256 of the canonical JSON of everything that decides an answer.
        Not in it are names of judges and panels, addresses, keys, limits, prices and
        policy, because they decide whether and when, not what; nor results, such as the
        returned model. Every change of it would pay for all answers anew.
        """
        parameters = dict(self.params)
        if self.provider == "transformers":
            # Other weights, or coarser ones, answer otherwise.
            parameters |= {"revision": self.revision, "dtype": self.dtype}
        content = asdict(request) | {
            "provider": self.provider,
            # Once more: a changed key would have every answer paid again.
            "endpoint_class": self.provider,
            "model": self.model,
            "parameters": parameters,
        }
        if not request.schema:
            # Only where there is one: a comparison has none.
            del content["schema"]
        # 1 and 1.0 are the same setting.
        plain = json.loads(json.dumps(content), parse_float=_number)
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def identity(self, deciding: str) -> str:
        """Name it by everything that changes its answers.

        Args:
            deciding: whatever decides them besides provider, model and mode, as ASCII
                text, of which a hash is named.
        """
        digest = hashlib.sha256(deciding.encode("ascii")).hexdigest()[:12]
        return f"{self.provider}/{self.model}/{self.mode}/{digest}"

    @property
    def leaves_machine(self) -> bool:
        """Whether what is sent goes to somebody else."""
        # Behind an address here a gateway may stand that leads to a public service:
        # only a server of one's own, which speaks the compatible protocol, stays.
        is_own_server = self.provider == "openai-compatible"
        stays = is_own_server and on_this_machine(self.base_url)
        return not (stays or self.provider == "transformers")

    @model_validator(mode="after")
    def _check(self) -> LLMJudgeConfig:
        problem = unusable_address(self.base_url)
        if self.base_url and problem:
            raise ValueError(f"base_url {problem}")
        if self.provider in ("openai-compatible", "azure-openai") and not self.base_url:
            raise ValueError("base_url is missing; expected the server's address")
        if self.provider == "azure-openai" and not self.api_version:
            raise ValueError("api_version is missing; expected such as '2024-10-21'")
        if self.provider == "anthropic" and "max_tokens" not in self.params:
            raise ValueError(
                "params.max_tokens is missing; anthropic expects a whole number of at "
                "least 1"
            )
        if self.provider == "transformers":
            GenerationParameters.model_validate(self.params)
        return self


JudgeConfig = Annotated[
    OfflineJudgeConfig | LLMJudgeConfig, Field(discriminator="provider")
]


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number
