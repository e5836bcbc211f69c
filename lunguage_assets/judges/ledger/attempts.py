"""One attempt to get an answer: key, record, and how attempts settle a question.

Nothing here touches a database. The key decides what is asked again and what is not:
every change of it would pay for all answers anew.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, Field

from lunguage_assets.judges.requests import (
    MOST_TOKENS,
    FailureKind,
    Mode,
    ModelBinding,
    Request,
)

TRIES = 5
"""How often a model is asked for one answer that it gives unreadably; then the answer
is invalid for good (explicit.md section 2).
"""

Flaw = Literal["unreadable", "refused", "wrong_model"]
"""What is wrong with a reply that came, and was paid, but is not used."""

COUNTED: frozenset[str] = frozenset({"unreadable", "refused"})
"""Flaws that use up a try: another model's reply says nothing about this one."""

REPLIED: tuple[str, ...] = get_args(Flaw)
"""Failures that are replies: they came and were paid, and are not used."""

Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
_TIME_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"

MAX_CLOCK_DIFFERENCE = timedelta(days=1)
"""By so much at most the clocks of those who share a ledger differ."""


def _existing_time(time: str) -> str:
    """Check that the calendar has a time: the pattern allows the 99th of a month."""
    try:
        datetime.strptime(time, _TIME_FORMAT)
    except ValueError:
        raise ValueError("a time that the calendar has") from None
    return time


# What no name and no answer exceeds: only a file that somebody made up has longer ones.
_LONGEST_KEY = 128
_LONGEST_NAME = 1_000
_LONGEST_ANSWER = 4_000_000
_PRINTABLE = r"^\P{C}*$"
"""Names are shown on terminals, which obey control characters."""
Name = Annotated[str, Field(max_length=_LONGEST_NAME, pattern=_PRINTABLE)]


def tries_of(stage: str) -> int:
    """Say how many replies a question of a stage gets.

    A report is asked about once: an answer that cannot be read is told so in a question
    of its own (method.md section 8).
    """
    return 1 if stage == "structure" else TRIES


def request_key(binding: ModelBinding, request: Request) -> str:
    """Compute the ledger's key of a question to a model: 64 hexadecimal digits.

    It is the SHA-256 of the canonical JSON of everything that decides an answer. Not in
    it are aliases, names of judges and panels, addresses, keys, limits, prices and
    policy, because they decide whether and when, not what; nor results, such as the
    returned model.
    """
    content = {
        "provider": binding.provider,
        # The same name on Azure or Vertex is another deployment.
        "endpoint_class": binding.endpoint_class,
        "model": binding.model,
        "parameters": _canonical(dict(binding.parameters)),
        "template_version": request.prompt.template_version,
        "mode": request.mode,
        "stage": request.task,
        "system": request.prompt.system,
        "user": request.prompt.user,
        "labels": list(request.labels),
        "replicate": request.replicate,
    }
    if request.schema:
        # Only where there is one: a comparison has none.
        content["schema"] = request.schema
    text = json.dumps(
        content,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def model_identity(binding: ModelBinding, mode: Mode, deciding: str) -> str:
    """Name a language model by everything that changes its answers.

    Args:
        binding: the model.
        mode: how it answers.
        deciding: whatever else decides its answers, as ASCII text, of which a hash is
            named.
    """
    digest = hashlib.sha256(deciding.encode("ascii")).hexdigest()[:12]
    return f"{binding.endpoint_class}/{binding.model}/{mode}/{digest}"


def _canonical(value: Any) -> Any:
    """Bring JSON values to one form.

    1 and 1.0 are the same setting, a list and a tuple are the same list.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def storable(text: str) -> str:
    """Replace what a database refuses (NUL, lone surrogates) in a text.

    A paid answer is always recorded, whatever it holds.
    """
    without_nul = text.replace("\x00", "\ufffd")
    return without_nul.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def moment(time: datetime) -> str:
    """Write a time as the ledger stores it.

    UTC, microseconds, fixed width, so that text order is time order.
    """
    return time.astimezone(UTC).strftime(_TIME_FORMAT)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it is recorded; pydantic checks by it those of another ledger.

    Attributes:
        key: of its question (`request_key`).
        judge: key of the judge.
        stage: what was asked.
        model: that was requested.
        answer: the reply's text; None: no reply came.
        failure: None: a valid answer; a `Flaw`: a reply that is not used; a
            `FailureKind`: no reply came; `lost`: nobody was left to receive one.
        returned_model: that answered, as the service names it.
        input_tokens: billed.
        output_tokens: billed, with `reasoning_tokens`.
        reasoning_tokens: billed.
        cost_usd: None: it cannot be known.
        latency_s: seconds until the reply.
        time: when the call began, as `moment` writes it.
        receipt: names the attempt itself: recording or importing it twice stores it
            once.
    """

    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    judge: Annotated[str, Field(max_length=_LONGEST_KEY, pattern=_PRINTABLE)]
    stage: Literal["extract", "compare", "structure"]
    model: Name
    answer: Annotated[str, Field(max_length=_LONGEST_ANSWER)] | None = field(
        default=None, repr=False
    )
    failure: FailureKind | Flaw | Literal["lost"] | None = None
    returned_model: Name | None = None
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    reasoning_tokens: Tokens = 0
    cost_usd: Annotated[float, Field(ge=0, le=1e6)] | None = None
    latency_s: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    time: Annotated[
        str, Field(pattern=_TIME_PATTERN), AfterValidator(_existing_time)
    ] = field(default_factory=lambda: moment(datetime.now(UTC)))
    receipt: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] = field(
        default_factory=lambda: uuid.uuid4().hex
    )

    @property
    def valid(self) -> bool:
        """Whether its answer is used."""
        return self.failure is None


class RecordedReply(NamedTuple):
    """A reply to a question, as far as it decides whether the question is settled."""

    answer: str | None
    failure: str | None


class SettledQuestion(NamedTuple):
    """How a question is settled for good.

    Attributes:
        answer: None: it is invalid.
        invalid: how many replies to it, all paid, could not be used.
    """

    answer: str | None
    invalid: int


def settle(
    replies: Sequence[RecordedReply], tries: int = TRIES
) -> SettledQuestion | None:
    """Decide whether recorded replies settle a question.

    The first valid reply does, and so does the last unreadable one of all tries.

    Args:
        replies: to the question, in the order of recording. Failures without a reply
            are no tries, and no reply of another model is.
        tries: how many replies it gets.

    Returns:
        None: it is open.
    """
    invalid = sum(reply.failure in COUNTED for reply in replies)
    tries_used = 0
    for reply in replies:
        if reply.failure is None:
            return SettledQuestion(reply.answer, invalid)
        tries_used += reply.failure in COUNTED
        if tries_used == tries:
            return SettledQuestion(None, invalid)
    return None
