"""One attempt to get an answer: its key, its record, and the rule by which attempts settle a question."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from lunguage_assets.judges.requests import (
    MOST_TOKENS,
    FailureKind,
    Mode,
    ModelBinding,
    Request,
)

TRIES = 5
"""Readable or not, a model is asked this often for one answer; then the answer is invalid for good
(explicit.md section 2).
"""

Flaw = Literal["unreadable", "refused", "wrong_model"]
"""What is wrong with a reply that came, and was paid, but is not used."""

COUNTED: frozenset[str] = frozenset({"unreadable", "refused"})
"""Flaws that use up a try. Another model's reply says nothing about the requested one."""

REPLIED: tuple[str, ...] = get_args(Flaw)
"""Failures that are replies: they came and were paid, and are not used."""

Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"

MOST_AHEAD = timedelta(days=1)
"""By so much at most the clocks of those who share a ledger differ."""


def _existing(time: str) -> str:
    """The time itself; ValueError where no calendar has it."""
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
"""Names are shown on terminals, which control characters command."""
Name = Annotated[str, Field(max_length=_LONGEST_NAME, pattern=_PRINTABLE)]


def tries_of(stage: str) -> int:
    """How many replies a question of this stage gets. A report is asked about once: an answer that cannot be
    read is told so in a question of its own (method.md section 8).
    """
    return 1 if stage == "structure" else TRIES


def request_key(binding: ModelBinding, request: Request) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of everything that decides an answer: the ledger's key.

    Not in it are aliases, slot and panel names, addresses, keys, limits, prices and policy: they decide
    whether and when, not what; nor results, such as the returned model.
    """
    content = {
        "provider": binding.provider,
        "endpoint_class": binding.endpoint_class,  # one name on Azure or Vertex is another deployment
        "model": binding.model,
        "parameters": _canonical(dict(binding.parameters)),
        "template_version": request.prompt.template_version,
        "mode": request.mode,
        "stage": request.task,
        "system": request.prompt.system,
        "user": request.prompt.user,
        "labels": list(request.labels),
        "replicate": request.replicate,
        **(
            {"schema": request.schema} if request.schema else {}
        ),  # other questions keep their keys
    }
    text = json.dumps(
        content,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def model_identity(binding: ModelBinding, mode: Mode, deciding: str) -> str:
    """A language model's identity: provider, model, mode, and a hash of whatever else decides its answers."""
    digest = hashlib.sha256(deciding.encode("ascii")).hexdigest()[:12]
    return f"{binding.endpoint_class}/{binding.model}/{mode}/{digest}"


def _canonical(value: Any) -> Any:
    """JSON values in one form: 1 and 1.0 are the same setting, a list and a tuple are the same list."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def storable(text: str) -> str:
    """The text without what a database refuses (NUL, lone surrogates): a paid answer is always recorded."""
    return (
        text.replace("\x00", "\ufffd")
        .encode("utf-8", "surrogatepass")
        .decode("utf-8", "replace")
    )


def moment(time: datetime) -> str:
    """A time as the ledger stores it: UTC, microseconds, fixed width, so that text order is time order."""
    return time.astimezone(UTC).strftime(_TIME_FORMAT)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it is recorded (for pydantic too, which reads those of another ledger).

    `failure` is null for a valid answer, a `Flaw` for a reply that is not used, a `FailureKind` when no reply
    came, `lost` when nobody was left to receive one. `cost_usd` is null when it cannot be known. Tokens are
    those billed; `output_tokens` includes `reasoning_tokens`. `receipt` names the attempt itself: recording
    or importing it twice stores it once.
    """

    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    judge: Annotated[str, Field(max_length=_LONGEST_KEY, pattern=_PRINTABLE)]
    stage: Literal["extract", "compare", "structure"]
    model: Name
    answer: Annotated[str, Field(max_length=_LONGEST_ANSWER)] | None = field(
        default=None, repr=False
    )
    failure: FailureKind | Flaw | Literal["lost", "too_large"] | None = (
        None  # the last: of older ledgers
    )
    returned_model: Name | None = None
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    reasoning_tokens: Tokens = 0
    cost_usd: Annotated[float, Field(ge=0, le=1e6)] | None = None
    latency_s: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    time: Annotated[str, Field(pattern=_TIME), AfterValidator(_existing)] = field(
        default_factory=lambda: moment(datetime.now(UTC))
    )
    receipt: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] = field(
        default_factory=lambda: uuid.uuid4().hex
    )

    @property
    def valid(self) -> bool:
        return self.failure is None


def settle(
    replies: Sequence[tuple[str | None, str | None]], tries: int = TRIES
) -> tuple[str | None, ...]:
    """The answer by which recorded replies (answer, failure), in the order of recording, settle a question
    for good: the first valid one, None after the last try; nothing while it is open. Failures without a reply
    are no tries.
    """
    counted = 0
    for answer, failure in replies:
        if failure is None:
            return (answer,)
        counted += failure in COUNTED
        if counted == tries:
            return (None,)
    return ()
