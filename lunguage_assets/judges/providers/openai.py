"""OpenAI, Azure OpenAI and every server that speaks OpenAI's chat completions (vLLM, for MedGemma)."""

from __future__ import annotations

from typing import Any

from lunguage_assets.judges.providers.base import SdkProvider, tokens, well_formed
from lunguage_assets.judges.providers.failures import attempt, code_of
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request, bare_label

_NO_KEY = "none"  # the client insists on a key; a server without one ignores it


class OpenAIProvider(SdkProvider):
    """Chat completions; the judge's parameters are fields of the request body.

    An Azure `model` is a deployment's name; the model that answers under it must be listed among the aliases.
    """

    module = "openai"

    async def answer(self, request: Request) -> Reply:
        create, body = self.client.chat.completions.create, self.body(request)
        named = {name: body.pop(name) for name in ("model", "messages")}
        response = await attempt(
            lambda: create(**named, extra_body=body),
            self._timeout_s,
            lambda error: code_of(error) == "content_filter",  # Azure refuses a prompt by HTTP 400
        )
        if response is None:  # Azure may bill a prompt that it filters
            return Reply("", self.binding.model, 0, 0, refused=True, metered=False)
        return self.reply(response, request)

    def body(self, request: Request) -> dict[str, Any]:
        """The whole body of a request."""
        prompt = request.prompt
        body: dict[str, Any] = {
            "model": self.binding.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if self.binding.provider == "openai":
            body["store"] = False
        body |= dict(self.binding.parameters)
        if (schema := request.answer_schema) is None:
            return body
        if self.binding.provider == "openai-compatible":
            choice = {"choice": list(request.labels)} if request.is_choice else {"json": schema}
            return body | {"structured_outputs": choice}
        named = {"name": "answer", "strict": True, "schema": schema}
        return body | {"response_format": {"type": "json_schema", "json_schema": named}}

    def reply(self, response: Any, request: Request) -> Reply:
        """What a completion says.

        Raises:
            ProviderFailure: malformed.
        """
        unpack = request.is_choice and self.binding.provider != "openai-compatible"
        return well_formed(lambda: _reply(response, unpack=unpack))

    def _client(self) -> Any:
        shared = {
            "api_key": self._endpoint.api_key or _NO_KEY,
            "timeout": self._timeout_s,
            "max_retries": 0,
            "http_client": self._http(),
        }
        if self.binding.provider == "azure-openai":
            return self._module.AsyncAzureOpenAI(
                azure_endpoint=self._endpoint.base_url, api_version=self._endpoint.api_version, **shared
            )
        # Said again as a header: OPENAI_CUSTOM_HEADERS may hold another key, which would go before this one.
        own = {"Authorization": f"Bearer {shared['api_key']}"}
        return self._module.AsyncOpenAI(base_url=self._endpoint.base_url, default_headers=own, **shared)


def _reply(response: Any, *, unpack: bool) -> Reply:
    model, choices, usage = (getattr(response, name, None) for name in ("model", "choices", "usage"))
    if not isinstance(model, str) or not isinstance(choices, list):
        raise ProviderFailure("malformed")
    message, finish = (choices[0].message, choices[0].finish_reason) if choices else (None, None)
    text = getattr(message, "content", None) or ""
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
