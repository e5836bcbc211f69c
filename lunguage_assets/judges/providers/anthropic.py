"""Anthropic's messages."""

from __future__ import annotations

from typing import Any

from lunguage_assets.judges.providers.base import SdkProvider, can_be, tokens, well_formed
from lunguage_assets.judges.providers.failures import attempt
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request, bare_label


class AnthropicProvider(SdkProvider):
    """Messages; the judge's parameters are fields of the request body, `max_tokens` among them being
    obligatory.
    """

    module = "anthropic"

    async def answer(self, request: Request) -> Reply:
        body, create = self.body(request), self.client.messages.create
        named = {name: body.pop(name) for name in ("model", "max_tokens", "system", "messages")}
        response = await attempt(lambda: create(**named, extra_body=body or None), self._timeout_s)
        return self.reply(response, request)

    def body(self, request: Request) -> dict[str, Any]:
        """The whole body of a request."""
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

    def reply(self, response: Any, request: Request) -> Reply:
        """What a message says.

        Raises:
            ProviderFailure: malformed.
        """
        return well_formed(lambda: _reply(response, unpack=request.is_choice))

    def _client(self) -> Any:
        return self._module.AsyncAnthropic(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            timeout=self._timeout_s,
            max_retries=0,
            http_client=self._http(),
            open_telemetry=False,  # its traces can be told to hold prompts
        )


def _reply(message: Any, *, unpack: bool) -> Reply:
    model, blocks, usage = (getattr(message, name, None) for name in ("model", "content", "usage"))
    if not isinstance(model, str) or not isinstance(blocks, list):
        raise ProviderFailure("malformed")
    text = "".join(block.text or "" for block in blocks if block.type == "text")
    counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    asked = sum(tokens(usage, name) or 0 for name in counts)
    answered = tokens(usage, "output_tokens")
    return Reply(
        text=bare_label(text) if unpack else text,
        returned_model=model,
        input_tokens=asked,
        output_tokens=answered or 0,
        reasoning_tokens=tokens(getattr(usage, "output_tokens_details", None), "thinking_tokens") or 0,
        refused=getattr(message, "stop_reason", None) == "refusal",
        metered=asked > 0 and answered is not None and can_be(usage, *counts),
    )
