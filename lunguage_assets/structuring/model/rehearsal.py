"""A rehearsed structurer: counts what a language model would be asked about reports, answers from the ledger
where it can, and has the offline structurer make up the rest.

Questions, anchoring and repairs are those of a run. A second question about a made-up answer is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from lunguage_assets.judges.asking.budget import letters
from lunguage_assets.judges.asking.round import Parse, Settled
from lunguage_assets.judges.estimating.rehearsal import Tally, recorded_answers
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.requests import ModelBinding, Request
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.structuring.contract import SectionedReport, StructuredReport, Structurer
from lunguage_assets.structuring.model.prompts import StructuringPrompts, sentence_id
from lunguage_assets.structuring.model.structurer import ModelStructurer, sentences_asked

T = TypeVar("T")

_POLARITY = {"p": "positive", "n": "negative"}
_CERTAINTY = {"d": "definitive", "t": "tentative"}


class RehearsalStructurer(ModelStructurer):
    """Stands in for a slot that is bound to a language model; nothing is sent.

    Args:
        key: the slot's name.
        slot: its table in the judges file.
        prompts: the templates that a run would use.
        stand_in: whose opinion is taken where the ledger has none.
        tally: what is asked is added there.
        recorded: the ledger that a run would use, None when there is none.
    """

    def __init__(
        self,
        key: str,
        slot: ModelSlot,
        prompts: StructuringPrompts,
        stand_in: Structurer,
        tally: Tally,
        recorded: LedgerReader | None = None,
    ) -> None:
        self._stand_in = stand_in
        self._rehearsed = _RehearsalAsker(key, slot.binding, tally, recorded)
        super().__init__(self._rehearsed, prompts, slot.mode)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        opinions = zip(reports, self._stand_in.structure(reports), strict=True)
        self._rehearsed.opinions = {
            self._prompts.question(sentences_asked(report)).user: _written(report, opinion)
            for report, opinion in opinions
        }
        return super().structure(reports)


class _RehearsalAsker:
    """An asker that looks into the ledger, counts, and says what the stand-in says."""

    def __init__(self, key: str, binding: ModelBinding, tally: Tally, recorded: LedgerReader | None) -> None:
        self.key, self.binding, self.tally, self._recorded = key, binding, tally, recorded
        self.opinions: dict[str, str] = {}

    def ask(self, requests: Sequence[Request], parse: Parse[T]) -> list[Settled[T]]:
        keys = [request_key(self.binding, request) for request in requests]
        known = recorded_answers(self._recorded, self.binding, list(dict.fromkeys(keys)))
        asked = dict(zip(keys, requests, strict=True))
        self.tally.questions += len(asked)
        self.tally.hits += len(known.keys() & asked.keys())
        said = {key: known[key] if key in known else self._made_up(request) for key, request in asked.items()}
        return [Settled(key, parse(text) if (text := said[key]) is not None else None, 1) for key in keys]

    def interrupt(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is open."""

    def _made_up(self, request: Request) -> str | None:
        """The stand-in's opinion; of a second question, whose answer nobody can guess, the size alone."""
        opinion = self.opinions.get(request.prompt.user)
        length = max(map(len, self.opinions.values())) if opinion is None else len(opinion)
        self.tally.count((0, 0), letters(request.prompt.system + request.prompt.user), length)
        return opinion


def _written(report: SectionedReport, opinion: StructuredReport) -> str:
    """An opinion as a model would write it."""
    findings = [
        {
            "number": number,
            "sentence": sentence_id(report.sentences[position]),
            "words": one.ent.words,
            "name": one.normed_ent,
            "category": one.cat,
            "polarity": _POLARITY[one.status[1]],
            "certainty": _CERTAINTY[one.status[0]],
            "places": [value.words for value in one.location],
            "attributes": [
                {"column": column, "words": value.words}
                for column, values in one.attributes.items()
                for value in values
            ],
            "evidence": [place + 1 for place in one.evidence],
            "associate": [place + 1 for place in one.associate],
        }
        for number, (position, one) in enumerate(opinion.mentions, start=1)
    ]
    sentences = [
        {"sentence": sentence_id(sentence), "account": reading.account, "reason": "other"}
        for sentence, reading in zip(report.sentences, opinion.readings, strict=True)
        if sentence.section != "other" and reading.account != "findings"
    ]
    return json.dumps({"findings": findings, "sentences": sentences}, ensure_ascii=False)
