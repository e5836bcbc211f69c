"""The Gemini API and Vertex AI."""

from __future__ import annotations

from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.providers.base import Endpoint, SdkProvider, can_be, sdk, tokens
from lunguage_assets.judges.requests import Reply, Request
from lunguage_assets.judges.slots import ModelSlot

_FINISHED = frozenset(
    {"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED", "OTHER", "MALFORMED_RESPONSE", "LANGUAGE", ""}
)
"""Finishes that are no refusal; every other one (SAFETY, BLOCKLIST, SPII, RECITATION, ...) is."""


class GeminiProvider(SdkProvider):
    """`generateContent`; parameters are fields of `GenerateContentConfig`, in the SDK's own names."""

    module = "google.genai"

    def __init__(self, key: str, slot: ModelSlot, endpoint: Endpoint) -> None:
        super().__init__(key, slot, endpoint)
        self._types = sdk(key, "google.genai.types")
        self._parameters = dict(self.binding.parameters)
        try:
            self._types.GenerateContentConfig(**self._parameters)
        except ValueError as error:
            problems = error.errors(include_url=False) if hasattr(error, "errors") else []
            field = ".".join(map(str, problems[0]["loc"])) if problems else "?"
            raise ConfigurationError(
                f"judge {key!r}, field params.{field}: not a parameter of Gemini's "
                "GenerateContentConfig, or not of its type. Fix the judges file."
            ) from None
        self._credentials = _default_credentials(key) if slot.provider == "vertex" else None

    async def _send(self, client: Any, request: Request, body: Any) -> Any:
        model, asked = self.binding.model, request.prompt.user
        return await client.sdk.aio.models.generate_content(model=model, contents=asked, config=body)

    def _body(self, request: Request) -> Any:
        constraint: dict[str, Any] = {}
        if (schema := request.structure) is not None:
            constraint = {"response_mime_type": "application/json", "response_json_schema": schema}
        elif request.is_choice:
            labels = {"type": "STRING", "enum": list(request.labels)}
            constraint = {"response_mime_type": "text/x.enum", "response_schema": labels}
        return self._types.GenerateContentConfig(
            **self._parameters, **constraint, system_instruction=request.prompt.system
        )

    def _reply(self, response: Any, request: Request) -> Reply:
        usage, candidates = response.usage_metadata, response.candidates or []
        content = candidates[0].content if candidates else None
        parts = (content.parts or []) if content is not None else []
        finish = candidates[0].finish_reason if candidates else ""
        blocked = getattr(response.prompt_feedback, "block_reason", None)
        asked, thoughts = tokens(usage, "prompt_token_count"), tokens(usage, "thoughts_token_count") or 0
        return Reply(
            text="".join(part.text or "" for part in parts if not part.thought),
            returned_model=response.model_version,
            input_tokens=asked or 0,
            output_tokens=(tokens(usage, "candidates_token_count") or 0) + thoughts,
            reasoning_tokens=thoughts,
            refused=bool(blocked) or (getattr(finish, "value", finish) or "") not in _FINISHED,
            metered=bool(asked)  # the other counts are left out when they are 0
            and can_be(usage, "candidates_token_count", "thoughts_token_count"),
        )

    def _client(self) -> _Client:
        http = self._http()
        options = self._types.HttpOptions(
            base_url=self._endpoint.base_url,
            timeout=max(1, round(self._timeout_s * 1000)),  # milliseconds
            httpx_async_client=http,
        )
        place: dict[str, Any] = {"vertexai": False, "api_key": self._endpoint.api_key}
        if self.binding.provider == "vertex":
            place = {
                "vertexai": True,
                "project": self._endpoint.project,
                "location": self._endpoint.location,
                "credentials": self._credentials,
            }
        return _Client(self._module.Client(http_options=options, **place), http)


class _Client:
    """An SDK client and the HTTP client that was given to it, which it does not close itself."""

    def __init__(self, client: Any, http: Any) -> None:
        self.sdk, self._http = client, http

    async def close(self) -> None:
        await self.sdk.aio.aclose()
        self.sdk.close()
        await self._http.aclose()


def _default_credentials(key: str) -> Any:
    auth = sdk(key, "google.auth")
    try:
        credentials, _ = auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    except auth.exceptions.GoogleAuthError:
        raise ConfigurationError(
            f"judge {key!r}: no Google credentials found. Set GOOGLE_APPLICATION_CREDENTIALS to a "
            "credentials file, or run `gcloud auth application-default login`."
        ) from None
    return credentials
