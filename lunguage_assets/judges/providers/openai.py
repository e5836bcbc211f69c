"""OpenAI, Azure OpenAI and every server that speaks OpenAI's chat completions (vLLM, for MedGemma)."""

from __future__ import annotations

from typing import Any

from lunguage_assets.judges.providers.clients import SdkProvider
from lunguage_assets.judges.providers.constrained import answer_schema, bare_label, constrained
from lunguage_assets.judges.providers.failures import attempt, code_of
from lunguage_assets.judges.providers.metering import tokens, well_formed
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request

_NO_KEY = "none"  # the client insists on a key; a server without one ignores it


class OpenAIProvider(SdkProvider):
    """Chat completions; the judge's parameters are fields of the request body.

    An Azure `model` is a deployment's name; the model that answers under it must be listed among the aliases.
    """

    module = "openai"

    async def answer(self, request: Request) -> Reply:
        create, body = self.client.chat.completions.create, self._body(request)
        response = await attempt(
            lambda: create(model=self._binding.model, messages=_messages(request), extra_body=body),
            self._timeout_s,
            lambda error: code_of(error) == "content_filter",  # Azure refuses a prompt by HTTP 400
        )
        if response is None:
            return Reply(
                "", self._binding.model, 0, 0, refused=True, metered=False
            )  # Azure may bill a prompt that it filters
        return self.reply(response, request)

    def body(self, request: Request) -> dict[str, Any]:
        """The whole body of a request, as it stands in a batch."""
        return {"model": self._binding.model, "messages": _messages(request), **self._body(request)}

    def reply(self, response: Any, request: Request) -> Reply:
        """What a completion says.

        Raises:
            ProviderFailure: malformed.
        """
        return well_formed(
            lambda: _reply(
                response, unpack=constrained(request) and self._binding.provider != "openai-compatible"
            )
        )

    def _client(self) -> Any:
        http = self._http()
        shared = {
            "api_key": self._endpoint.api_key or _NO_KEY,
            "timeout": self._timeout_s,
            "max_retries": 0,
            "http_client": http,
        }
        if self._binding.provider == "azure-openai":
            return self._module.AsyncAzureOpenAI(
                azure_endpoint=self._endpoint.base_url, api_version=self._endpoint.api_version, **shared
            )
        # Said again as a header: OPENAI_CUSTOM_HEADERS may hold another key, which would go before this one.
        own = {"Authorization": f"Bearer {shared['api_key']}"}
        return self._module.AsyncOpenAI(base_url=self._endpoint.base_url, default_headers=own, **shared)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {"store": False} if self._binding.provider == "openai" else {}
        body |= dict(self._binding.parameters)
        schema = answer_schema(request)
        if schema is None:
            return body
        if self._binding.provider == "openai-compatible":
            choice = {"choice": list(request.labels)} if constrained(request) else {"json": schema}
            return body | {"structured_outputs": choice}
        named = {"name": "answer", "strict": True, "schema": schema}
        return body | {"response_format": {"type": "json_schema", "json_schema": named}}


def _messages(request: Request) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": request.prompt.system},
        {"role": "user", "content": request.prompt.user},
    ]


def _reply(response: Any, *, unpack: bool) -> Reply:
    model, choices, usage = (
        getattr(response, "model", None),
        getattr(response, "choices", None),
        getattr(response, "usage", None),
    )
    if not isinstance(model, str) or not isinstance(choices, list):
        raise ProviderFailure("malformed")
    message = choices[0].message if choices else None
    finish = choices[0].finish_reason if choices else None
    text = (getattr(message, "content", None) or "") if message is not None else ""
    asked, answered = tokens(usage, "prompt_tokens"), tokens(usage, "completion_tokens")
    return Reply(
        text=bare_label(text) if unpack else text,
        returned_model=model,
        input_tokens=asked or 0,
        output_tokens=answered or 0,
        reasoning_tokens=tokens(getattr(usage, "completion_tokens_details", None), "reasoning_tokens") or 0,
        refused=bool(getattr(message, "refusal", None)) or finish == "content_filter",
        metered=bool(asked) and answered is not None,  # no prompt has no tokens
    )
