"""What is sent to a language model and what comes back, whoever the provider is.

Prompts are patient text: nothing in this module prints or logs one, nor does `repr`
show one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Stage = Literal["extract", "compare", "structure"]
"""The two questions of the method, and the one before them: what a report states."""

Mode = Literal["text", "enum"]
"""How a model answers: freely, or constrained to labels or a schema."""

Order = Literal["one", "both"]
"""Whether a pair of sentences is asked about once, or in both orders."""

FailureKind = Literal[
    "rate_limited", "timeout", "connection", "server", "rejected", "authentication",
    "malformed",
]  # fmt: skip


LONGEST_WAIT_S = 300.0
"""A service that asks to wait longer is not waited for: the question is given up."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        stage: what is asked.
        system: text for the role of that name.
        user: text for the role of that name.
        template_version: names the template files that made the texts.
        mode: in `enum` the provider constrains the answer to `labels` or `schema`.
        labels: the allowed answers of a comparison.
        replicate: separates draws that are wanted; in the ledger's key.
        schema: the JSON schema, as text, of a structured answer.
    """

    stage: Stage
    system: str = field(repr=False)
    user: str = field(repr=False)
    template_version: str
    mode: Mode = "text"
    labels: tuple[str, ...] = ()
    replicate: int = 0
    schema: str = ""

    @property
    def is_choice(self) -> bool:
        """Whether the provider is to constrain the answer to the labels."""
        return self.mode == "enum" and bool(self.labels)

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """The JSON schema of a constrained answer; None: it is free.

        A label is given as `{"answer": LABEL}`.
        """
        if self.is_choice:
            # OpenAI's strict schemas must require every property, and forbid others.
            return {
                "type": "object",
                "properties": {"answer": {"type": "string", "enum": list(self.labels)}},
                "required": ["answer"],
                "additionalProperties": False,
            }
        schema: dict[str, Any] | None = json.loads(self.schema or "null")
        return schema


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the answer; empty where a filter withholds it.
        returned_model: that answered, as the service names it.
        input_tokens: billed; 0: the service did not count, as no prompt has none.
        output_tokens: billed, with those of reasoning.
        margin: log-probability of the first label less that of the second; None: the
            service does not say.
    """

    text: str = field(repr=False)
    returned_model: str
    input_tokens: int
    output_tokens: int
    margin: float | None = None


NO_REPLY = Reply("", "", 0, 0)


class ProviderFailure(Exception):
    """A request that brought no reply.

    It never carries the SDK's exception: that holds the prompt.

    Args:
        kind: of failure.
        status: of HTTP, where there was one.
        retry_after: seconds that the service asks to wait.
        about: what it is about, such as an address, a variable, the service's code.
    """

    def __init__(
        self,
        kind: FailureKind,
        status: int | None = None,
        retry_after: float = 0.0,
        about: str = "",
    ) -> None:
        details = [f"HTTP {status}" if status else "", about]
        words = ", ".join(filter(None, details))
        super().__init__(f"{kind} ({words})" if words else kind)
        self.kind = kind
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether another try may bring a reply."""
        # A wrong request and a wrong key stay wrong.
        is_wrong = self.kind in ("rejected", "authentication")
        return not is_wrong and self.retry_after <= LONGEST_WAIT_S


class Provider(Protocol):
    """One model behind one SDK."""

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: no reply; the SDK's own exception is not chained.
        """
        ...
