"""The three wire formats, from the server's side: what a request asks, and what an
answer looks like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from loopback import Call

_ENDPOINTS = {
    "azure": re.compile(r"/openai/deployments/[^/]+/chat/completions\?api-version=.+"),
    "openai": re.compile(r"(?:/v1)?/chat/completions(?:\?.*)?"),
    "anthropic": re.compile(r"/v1/messages(?:\?.*)?"),
    "gemini": re.compile(r"/v1[a-z0-9]*/models/([^/:]+):generateContent(?:\?.*)?"),
}


class Asked(NamedTuple):
    """What a body asks: its prompts, and the schema or the bare labels of answers."""

    system: str
    user: str
    schema: dict[str, Any] | None
    bare_labels: Sequence[str] = ()


def read_call(path: str, data: bytes) -> dict[str, Any] | None:
    """The fields of a `Call`, or None when the path is no model's endpoint."""
    for wire, pattern in _ENDPOINTS.items():
        match = pattern.fullmatch(path)
        if match is None:
            continue
        body = json.loads(data)
        asked = {"anthropic": _anthropic_asked, "gemini": _gemini_asked}.get(
            wire, _openai_asked
        )(body)
        properties = asked.schema["properties"] if asked.schema else {}
        labels = properties.get("answer", {}).get("enum", ())
        constraint = "json" if labels else "schema" if asked.schema else ""
        return {
            "wire": wire,
            "model": match.group(1) if wire == "gemini" else body["model"],
            "system": asked.system,
            "user": asked.user,
            "body": body,
            "constraint": "bare" if asked.bare_labels else constraint,
            "labels": tuple(labels or asked.bare_labels),
        }
    return None


def _openai_asked(body: dict[str, Any]) -> Asked:
    texts = {message["role"]: message["content"] for message in body["messages"]}
    system = texts.get("system") or texts.get("developer") or ""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    outputs = body.get("structured_outputs", {})
    schema = schema or outputs.get("json")
    return Asked(system, texts["user"], schema, outputs.get("choice") or ())


def _anthropic_asked(body: dict[str, Any]) -> Asked:
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    user = body["messages"][-1]["content"]
    return Asked(_joined(body.get("system", "")), _joined(user), schema)


def _gemini_asked(body: dict[str, Any]) -> Asked:
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    system = body.get("systemInstruction", {}).get("parts", [])
    return Asked(_joined(system), _joined(body["contents"][-1]["parts"]), schema)


def _joined(content: str | list[dict[str, str]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content)


def body_of(call: Call, kind: str, text: str, reasoning: int) -> bytes:
    """The body of a 200 for this kind of act."""
    if kind in {"empty", "refusal", "blocked", "cut_off"}:
        text = ""
    if kind == "nonsense":
        text = "I would rather not choose."
    if call.constraint == "json" and text and kind != "nonsense":
        text = json.dumps({"answer": text})
    tokens = (len(call.prompt) // 4 + 1, len(text) // 4 + 1 + reasoning)
    builder = {"anthropic": _anthropic, "gemini": _gemini}.get(call.wire, _openai)
    body = builder(call.model, text, kind, tokens, reasoning)
    if call.body.get("logprobs") and text:
        body["choices"][0]["logprobs"] = {"content": _token_logprobs(text)}
    return json.dumps(body).encode()


def _token_logprobs(text: str) -> list[dict[str, Any]]:
    """The tokens of a text, as a tokenizer that knows digits would cut it."""
    content = []
    for token in re.findall(r"\d\"?|[^\d]+", text):
        other = token.translate(str.maketrans("12", "21"))
        alternatives = [{"token": token, "logprob": -0.25, "bytes": None}]
        if other != token:
            alternatives.append({"token": other, "logprob": -1.5, "bytes": None})
        content.append(alternatives[0] | {"top_logprobs": alternatives})
    return content


def _openai(
    model: str, text: str, kind: str, tokens: tuple[int, int], reasoning: int
) -> dict[str, Any]:
    finish = {"blocked": "content_filter", "cut_off": "length"}.get(kind, "stop")
    refusal = "I cannot help with that." if kind == "refusal" else None
    message = {"role": "assistant", "content": text or None, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "logprobs": None, "message": message}
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


def _anthropic(
    model: str, text: str, kind: str, tokens: tuple[int, int], reasoning: int
) -> dict[str, Any]:
    stops = {"refusal": "refusal", "blocked": "refusal", "cut_off": "max_tokens"}
    half = len(text) // 2  # in two blocks, behind a block that is not text
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    blocks: list[dict[str, Any]] = [thinking] if reasoning else []
    halves = [text[:half], text[half:]]
    blocks += [{"type": "text", "text": words} for words in halves if words]
    return {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [] if kind in {"refusal", "blocked"} else blocks,
        "stop_reason": stops.get(kind, "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens[0] - 2,
            "cache_creation_input_tokens": 1,
            "cache_read_input_tokens": 1,
            "output_tokens": tokens[1],
            "output_tokens_details": {"thinking_tokens": reasoning},
        },
    }


def _gemini(
    model: str, text: str, kind: str, tokens: tuple[int, int], reasoning: int
) -> dict[str, Any]:
    finish = {"refusal": "SAFETY", "cut_off": "MAX_TOKENS"}.get(kind, "STOP")
    texts: list[dict[str, Any]] = [{"text": text}] if text else []
    if reasoning:
        texts.insert(0, {"text": "hm", "thought": True})
    candidate: dict[str, Any] = {"index": 0, "finishReason": finish}
    if kind != "refusal":
        candidate["content"] = {"role": "model", "parts": texts}
    body: dict[str, Any] = {
        "candidates": [] if kind == "blocked" else [candidate],
        "modelVersion": model,
        "usageMetadata": {
            "promptTokenCount": tokens[0],
            "candidatesTokenCount": tokens[1] - reasoning,
            "thoughtsTokenCount": reasoning,
            "totalTokenCount": sum(tokens),
        },
    }
    if kind == "blocked":
        body["promptFeedback"] = {"blockReason": "SAFETY"}
    return body


def error_body(
    wire: str, status: int, code: str | None, delay: str | None, text: str | None
) -> bytes:
    """The body of an HTTP error in the provider's own shape; what it tells repeats
    nothing of the request, unless that is the text.
    """
    error: dict[str, Any] = {"message": text or f"loopback {status}"}
    if wire == "anthropic":
        error |= {"type": text or "api_error"}
        return json.dumps({"type": "error", "error": error}).encode()
    if wire == "gemini":
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details = [{"@type": kind, "retryDelay": delay}] if delay else []
        status_name = text or "UNAVAILABLE"
        error |= {"code": status, "status": status_name, "details": details}
    else:
        error |= {"type": text or "server_error", "param": text, "code": code}
    return json.dumps({"error": error}).encode()
