"""The services behind official SDKs: OpenAI (with Azure, and every server that speaks its chat completions,
such as vLLM), Anthropic, and Google (Gemini API and Vertex AI).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.providers.base import Endpoint, SdkProvider, sdk, tokens
from lunguage_assets.judges.requests import Reply, Request, bare_label


class OpenAIProvider(SdkProvider):
    """Chat completions.

    An Azure `model` is a deployment's name; the model that answers under it must be listed among the aliases.
    """

    module = "openai"

    async def _send(self, client: Any, request: Request) -> Any:
        said = {"system": request.prompt.system, "user": request.prompt.user}
        messages = [{"role": role, "content": text} for role, text in said.items()]
        body: dict[str, Any] = (
            {"store": False} if self.binding.provider == "openai" else {}
        )
        body |= dict(self.binding.parameters)
        if (schema := request.answer_schema) is not None:
            if self.binding.provider == "openai-compatible":
                choice = (
                    {"choice": list(request.labels)}
                    if request.is_choice
                    else {"json": schema}
                )
                body["structured_outputs"] = choice
            else:
                named = {"name": "answer", "strict": True, "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
        return await client.chat.completions.create(
            model=self.binding.model, messages=messages, extra_body=body
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        if response is None:  # Azure may bill a prompt that it filters
            return Reply("", self.binding.model, 0, 0, refused=True, metered=False)
        choices, usage = response.choices, response.usage
        message, finish = (
            (choices[0].message, choices[0].finish_reason)
            if choices != []
            else (None, None)
        )
        text = getattr(message, "content", None) or ""
        asked, answered = (
            tokens(usage, "prompt_tokens"),
            tokens(usage, "completion_tokens"),
        )
        details = getattr(usage, "completion_tokens_details", None)
        unpack = request.is_choice and self.binding.provider != "openai-compatible"
        return Reply(
            text=bare_label(text) if unpack else text,
            returned_model=response.model,
            input_tokens=asked or 0,
            output_tokens=answered or 0,
            reasoning_tokens=tokens(details, "reasoning_tokens") or 0,
            refused=bool(getattr(message, "refusal", None))
            or finish == "content_filter",
            metered=bool(asked) and answered is not None,  # no prompt has no tokens
        )

    def _client(self, http: Any) -> Any:
        key = (
            self._endpoint.api_key or "none"
        )  # the client insists on one, a server may ignore it
        shared = {
            "api_key": key,
            "timeout": self._timeout_s,
            "max_retries": 0,
            "http_client": http,
        }
        if self.binding.provider == "azure-openai":
            return self._module.AsyncAzureOpenAI(
                azure_endpoint=self._endpoint.base_url,
                api_version=self._endpoint.api_version,
                **shared,
            )
        # Said again as a header: OPENAI_CUSTOM_HEADERS may hold another key, which would go before this one.
        own = {"Authorization": f"Bearer {key}"}
        return self._module.AsyncOpenAI(
            base_url=self._endpoint.base_url, default_headers=own, **shared
        )


class AnthropicProvider(SdkProvider):
    """Messages; `max_tokens` among the judge's parameters is obligatory."""

    module = "anthropic"

    async def _send(self, client: Any, request: Request) -> Any:
        body = dict(self.binding.parameters)
        if (schema := request.answer_schema) is not None:
            output = {
                **body.get("output_config", {}),
                "format": {"type": "json_schema", "schema": schema},
            }
            body["output_config"] = output
        return await client.messages.create(
            model=self.binding.model,
            system=request.prompt.system,
            messages=[{"role": "user", "content": request.prompt.user}],
            max_tokens=body.pop("max_tokens"),
            extra_body=body or None,
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        usage = response.usage
        text = "".join(
            block.text or "" for block in response.content if block.type == "text"
        )
        asked = tokens(
            usage,
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        )
        answered = tokens(usage, "output_tokens")
        details = getattr(usage, "output_tokens_details", None)
        return Reply(
            text=bare_label(text) if request.is_choice else text,
            returned_model=response.model,
            input_tokens=asked or 0,
            output_tokens=answered or 0,
            reasoning_tokens=tokens(details, "thinking_tokens") or 0,
            refused=response.stop_reason == "refusal",
            metered=bool(asked) and answered is not None,
        )

    def _client(self, http: Any) -> Any:
        return self._module.AsyncAnthropic(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            timeout=self._timeout_s,
            max_retries=0,
            http_client=http,
            open_telemetry=False,  # its traces can be told to hold prompts
        )


_FINISHED = frozenset(
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
"""Finishes of Gemini that are no refusal; every other one (SAFETY, BLOCKLIST, SPII, RECITATION, ...) is."""


class GeminiProvider(SdkProvider):
    """`generateContent`; parameters are fields of `GenerateContentConfig`, in the SDK's own names."""

    module = "google.genai"

    def __init__(self, key: str, slot: LLMJudgeConfig, endpoint: Endpoint) -> None:
        super().__init__(key, slot, endpoint)
        self._types = sdk(key, "google.genai.types")
        self._parameters = dict(self.binding.parameters)
        try:
            self._types.GenerateContentConfig(**self._parameters)
        except ValueError as error:
            problems = (
                error.errors(include_url=False) if hasattr(error, "errors") else []
            )
            name = ".".join(map(str, problems[0]["loc"])) if problems else "?"
            raise ConfigurationError(
                f"judge {key!r}, field params.{name}: not a parameter of Gemini's GenerateContentConfig, or "
                "not of its type. Fix the judges file."
            ) from None
        self._place = {"vertexai": False, "api_key": endpoint.api_key}
        if slot.provider == "vertex":
            place = {"project": endpoint.project, "location": endpoint.location}
            self._place = {
                "vertexai": True,
                "credentials": _default_credentials(key),
                **place,
            }

    async def _send(self, client: Any, request: Request) -> Any:
        constraint: dict[str, Any] = {}
        if (schema := request.structure) is not None:
            constraint = {
                "response_mime_type": "application/json",
                "response_json_schema": schema,
            }
        elif request.is_choice:
            labels = {"type": "STRING", "enum": list(request.labels)}
            constraint = {
                "response_mime_type": "text/x.enum",
                "response_schema": labels,
            }
        config = self._types.GenerateContentConfig(
            **self._parameters, **constraint, system_instruction=request.prompt.system
        )
        return await client.aio.models.generate_content(
            model=self.binding.model, contents=request.prompt.user, config=config
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        usage, candidates = response.usage_metadata, response.candidates or []
        content = candidates[0].content if candidates else None
        parts = (content.parts or []) if content is not None else []
        finish = candidates[0].finish_reason if candidates else ""
        blocked = getattr(response.prompt_feedback, "block_reason", None)
        asked, output = (
            "prompt_token_count",
            ("candidates_token_count", "thoughts_token_count"),
        )
        return Reply(
            text="".join(part.text or "" for part in parts if not part.thought),
            returned_model=response.model_version,
            input_tokens=tokens(usage, asked) or 0,
            output_tokens=tokens(usage, *output) or 0,
            reasoning_tokens=tokens(usage, output[1]) or 0,
            refused=bool(blocked)
            or (getattr(finish, "value", finish) or "") not in _FINISHED,
            # a count of output is left out when it is 0
            metered=bool(tokens(usage, asked))
            and tokens(usage, asked, *output) is not None,
        )

    def _client(self, http: Any) -> Any:
        options = self._types.HttpOptions(
            base_url=self._endpoint.base_url,
            timeout=max(1, round(self._timeout_s * 1000)),  # milliseconds
            httpx_async_client=http,
        )
        return self._module.Client(http_options=options, **self._place)


def _default_credentials(key: str) -> Any:
    auth = sdk(key, "google.auth")
    try:
        credentials, _ = auth.default(
            scopes=["https://www.googleapis.com/auth/cloud-platform"]
        )
    except auth.exceptions.GoogleAuthError:
        raise ConfigurationError(
            f"judge {key!r}: no Google credentials found. Set GOOGLE_APPLICATION_CREDENTIALS to a "
            "credentials file, or run `gcloud auth application-default login`."
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
"""Provider of a slot -> what asks it."""
