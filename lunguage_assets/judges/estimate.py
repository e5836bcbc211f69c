"""The arithmetic of an estimate: from questions to calls, tokens, dollars and minutes, per stage and judge.

Every number that is assumed and not counted is a constant here with its source. A judge's own record
(`ledger.reading.Experience`) goes before an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from lunguage_assets.judges.asking.budget import expected_tokens, letters, output_limit, tokens_at_most
from lunguage_assets.judges.ledger.attempts import TRIES
from lunguage_assets.judges.ledger.reading import Experience
from lunguage_assets.judges.requests import Prompt
from lunguage_assets.judges.slots import ModelSlot

RunStage = Literal["structured_findings", "hedge_phrases", "comparison_matches", "fitted_probabilities"]
RUN_STAGES: tuple[RunStage, ...] = get_args(RunStage)
"""The stages of a run that ask language models, by the name of their table."""

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper (explicit.md section 5): taken until a home has fits of its own."""

FIRST_TOKEN_S = 1.0
TOKENS_PER_S = 80.0
"""Seconds until a hosted model begins to answer, and how fast it goes on: round figures of the author. The
ledger knows better.
"""

LABEL_TOKENS, PHRASES_TOKENS, WRAPPED_TOKENS = 5.0, 10.0, 7.0
"""Tokens of an answer: a label, a list of a phrase or two, and the JSON object around a constrained label."""

FINDINGS_TOKENS_PER_SENTENCE = 150.0
"""Tokens of what a model states about one sentence of a report: a finding or two of some 80 tokens."""

THINKING_SHARE = 0.1
"""Part of its thinking budget that a model uses. From the paper: its extraction cost about $1 for 2,066 pairs
(explicit.md section 1), which at
$0.30 and $2.50 leaves about 110 output tokens an answer, of a budget of 1,000. Where only a level of effort
is given, the same part of the room for output is assumed.
"""

_FAULTS_TOKENS = 1000
"""Most tokens of the faults that a second question about a report names, with what stands around them."""

_BUDGETS = ("thinking_budget", "budget_tokens")
_LEVELS = ("reasoning_effort", "thinking_level", "effort")
_NO_THINKING = frozenset({"none", "minimal"})


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
class PromptSize:
    """Tokens of a stage's prompts: the mean expected, and the mean of what they have at most."""

    expected: float
    at_most: float

    @classmethod
    def of(cls, prompts: Iterable[Prompt]) -> PromptSize:
        """The mean of some prompts; 0 without any."""
        sizes = [letters(prompt.system + prompt.user) for prompt in prompts]
        count = max(1, len(sizes))
        return cls(
            sum(expected_tokens(*size) for size in sizes) / count,
            sum(tokens_at_most(*size) for size in sizes) / count,
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """One judge in one stage.

    Args:
        questions: expected; `hits` of them are in the ledger.
        fewest, most: questions without an answer in the ledger, at least and at most.
        prompt: tokens of its prompts.
        answer_tokens: of an answer without reasoning.
        experience: the judge's record, None when there is none.
        rounds: questions of one round are sent together, the next round waits for the slowest judge.
    """

    stage: RunStage
    judge: str
    slot: ModelSlot
    questions: float
    hits: int
    fewest: float
    most: float
    prompt: PromptSize
    answer_tokens: float
    experience: Experience | None = None
    rounds: float = 1.0

    @property
    def open(self) -> float:
        """Questions that need a call."""
        return self.questions - self.hits

    @property
    def known(self) -> Experience:
        """What one question takes: the judge's own record, or what is assumed."""
        if self.experience is not None:
            return self.experience
        output = self.answer_tokens + expected_reasoning(self.slot)
        latency_s = FIRST_TOKEN_S + output / TOKENS_PER_S
        return Experience(0, 1.0, 1.0, self.prompt.expected, output, latency_s)

    @property
    def calls(self) -> float:
        """Attempts of any kind."""
        return self.open * self.known.calls

    @property
    def tokens(self) -> tuple[float, float]:
        """Tokens of all prompts, and of all answers with reasoning, of the attempts that bring a reply."""
        replies = self.open * self.known.paid_calls
        return replies * self.known.input_tokens, replies * self.known.output_tokens


def line(asked: Asked) -> EstimateLine:
    """Calls, tokens, dollars and minutes of one judge in one stage."""
    (input_tokens, output_tokens), price, known = asked.tokens, asked.slot.price, asked.known
    least = asked.fewest * known.input_tokens, asked.fewest * known.output_tokens
    return EstimateLine(
        stage=asked.stage,
        judge=asked.judge,
        questions=round(asked.questions),
        hits=asked.hits,
        calls=math.ceil(asked.calls),
        input_tokens=math.ceil(input_tokens),
        output_tokens=math.ceil(output_tokens),
        usd=None if price is None else price.cost(input_tokens, output_tokens),
        usd_at_least=None if price is None else price.cost(*least),
        usd_at_most=_usd_at_most(asked),
        minutes=stage_minutes([asked]),
        basis="assumed" if asked.experience is None else "ledger",
    )


def stage_minutes(asked: Sequence[Asked]) -> float:
    """Minutes of one stage.

    Judges are asked at the same time, and the slowest counts: as many calls in flight as its limits allow,
    every round of a fit behind the one before, or its rates per minute, whichever is slower.
    """
    return max((max(_latency_s(one), _rate_limit_s(one)) for one in asked), default=0.0) / 60.0


def answers_per_judge(steps: float, panel_steps: int, judges: int) -> float:
    """Answers of one judge about a sentence whose fit takes so many steps: to all of the first `panel_steps`,
    then to its share (explicit.md section 5, steps 2 and 4).
    """
    together = min(steps, panel_steps)
    return together + (steps - together) / judges


def expected_reasoning(slot: ModelSlot) -> float:
    """Tokens of reasoning in one answer, as far as the judge's parameters tell; see `THINKING_SHARE`."""
    room = output_limit(slot.binding) or 0
    for name, value in _flat(slot.params):
        if name in _BUDGETS and isinstance(value, int):
            return THINKING_SHARE * (value if value >= 0 else room)  # -1: as much as the model likes
        if name in _LEVELS and isinstance(value, str):
            return 0.0 if value.lower() in _NO_THINKING else THINKING_SHARE * room
    return 0.0


def _usd_at_most(asked: Asked) -> float | None:
    price, room, known = asked.slot.price, output_limit(asked.slot.binding), asked.experience
    if not asked.most:
        return 0.0
    if price is None or room is None:
        return None
    prompt = math.ceil(max(asked.prompt.at_most, known.input_tokens if known is not None else 0.0))
    once = price.cost(prompt, room)
    if asked.stage == "structured_findings":  # a second question quotes the first, its answer, and the faults
        return asked.most * (once + price.cost(prompt + room + _FAULTS_TOKENS, room))
    return TRIES * asked.most * once


def _latency_s(asked: Asked) -> float:
    """Seconds in which as many calls are open as may be."""
    if not asked.open:
        return 0.0
    in_a_row = math.ceil(asked.calls / asked.rounds / asked.slot.limits.in_flight)
    return asked.rounds * in_a_row * asked.known.latency_s


def _rate_limit_s(asked: Asked) -> float:
    """Seconds that rates per minute make of it; the first minute's allowance may go at once."""
    limits = asked.slot.limits
    used = ((asked.calls, limits.requests_per_minute), (sum(asked.tokens), limits.tokens_per_minute))
    return max(60.0 * max(0.0, amount / limit - 1.0) if limit is not None else 0.0 for amount, limit in used)


def _flat(params: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value


@dataclass(frozen=True, slots=True)
class PriceUsed:
    """US dollars per million tokens of a judge, and the day of which the judges file says so."""

    judge: str
    model: str
    input: float
    output: float
    as_of: str


@dataclass(frozen=True)
class Estimate:
    """What a run would ask and spend.

    `batches` are those that a run would read. `phrases`, `ruler` and `ruler_reason` are of the
    vocabulary that it would use, `steps` the mean of a fit that is expected; None without fits. `minutes` is
    the duration of each stage, its judges together. `remarks` say what is unknown, and what would stop a run.
    """

    preset: str
    ranker: str
    batches: tuple[str, ...]
    reports: int
    pairs: int
    sentences: int
    phrases: int
    ruler: str
    ruler_reason: str
    steps: float | None
    lines: tuple[EstimateLine, ...]
    minutes: Mapping[RunStage, float]
    prices: tuple[PriceUsed, ...]
    remarks: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Of all judges and stages."""
        return sum(one.calls for one in self.lines)

    @property
    def usd(self) -> float:
        """Expected US dollars of the judges that have a price."""
        return math.fsum(one.usd for one in self.lines if one.usd is not None)

    @property
    def usd_at_least(self) -> float:
        """The least that judges with a price can cost."""
        return math.fsum(one.usd_at_least for one in self.lines if one.usd_at_least is not None)

    @property
    def usd_at_most(self) -> float | None:
        """The worst case; None when one judge's is unknown."""
        known = [one.usd_at_most for one in self.lines if one.usd_at_most is not None]
        return math.fsum(known) if len(known) == len(self.lines) else None

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Judges that would be asked and have no price."""
        return tuple(dict.fromkeys(one.judge for one in self.lines if one.usd is None and one.calls))

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
        return {**asdict(self), "total": totals}
