"""What the ledger has of a language model's answers, for an estimate: nothing is sent, no key and no SDK
needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.model_judge import ModelJudge, choice_of, parse_phrase_list
from lunguage_assets.judges.prompts import Prompts, comparison_request, extraction_request
from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import ModelBinding, Prompt, Request
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.slots import ModelSlot


class NotRecorded(Exception):
    """The ledger lacks an answer to a comparison."""


class RecordedJudge:
    """A language model's answers as far as the ledger (None: there is none) has them.

    Phrases that it lacks are those of the rule-based lexicon; a comparison that it lacks ends the asking.
    `keys`: the distinct questions so far, and whether the ledger settles each; `prompts`: theirs.
    """

    def __init__(self, key: str, slot: ModelSlot, prompts: Prompts, ledger: LedgerReader | None) -> None:
        self.key, self._slot, self._prompts, self._ledger = key, slot, prompts, ledger
        self._opinion = LexiconJudge.bundled(key)
        self.keys: dict[str, bool] = {}
        self.prompts: list[Prompt] = []

    @property
    def identity(self) -> str:
        """That of the judge whose answers these are."""
        return ModelJudge.identity_of(self._slot.binding, self._prompts, self._slot.mode)

    @property
    def hits(self) -> int:
        """Questions so far that need no call."""
        return sum(self.keys.values())

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order."""
        made_up = self._opinion.extract(questions)
        found = self._recorded([extraction_request(self._prompts.extraction(one)) for one in questions])
        return [
            _phrases(answers[0]) if answers else guess for answers, guess in zip(found, made_up, strict=True)
        ]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """A label per question, in the questions' order.

        Raises:
            NotRecorded: the ledger lacks one.
        """
        requests = [
            comparison_request(self._prompts.comparison(one), self._slot.mode, one.replicate)
            for one in questions
        ]
        found = self._recorded(requests)
        if not all(found):
            raise NotRecorded
        texts = [text or "" for (text,) in found]
        return [ComparisonAnswer(choice_of(text) or "invalid") for text in texts]

    def _recorded(self, requests: Sequence[Request]) -> list[tuple[str | None, ...]]:
        """Per request the text that settles it (None: invalid for good), or nothing."""
        binding = self._slot.binding
        keys = [request_key(binding, request) for request in requests]
        new = {key: one for key, one in zip(keys, requests, strict=True) if key not in self.keys}
        known = recorded_answers(self._ledger, binding, list(dict.fromkeys(keys)))
        self.prompts += [request.prompt for request in new.values()]
        self.keys |= {key: key in known for key in new}
        return [(known[key],) if key in known else () for key in keys]


def recorded_answers(
    ledger: LedgerReader | None, binding: ModelBinding, keys: Sequence[str]
) -> dict[str, str | None]:
    """What a ledger has of these questions, by key; None for an answer that cannot be used."""
    if ledger is None:
        return {}
    entries = ledger.answers(keys)
    return {key: entry.answer if entry.valid else None for key, entry in entries.items()}


def _phrases(text: str | None) -> ExtractionAnswer:
    found = None if text is None else parse_phrase_list(text)
    return ExtractionAnswer(tuple(found or ()), found is not None)
