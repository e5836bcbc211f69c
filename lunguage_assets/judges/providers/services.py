"""The services behind official SDKs: one attempt to get a reply.

OpenAI, with Azure and every server that speaks its chat completions, such as vLLM and
llama.cpp; Anthropic; and the Gemini API. Every address is written out: the SDKs read
variables of their own (such as OPENAI_BASE_URL) that could send report text to a server
that nobody declared in the judges file.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import ValidationError

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import (
    OWN_CONSTRAINTS,
    LLMJudgeConfig,
    on_this_machine,
)
from lunguage_assets.judges.providers.failures import failure_of
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request

_KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "azure-openai": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Where keys are read from; an OpenAI-compatible server needs none."""

_OFFICIAL_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}

_TALKATIVE = ("openai", "anthropic", "google_genai", "google.auth", "http")

_FILTERED_CODE = "content_filter"
"""Code of a 400 by which Azure refuses a prompt."""


def _silence_loggers() -> None:
    """Switch off the SDKs' loggers, which show whole requests at level DEBUG.

    Their level would not do: OPENAI_LOG, ANTHROPIC_LOG and every run of Dagster that
    begins meanwhile may set it anew.
    """
    for name in (*_TALKATIVE, *logging.root.manager.loggerDict):
        if name.startswith(_TALKATIVE):
            logging.getLogger(name).disabled = True


class SdkProvider(ABC):
    """A model behind an SDK, the module `module`.

    Args:
        key: of the judge, for messages.
        config: its table.
        environ: variables, of which one holds its key.

    Raises:
        ConfigurationError: the SDK is not installed, or the variable is not set.
    """

    module: ClassVar[str]

    def __init__(
        self, key: str, config: LLMJudgeConfig, environ: Mapping[str, str]
    ) -> None:
        self.config = config
        self.address = config.base_url or _OFFICIAL_URLS[config.provider]
        self.timeout_s = config.limits.timeout_s
        variable = config.api_key_env or _KEY_VARIABLES.get(config.provider, "")
        self._key_source = f"the key is read from ${variable}"
        api_key = environ.get(variable, "").strip()
        if variable and not api_key:
            raise ConfigurationError(
                f"judge {key!r}: environment variable {variable} is not set. Set it, "
                "or choose another preset."
            )
        try:
            self.sdk = importlib.import_module(self.module)
        except ImportError:
            raise ConfigurationError(
                f"judge {key!r} needs the package of module {self.module}, which is "
                "not installed. Run: pip install 'lunguage-assets[llm]'"
            ) from None
        # The SDKs bring it.
        http = importlib.import_module("httpx2")
        http_client = http.AsyncClient(
            timeout=self.timeout_s,
            # A redirect would carry the prompt to a server that the judges file does
            # not name, and a proxy is not needed to reach this machine.
            follow_redirects=False,
            trust_env=not on_this_machine(self.address),
            limits=http.Limits(max_connections=config.limits.in_flight + 100),
        )
        # The clients insist on a key; a server may ignore it.
        self._client = self._make_client(key, api_key or "none", http_client)
        # The client loads the modules of the connections, with their loggers.
        _silence_loggers()

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: no reply, or one that is malformed.
        """
        failure = ProviderFailure("malformed", about=self.address)
        try:
            # The SDKs' own time-outs are for one read, this one for all of them.
            async with asyncio.timeout(self.timeout_s):
                reply = await self._ask(request)
            # The SDKs build their objects from any JSON, whatever the types in it.
            if isinstance(reply.text, str) and isinstance(reply.returned_model, str):
                return reply
        except Exception as error:
            if getattr(error, "code", None) == _FILTERED_CODE:
                # Azure may bill a prompt that it filters.
                return Reply("", self.config.model, 0, 0)
            failure = failure_of(error, self.address, self._key_source)
        # Raised outside the handler: neither its cause nor its context is the SDK's
        # exception, with the prompt.
        raise failure

    @abstractmethod
    def _make_client(self, key: str, api_key: str, http: Any) -> Any:
        """Make a client of the SDK over this HTTP client."""

    @abstractmethod
    async def _ask(self, request: Request) -> Reply:
        """Send a request with the judge's parameters, and read the response."""


def _tokens(usage: Any, *names: str) -> int:
    """Sum up counts of tokens, those that a service gives."""
    return sum(getattr(usage, name, None) or 0 for name in names)


class OpenAIProvider(SdkProvider):
    """Chat completions; an Azure `model` is a deployment's name."""

    module = "openai"

    def _make_client(self, key: str, api_key: str, http: Any) -> Any:
        shared = {
            "api_key": api_key,
            "timeout": self.timeout_s,
            # Tries are the asker's: each is recorded, and counted by the budget.
            "max_retries": 0,
            "http_client": http,
        }
        if self.config.provider == "azure-openai":
            return self.sdk.AsyncAzureOpenAI(
                azure_endpoint=self.address,
                api_version=self.config.api_version,
                **shared,
            )
        return self.sdk.AsyncOpenAI(
            base_url=self.address,
            # Said again as a header: OPENAI_CUSTOM_HEADERS may hold another key, which
            # would go before this one.
            default_headers={"Authorization": f"Bearer {api_key}"},
            **shared,
        )

    async def _ask(self, request: Request) -> Reply:
        messages = [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.user},
        ]
        body: dict[str, Any] = dict(self.config.params)
        schema = request.answer_schema
        # A server's own field, such as `grammar`, takes the place of the schema.
        if schema is not None and OWN_CONSTRAINTS.isdisjoint(body):
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if self.config.provider == "openai":
            # OpenAI may keep completions unless told not to.
            body.setdefault("store", False)
        # By `extra_body` parameters go out as they are, those too that are newer than
        # the SDK.
        response = await self._client.chat.completions.create(
            model=self.config.model, messages=messages, extra_body=body
        )
        # An empty list is an empty answer; what is no list at all is malformed.
        choice = response.choices[0] if response.choices != [] else None
        message = getattr(choice, "message", None)
        return Reply(
            text=getattr(message, "content", None) or "",
            returned_model=response.model,
            input_tokens=_tokens(response.usage, "prompt_tokens"),
            output_tokens=_tokens(response.usage, "completion_tokens"),
            margin=_margin(choice, request.labels),
        )


def _margin(choice: Any, labels: Sequence[str]) -> float | None:
    """Read how much likelier the first label was, where a server gives logprobs.

    The labels differ in their last letter: it is read at the token that completes one
    of them, of whose alternatives one completes the other.

    Returns:
        None: the server gives none, or not the other label's.
    """
    text = ""
    for token in getattr(getattr(choice, "logprobs", None), "content", None) or ():
        logprobs: dict[str, float] = {}
        for alternative in token.top_logprobs:
            for label in labels:
                if label in text + alternative.token:
                    logprobs.setdefault(label, alternative.logprob)
        if len(logprobs) == 2:
            return float(logprobs[labels[0]] - logprobs[labels[1]])
        if logprobs:
            return None
        text += token.token
    return None


class AnthropicProvider(SdkProvider):
    """Messages; `max_tokens` among the judge's parameters is obligatory."""

    module = "anthropic"

    def _make_client(self, key: str, api_key: str, http: Any) -> Any:
        return self.sdk.AsyncAnthropic(
            base_url=self.address,
            api_key=api_key,
            timeout=self.timeout_s,
            max_retries=0,
            http_client=http,
            # Traces can be told to hold prompts.
            open_telemetry=False,
        )

    async def _ask(self, request: Request) -> Reply:
        body: dict[str, Any] = dict(self.config.params)
        # The SDK insists on it as an argument of its own.
        max_tokens = body.pop("max_tokens")
        schema = request.answer_schema
        if schema is not None:
            output_format = {"type": "json_schema", "schema": schema}
            config = body.get("output_config", {})
            body["output_config"] = {**config, "format": output_format}
        response = await self._client.messages.create(
            model=self.config.model,
            system=request.system,
            messages=[{"role": "user", "content": request.user}],
            max_tokens=max_tokens,
            extra_body=body or None,
        )
        # Thoughts are blocks of another type.
        texts = [block.text or "" for block in response.content if block.type == "text"]
        return Reply(
            text="".join(texts),
            returned_model=response.model,
            # What is written to a cache or read from it is billed, and counted apart.
            input_tokens=_tokens(
                response.usage,
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
            ),
            output_tokens=_tokens(response.usage, "output_tokens"),
        )


class GeminiProvider(SdkProvider):
    """`generateContent` of the Gemini API.

    Parameters are fields of `GenerateContentConfig`, in the SDK's own names.

    Raises:
        ConfigurationError: a parameter is none of these.
    """

    module = "google.genai"

    def _make_client(self, key: str, api_key: str, http: Any) -> Any:
        parameters: dict[str, Any] = dict(self.config.params)
        try:
            self._config = self.sdk.types.GenerateContentConfig(**parameters)
        except ValidationError as error:
            name = error.errors()[0]["loc"][0]
            raise ConfigurationError(
                f"judge {key!r}, field params.{name}: not a parameter of Gemini's "
                "GenerateContentConfig, or not of its type. Fix the judges file."
            ) from None
        options = self.sdk.types.HttpOptions(
            base_url=self.address,
            timeout=max(1, round(self.timeout_s * 1000)),  # milliseconds
            httpx_async_client=http,
        )
        return self.sdk.Client(http_options=options, api_key=api_key, vertexai=False)

    async def _ask(self, request: Request) -> Reply:
        fields: dict[str, Any] = {"system_instruction": request.system}
        if request.answer_schema is not None:
            fields["response_mime_type"] = "application/json"
            fields["response_json_schema"] = request.answer_schema
        response = await self._client.aio.models.generate_content(
            model=self.config.model,
            contents=request.user,
            config=self._config.model_copy(update=fields),
        )
        candidate = next(iter(response.candidates or ()), None)
        content = getattr(candidate, "content", None)
        parts = getattr(content, "parts", None) or []
        usage = response.usage_metadata
        return Reply(
            # Thoughts may stand beside the answer.
            text="".join(part.text or "" for part in parts if not part.thought),
            returned_model=response.model_version,
            input_tokens=_tokens(usage, "prompt_token_count"),
            output_tokens=_tokens(
                usage, "candidates_token_count", "thoughts_token_count"
            ),
        )


SDKS: Mapping[str, type[SdkProvider]] = {
    "openai": OpenAIProvider,
    "azure-openai": OpenAIProvider,
    "openai-compatible": OpenAIProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
}
"""Provider of a judge -> what asks it."""
