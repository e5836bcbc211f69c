"""What is sent to a language model and what comes back, whoever the provider is.

Prompts are patient text: nothing in this module prints or logs one, nor does `repr`
show one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Task = Literal["extract", "compare", "structure"]
"""The two questions of the method, and the one before them: what a report states.
Ledgers say `stage`.
"""

Mode = Literal["text", "enum"]
"""How a model answers: freely, or constrained to labels or a schema."""

Order = Literal["one", "both"]
"""Whether a pair of sentences is asked about once, or in both orders."""

FailureKind = Literal[
    "rate_limited", "overloaded", "timeout", "connection", "server", "rejected",
    "authentication", "malformed",
]  # fmt: skip

MOST_TOKENS = 1_000_000_000
"""No request has as many; a ledger could not keep any number."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of one request.

    Attributes:
        system: for the role of that name.
        user: for the role of that name.
        template_version: names the template files that made it.
    """

    system: str = field(repr=False)
    user: str = field(repr=False)
    template_version: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        task: what is asked.
        prompt: its text.
        mode: in `enum` the provider constrains the answer to `labels` or `schema`.
        labels: the allowed answers of a comparison.
        replicate: separates draws that are wanted; in the ledger's key.
        attempt: counts the answers to this very question that could not be used; not in
            the key. A model in this process draws anew by it.
        schema: the JSON schema, as text, of a structured answer.
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
        """The JSON schema of a constrained structured answer; None: it is free."""
        if self.mode != "enum" or not self.schema:
            return None
        schema: dict[str, Any] = json.loads(self.schema)
        return schema

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """The JSON schema of a constrained answer; None: it is free.

        A label is given as `{"answer": LABEL}`.
        """
        if not self.is_choice:
            return self.structure
        label = {"type": "string", "enum": list(self.labels)}
        # OpenAI's strict schemas must require every property, and forbid others.
        return {
            "type": "object",
            "properties": {"answer": label},
            "required": ["answer"],
            "additionalProperties": False,
        }


def bare_label(text: str) -> str:
    """Read the label in `{"answer": LABEL}`.

    Any other text is given back as it is, for the parser to refuse.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    label = value.get("answer") if isinstance(value, dict) else None
    return label if isinstance(label, str) else text


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the answer.
        returned_model: that answered, as the service names it.
        input_tokens: billed.
        output_tokens: billed, with `reasoning_tokens`.
        reasoning_tokens: billed.
        refused: by a safety refusal or filter.
        metered: False: the service did not say what it billed. The tokens are then 0,
            and mean nothing.
    """

    text: str = field(repr=False)
    returned_model: str
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0
    refused: bool = False
    metered: bool = True


class ProviderFailure(Exception):
    """A request that brought no reply.

    It never carries the SDK's exception: that holds the prompt.

    Args:
        kind: of failure.
        status: of HTTP, where there was one.
        retry_after: seconds that the service asks to wait.
        about: what it is about, such as an address or a variable.
    """

    def __init__(
        self,
        kind: FailureKind,
        status: int | None = None,
        retry_after: float | None = None,
        about: str = "",
    ) -> None:
        details = []
        if status is not None:
            details.append(f"HTTP {status}")
        if about:
            details.append(about)
        message: str = kind
        if details:
            message = f"{kind} ({', '.join(details)})"
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether another try may bring a reply."""
        # A wrong request and a wrong key stay wrong.
        return self.kind not in ("rejected", "authentication")


@dataclass(frozen=True, slots=True)
class ModelBinding:
    """What decides a model's answers, and is therefore in the ledger's key.

    Attributes:
        provider: of the judge.
        endpoint_class: the kind of service, such as `azure-openai`; not its URL.
        model: that is requested.
        parameters: how it draws its answer.
        aliases: other names under which the service answers; not in the key.
    """

    provider: str
    endpoint_class: str
    model: str
    parameters: tuple[tuple[str, Any], ...] = ()
    aliases: tuple[str, ...] = ()


class Provider(Protocol):
    """One model behind one SDK."""

    @property
    def binding(self) -> ModelBinding:
        """What decides its answers."""
        ...

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: no reply; the SDK's own exception is not chained.
        """
        ...
