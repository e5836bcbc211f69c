"""What is sent to a language model and what comes back, whoever the provider is. Prompts are patient text:
nothing in this module prints or logs one, nor does `repr` show one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Task = Literal["extract", "compare", "structure"]
"""The two questions of the method, and the one before them: what a report states. Ledgers say `stage`."""

Mode = Literal["text", "enum"]
FailureKind = Literal[
    "rate_limited", "overloaded", "timeout", "connection", "server", "rejected", "authentication",
    "malformed",
]  # fmt: skip

MOST_TOKENS = 1_000_000_000
"""No request has as many; a ledger could not keep any number."""


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
    this very question that could not be used, and is not: a model in this process draws anew by it.
    """

    task: Task
    prompt: Prompt
    mode: Mode = "text"
    labels: tuple[str, ...] = ()
    replicate: int = 0
    attempt: int = 0
    schema: str = ""

    @property
    def is_choice(self) -> bool:
        """Whether the provider is to constrain the answer to the labels."""
        return self.mode == "enum" and bool(self.labels)

    @property
    def structure(self) -> dict[str, Any] | None:
        """The JSON schema to which the provider is to constrain a structured answer; None: without one."""
        if self.mode != "enum" or not self.schema:
            return None
        schema: dict[str, Any] = json.loads(self.schema)
        return schema

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """Schema of a constrained answer, `{"answer": LABEL}` or a structure; None: the answer is free."""
        if not self.is_choice:
            return self.structure
        label = {"type": "string", "enum": list(self.labels)}
        form = {
            "type": "object",
            "properties": {"answer": label},
            "required": ["answer"],
        }
        return form | {"additionalProperties": False}


def bare_label(text: str) -> str:
    """The label in `{"answer": LABEL}`; any other text as it is, for the parser to refuse."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    label = value.get("answer") if isinstance(value, dict) else None
    return label if isinstance(label, str) else text


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
    """A request that brought no reply. Carries a kind, a status, and `about` what it is: an address, a
    variable; never the SDK's exception: that holds the prompt.
    """

    def __init__(
        self,
        kind: FailureKind,
        status: int | None = None,
        retry_after: float | None = None,
        about: str = "",
    ) -> None:
        known = (f"HTTP {status}" if status is not None else "", about)
        told = ", ".join(filter(None, known))
        super().__init__(f"{kind} ({told})" if told else kind)
        self.kind, self.status, self.retry_after = kind, status, retry_after

    @property
    def retryable(self) -> bool:
        return self.kind not in ("rejected", "authentication")


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
