"""The services behind official SDKs.

OpenAI, with Azure and every server that speaks its chat completions, such as vLLM;
Anthropic; and Google, with the Gemini API and Vertex AI.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.providers.base import SdkProvider, import_sdk, token_count
from lunguage_assets.judges.providers.endpoints import Endpoint
from lunguage_assets.judges.requests import Reply, Request, bare_label


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
        body = dict(self.binding.parameters) | self._constraint(request)
        if self.binding.provider == "openai":
            # OpenAI may keep completions unless told not to.
            body = {"store": False} | body
        # By `extra_body` parameters go out as they are, those too that are newer than
        # the SDK.
        return await client.chat.completions.create(
            model=self.binding.model, messages=messages, extra_body=body
        )

    def _constraint(self, request: Request) -> dict[str, Any]:
        """Constrain the answer, in the words of OpenAI or of a compatible server."""
        schema = request.answer_schema
        if schema is None:
            return {}
        if self.binding.provider != "openai-compatible":
            named = {"name": "answer", "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        if request.is_choice:
            return {"structured_outputs": {"choice": list(request.labels)}}
        return {"structured_outputs": {"json": schema}}

    def _reply(self, response: Any, request: Request) -> Reply:
        if response is None:
            # Azure may bill a prompt that it filters.
            return Reply("", self.binding.model, 0, 0, refused=True, metered=False)
        message = None
        finish_reason = None
        # An empty list is an empty answer; what is no list at all is malformed.
        if response.choices != []:
            message = response.choices[0].message
            finish_reason = response.choices[0].finish_reason
        usage = response.usage
        input_tokens = token_count(usage, "prompt_tokens")
        output_tokens = token_count(usage, "completion_tokens")
        details = getattr(usage, "completion_tokens_details", None)
        is_refused = bool(getattr(message, "refusal", None)) or (
            finish_reason == "content_filter"
        )
        return Reply(
            text=self._text_of(message, request),
            returned_model=response.model,
            input_tokens=input_tokens or 0,
            output_tokens=output_tokens or 0,
            reasoning_tokens=token_count(details, "reasoning_tokens") or 0,
            refused=is_refused,
            # No prompt has no tokens: 0 means that the server did not count.
            metered=bool(input_tokens) and output_tokens is not None,
        )

    def _text_of(self, message: Any, request: Request) -> Any:
        """Read the answer in a message; a compatible server gives a label itself."""
        text = getattr(message, "content", None) or ""
        is_compatible = self.binding.provider == "openai-compatible"
        return bare_label(text) if request.is_choice and not is_compatible else text

    def _client(self, http: Any) -> Any:
        # The client insists on a key; a server may ignore it.
        key = self._endpoint.api_key or "none"
        shared = {
            "api_key": key,
            "timeout": self._timeout_s,
            # Tries are the asker's: each is recorded, and counted by the budget.
            "max_retries": 0,
            "http_client": http,
        }
        if self.binding.provider == "azure-openai":
            return self._sdk.AsyncAzureOpenAI(
                azure_endpoint=self._endpoint.base_url,
                api_version=self._endpoint.api_version,
                **shared,
            )
        return self._sdk.AsyncOpenAI(
            base_url=self._endpoint.base_url,
            # Said again as a header: OPENAI_CUSTOM_HEADERS may hold another key, which
            # would go before this one.
            default_headers={"Authorization": f"Bearer {key}"},
            **shared,
        )


class AnthropicProvider(SdkProvider):
    """Messages; `max_tokens` among the judge's parameters is obligatory."""

    module = "anthropic"

    async def _send(self, client: Any, request: Request) -> Any:
        body = dict(self.binding.parameters)
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
        if request.is_choice:
            text = bare_label(text)
        usage = response.usage
        # What is written to a cache or read from it is billed, and counted apart.
        input_tokens = token_count(
            usage,
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        )
        output_tokens = token_count(usage, "output_tokens")
        details = getattr(usage, "output_tokens_details", None)
        return Reply(
            text=text,
            returned_model=response.model,
            input_tokens=input_tokens or 0,
            output_tokens=output_tokens or 0,
            reasoning_tokens=token_count(details, "thinking_tokens") or 0,
            refused=response.stop_reason == "refusal",
            metered=bool(input_tokens) and output_tokens is not None,
        )

    def _client(self, http: Any) -> Any:
        return self._sdk.AsyncAnthropic(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            timeout=self._timeout_s,
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

    def __init__(self, key: str, config: LLMJudgeConfig, endpoint: Endpoint) -> None:
        super().__init__(key, config, endpoint)
        self._types = import_sdk(key, "google.genai.types")
        self._parameters = dict(self.binding.parameters)
        self._require_parameters(key)
        self._access: dict[str, Any] = {"vertexai": False, "api_key": endpoint.api_key}
        if config.provider == "vertex":
            self._access = {
                "vertexai": True,
                "credentials": _default_credentials(key),
                "project": endpoint.project,
                "location": endpoint.location,
            }

    def _require_parameters(self, key: str) -> None:
        try:
            self._types.GenerateContentConfig(**self._parameters)
        except ValueError as error:
            name = "?"
            # Only pydantic's errors say which field is wrong.
            problems: list[Any] = []
            if hasattr(error, "errors"):
                problems = error.errors(include_url=False)
            if problems:
                name = ".".join(map(str, problems[0]["loc"]))
            raise ConfigurationError(
                f"judge {key!r}, field params.{name}: not a parameter of Gemini's "
                "GenerateContentConfig, or not of its type. Fix the judges file."
            ) from None

    async def _send(self, client: Any, request: Request) -> Any:
        config = self._types.GenerateContentConfig(
            **self._parameters,
            **_gemini_constraint(request),
            system_instruction=request.prompt.system,
        )
        return await client.aio.models.generate_content(
            model=self.binding.model, contents=request.prompt.user, config=config
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        content = None
        finish_reason: Any = ""
        if response.candidates:
            content = response.candidates[0].content
            finish_reason = response.candidates[0].finish_reason
        finish = getattr(finish_reason, "value", finish_reason) or ""
        is_blocked = bool(getattr(response.prompt_feedback, "block_reason", None))
        usage = response.usage_metadata
        output_names = ("candidates_token_count", "thoughts_token_count")
        input_tokens = token_count(usage, "prompt_token_count")
        # Gemini leaves out a count of output that is 0: a missing one is no gap.
        all_tokens = token_count(usage, "prompt_token_count", *output_names)
        return Reply(
            text=_gemini_text(content),
            returned_model=response.model_version,
            input_tokens=input_tokens or 0,
            output_tokens=token_count(usage, *output_names) or 0,
            reasoning_tokens=token_count(usage, "thoughts_token_count") or 0,
            refused=is_blocked or finish not in _NO_REFUSALS,
            metered=bool(input_tokens) and all_tokens is not None,
        )

    def _client(self, http: Any) -> Any:
        options = self._types.HttpOptions(
            base_url=self._endpoint.base_url,
            timeout=max(1, round(self._timeout_s * 1000)),  # milliseconds
            httpx_async_client=http,
        )
        return self._sdk.Client(http_options=options, **self._access)


def _gemini_text(content: Any) -> str:
    """Read an answer, without the thoughts that a model may show beside it."""
    if content is None or content.parts is None:
        return ""
    return "".join(part.text or "" for part in content.parts if not part.thought)


def _gemini_constraint(request: Request) -> dict[str, Any]:
    """Constrain the answer, in the words of Gemini."""
    schema = request.structure
    if schema is not None:
        return {
            "response_mime_type": "application/json",
            "response_json_schema": schema,
        }
    if request.is_choice:
        return {
            "response_mime_type": "text/x.enum",
            "response_schema": {"type": "STRING", "enum": list(request.labels)},
        }
    return {}


def _default_credentials(key: str) -> Any:
    """Find Google's application default credentials.

    Raises:
        ConfigurationError: there are none.
    """
    auth = import_sdk(key, "google.auth")
    try:
        credentials, _ = auth.default(
            scopes=["https://www.googleapis.com/auth/cloud-platform"]
        )
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
