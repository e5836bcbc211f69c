"""What is sent to a language model and what comes back, whoever the provider is.

Prompts are patient text: nothing in this module prints or logs one, nor does `repr`
show one.
"""

from __future__ import annotations

import hashlib
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
        schema: the JSON schema, as text, of a structured answer.
    """

    task: Task
    prompt: Prompt
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
        text: the answer.
        returned_model: that answered, as the service names it.
        input_tokens: billed; 0: the service did not count, as no prompt has none.
        output_tokens: billed, with those of reasoning.
        refused: by a safety refusal or filter.
        margin: log-probability of the first label less that of the second; None: the
            service does not say.
    """

    text: str = field(repr=False)
    returned_model: str
    input_tokens: int
    output_tokens: int
    refused: bool = False
    margin: float | None = None


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
        retry_after: float | None = None,
        about: str = "",
    ) -> None:
        details = [f"HTTP {status}" if status else "", about]
        words = ", ".join(filter(None, details))
        super().__init__(f"{kind} ({words})" if words else kind)
        self.kind = kind
        self.retry_after = retry_after or 0.0

    @property
    def retryable(self) -> bool:
        """Whether another try may bring a reply."""
        # A wrong request and a wrong key stay wrong.
        return self.kind not in ("rejected", "authentication")


@dataclass(frozen=True, slots=True)
class ModelBinding:
    """What decides a model's answers, and is therefore in the ledger's key.

    Attributes:
        provider: the kind of service, such as `azure-openai`; not its URL.
        model: that is requested.
        parameters: how it draws its answer.
        aliases: other names under which the service answers; not in the key.
    """

    provider: str
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


def request_key(binding: ModelBinding, request: Request) -> str:
    """Compute the ledger's key of a question to a model: 64 hexadecimal digits.

    It is the SHA-256 of the canonical JSON of everything that decides an answer. Not in
    it are aliases, names of judges and panels, addresses, keys, limits, prices and
    policy, because they decide whether and when, not what; nor results, such as the
    returned model. Every change of it would pay for all answers anew.
    """
    content = {
        "provider": binding.provider,
        # Once more, as at first: a changed key would have every answer paid again.
        "endpoint_class": binding.provider,
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
    return f"{binding.provider}/{binding.model}/{mode}/{digest}"


def _canonical(value: Any) -> Any:
    """Bring JSON values to one form.

    1 and 1.0 are the same setting, a list and a tuple are the same list.
    """
    return json.loads(json.dumps(value), parse_float=_number)


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number
