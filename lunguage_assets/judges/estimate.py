"""The arithmetic of an estimate: questions that the ledger lacks times the tokens of one, as a range.

Every number that is assumed and not counted is a constant here with its source. A judge's own record
(`ledger.reading.Experience`) goes before an assumption. Nothing is sent; no key and no SDK is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lunguage_assets.judges.asking.budget import (
    estimated_input_tokens,
    expected_input_tokens,
    output_limit,
)
from lunguage_assets.judges.ledger.attempts import TRIES, request_key
from lunguage_assets.judges.ledger.reading import Experience, LedgerReader
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

RunStage = Literal["structured_findings", "hedge_phrases", "comparison_matches", "fitted_probabilities"]

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper (explicit.md section 5): taken until a home has fits of its own."""

FIRST_TOKEN_S, TOKENS_PER_S = 1.0, 80.0
"""Seconds until a hosted model begins to answer, and how fast it goes on: round figures of the author. The
ledger knows better.
"""

LABEL_TOKENS, PHRASES_TOKENS = 5.0, 10.0
"""Tokens of an answer: a label, a list of a phrase or two."""

FINDINGS_TOKENS_PER_SENTENCE = 150.0
"""Tokens of what a model states about one sentence of a report: a finding or two of some 80 tokens."""

THINKING_SHARE = 0.1
"""Part of its room for output that a thinking model thinks in. From the paper: its extraction cost about $1
for 2,066 pairs (explicit.md section 1), which at $0.30 and $2.50 leaves about 110 output tokens an answer, of
a budget of 1,000.
"""

_FAULTS_TOKENS = 1000
"""Most tokens of the faults that a second question about a report names, with what stands around them."""


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """What one judge would be asked in one stage.

    `hits` of the `questions` are in the ledger and need no call. `calls` include repeated ones; tokens are
    those billed. Dollars are None when unknown: `usd_at_least` has the fewest questions, each answered at
    once; `usd_at_most` the most, each with all tries and all output tokens, and of every report a second
    question. `minutes`: this judge alone. `basis`: where tokens and seconds come from.
    """

    stage: RunStage
    judge: str
    questions: int
    hits: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    usd_at_least: float | None
    usd_at_most: float | None
    minutes: float
    basis: Literal["ledger", "assumed"]


@dataclass(frozen=True, slots=True)
class Questions:
    """What one judge would be asked in one stage.

    Args:
        count: expected; `hits` of them are in the ledger.
        fewest, most: without an answer in the ledger, at least and at most.
        prompts: some of their prompts.
        answer_tokens: of an answer without reasoning.
        rounds: questions of one round are sent together, and the next round waits for them.
    """

    stage: RunStage
    count: float
    hits: int
    fewest: float
    most: float
    prompts: Sequence[Prompt]
    answer_tokens: float
    rounds: float = 1.0


def line(judge: str, slot: ModelSlot, asked: Questions, record: Experience | None = None) -> EstimateLine:
    """Calls, tokens, dollars and minutes of one judge in one stage; `record`: how it has answered so far."""
    known = record if record is not None else _assumed(slot, asked)
    open_, price = asked.count - asked.hits, slot.price
    calls, replies = open_ * known.calls, open_ * known.paid_calls
    tokens = replies * known.input_tokens, replies * known.output_tokens
    in_a_row = max(asked.rounds, math.ceil(calls / slot.limits.in_flight)) if open_ else 0.0
    seconds = in_a_row * known.latency_s
    limits = (calls, slot.limits.requests_per_minute), (sum(tokens), slot.limits.tokens_per_minute)
    rated = [60.0 * (amount / limit - 1.0) for amount, limit in limits if limit is not None]
    return EstimateLine(
        stage=asked.stage,
        judge=judge,
        questions=round(asked.count),
        hits=asked.hits,
        calls=math.ceil(calls),
        input_tokens=math.ceil(tokens[0]),
        output_tokens=math.ceil(tokens[1]),
        usd=None if price is None else price.cost(*tokens),
        usd_at_least=None
        if price is None
        else price.cost(asked.fewest * known.input_tokens, asked.fewest * known.output_tokens),
        usd_at_most=_usd_at_most(slot, asked, record),
        minutes=max(seconds, *rated, 0.0) / 60.0,
        basis="assumed" if record is None else "ledger",
    )


def answers_per_judge(steps: float, panel_steps: int, judges: int) -> float:
    """Answers of one judge about a sentence whose fit takes so many steps: to all of the first `panel_steps`,
    then to its share (explicit.md section 5, steps 2 and 4).
    """
    together = min(steps, panel_steps)
    return together + (steps - together) / judges


def expected_reasoning(slot: ModelSlot) -> float:
    """Tokens of reasoning in one answer, as far as the judge's parameters tell; see `THINKING_SHARE`."""
    thinks = any(
        ("thinking" in name or "reasoning" in name or name in ("effort", "budget_tokens"))
        and value not in (0, "none", "minimal")
        for name, value in _flat(slot.params)
    )
    return THINKING_SHARE * (output_limit(slot.binding) or 0) if thinks else 0.0


def _flat(params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value


def _assumed(slot: ModelSlot, asked: Questions) -> Experience:
    output = asked.answer_tokens + expected_reasoning(slot)
    size = _mean(expected_input_tokens(prompt) for prompt in asked.prompts)
    return Experience(0, 1.0, 1.0, size, output, FIRST_TOKEN_S + output / TOKENS_PER_S)


def _usd_at_most(slot: ModelSlot, asked: Questions, record: Experience | None) -> float | None:
    price, room = slot.price, output_limit(slot.binding)
    if not asked.most:
        return 0.0
    if price is None or room is None:
        return None
    size = _mean(estimated_input_tokens(prompt) for prompt in asked.prompts)
    prompt = max(size, record.input_tokens if record is not None else 0.0)
    once = price.cost(prompt, room)
    if asked.stage == "structured_findings":  # a second question quotes the first, its answer, and the faults
        return asked.most * (once + price.cost(prompt + room + _FAULTS_TOKENS, room))
    return TRIES * asked.most * once


def _mean(sizes: Iterable[float]) -> float:
    found = list(sizes)
    return sum(found) / max(1, len(found))


@dataclass(frozen=True)
class Estimate:
    """What a run would ask and spend.

    `batches` are those that a run would read; `steps` is the mean of a fit that is expected, None without
    fits. `prices_as_of`: the days of the prices used. `remarks` say what is unknown, and what would stop a
    run.
    """

    preset: str
    ranker: str
    batches: tuple[str, ...]
    reports: int
    pairs: int
    sentences: int
    steps: float | None
    lines: tuple[EstimateLine, ...]
    prices_as_of: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Of all judges and stages."""
        return sum(one.calls for one in self.lines)

    @property
    def minutes(self) -> dict[str, float]:
        """Of each stage: judges are asked at the same time, and the slowest counts."""
        found = dict[str, float]()
        for one in self.lines:
            found[one.stage] = max(one.minutes, found.get(one.stage, 0.0))
        return found

    @property
    def usd(self) -> float:
        """Expected US dollars of the judges that have a price."""
        return self._sum("usd")

    @property
    def usd_at_least(self) -> float:
        """The least that judges with a price can cost."""
        return self._sum("usd_at_least")

    @property
    def usd_at_most(self) -> float | None:
        """The worst case; None when one judge's is unknown."""
        return None if self.unpriced else self._sum("usd_at_most")

    def _sum(self, name: str) -> float:
        known = (getattr(one, name) for one in self.lines)
        return math.fsum(value for value in known if value is not None)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Judges that would be asked, and whose worst case is not known."""
        return tuple(dict.fromkeys(one.judge for one in self.lines if one.usd_at_most is None))

    def values(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        totals = {
            "calls": self.calls,
            "input_tokens": sum(one.input_tokens for one in self.lines),
            "output_tokens": sum(one.output_tokens for one in self.lines),
            "usd": self.usd,
            "usd_at_least": self.usd_at_least,
            "usd_at_most": self.usd_at_most,
            "minutes": math.fsum(self.minutes.values()),
            "judges_without_price": list(self.unpriced),
        }
        return {**asdict(self), "minutes": self.minutes, "total": totals}


class NotRecorded(Exception):
    """The ledger lacks an answer to a comparison."""


class RecordedJudge:
    """A language model's answers as far as the ledger (None: there is none) has them.

    Phrases that it lacks are those of the rule-based lexicon; a comparison that it lacks ends the asking.
    `keys`: the distinct questions so far, and whether the ledger settles each; `prompts`: theirs.
    """

    def __init__(self, key: str, slot: ModelSlot, prompts: Prompts, ledger: LedgerReader | None) -> None:
        self.key, self._slot, self._prompts, self._ledger = key, slot, prompts, ledger
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
        requests = [extraction_request(self._prompts.extraction(question)) for question in questions]
        guesses = LexiconJudge.bundled(self.key).extract(questions)
        found = zip(self._recorded(requests), guesses, strict=True)
        return [_phrases(texts[0]) if texts else guess for texts, guess in found]

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
        return [ComparisonAnswer(choice_of(text or "") or "invalid") for (text,) in found]

    def _recorded(self, requests: Sequence[Request]) -> list[tuple[str | None, ...]]:
        """Per request the text that settles it (None: invalid for good), or nothing."""
        keys = [request_key(self._slot.binding, request) for request in requests]
        known = recorded_answers(self._ledger, self._slot.binding, requests)
        self.prompts += [one.prompt for key, one in zip(keys, requests, strict=True) if key not in self.keys]
        self.keys |= {key: key in known for key in keys}
        return [(known[key],) if key in known else () for key in keys]


def recorded_answers(
    ledger: LedgerReader | None, binding: ModelBinding, requests: Sequence[Request]
) -> dict[str, str | None]:
    """The answers of a ledger to these questions, by key; None for one that is invalid for good."""
    if ledger is None:
        return {}
    entries = ledger.answers([request_key(binding, request) for request in requests])
    return {key: entry.answer if entry.valid else None for key, entry in entries.items()}


def _phrases(text: str | None) -> ExtractionAnswer:
    found = None if text is None else parse_phrase_list(text)
    return ExtractionAnswer(tuple(found or ()), found is not None)
