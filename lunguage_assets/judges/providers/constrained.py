"""Constrained answers by JSON schema: `{"answer": LABEL}` with the label from a list, or the schema that a
request brings along.
"""

from __future__ import annotations

import json
from typing import Any

from lunguage_assets.judges.requests import Request


def constrained(request: Request) -> bool:
    """Whether the provider is to constrain the answer: mode `enum`, and labels to choose from."""
    return request.mode == "enum" and bool(request.labels)


def structured(request: Request) -> dict[str, Any] | None:
    """The JSON schema to which the provider is to constrain the answer, in mode `enum`; None: without one."""
    if request.mode != "enum" or not request.schema:
        return None
    schema: dict[str, Any] = json.loads(request.schema)
    return schema


def answer_schema(request: Request) -> dict[str, Any] | None:
    """Schema of a constrained answer, an object with a label or a structure; None: the answer is free."""
    if not constrained(request):
        return structured(request)
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(request.labels)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def bare_label(text: str) -> str:
    """The label in `{"answer": LABEL}`; any other text as it is, for the parser to refuse."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    label = value.get("answer") if isinstance(value, dict) else None
    return label if isinstance(label, str) else text
