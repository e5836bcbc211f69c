"""From what a provider gave to what the ledger keeps: the record of one attempt, the same for single calls
and for batches.

Here a reply is read, its model compared with the requested one, and its cost counted; nothing is sent or
stored. Prompts and answers appear in no message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from lunguage_assets.errors import MethodError
from lunguage_assets.judges.asking.budget import Budget, Pricing, cost
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.ledger.attempts import Attempt, Flaw, Settlement, adopted, storable
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.policy import is_requested, told_name, wrong_model
from lunguage_assets.judges.requests import ModelBinding, ProviderFailure, Reply, Request

T = TypeVar("T")

Parse = Callable[[str], T | None]
"""Reads an answer strictly; None: it is not one. Never raises."""

_MAY_BE_BILLED = frozenset({"timeout", "connection", "malformed", "too_large"})


@dataclass(frozen=True, slots=True)
class Asking:
    """How one judge is asked.

    Args:
        judge: the slot's name, for the record and for messages.
        ledger: where attempts are found and recorded.
        limiter: this judge's flow control; what others send counts against its limits too.
        budget: ceilings of the run and of the day, or None.
        price: for costs; without it they are null, and a budget refuses.
        progress: told in the event loop of the asking after every recorded attempt or batch.
    """

    judge: str
    ledger: Ledger
    limiter: Limiter
    budget: Budget | None = None
    price: Pricing | None = None
    progress: Callable[[Progress], None] | None = None


class Recording(Generic[T]):
    """How one judge's attempts are written down; `stop` is told of what must end its round, after which the
    attempt is recorded all the same.
    """

    def __init__(
        self, binding: ModelBinding, asking: Asking, parse: Parse[T], stop: Callable[[Exception], None]
    ) -> None:
        self._binding, self._parse, self._stop = binding, parse, stop
        self._judge, self._ledger, self._price = asking.judge, asking.ledger, asking.price

    def settled(self, keys: Sequence[str]) -> dict[str, Settlement]:
        """What the ledger has; a reply under a name that has since been listed as an alias counts from now
        on, where none did before.
        """
        entries = self._ledger.answers(keys)
        open_ = [key for key in keys if key not in entries]
        found = self._ledger.answers_of(self._binding.aliases, open_)
        if not found:
            return entries
        self._ledger.record_all([adopted(attempt, self._unread(attempt.answer or "")) for attempt in found])
        return entries | self._ledger.answers(open_)

    def blank(self, key: str, request: Request) -> Attempt:
        """The attempt before anything is known of its end."""
        prompt = (
            json.dumps([request.prompt.system, request.prompt.user]) if self._ledger.stores_prompts else None
        )
        return Attempt(key, self._judge, request.task, self._binding.model, prompt=prompt)

    def filled(self, attempt: Attempt, result: Reply | ProviderFailure) -> Attempt:
        """The attempt with its end; a failure that may have been billed has no known cost."""
        if isinstance(result, ProviderFailure):
            return replace(
                attempt, failure=result.kind, cost_usd=None if result.kind in _MAY_BE_BILLED else 0.0
            )
        text = storable(result.text)
        return replace(
            attempt,
            answer=text,
            failure=self._flaw(result, text),
            returned_model=told_name(self._binding, result.returned_model),
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            reasoning_tokens=result.reasoning_tokens,
            cost_usd=cost(result, self._price),
        )

    def _flaw(self, reply: Reply, text: str) -> Flaw | None:
        if not is_requested(self._binding, reply.returned_model) and not (
            reply.refused and not reply.returned_model
        ):
            self._stop(wrong_model(self._judge, self._binding, reply.returned_model))
            return "wrong_model"
        return "refused" if reply.refused else self._unread(text)

    def _unread(self, text: str) -> Flaw | None:
        try:
            return "unreadable" if self._parse(text) is None else None
        except Exception as error:  # the reply is paid: it must be recorded all the same
            self._stop(
                MethodError(
                    f"judge {self._judge!r}: the parser of answers failed "
                    f"({type(error).__name__}). Please report this."
                )
            )
            return "unreadable"
