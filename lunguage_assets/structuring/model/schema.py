"""The form of a language model's answer about one report: the only place where it is written down, derived
from the codes of the tables.

Everything is required and nothing else is allowed, because OpenAI's strict mode wants it so.
"""

from __future__ import annotations

import json
from typing import Any

from lunguage_assets.tables.columns import ATTRIBUTES, CATEGORIES

POLARITIES = ("positive", "negative")
CERTAINTIES = ("definitive", "tentative")
ACCOUNTS = ("nothing stated", "not about the patient now")
"""What a sentence without findings may be said to be."""

REASONS = (
    "recommendation",
    "condition",
    "earlier film",
    "other person",
    "technique",
    "administration",
    "other",
)
"""Why. Reason codes are shown where report text is not, so that a model must choose from a list."""


def answer_schema() -> dict[str, Any]:
    """JSON schema of an answer: an object of `findings` and of `sentences` that have none."""
    text, numbers = {"type": "string"}, {"type": "array", "items": {"type": "integer"}}
    attribute = _object(column=_one_of(tuple(ATTRIBUTES)), words=text)
    finding = _object(
        number={"type": "integer"},
        sentence=text,
        words=text,
        name=text,
        category=_one_of(CATEGORIES),
        polarity=_one_of(POLARITIES),
        certainty=_one_of(CERTAINTIES),
        places={"type": "array", "items": text},
        attributes={"type": "array", "items": attribute},
        evidence=numbers,
        associate=numbers,
    )
    sentence = _object(sentence=text, account=_one_of(ACCOUNTS), reason=_one_of(REASONS))
    return _object(
        findings={"type": "array", "items": finding}, sentences={"type": "array", "items": sentence}
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _one_of(codes: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(codes)}


ANSWER_SCHEMA = json.dumps(answer_schema(), separators=(",", ":"))
"""The schema as a request carries it."""
