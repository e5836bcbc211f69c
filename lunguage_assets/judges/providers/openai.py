"""OpenAI, Azure OpenAI and every server that speaks OpenAI's chat completions (vLLM, for MedGemma)."""

from __future__ import annotations

from typing import Any

from lunguage_assets.judges.providers.base import SdkProvider, tokens
from lunguage_assets.judges.requests import Reply, Request, bare_label


class OpenAIProvider(SdkProvider):
    """Chat completions.

    An Azure `model` is a deployment's name; the model that answers under it must be listed among the aliases.
    """

    module = "openai"

    async def _send(self, client: Any, request: Request, body: Any) -> Any:
        named = {name: body.pop(name) for name in ("model", "messages")}
        return await client.chat.completions.create(**named, extra_body=body)

    def _body(self, request: Request) -> Any:
        said = {"system": request.prompt.system, "user": request.prompt.user}
        body: dict[str, Any] = {
            "model": self.binding.model,
            "messages": [{"role": role, "content": text} for role, text in said.items()],
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

    def _reply(self, response: Any, request: Request) -> Reply:
        if response is None:  # Azure may bill a prompt that it filters
            return Reply("", self.binding.model, 0, 0, refused=True, metered=False)
        choices, usage = response.choices, response.usage
        message, finish = (choices[0].message, choices[0].finish_reason) if choices != [] else (None, None)
        text = getattr(message, "content", None) or ""
        asked, answered = tokens(usage, "prompt_tokens"), tokens(usage, "completion_tokens")
        details = getattr(usage, "completion_tokens_details", None)
        unpack = request.is_choice and self.binding.provider != "openai-compatible"
        return Reply(
            text=bare_label(text) if unpack else text,
            returned_model=response.model,
            input_tokens=asked or 0,
            output_tokens=answered or 0,
            reasoning_tokens=tokens(details, "reasoning_tokens") or 0,
            refused=bool(getattr(message, "refusal", None)) or finish == "content_filter",
            metered=bool(asked) and answered is not None,  # no prompt has no tokens
        )

    def _client(self) -> Any:
        shared = {
            "api_key": self._endpoint.api_key or "none",  # the client insists on one, a server may ignore it
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
