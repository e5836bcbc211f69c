"""The arithmetic of an estimate: questions that the ledger lacks times the tokens of one, as a range.

Every number that is assumed and not counted is a constant here with its source. A judge's own record
(`Ledger.experience`) goes before an assumption. Nothing is sent; no key and no SDK is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lunguage_assets.judges.asking.budget import estimated_input_tokens, expected_input_tokens, output_limit
from lunguage_assets.judges.ledger.attempts import TRIES, request_key
from lunguage_assets.judges.ledger.ledger import Experience, Ledger
from lunguage_assets.judges.model_judge import ModelJudge, Prompts, choice_of, parse_phrase_list
from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Prompt, Request
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.slots import ModelSlot

RunStage = Literal["structured_findings", "hedge_phrases", "comparison_matches", "fitted_probabilities"]

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper (explicit.md section 5): taken until a home has fits of its own."""

FIRST_TOKEN_S, TOKENS_PER_S = 1.0, 80.0
"""Seconds until a hosted model begins to answer, and how fast it goes on: round figures of the author."""

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


def line(
    stage: RunStage,
    judge: str,
    slot: ModelSlot,
    hits: int,
    lacking: tuple[float, float, float],
    prompts: Sequence[Prompt],
    answer_tokens: float,
    record: Experience | None = None,
    rounds: float = 1.0,
) -> EstimateLine:
    """Calls, tokens, dollars and minutes of one judge in one stage.

    Args:
        stage, judge, slot: what is asked, and whom.
        hits: questions that the ledger answers.
        lacking: questions that it does not: at least, expected, at most.
        prompts: some of their prompts.
        answer_tokens: of an answer without reasoning.
        record: how the judge has answered so far; None: tokens and seconds are assumed.
        rounds: questions of one round are sent together, and the next round waits for them.
    """
    output = answer_tokens + expected_reasoning(slot)
    size = _mean([expected_input_tokens(prompt) for prompt in prompts])
    known = record or Experience(1.0, 1.0, size, output, FIRST_TOKEN_S + output / TOKENS_PER_S)
    fewest, expected, most = lacking
    calls, replies = expected * known.calls, expected * known.paid_calls
    price, limits = slot.price, slot.limits
    tokens = replies * known.input_tokens, replies * known.output_tokens
    least = fewest * known.input_tokens, fewest * known.output_tokens
    in_a_row = max(rounds, math.ceil(calls / limits.in_flight)) if expected else 0.0
    seconds = [0.0, in_a_row * known.latency_s]
    for amount, limit in (calls, limits.requests_per_minute), (sum(tokens), limits.tokens_per_minute):
        if limit is not None:
            seconds.append(60.0 * amount / limit)
    return EstimateLine(
        stage=stage,
        judge=judge,
        questions=round(hits + expected),
        hits=hits,
        calls=math.ceil(calls),
        input_tokens=math.ceil(tokens[0]),
        output_tokens=math.ceil(tokens[1]),
        usd=None if price is None else price.cost(*tokens),
        usd_at_least=None if price is None else price.cost(*least),
        usd_at_most=_usd_at_most(stage, slot, most, prompts, record),
        minutes=max(seconds) / 60.0,
        basis="ledger" if record else "assumed",
    )


def _usd_at_most(
    stage: RunStage, slot: ModelSlot, most: float, prompts: Sequence[Prompt], record: Experience | None
) -> float | None:
    price, room = slot.price, output_limit(slot.binding)
    if not most:
        return 0.0
    if price is None or room is None:
        return None
    size = _mean([estimated_input_tokens(prompt) for prompt in prompts])
    prompt = max(size, record.input_tokens if record else 0.0)
    if stage == "structured_findings":  # a second question quotes the first, its answer, and the faults
        return most * price.cost(2 * prompt + room + _FAULTS_TOKENS, 2 * room)
    return most * price.cost(TRIES * prompt, TRIES * room)


def _mean(sizes: Sequence[float]) -> float:
    return sum(sizes) / max(1, len(sizes))


def answers_per_judge(steps: float, panel_steps: int, judges: int) -> float:
    """Answers of one judge about a sentence whose fit takes so many steps: to all of the first `panel_steps`,
    then to its share (explicit.md section 5, steps 2 and 4).
    """
    together = min(steps, panel_steps)
    return together + (steps - together) / judges


def expected_reasoning(slot: ModelSlot) -> float:
    """Tokens of reasoning in one answer, as far as the judge's parameters tell; see `THINKING_SHARE`."""
    params = dict(slot.params)
    for value in slot.params.values():
        params |= value if isinstance(value, dict) else {}
    thinks = any(
        ("thinking" in name or "reasoning" in name or name in ("effort", "budget_tokens"))
        and not isinstance(value, dict)
        and value not in (0, "none", "minimal")
        for name, value in params.items()
    )
    return THINKING_SHARE * (output_limit(slot.binding) or 0) if thinks else 0.0


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
    def minutes(self) -> dict[str, float]:
        """Of each stage: judges are asked at the same time, and the slowest counts."""
        found = dict[str, float]()
        for one in self.lines:
            found[one.stage] = max(one.minutes, found.get(one.stage, 0.0))
        return found

    @property
    def total(self) -> dict[str, Any]:
        """Sums over judges and stages; dollars of the judges with a price, and at most: None when one judge's
        worst case is unknown.
        """
        names = ("questions", "hits", "calls", "input_tokens", "output_tokens")
        dollars = ("usd", "usd_at_least", "usd_at_most")
        without_price = dict.fromkeys(one.judge for one in self.lines if one.usd_at_most is None)
        sums: dict[str, Any] = {name: sum(getattr(one, name) for one in self.lines) for name in names}
        sums |= {name: math.fsum(getattr(one, name) or 0.0 for one in self.lines) for name in dollars}
        sums["minutes"] = math.fsum(self.minutes.values())
        if without_price:
            sums["usd_at_most"] = None
        return sums | {"judges_without_price": list(without_price)}

    def values(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {**asdict(self), "minutes": self.minutes, "total": self.total}


class NotRecorded(Exception):
    """The ledger lacks an answer to a comparison."""


class RecordedJudge:
    """A language model's answers as far as the ledger (None: there is none) has them.

    Phrases that it lacks are those of the rule-based lexicon; a comparison that it lacks ends the asking.
    `keys`: the distinct questions so far, and whether the ledger settles each; `prompts`: theirs.
    """

    def __init__(self, key: str, slot: ModelSlot, prompts: Prompts, ledger: Ledger | None) -> None:
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
        found = self.look_up([self._prompts.extraction(one) for one in questions])
        guesses = LexiconJudge.bundled(self.key).extract(questions)
        answers = []
        for texts, guess in zip(found, guesses, strict=True):
            phrases = parse_phrase_list(texts[0] or "") if texts else guess.phrases
            answers.append(ExtractionAnswer(tuple(phrases or ()), phrases is not None))
        return answers

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """A label per question, in the questions' order.

        Raises:
            NotRecorded: the ledger lacks one.
        """
        found = self.look_up([self._prompts.comparison(one, self._slot.mode) for one in questions])
        if not all(found):
            raise NotRecorded
        return [ComparisonAnswer(choice_of(text or "") or "invalid") for (text,) in found]

    def look_up(self, requests: Sequence[Request]) -> list[tuple[str | None, ...]]:
        """Per request the text that settles it (None: invalid for good), or nothing."""
        keys = [request_key(self._slot.binding, request) for request in requests]
        entries = self._ledger.answers(keys) if self._ledger is not None else {}
        self.prompts += [one.prompt for key, one in zip(keys, requests, strict=True) if key not in self.keys]
        self.keys |= {key: key in entries for key in keys}
        return [(entries[key],) if key in entries else () for key in keys]
