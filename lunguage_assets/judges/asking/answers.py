"""Reading a language model's answer, strictly: what is not exactly an answer is none, and nothing is ever
evaluated (explicit.md 1 and 2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_LABEL = re.compile(r"^[A-Za-z][\w /-]{0,40}:\s*")
_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)
_AROUND = " \t\r\n.,;:!*`'\"“”‘’()[]<>"
_ANSWER = re.compile(r"^answer\s*:\s*", re.IGNORECASE)


def parse_phrase_list(text: str) -> list[str] | None:
    """The JSON list of strings in a model's answer, or None when there is none: the answer is then invalid.

    A leading label ("Answer: [...]") and one code fence around the list are tolerated; anything else, such as
    a Python list in single quotes, text after the list or a list with something else than strings, is not.
    Never evaluated.
    """
    body = text.strip()
    for _ in range(2):  # a label may stand before the fence or inside it
        body = _LABEL.sub("", body, count=1)
        fenced = _FENCE.match(body)
        body = fenced.group(1).strip() if fenced else body
    try:
        value = json.loads(body)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return None
        "".join(value).encode()  # half a surrogate pair is valid JSON and cannot be stored
    except (ValueError, RecursionError):
        return None
    return value


def parse_label(text: str, labels: Sequence[str]) -> str | None:
    """The one of `labels` that a model's answer is, or None: the answer is then invalid.

    Quotes, brackets, emphasis and punctuation around it, upper or lower case, and a leading "Answer:" are
    tolerated; a second label, a reason, or any other word is not.
    """
    body = _ANSWER.sub("", text.strip(_AROUND), count=1).strip(_AROUND).casefold()
    return next((label for label in labels if label.casefold() == body), None)
