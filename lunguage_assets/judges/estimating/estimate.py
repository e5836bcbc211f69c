"""From what a rehearsal counted to calls, tokens, US dollars and minutes, per stage and judge: arithmetic
only.

Every number that is assumed and not counted is a constant here with its source. What is counted is in
`rehearsal.py`; a judge's own record (`ledger.reading.Experience`) goes before an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lunguage_assets.judges.asking.budget import output_limit
from lunguage_assets.judges.estimating.rehearsal import RunStage, Tally
from lunguage_assets.judges.ledger.attempts import TRIES
from lunguage_assets.judges.ledger.reading import Experience
from lunguage_assets.judges.slots import ModelSlot

FIRST_TOKEN_S = 1.0
TOKENS_PER_S = 80.0
"""Seconds until a hosted model begins to answer, and how fast it goes on: round figures of the author. The
ledger knows better.
"""

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

    `hits` of the `questions` need no call. `calls` include repeated ones; tokens are those billed. Dollars
    are None when unknown. `usd_at_most`: every question takes all tries with all output tokens, every report
    a second question, and in a fit every sentence all its steps. `minutes`: this judge alone. `basis`: where
    tokens and seconds come from.
    """

    stage: RunStage
    judge: str
    questions: int
    hits: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    usd_at_most: float | None
    minutes: float
    basis: Literal["ledger", "assumed"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of one judge in one stage: its slot, what a rehearsal counted, its record, and the most
    questions it could get.
    """

    stage: RunStage
    judge: str
    slot: ModelSlot
    tally: Tally
    experience: Experience | None
    questions_at_most: int

    @property
    def known(self) -> Experience:
        """What one question takes: the judge's own record, or what is assumed."""
        if self.experience is not None:
            return self.experience
        asked = max(1, self.tally.open)
        output = self.tally.output_tokens / asked + expected_reasoning(self.slot)
        latency_s = FIRST_TOKEN_S + output / TOKENS_PER_S
        return Experience(0, 1.0, 1.0, self.tally.input_tokens / asked, output, latency_s)

    @property
    def calls(self) -> float:
        """Attempts of any kind."""
        return self.tally.open * self.known.calls

    @property
    def tokens(self) -> tuple[float, float]:
        """Tokens of all prompts, and of all answers with reasoning, of the attempts that bring a reply."""
        replies = self.tally.open * self.known.paid_calls
        return replies * self.known.input_tokens, replies * self.known.output_tokens


def line(asked: Asked) -> EstimateLine:
    """Calls, tokens, dollars and minutes of one judge in one stage."""
    (input_tokens, output_tokens), price = asked.tokens, asked.slot.price
    return EstimateLine(
        stage=asked.stage,
        judge=asked.judge,
        questions=asked.tally.questions,
        hits=asked.tally.hits,
        calls=math.ceil(asked.calls),
        input_tokens=math.ceil(input_tokens),
        output_tokens=math.ceil(output_tokens),
        usd=None if price is None else price.cost(input_tokens, output_tokens),
        usd_at_most=_usd_at_most(asked),
        minutes=stage_minutes([asked]),
        basis="assumed" if asked.experience is None else "ledger",
    )


def stage_minutes(asked: Sequence[Asked]) -> float:
    """Minutes of one stage.

    Judges are asked at the same time, and the slowest counts; in a fit the slowest of each round.
    """
    if not asked:
        return 0.0
    rates = max(map(_rate_limit_s, asked))
    if asked[0].stage == "fitted_probabilities":
        return max(_latency_s(asked), rates) / 60.0
    return max(rates, *(_latency_s([one]) for one in asked)) / 60.0


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
    price, room = asked.slot.price, output_limit(asked.slot.binding)
    if not asked.tally.open:
        return 0.0
    if price is None or room is None:
        return None
    prompt = asked.tally.input_tokens_at_most / asked.tally.open
    if asked.experience is not None:
        prompt = max(prompt, asked.experience.input_tokens)
    questions, once = max(asked.questions_at_most, asked.tally.open), price.cost(math.ceil(prompt), room)
    if asked.stage == "structured_findings":  # a second question quotes the first, its answer, and the faults
        return questions * (once + price.cost(math.ceil(prompt) + room + _FAULTS_TOKENS, room))
    return TRIES * questions * once


def _latency_s(asked: Sequence[Asked]) -> float:
    """Seconds in which as many calls are open as may be; of several judges the slowest in each round."""
    slowest: dict[tuple[int, int], float] = {}
    for one in asked:
        for round_, questions in one.tally.rounds.items():
            seconds = math.ceil(questions * one.known.calls / one.slot.limits.in_flight) * one.known.latency_s
            slowest[round_] = max(slowest.get(round_, 0.0), seconds)
    return sum(slowest.values())


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
    vocabulary that it would use, `steps` the mean of a fit; None without fits. `minutes` is the duration of
    each stage, its judges together. `remarks` say what is unknown, and what would stop a run.
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
            "usd_at_most": self.usd_at_most,
            "minutes": math.fsum(self.minutes.values()),
            "judges_without_price": list(self.unpriced),
        }
        return {**asdict(self), "total": totals}
