"""The Gemini API and Vertex AI."""

from __future__ import annotations

from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.providers.base import Endpoint, SdkProvider, can_be, sdk, tokens, well_formed
from lunguage_assets.judges.providers.failures import attempt
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import ModelSlot

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_FINISHED = frozenset(
    {"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED", "OTHER", "MALFORMED_RESPONSE", "LANGUAGE", ""}
)
"""Finishes that are no refusal; every other one (SAFETY, BLOCKLIST, PROHIBITED_CONTENT, SPII, RECITATION,
...) is.
"""


class GeminiProvider(SdkProvider):
    """`generateContent`; the judge's parameters are fields of `GenerateContentConfig`, in the SDK's own
    names.
    """

    module = "google.genai"

    def __init__(self, key: str, slot: ModelSlot, endpoint: Endpoint) -> None:
        super().__init__(key, slot, endpoint)
        self.types = sdk(key, "google.genai.types")
        self._parameters = self._checked(key)
        self._credentials = _default_credentials(key) if slot.provider == "vertex" else None

    async def answer(self, request: Request) -> Reply:
        config = self.config(request)
        models = self.client.models
        response = await attempt(
            lambda: models.generate_content(
                model=self.binding.model, contents=request.prompt.user, config=config
            ),
            self._timeout_s,
        )
        return self.reply(response)

    @property
    def client(self) -> Any:
        """The SDK's asynchronous client of the running event loop."""
        return super().client.sdk.aio

    def config(self, request: Request) -> Any:
        """Everything of a request but its user text."""
        return self.types.GenerateContentConfig(
            **self._parameters, **self._constraint(request), system_instruction=request.prompt.system
        )

    def reply(self, response: Any) -> Reply:
        """What a response says.

        Raises:
            ProviderFailure: malformed.
        """
        return well_formed(lambda: _reply(response))

    def _checked(self, key: str) -> dict[str, Any]:
        parameters = dict(self.binding.parameters)
        try:
            self.types.GenerateContentConfig(**parameters)
        except ValueError as error:
            problems = error.errors(include_url=False) if hasattr(error, "errors") else []
            field = ".".join(str(part) for part in problems[0]["loc"]) if problems else "?"
            raise ConfigurationError(
                f"judge {key!r}, field params.{field}: not a parameter of Gemini's "
                "GenerateContentConfig, or not of its type. Fix the judges file."
            ) from None
        return parameters

    def _client(self) -> _Client:
        http = self._http()
        options = self.types.HttpOptions(
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

    def _constraint(self, request: Request) -> dict[str, Any]:
        if (schema := request.structure) is not None:
            return {"response_mime_type": "application/json", "response_json_schema": schema}
        if not request.is_choice:
            return {}
        return {
            "response_mime_type": "text/x.enum",
            "response_schema": {"type": "STRING", "enum": list(request.labels)},
        }


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
        credentials, _ = auth.default(scopes=[_SCOPE])
    except auth.exceptions.GoogleAuthError:
        raise ConfigurationError(
            f"judge {key!r}: no Google credentials found. Set GOOGLE_APPLICATION_CREDENTIALS to a "
            "credentials file, "
            "or run `gcloud auth application-default login`."
        ) from None
    return credentials


def _reply(response: Any) -> Reply:
    model, usage = getattr(response, "model_version", None), getattr(response, "usage_metadata", None)
    if not isinstance(model, str):
        raise ProviderFailure("malformed")
    candidates = response.candidates or []
    content = candidates[0].content if candidates else None
    parts = (content.parts or []) if content is not None else []
    finish = getattr(candidates[0].finish_reason, "value", candidates[0].finish_reason) if candidates else ""
    blocked = getattr(response.prompt_feedback, "block_reason", None)
    asked, thoughts = tokens(usage, "prompt_token_count"), tokens(usage, "thoughts_token_count") or 0
    return Reply(
        text="".join(part.text or "" for part in parts if not part.thought),
        returned_model=model,
        input_tokens=asked or 0,
        output_tokens=(tokens(usage, "candidates_token_count") or 0) + thoughts,
        reasoning_tokens=thoughts,
        refused=bool(blocked) or (finish or "") not in _FINISHED,
        metered=bool(asked)  # the other counts are left out when they are 0
        and can_be(usage, "candidates_token_count", "thoughts_token_count"),
    )
