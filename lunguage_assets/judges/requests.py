"""What is sent to a language model and what comes back, whoever the provider is: the seam between engine,
ledger and providers.

No SDK is imported here. Prompts are patient text: nothing in this module prints or logs one, and `repr` shows
only lengths.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Task = Literal["extract", "compare", "structure"]
"""The two questions of the method, and the question before them: what a report states. Ledgers, and what is
read from them, say `stage`, as from the start.
"""

Mode = Literal["text", "enum"]
FailureKind = Literal[
    "rate_limited", "overloaded", "timeout", "connection", "server", "rejected", "authentication",
    "malformed", "too_large",
]  # fmt: skip
RETRYABLE: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "timeout", "connection", "server", "malformed", "too_large"}
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """System and user text of one request; `template_version` names the template files that made it."""

    system: str = field(repr=False)
    user: str = field(repr=False)
    template_version: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. `labels` are the allowed answers of a comparison, `schema` the JSON schema (as
    text) of a structured answer; in mode `enum` the provider constrains to them.

    `replicate` separates draws that are wanted, and is in the ledger key. `attempt` counts the answers to
    this very question that could not be
    used, and is not: a model in this process, whose samples are a function of the question, draws anew by it.
    """

    task: Task
    prompt: Prompt
    mode: Mode = "text"
    labels: tuple[str, ...] = ()
    replicate: int = 0
    attempt: int = 0
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. Tokens are those billed; `output_tokens` includes `reasoning_tokens`. `refused`:
    a safety refusal or filter.

    `metered` is False when the service did not say what it billed: the tokens are then 0, and mean nothing.
    """

    text: str = field(repr=False)
    returned_model: str
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0
    refused: bool = False
    metered: bool = True


class ProviderFailure(Exception):
    """A request that brought no reply. Carries a kind and a status, never the SDK's exception: that holds the
    prompt.
    """

    def __init__(
        self, kind: FailureKind, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{kind}" + (f" (HTTP {status})" if status is not None else ""))
        self.kind, self.status, self.retry_after = kind, status, retry_after

    @property
    def retryable(self) -> bool:
        return self.kind in RETRYABLE


@dataclass(frozen=True, slots=True)
class ModelBinding:
    """What decides a model's answers: the part of a judge's configuration that is in the ledger key.

    `endpoint_class` is the kind of service (`openai`, `azure-openai`, `anthropic`, `gemini`, `vertex`,
    `openai-compatible`, `transformers`), not its URL.
    """

    provider: str
    endpoint_class: str
    model: str
    parameters: tuple[tuple[str, Any], ...] = ()
    aliases: tuple[str, ...] = ()


class Provider(Protocol):
    """One model behind one SDK."""

    @property
    def binding(self) -> ModelBinding: ...

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        Raises:
            ProviderFailure: no reply; the SDK's own exception is not chained.
        """
        ...

    async def close(self) -> None: ...


BatchStatus = Literal["running", "completed", "expired", "cancelled", "failed", "missing"]
"""`failed`: the provider took none of its questions; `missing`: its results are gone."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How many requests, and how many bytes of them, go into one batch."""

    requests: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BatchView:
    """What a provider says of a batch; `reason` is its machine-readable code for a failed one."""

    status: BatchStatus
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BatchResults:
    """What a batch brought: rows by the key that came with them, in any order, perhaps repeated or unknown;
    `unreadable` rows have none.
    """

    rows: tuple[tuple[str, Reply | ProviderFailure], ...] = field(repr=False)
    unreadable: int = 0


class BatchProvider(Protocol):
    """One model behind a provider's batch endpoint; the requests of a batch share task, mode and labels.

    All methods but `forget` raise a ProviderFailure when the provider does not do what is asked, with status
    404 when the account knows no such batch; none tries again.
    """

    @property
    def limits(self) -> BatchLimits: ...

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Send a batch, named so that `find` recognises it, each request under its ledger key; the provider's
        handle.
        """
        ...

    async def find(
        self, name: str, keys: Sequence[str], since: datetime, known: Collection[str]
    ) -> str | None:
        """The handle of a batch that was sent under this name after `since`, or None; `known` are handles of
        other batches.

        A provider that keeps no names gives the batch that it can be: `collect` then shows by its keys
        whether it is.
        """
        ...

    async def look(self, handle: str) -> BatchView: ...

    async def collect(self, handle: str, keys: Sequence[str], like: Request) -> BatchResults:
        """Everything that came of a batch that has ended; `keys` in the order in which they were sent, `like`
        any of its requests.
        """
        ...

    async def forget(self, handle: str) -> None:
        """Have the provider delete what it keeps of a batch, as far as it lets itself be told; never
        raises.
        """
        ...
