"""What one attempt to get an answer is: its key, its record, and the rule by which recorded attempts settle a
question.

How attempts are stored is in `ledger.py`, how they come about in `engine.py`.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.requests import FailureKind, ModelBinding, Request

TRIES = 5
"""Readable or not, a model is asked this often for one answer; then the answer is invalid for good
(explicit.md section 2).
"""


def tries_of(stage: str) -> int:
    """How many replies a question of this stage gets. A report is asked about once: an answer that cannot be
    read is told so in a question of its own (method.md section 8).
    """
    return 1 if stage == "structure" else TRIES


Flaw = Literal["unreadable", "refused", "wrong_model"]
"""What is wrong with a reply that came, and was paid, but is not used."""

Lost = Literal["lost"]
"""The call was in flight when its process ended: it may have been sent and billed."""

COUNTED: frozenset[str] = frozenset({"unreadable", "refused"})
"""Flaws that use up a try. A reply of another model than the requested one says nothing about the requested
one.
"""

REPLIED: tuple[str, ...] = get_args(Flaw)
"""Failures that are replies: they came and were paid, and are not used."""

FAILURES: tuple[str, ...] = (*get_args(FailureKind), *REPLIED, "lost", "too_large")
"""Every value of the failure column, also of older ledgers; null there is a valid answer."""


def request_key(binding: ModelBinding, request: Request) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of everything that decides an answer: the ledger's key.

    Raises:
        ConfigurationError: a parameter that JSON cannot hold.
    """
    content = {
        # In the key, because each changes what a model answers, or which of its answers is meant:
        "provider": binding.provider,
        # the same model name on Azure or Vertex is another deployment
        "endpoint_class": binding.endpoint_class,
        "model": binding.model,  # as requested
        "parameters": _canonical(dict(binding.parameters)),
        "template_version": request.prompt.template_version,
        "mode": request.mode,
        "stage": request.task,
        "system": request.prompt.system,
        "user": request.prompt.user,
        "labels": list(request.labels),  # their order counts: mode enum sends it
        "replicate": request.replicate,  # separates repeated draws of one question
        # sent in mode enum; not named where there is none, so that other questions keep their keys
        **({"schema": request.schema} if request.schema else {}),
        # Not in the key:
        # - aliases: they decide whether an answer is accepted, not what it is;
        # - the slot's name and the panel: two slots with one binding are the same judge, and a renamed slot
        # keeps its answers;
        # - URL, region, API key, organisation: another door to the same model (a group shares paid answers
        # across accounts);
        # - limits, time-outs, retries, prices, budget, data class, attestations: they decide when and
        # whether, not what;
        # - the returned model, tokens, time, attempt number: they are results.
    }
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"a judge's parameters hold what JSON cannot ({type(error).__name__}); expected text, finite "
            "numbers, true or false, lists and tables. Fix the judges file."
        ) from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


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
    """The text without what a database refuses (NUL, lone surrogates): a paid answer is recorded whatever it
    holds.
    """
    return text.replace("\x00", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def moment(time: datetime) -> str:
    """A time as the ledger stores it: UTC, microseconds, fixed width, so that text order is time order."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now() -> str:
    return moment(datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it is recorded.

    `failure` is null for a valid answer, a `Flaw` for a reply that is not used, a `FailureKind` when no reply
    came, `lost` when nobody was left to receive one. `cost_usd` is null
    when it cannot be known: no price, or a failure that may have been billed. Tokens are those billed;
    `output_tokens` includes `reasoning_tokens`. `receipt` names the attempt itself: recording or importing it
    twice stores it once.
    """

    key: str
    judge: str
    stage: str
    model: str
    answer: str | None = field(default=None, repr=False)
    failure: FailureKind | Flaw | Lost | None = None
    returned_model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    latency_s: float = 0.0
    time: str = field(default_factory=now)
    receipt: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def valid(self) -> bool:
        return self.failure is None


def lost(call: Mapping[str, Any]) -> Attempt:
    """The record of a call in flight (a row of `in_flight.IN_FLIGHT`) whose answer nobody will record."""
    named = {name: call[name] for name in ("key", "judge", "stage", "model", "time")}
    return Attempt(**named, failure="lost", receipt=_lost_receipt(call["receipt"]))


def _lost_receipt(receipt: str) -> str:
    """Another than the call's own: its answer may come after all."""
    return hashlib.sha256(f"lost {receipt}".encode("ascii")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a question is settled: its first valid answer, or invalid after the last try. It never changes once
    it is so.

    `tries` counts the replies up to there; failures without a reply are not counted, so that a run with
    failures settles a question exactly as one without.
    """

    key: str
    answer: str | None = field(repr=False)
    valid: bool
    tries: int


def settle(
    key: str, replies: Sequence[tuple[str | None, str | None]], tries: int = TRIES
) -> Settlement | None:
    """The entry that recorded replies (answer, failure), in the order of recording, amount to; None while the
    question is open.

    Only the first replies up to the settling one matter, so nothing recorded later, by whomever, changes an
    entry that was used.
    """
    counted = 0
    for answer, failure in replies:
        if failure is None:
            return Settlement(key, answer, True, counted + 1)
        if failure in COUNTED:
            counted += 1
            if counted == tries:
                return Settlement(key, answer, False, counted)
    return None
