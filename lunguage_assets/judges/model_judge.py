"""A language model as a judge: questions become prompts, an asker gets the answers from `asking/engine.py`,
parsers read them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from lunguage_assets.judges.asker import AskedModel, model_identity
from lunguage_assets.judges.asking.answers import parse_label, parse_phrase_list
from lunguage_assets.judges.asking.round import Settled
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


class ModelJudge(AskedModel[Prompts]):
    """A language model as a judge."""

    @staticmethod
    def identity_of(binding: ModelBinding, prompts: Prompts, mode: Mode) -> str:
        """With a hash of everything in a ledger key but the question."""
        # of both tasks: one version since the first release
        versions = json.dumps([prompts.version, prompts.version])
        blank = Request("compare", Prompt("", "", versions), mode, LABELS)
        return model_identity(binding, mode, request_key(binding, blank))

    def extract(
        self, questions: Sequence[ExtractionQuestion], *, may_wait: bool = False
    ) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order.

        Raises:
            LunguageError: see `Asker.ask`, or none of many answers can be read; what was answered is in the
                ledger.
        """
        requests = [extraction_request(self._prompts.extraction(question)) for question in questions]
        settled = self._asker.ask(requests, parse_phrase_list)
        self._require_readable([one.valid for one in settled])
        return [ExtractionAnswer(tuple(one.value or ()), one.valid, one.tries) for one in settled]

    def compare(
        self, questions: Sequence[ComparisonQuestion], *, may_wait: bool = False
    ) -> list[ComparisonAnswer]:
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
