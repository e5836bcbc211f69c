"""What comes of asking: a settled question, or the error that some have no answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.judges.asking.recording import Parse
from lunguage_assets.judges.ledger.attempts import Entry

T = TypeVar("T")


class JudgeIncomplete(LunguageError):
    """A judge left questions without an answer; all others are in the ledger. `missing` of `total` distinct
    questions.
    """

    def __init__(self, judge: str, missing: int, total: int, reason: str) -> None:
        self.judge, self.missing, self.total = judge, missing, total
        super().__init__(
            f"judge {judge!r}: {missing} of {total} questions have no answer ({reason}). The "
            f"other {total - missing} are in the ledger;"
            " run again, and only the missing ones are asked."
        )


@dataclass(frozen=True, slots=True)
class Settled(Generic[T]):
    """How one request is settled: its value, or None when it is invalid for good after `tries` replies."""

    key: str
    value: T | None = field(repr=False)
    tries: int

    @property
    def valid(self) -> bool:
        return self.value is not None


def settled_as(judge: str, entry: Entry, parse: Parse[T]) -> Settled[T]:
    """An entry read again."""
    value = parse(entry.answer) if entry.valid and entry.answer is not None else None
    if entry.valid and value is None:
        raise MethodError(
            f"judge {judge!r}: a recorded valid answer cannot be read by this version (key {entry.key[:12]});"
            " expected the parser that recorded it. Change the prompt templates' version "
            "together with the parser."
        )
    return Settled(entry.key, value, entry.tries)
