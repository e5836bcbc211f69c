"""Which model a judge's key stands for in a home: fixed by its first answers, because tables and rankings are
named by the key alone.

What decides a model's answers is a `ModelBinding`; prompt templates are not part of it, since a change of
them is seen by what is made from the answers, and remade. A rule-based judge is fixed to its rules' name
only: their wording comes and goes with the package.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
    Interruptible,
    Judge,
)
from lunguage_assets.judges.requests import Prompt, Request
from lunguage_assets.judges.slots import JudgeSlot, ModelSlot


class Keyed(Protocol):
    """A judge or a structurer."""

    @property
    def key(self) -> str: ...

    @property
    def identity(self) -> str: ...


Asked = TypeVar("Asked", bound=Keyed)
Answer = TypeVar("Answer")


def bound_to(slot: JudgeSlot) -> dict[str, Any]:
    """What a slot's key stands for, readable, and with the hash of everything in the ledger key that the slot
    decides.
    """
    if not isinstance(slot, ModelSlot):
        return {"provider": slot.provider}
    return {
        "provider": slot.provider,
        "model": slot.model,
        "mode": slot.mode,
        "parameters": dict(slot.binding.parameters),
        "sha256": request_key(slot.binding, Request("compare", Prompt("", ""), slot.mode)),
    }


class BindingRecord:
    """The file `judges.json` of a home; several processes may claim keys at once."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def problem(self, key: str, slot: JudgeSlot) -> str | None:
        """Why the key may not be used for this slot in this home; None when it may."""
        present = self._read().get(key)
        return None if present is None else self._difference(key, present, bound_to(slot))

    def require(self, key: str, slot: JudgeSlot) -> None:
        """Refuse a key that stands for something else.

        Raises:
            ConfigurationError: names the file, what is bound there, what was found and what to do.
        """
        if (problem := self.problem(key, slot)) is not None:
            raise ConfigurationError(problem)

    def claim(self, key: str, slot: JudgeSlot) -> None:
        """Bind the key, for good, unless it is bound to the same already.

        Raises:
            ConfigurationError: it is bound to something else, perhaps by another process a moment ago.
        """
        if key not in self._read():
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with (self._file.parent / f".{self._file.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                present = self._read()
                if key not in present:
                    bound = json.dumps(present | {key: bound_to(slot)}, indent=2, sort_keys=True)
                    replace_text(self._file, f"{bound}\n")
        self.require(key, slot)

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{self._file}: found a file that cannot be read ({type(error).__name__}); "
                "expected what this home's judges stand for."
                " Restore it, or use another home."
            ) from None

    def _difference(self, key: str, present: Any, wanted: dict[str, Any]) -> str | None:
        before = present if isinstance(present, dict) else {}
        if before == wanted or ("sha256" in wanted and before.get("sha256") == wanted["sha256"]):
            return None
        names = ("provider", "model", "mode", "parameters")
        name = next((one for one in names if before.get(one) != wanted.get(one)), "binding")
        return (
            f"{self._file}: in this home judge {key!r} stands for {name} {_shown(before, name)}, "
            f"and its answers are in use; found {name} {_shown(wanted, name)} under the same key. "
            "Give the changed judge a new key in the judges file, or use another home."
        )


def _shown(binding: dict[str, Any], name: str) -> str:
    return json.dumps(binding.get(name), sort_keys=True) if name in binding else "of no model"


class Bound(Generic[Asked]):
    """A judge or structurer whose key is claimed when its first answers come: a slot that never answered may
    still be mended.
    """

    def __init__(self, asked: Asked, slot: JudgeSlot, record: BindingRecord) -> None:
        self.asked, self._slot, self._record = asked, slot, record

    @property
    def key(self) -> str:
        return self.asked.key

    @property
    def identity(self) -> str:
        return self.asked.identity

    def interrupt(self) -> None:
        """End the asking, where this is possible."""
        if isinstance(self.asked, Interruptible):
            self.asked.interrupt()

    def _answered(self, ask: Callable[[], list[Answer]]) -> list[Answer]:
        self._record.require(self.key, self._slot)
        answers = ask()
        self._record.claim(self.key, self._slot)
        return answers


class BoundJudge(Bound[Judge]):
    """A judge whose key is claimed when its first answers come."""

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """As the judge itself.

        Raises:
            ConfigurationError: the key stands for another judge in this home; nothing was asked.
        """
        return self._answered(lambda: self.asked.extract(questions))

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """As the judge itself; errors as in `extract`."""
        return self._answered(lambda: self.asked.compare(questions))
