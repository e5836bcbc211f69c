"""The dry-run judge: counts what a language model would be asked, answers from the ledger where it can, and
makes up the rest.

No key, no SDK, no network: a rehearsed run costs nothing and follows the same code as a real one, so that the
number of questions is that of the code, not of a formula. What questions cost is in `estimate.py`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar, get_args

from lunguage_assets.draws import text_hash
from lunguage_assets.judges.asking.answers import parse_phrase_list
from lunguage_assets.judges.asking.budget import expected_tokens, letters, tokens_at_most
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.model_judge import ModelJudge, choice_of
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

RunStage = Literal["structured_findings", "hedge_phrases", "comparison_matches", "fitted_probabilities"]
RUN_STAGES: tuple[RunStage, ...] = get_args(RunStage)
"""The stages of a run that ask language models, by the name of their table."""

PUBLISHED_AGREEMENT = 0.866
"""How often two judges of the published panel agree on a comparison (explicit.md section 3: the highest of
the four means).
"""

ERROR_RATE = (1.0 - math.sqrt(2.0 * PUBLISHED_AGREEMENT - 1.0)) / 2.0
"""Made-up judges miss the rule-based opinion this often (0.072), independently: two of them then agree as the
published ones do,
(1 - e)^2 + e^2 = 0.866."""

ANSWER_LETTERS_PER_TOKEN = 2.0
"""Labels, brackets and quotes are cut finer than prose: sentence_1 counts as five tokens, its JSON form as
twelve.
"""

_WRAPPED = frozenset({"openai", "azure-openai", "anthropic"})
"""Providers whose constrained answer is a JSON object around the label."""

Place = TypeVar("Place", bound=Hashable)
Question = TypeVar("Question", ExtractionQuestion, ComparisonQuestion)
Answer = TypeVar("Answer", ExtractionAnswer, ComparisonAnswer)


class _Text(NamedTuple):
    """A text as a prompt has it, on one line, and its letters; equal texts are equal."""

    line: str
    plain: int
    other: int


_Extraction = tuple[_Text, _Text]
_Comparison = tuple[_Text, _Text, int]


@dataclass
class Tally:
    """What one judge was asked in one stage of a rehearsal.

    `questions` are distinct per round, `hits` of them need no call; the token sums are over the others.
    `output_tokens` is the text of the answer, without reasoning. `rounds`: calls by the number of the fit,
    one for each batch, and its step (0, 0 for everything that is known beforehand).
    """

    questions: int = 0
    hits: int = 0
    input_tokens: float = 0.0
    input_tokens_at_most: int = 0
    output_tokens: float = 0.0
    rounds: Counter[tuple[int, int]] = field(default_factory=Counter)

    @property
    def open(self) -> int:
        """Questions that need a call."""
        return self.questions - self.hits


class RehearsalJudge:
    """Stands in for a slot that is bound to a language model.

    An answer in the ledger is given as it is. Any other is made up: the rule-based lexicon's opinion, a
    comparison turned round by hash at `ERROR_RATE`. Deterministic; a question asked twice is counted once, as
    it would be paid once: a rehearsal has one such judge per key, for all its stages. In which stage it is
    asked, it hears from the question: extractions are the first, comparisons that may wait the second, and
    comparisons that may not are rounds of a fit.

    Args:
        key: the slot's name.
        slot: its table in the judges file.
        prompts: the templates that a run would use.
        recorded: the ledger that a run would use, None when there is none.
    """

    def __init__(
        self, key: str, slot: ModelSlot, prompts: Prompts, recorded: LedgerReader | None = None
    ) -> None:
        self.key, self._slot, self._prompts, self._recorded = key, slot, prompts, recorded
        self._binding = slot.binding
        self._opinion = LexiconJudge.bundled(key)
        self._fit, self._round = 0, -1
        self._texts: dict[str, _Text] = {}
        self._extractions: dict[_Extraction, ExtractionAnswer] = {}
        self._comparisons: dict[_Comparison, ComparisonAnswer] = {}
        self._extraction_size = _Size(
            lambda finding, sentence: prompts.extraction(ExtractionQuestion(finding, sentence))
        )
        self._comparison_size = _Size(lambda one, two: prompts.comparison(ComparisonQuestion(one, two)))
        self.tallies: dict[RunStage, Tally] = {}

    @property
    def identity(self) -> str:
        """That of the judge it stands in for."""
        return ModelJudge.identity_of(self._binding, self._prompts, self._slot.mode)

    def extract(
        self, questions: Sequence[ExtractionQuestion], *, may_wait: bool = False
    ) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order."""
        asked = [(self._text(q.finding), self._text(q.sentence)) for q in questions]
        known, tally = self._extractions, self._tally("hedge_phrases")
        request_of = lambda q: extraction_request(self._prompts.extraction(q))  # noqa: E731
        open_ = self._look_up(asked, questions, known, tally, request_of, _phrases)
        for place, answer in zip(open_, self._opinion.extract(list(open_.values())), strict=True):
            known[place] = answer
            self._count(
                tally, (0, 0), self._extraction_size.letters(*place), json.dumps(list(answer.phrases))
            )
        return [known[place] for place in asked]

    def compare(
        self, questions: Sequence[ComparisonQuestion], *, may_wait: bool = False
    ) -> list[ComparisonAnswer]:
        """A label per question, in the questions' order: the comparisons of a ranking, which are all known
        beforehand and may wait, or a round of a fit.

        Every judge of a round is asked about the same step, and a fit's steps only grow: a step that does not
        is the first of the next batch's fit.
        """
        if may_wait:
            return self._compared("comparison_matches", (0, 0), questions)
        step = max((question.replicate for question in questions), default=0)
        if step <= self._round:
            self._fit += 1
        self._round = step
        return self._compared("fitted_probabilities", (self._fit, step), questions)

    def _compared(
        self, stage: RunStage, round_: tuple[int, int], questions: Sequence[ComparisonQuestion]
    ) -> list[ComparisonAnswer]:
        asked = [(self._text(q.sentence_1), self._text(q.sentence_2), q.replicate) for q in questions]
        known, tally, mode = self._comparisons, self._tally(stage), self._slot.mode
        request_of = lambda q: comparison_request(self._prompts.comparison(q), mode, q.replicate)  # noqa: E731
        open_ = self._look_up(asked, questions, known, tally, request_of, _label)
        is_wrapped = mode == "enum" and self._slot.provider in _WRAPPED
        said = '{"answer":"sentence_1"}' if is_wrapped else "sentence_1"
        for place, opinion in zip(open_, self._opinion.compare(list(open_.values())), strict=True):
            one, two, replicate = place
            answer = opinion.answer
            if answer == "invalid":  # no hedge that the rules know: a model says something all the same
                coin = text_hash("unknown", one.line, two.line, replicate) % 2
                answer = "sentence_1" if coin else "sentence_2"
            errs = self._errs(one.line, two.line, replicate)
            known[place] = _TURNED[answer] if errs else ComparisonAnswer(answer)
            self._count(tally, round_, self._comparison_size.letters(one, two), said)
        return [known[place] for place in asked]

    def _look_up(
        self,
        asked: Sequence[Place],
        questions: Sequence[Question],
        known: dict[Place, Answer],
        tally: Tally,
        request_of: Callable[[Question], Request],
        read: Callable[[str | None], Answer],
    ) -> dict[Place, Question]:
        """The questions without an answer so far, each once; what the ledger has is put into `known`."""
        distinct = dict(zip(asked, questions, strict=True))
        new = {place: question for place, question in distinct.items() if place not in known}
        if self._recorded is not None:
            keys = {request_key(self._binding, request_of(one)): place for place, one in new.items()}
            recorded = recorded_answers(self._recorded, self._binding, list(keys))
            known.update((keys[key], read(text)) for key, text in recorded.items())
        open_ = {place: question for place, question in new.items() if place not in known}
        tally.questions += len(distinct)
        tally.hits += len(distinct) - len(open_)
        return open_

    def _errs(self, *question: object) -> bool:
        return text_hash("rehearsal", self.key, *question) < ERROR_RATE * 2.0**64

    def _tally(self, stage: RunStage) -> Tally:
        return self.tallies.setdefault(stage, Tally())

    def _count(self, tally: Tally, round_: tuple[int, int], size: tuple[int, int], answer: str) -> None:
        tally.rounds[round_] += 1
        tally.input_tokens += expected_tokens(*size)
        tally.input_tokens_at_most += tokens_at_most(*size)
        tally.output_tokens += math.ceil(len(answer) / ANSWER_LETTERS_PER_TOKEN)

    def _text(self, text: str) -> _Text:
        found = self._texts.get(text)
        if found is None:
            line = " ".join(text.split())
            found = self._texts[text] = _Text(line, *letters(line))
        return found


def recorded_answers(
    recorded: LedgerReader | None, binding: ModelBinding, keys: Sequence[str]
) -> dict[str, str | None]:
    """What a ledger has of these questions, by key; None for an answer that cannot be used."""
    if recorded is None:
        return {}
    entries = recorded.answers(keys)
    adoptable = recorded.answers_of(binding.aliases, [key for key in keys if key not in entries])
    answered: dict[str, str | None] = {attempt.key: attempt.answer for attempt in adoptable}
    return answered | {key: entry.answer if entry.valid else None for key, entry in entries.items()}


class _Size:
    """Letters of a prompt, known without writing it: those of the templates, and how often each text is
    filled in.
    """

    def __init__(self, prompt_of: Callable[[str, str], Prompt]) -> None:
        def size(*texts: str) -> tuple[int, int]:
            prompt = prompt_of(*texts)
            return letters(prompt.system + prompt.user)

        self._fixed = size("", "")
        self._times = (size("x", "")[0] - self._fixed[0], size("", "x")[0] - self._fixed[0])

    def letters(self, *texts: _Text) -> tuple[int, int]:
        plain, other = self._fixed
        for times, text in zip(self._times, texts, strict=True):
            plain, other = plain + times * text.plain, other + times * text.other
        return plain, other


_TURNED = {"sentence_1": ComparisonAnswer("sentence_2"), "sentence_2": ComparisonAnswer("sentence_1")}


def _phrases(text: str | None) -> ExtractionAnswer:
    found = None if text is None else parse_phrase_list(text)
    return ExtractionAnswer(tuple(found or ()), found is not None)


def _label(text: str | None) -> ComparisonAnswer:
    found = None if text is None else choice_of(text)
    return ComparisonAnswer("invalid" if found is None else found)
