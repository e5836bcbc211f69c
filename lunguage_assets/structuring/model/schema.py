"""The form of a language model's answer about one report, derived from the codes of the tables; and its
reading, strictly: JSON of the right outline, or nothing.

Everything is required and nothing else is allowed, because OpenAI's strict mode wants it so. Whether the
report bears an entry out is judged in `grounding.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from lunguage_assets.tables.columns import ATTRIBUTES, CATEGORIES

POLARITIES = ("positive", "negative")
CERTAINTIES = ("definitive", "tentative")
ACCOUNTS = ("nothing stated", "not about the patient now")
"""What a sentence without findings may be said to be."""

REASONS = (
    "recommendation", "condition", "earlier film", "other person", "technique", "administration", "other",
)  # fmt: skip
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
    lists = {"findings": finding, "sentences": sentence}
    return _object(**{name: {"type": "array", "items": item} for name, item in lists.items()})


def _object(**properties: Any) -> dict[str, Any]:
    form = {"type": "object", "properties": properties, "required": list(properties)}
    return form | {"additionalProperties": False}


def _one_of(codes: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(codes)}


ANSWER_SCHEMA = json.dumps(answer_schema(), separators=(",", ":"))
"""The schema as a request carries it."""


def _code_of(codes: Iterable[str], otherwise: str = "") -> AfterValidator:
    """A code, in whatever letter case and spacing; another word is refused, or stands for `otherwise`."""
    known = {code.casefold(): code for code in codes}

    def found(said: str) -> str:
        code = known.get(" ".join(said.split()).casefold(), otherwise)
        if not code:
            raise ValueError("no such code")
        return code

    return AfterValidator(found)


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)


class AttributeClaim(_Claim):
    """An attribute's column, also under its published name, and its words."""

    column: str
    words: str


class FindingClaim(_Claim):
    """One entry of `findings`; what is left out is empty."""

    number: int = Field(gt=0, lt=10**6)
    sentence: str
    words: str
    name: str = ""
    category: Annotated[str, _code_of(CATEGORIES)]
    polarity: Annotated[str, _code_of(POLARITIES)]
    certainty: Annotated[str, _code_of(CERTAINTIES)]
    places: list[str] = []
    attributes: list[AttributeClaim] = []
    evidence: list[int] = []
    associate: list[int] = []


class SentenceClaim(_Claim):
    """One entry of `sentences`."""

    sentence: str
    account: Annotated[str, _code_of(ACCOUNTS)]
    reason: Annotated[str, _code_of(REASONS, "other")] = "other"


_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """The entries of an answer, whatever they are, and the answer as one line of JSON."""

    findings: tuple[Any, ...] = field(repr=False)
    sentences: tuple[Any, ...] = field(repr=False)
    line: str = field(repr=False)


def parse_answer(text: str) -> Answer | None:
    """The answer in a model's text, or None when there is none: the answer is then unreadable.

    One code fence around the whole is tolerated; text before or behind it, a second object, a missing list,
    numbers that JSON does not have, and half characters are not.
    """
    body = text.strip()
    fenced = _FENCE.match(body)
    try:
        value = json.loads(fenced.group(1) if fenced else body)
        line = json.dumps(value, ensure_ascii=False, allow_nan=False)
        line.encode()  # half a surrogate pair is valid JSON and cannot be stored
        findings, sentences = value["findings"], value["sentences"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    if not isinstance(findings, list) or not isinstance(sentences, list):
        return None
    return Answer(tuple(findings), tuple(sentences), line)
