"""The services behind official SDKs: one attempt to get a reply.

OpenAI, with Azure and every server that speaks its chat completions, such as vLLM and
llama.cpp; Anthropic; and Google, with the Gemini API and Vertex AI. The SDKs' loggers
are silenced, because at level DEBUG they show whole requests.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import (
    OWN_CONSTRAINTS,
    LLMJudgeConfig,
    on_this_machine,
)
from lunguage_assets.judges.providers.endpoints import resolve_endpoint, variables_of
from lunguage_assets.judges.providers.failures import failure_of
from lunguage_assets.judges.requests import (
    MOST_TOKENS,
    ProviderFailure,
    Reply,
    Request,
    bare_label,
)

_TALKATIVE = (
    "openai", "anthropic", "google_genai", "google.auth",
    "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip

_FILTERED_CODE = "content_filter"
"""Code of a 400 by which Azure refuses a prompt."""


def import_sdk(key: str, module: str) -> ModuleType:
    """Import an SDK's module, and silence it.

    Raises:
        ConfigurationError: it is not installed; the message has the line that installs
            it.
    """
    try:
        sdk = importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"judge {key!r} needs the package of module {module}, which is not "
            "installed. Run: pip install 'lunguage-assets[llm]'"
        ) from None
    _silence_loggers()
    return sdk


def _silence_loggers() -> None:
    """Let the SDKs' loggers pass warnings only, whatever their level.

    OPENAI_LOG, ANTHROPIC_LOG and every run of Dagster that begins meanwhile may set a
    level anew, so that a filter is needed, too. It does not hold for loggers below its
    own: each gets it.
    """
    for name in (*_TALKATIVE, *logging.root.manager.loggerDict):
        if name.startswith(_TALKATIVE):
            logger = logging.getLogger(name)
            logger.setLevel(max(logging.WARNING, logger.level))
            # Adding a filter that is there does nothing.
            logger.addFilter(_is_warning)


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


class SdkProvider(ABC):
    """A model behind an SDK, the module `module`.

    It has a client for each running event loop, because pooled connections belong to
    the loop that opened them.

    Args:
        key: of the judge, for messages.
        config: its table.
        environ: variables that hold its key and address.

    Raises:
        ConfigurationError: the SDK or a variable is missing.
    """

    module: ClassVar[str]

    def __init__(
        self, key: str, config: LLMJudgeConfig, environ: Mapping[str, str]
    ) -> None:
        self.sdk = import_sdk(key, self.module)
        self.binding = config.binding
        self.endpoint = resolve_endpoint(key, config, environ)
        self.parameters = dict(config.params)
        self.timeout_s = config.limits.timeout_s
        self._in_flight = config.limits.in_flight
        variable = variables_of(config).get("api_key")
        self._key_source = (
            f"the key is read from ${variable}"
            if variable
            else "no api_key_env is named"
        )
        self._client_by_loop = weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, Any
        ]()

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: no reply, or one that is malformed.
        """
        failure = ProviderFailure("malformed", about=self.endpoint.base_url)
        response = None
        try:
            # The SDKs' own time-outs are for one read, this one for all of them.
            async with asyncio.timeout(self.timeout_s):
                response = await self._send(self._client_of_loop(), request)
        except Exception as error:
            if getattr(error, "code", None) == _FILTERED_CODE:
                # Azure may bill a prompt that it filters.
                model = self.binding.model
                return Reply("", model, 0, 0, refused=True, metered=False)
            failure = failure_of(error, self.endpoint.base_url, self._key_source)
        try:
            reply = self._reply(response, request)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            reply = None
        # The SDKs build their objects from any JSON, whatever the types in it.
        words = () if reply is None else (reply.text, reply.returned_model)
        if reply is not None and all(isinstance(word, str) for word in words):
            return reply
        # Raised outside the handler: neither its cause nor its context is the SDK's
        # exception, with the prompt.
        raise failure

    def _client_of_loop(self) -> Any:
        # Imported late: the SDKs bring it, and only who asks a model needs them.
        import httpx2

        loop = asyncio.get_running_loop()
        if loop not in self._client_by_loop:
            http = httpx2.AsyncClient(
                timeout=self.timeout_s,
                # A redirect would carry the prompt to a server that the judges file
                # does not name, and a proxy is not needed to reach this machine.
                follow_redirects=False,
                trust_env=not on_this_machine(self.endpoint.base_url),
                limits=httpx2.Limits(max_connections=2 * self._in_flight + 100),
            )
            self._client_by_loop[loop] = self._client(http)
            # The first client loads the modules of the connections, with their loggers.
            _silence_loggers()
        return self._client_by_loop[loop]

    @abstractmethod
    def _client(self, http: Any) -> Any:
        """Make a client of the SDK over this HTTP client."""

    @abstractmethod
    async def _send(self, client: Any, request: Request) -> Any:
        """Send a request with the judge's parameters; return the SDK's response."""

    @abstractmethod
    def _reply(self, response: Any, request: Request) -> Reply:
        """Read a response."""


def _count(usage: Any, *names: str) -> int | None:
    """Sum up those counts of tokens that a service gives.

    Returns:
        None: it gives none, or one that cannot be a count.
    """
    counts = [getattr(usage, name, None) for name in names]
    reported = [count for count in counts if count is not None]
    for count in reported:
        # `type`, not `isinstance`: true is no count.
        if type(count) is not int or not 0 <= count <= MOST_TOKENS:
            return None
    return sum(reported) if reported else None


def _metered(
    usage: Any, inputs: Sequence[str], outputs: Sequence[str], **fields: Any
) -> Reply:
    """Make a reply with the tokens that a service counted.

    Args:
        usage: what it says of them.
        inputs: names of the counts of its input, which are billed together.
        outputs: of its output.
        fields: of the reply.
    """
    input_tokens = _count(usage, *inputs)
    output_tokens = _count(usage, *outputs)
    return Reply(
        input_tokens=input_tokens or 0,
        output_tokens=output_tokens or 0,
        # No prompt has no tokens: 0 means that the server did not count.
        metered=bool(input_tokens) and output_tokens is not None,
        **fields,
    )


class OpenAIProvider(SdkProvider):
    """Chat completions.

    An Azure `model` is a deployment's name; the model that answers under it must be
    listed among the aliases.
    """

    module = "openai"

    async def _send(self, client: Any, request: Request) -> Any:
        messages = [
            {"role": "system", "content": request.prompt.system},
            {"role": "user", "content": request.prompt.user},
        ]
        body = dict(self.parameters)
        schema = request.answer_schema
        # A server's own field, such as `grammar`, takes the place of the schema.
        if schema is not None and OWN_CONSTRAINTS.isdisjoint(body):
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if self.binding.provider == "openai":
            # OpenAI may keep completions unless told not to.
            body.setdefault("store", False)
        # By `extra_body` parameters go out as they are, those too that are newer than
        # the SDK.
        return await client.chat.completions.create(
            model=self.binding.model, messages=messages, extra_body=body
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        # An empty list is an empty answer; what is no list at all is malformed.
        choice = response.choices[0] if response.choices != [] else None
        message = getattr(choice, "message", None)
        text = getattr(message, "content", None) or ""
        details = getattr(response.usage, "completion_tokens_details", None)
        is_filtered = getattr(choice, "finish_reason", None) == _FILTERED_CODE
        return _metered(
            response.usage,
            ["prompt_tokens"],
            ["completion_tokens"],
            text=bare_label(text) if request.is_choice else text,
            returned_model=response.model,
            reasoning_tokens=_count(details, "reasoning_tokens") or 0,
            refused=is_filtered or bool(getattr(message, "refusal", None)),
            margin=_margin(choice, request.labels),
        )

    def _client(self, http: Any) -> Any:
        # The client insists on a key; a server may ignore it.
        key = self.endpoint.api_key or "none"
        shared = {
            "api_key": key,
            "timeout": self.timeout_s,
            # Tries are the asker's: each is recorded, and counted by the budget.
            "max_retries": 0,
            "http_client": http,
        }
        if self.binding.provider == "azure-openai":
            return self.sdk.AsyncAzureOpenAI(
                azure_endpoint=self.endpoint.base_url,
                api_version=self.endpoint.api_version,
                **shared,
            )
        return self.sdk.AsyncOpenAI(
            base_url=self.endpoint.base_url,
            # Said again as a header: OPENAI_CUSTOM_HEADERS may hold another key, which
            # would go before this one.
            default_headers={"Authorization": f"Bearer {key}"},
            **shared,
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

    async def _send(self, client: Any, request: Request) -> Any:
        body = dict(self.parameters)
        # The SDK insists on it as an argument of its own.
        max_tokens = body.pop("max_tokens")
        schema = request.answer_schema
        if schema is not None:
            output_format = {"type": "json_schema", "schema": schema}
            body["output_config"] = {
                **body.get("output_config", {}),
                "format": output_format,
            }
        return await client.messages.create(
            model=self.binding.model,
            system=request.prompt.system,
            messages=[{"role": "user", "content": request.prompt.user}],
            max_tokens=max_tokens,
            extra_body=body or None,
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        # Thoughts are blocks of another type.
        texts = [block.text or "" for block in response.content if block.type == "text"]
        text = "".join(texts)
        details = getattr(response.usage, "output_tokens_details", None)
        return _metered(
            response.usage,
            # What is written to a cache or read from it is billed, and counted apart.
            [
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
            ],
            ["output_tokens"],
            text=bare_label(text) if request.is_choice else text,
            returned_model=response.model,
            reasoning_tokens=_count(details, "thinking_tokens") or 0,
            refused=response.stop_reason == "refusal",
        )

    def _client(self, http: Any) -> Any:
        return self.sdk.AsyncAnthropic(
            base_url=self.endpoint.base_url,
            api_key=self.endpoint.api_key,
            timeout=self.timeout_s,
            max_retries=0,
            http_client=http,
            # Traces can be told to hold prompts.
            open_telemetry=False,
        )


_NO_REFUSALS = frozenset(
    {
        "STOP",
        "MAX_TOKENS",
        "FINISH_REASON_UNSPECIFIED",
        "OTHER",
        "MALFORMED_RESPONSE",
        "LANGUAGE",
        "",
    }
)
"""Finishes of Gemini that are no refusal; every other one (SAFETY, BLOCKLIST, SPII,
RECITATION, ...) is.
"""


class GeminiProvider(SdkProvider):
    """`generateContent`, of the Gemini API and of Vertex AI.

    Parameters are fields of `GenerateContentConfig`, in the SDK's own names.

    Raises:
        ConfigurationError: a parameter is none of these, or there are no credentials.
    """

    module = "google.genai"

    def __init__(
        self, key: str, config: LLMJudgeConfig, environ: Mapping[str, str]
    ) -> None:
        super().__init__(key, config, environ)
        self._types = import_sdk(key, "google.genai.types")
        self._require_parameters(key)
        self._access: dict[str, Any] = {"api_key": self.endpoint.api_key}
        if config.provider == "vertex":
            self._access = {
                "credentials": _default_credentials(key),
                "project": self.endpoint.project,
                "location": self.endpoint.location,
            }

    def _require_parameters(self, key: str) -> None:
        try:
            self._types.GenerateContentConfig(**self.parameters)
        except ValueError as error:
            # Only pydantic's errors say which field is wrong.
            name = "?"
            if hasattr(error, "errors"):
                location = error.errors(include_url=False)[0]["loc"]
                name = ".".join(map(str, location))
            raise ConfigurationError(
                f"judge {key!r}, field params.{name}: not a parameter of Gemini's "
                "GenerateContentConfig, or not of its type. Fix the judges file."
            ) from None

    async def _send(self, client: Any, request: Request) -> Any:
        parameters = dict(self.parameters)
        if request.is_choice:
            labels = {"type": "STRING", "enum": list(request.labels)}
            parameters["response_mime_type"] = "text/x.enum"
            parameters["response_schema"] = labels
        elif request.answer_schema is not None:
            parameters["response_mime_type"] = "application/json"
            parameters["response_json_schema"] = request.answer_schema
        config = self._types.GenerateContentConfig(
            **parameters, system_instruction=request.prompt.system
        )
        return await client.aio.models.generate_content(
            model=self.binding.model, contents=request.prompt.user, config=config
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        candidate = response.candidates[0] if response.candidates else None
        content = getattr(candidate, "content", None)
        parts = getattr(content, "parts", None) or []
        reason: Any = getattr(candidate, "finish_reason", "")
        finish = getattr(reason, "value", reason) or ""
        is_blocked = bool(getattr(response.prompt_feedback, "block_reason", None))
        usage = response.usage_metadata
        return _metered(
            usage,
            ["prompt_token_count"],
            ["candidates_token_count", "thoughts_token_count"],
            # Thoughts may stand beside the answer.
            text="".join(part.text or "" for part in parts if not part.thought),
            returned_model=response.model_version,
            reasoning_tokens=_count(usage, "thoughts_token_count") or 0,
            refused=is_blocked or finish not in _NO_REFUSALS,
        )

    def _client(self, http: Any) -> Any:
        options = self._types.HttpOptions(
            base_url=self.endpoint.base_url,
            timeout=max(1, round(self.timeout_s * 1000)),  # milliseconds
            httpx_async_client=http,
        )
        is_vertex = self.binding.provider == "vertex"
        return self.sdk.Client(http_options=options, vertexai=is_vertex, **self._access)


def _default_credentials(key: str) -> Any:
    """Find Google's application default credentials.

    Raises:
        ConfigurationError: there are none.
    """
    auth = import_sdk(key, "google.auth")
    try:
        scope = "https://www.googleapis.com/auth/cloud-platform"
        credentials, _ = auth.default(scopes=[scope])
    except auth.exceptions.GoogleAuthError:
        raise ConfigurationError(
            f"judge {key!r}: no Google credentials found. Set "
            "GOOGLE_APPLICATION_CREDENTIALS to a credentials file, or run `gcloud auth "
            "application-default login`."
        ) from None
    return credentials


SDKS: Mapping[str, type[SdkProvider]] = {
    "openai": OpenAIProvider,
    "azure-openai": OpenAIProvider,
    "openai-compatible": OpenAIProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
    "vertex": GeminiProvider,
}
"""Provider of a judge -> what asks it."""
