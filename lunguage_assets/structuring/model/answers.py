"""Reading a language model's answer about a report, strictly: JSON of the right outline, or nothing.

What single entries say, and whether the report bears it out, is judged in `anchoring.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

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
        value = json.loads(fenced.group(1) if fenced else body, parse_constant=_refuse)
        line = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
        line.encode()  # half a surrogate pair is valid JSON and cannot be stored
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    findings, sentences = value.get("findings"), value.get("sentences")
    if not isinstance(findings, list) or not isinstance(sentences, list):
        return None
    return Answer(tuple(findings), tuple(sentences), line)


def _refuse(constant: str) -> NoReturn:
    raise ValueError("NaN and infinities are no JSON")
