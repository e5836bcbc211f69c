"""Anthropic's messages."""

from __future__ import annotations

from typing import Any

from lunguage_assets.judges.providers.base import SdkProvider, can_be, tokens
from lunguage_assets.judges.requests import Reply, Request, bare_label

_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicProvider(SdkProvider):
    """Messages; `max_tokens` among the judge's parameters is obligatory."""

    module = "anthropic"

    async def _send(self, client: Any, request: Request, body: Any) -> Any:
        named = {name: body.pop(name) for name in ("model", "max_tokens", "system", "messages")}
        return await client.messages.create(**named, extra_body=body or None)

    def _body(self, request: Request) -> Any:
        body = {
            "model": self.binding.model,
            "system": request.prompt.system,
            "messages": [{"role": "user", "content": request.prompt.user}],
            **dict(self.binding.parameters),
        }
        if (schema := request.answer_schema) is None:
            return body
        output = {**body.get("output_config", {}), "format": {"type": "json_schema", "schema": schema}}
        return body | {"output_config": output}

    def _reply(self, response: Any, request: Request) -> Reply:
        usage = response.usage
        text = "".join(block.text or "" for block in response.content if block.type == "text")
        asked = sum(tokens(usage, name) or 0 for name in _COUNTS)
        answered = tokens(usage, "output_tokens")
        details = getattr(usage, "output_tokens_details", None)
        return Reply(
            text=bare_label(text) if request.is_choice else text,
            returned_model=response.model,
            input_tokens=asked,
            output_tokens=answered or 0,
            reasoning_tokens=tokens(details, "thinking_tokens") or 0,
            refused=response.stop_reason == "refusal",
            metered=asked > 0 and answered is not None and can_be(usage, *_COUNTS),
        )

    def _client(self) -> Any:
        return self._module.AsyncAnthropic(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            timeout=self._timeout_s,
            max_retries=0,
            http_client=self._http(),
            open_telemetry=False,  # its traces can be told to hold prompts
        )
