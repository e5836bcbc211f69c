"""The three wire formats, from the server's side: what a request asks, and what an
answer looks like.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopback import Call

_OPENAI = re.compile(r"(?:/v1)?/chat/completions(?:\?.*)?")
_AZURE = re.compile(r"/openai/deployments/([^/]+)/chat/completions\?api-version=.+")
_ANTHROPIC = re.compile(r"/v1/messages(?:\?.*)?")
_GEMINI = re.compile(r"/(v1[a-z0-9]*)/models/([^/:]+):generateContent(?:\?.*)?")


def read_call(path: str, data: bytes) -> dict[str, Any] | None:
    """The fields of a `Call`, or None when the path is no model's endpoint."""
    readers = {_AZURE: _read_openai, _OPENAI: _read_openai}
    readers |= {_ANTHROPIC: _read_anthropic, _GEMINI: _read_gemini}
    for pattern, reader in readers.items():
        if match := pattern.fullmatch(path):
            return reader(match, json.loads(data))
    return None


def _read_openai(match: re.Match[str], body: dict[str, Any]) -> dict[str, Any]:
    texts = {message["role"]: message["content"] for message in body["messages"]}
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    outputs = body.get("structured_outputs", {})
    labels = _labels(schema) if schema else tuple(outputs.get("choice") or ())
    prompts = texts.get("system") or texts.get("developer") or "", texts["user"]
    wire = "azure" if match.re is _AZURE else "openai"
    return _call(
        wire, body["model"], prompts, body, schema or outputs.get("json"), labels
    )


def _read_anthropic(match: re.Match[str], body: dict[str, Any]) -> dict[str, Any]:
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    prompts = _joined(body.get("system", "")), _joined(body["messages"][-1]["content"])
    return _call(
        "anthropic",
        body["model"],
        prompts,
        body,
        schema,
        _labels(schema) if schema else (),
    )


def _read_gemini(match: re.Match[str], body: dict[str, Any]) -> dict[str, Any]:
    config = body.get("generationConfig", {})
    schema = config.get("responseJsonSchema")
    prompts = (
        _joined(body.get("systemInstruction", {}).get("parts", [])),
        _joined(body["contents"][-1]["parts"]),
    )
    labels = _labels(schema) if schema else ()
    return _call("gemini", match.group(2), prompts, body, schema, labels)


def _call(
    wire: str,
    model: str,
    prompts: tuple[str, str],
    body: dict[str, Any],
    schema: dict[str, Any] | None,
    labels: tuple[str, ...],
) -> dict[str, Any]:
    """`constraint`: labels inside an object, labels alone, an object of another schema,
    or nothing.
    """
    constraint = "schema" if schema else ""
    if labels:
        constraint = "json" if schema else "bare"
    fields = {"wire": wire, "model": model, "body": body}
    fields |= {"system": prompts[0], "user": prompts[1]}
    return fields | {"constraint": constraint, "labels": labels}


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content)


def _labels(schema: dict[str, Any]) -> tuple[str, ...]:
    return tuple(schema["properties"].get("answer", {}).get("enum", ()))


def body_of(
    call: Call, kind: str, text: str, reasoning: int, wrong_model: str
) -> bytes:
    """The body of a 200 for this kind of act."""
    model = wrong_model if kind == "wrong_model" else call.model
    silent = kind in {"empty", "refusal", "blocked", "cut_off"}
    text = "" if silent else text
    if kind == "nonsense":
        text = "I would rather not choose."
    if call.constraint == "json" and text and kind != "nonsense":
        text = json.dumps({"answer": text})
    tokens = (len(call.prompt) // 4 + 1, len(text) // 4 + 1 + reasoning)
    builder = {"anthropic": _anthropic, "gemini": _gemini}.get(call.wire, _openai)
    body = builder(model, text, kind, tokens, reasoning)
    if call.body.get("logprobs"):
        body = _openai(model, text, kind, tokens, reasoning, logprobs=True)
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
    model: str,
    text: str,
    kind: str,
    tokens: tuple[int, int],
    reasoning: int,
    logprobs: bool = False,
) -> dict[str, Any]:
    finish = {"blocked": "content_filter", "cut_off": "length"}.get(kind, "stop")
    refusal = "I cannot help with that." if kind == "refusal" else None
    message = {"role": "assistant", "content": text or None, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "logprobs": None, "message": message}
    if logprobs and text:
        choice["logprobs"] = {"content": _token_logprobs(text)}
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
    blocks += [
        {"type": "text", "text": half_text}
        for half_text in (text[:half], text[half:])
        if half_text
    ]
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
    texts = ([{"text": "hm", "thought": True}] if reasoning else []) + (
        [{"text": text}] if text else []
    )
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
