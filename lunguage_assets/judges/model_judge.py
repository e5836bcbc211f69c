"""A language model as a judge: questions become prompts, an asker gets the answers from `asking/engine.py`,
and they are read strictly: what is not exactly an answer is none, and nothing is ever evaluated (explicit.md
1 and 2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

from lunguage_assets.judges.asker import AskedModel, model_identity
from lunguage_assets.judges.asking.engine import Settled
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.prompts import LABELS, Prompts, comparison_request, extraction_request
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Request

_LABEL = re.compile(r"^[A-Za-z][\w /-]{0,40}:\s*")
_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)
_AROUND = " \t\r\n.,;:!*`'\"“”‘’()[]<>"
_ANSWER = re.compile(r"^answer\s*:\s*", re.IGNORECASE)


class ModelJudge(AskedModel[Prompts]):
    """A language model as a judge."""

    @staticmethod
    def identity_of(binding: ModelBinding, prompts: Prompts, mode: Mode) -> str:
        """With a hash of everything in a ledger key but the question."""
        # of both tasks: one version since the first release
        versions = json.dumps([prompts.version, prompts.version])
        blank = Request("compare", Prompt("", "", versions), mode, LABELS)
        return model_identity(binding, mode, request_key(binding, blank))

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order.

        Raises:
            LunguageError: see `Asker.ask`, or none of many answers can be read; what was answered is in the
                ledger.
        """
        requests = [extraction_request(self._prompts.extraction(question)) for question in questions]
        settled = self._asker.ask(requests, parse_phrase_list)
        self._require_readable([one.valid for one in settled])
        return [ExtractionAnswer(tuple(one.value or ()), one.valid, one.tries) for one in settled]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """A label per question, in the questions' order; errors as in `extract`."""
        requests = [
            comparison_request(self._prompts.comparison(q), self._mode, q.replicate) for q in questions
        ]
        settled: list[Settled[Choice]] = self._asker.ask(requests, choice_of)
        self._require_readable([one.valid for one in settled])
        return [ComparisonAnswer(one.value or "invalid", one.tries) for one in settled]


def choice_of(text: str) -> Choice | None:
    """The sentence that an answer chooses; None: it cannot be read."""
    return cast(Choice | None, parse_label(text, LABELS))


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
