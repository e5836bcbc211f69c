"""What a judge may be sent, checked before the first call. Fails closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Literal

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.settings import DataClass

Problem = tuple[Literal["ok", "warning", "refusal"], str]
"""What was looked at, and a message: a `refusal` stops the run, a `warning` is shown."""

WARN_DAYS = 30


class PolicyRefused(LunguageError):
    """A judge may not be used as asked; nothing was sent."""


def preflight(
    judge: str, slot: ModelSlot, environ: Mapping[str, str], data_class: DataClass, today: date
) -> list[Problem]:
    """Everything that forbids, or soon will forbid, the use of a judge on a corpus of this class.

    Only a server whose address, as written or as `environ` has it, is this machine's keeps text here. On its
    last day a model counts as retired: a long run would meet its end.
    """
    problems = list[Problem]()
    if (reason := _refusal(slot, environ, data_class, today)) is not None:
        message = (
            f"judge {judge!r} may not receive {data_class} text: {reason}. Nothing was sent; choose another "
            "judge or preset, or complete its entry in the judges file if that is true and permitted."
        )
        problems.append(("refusal", message))
    name = f"judge {judge!r}: model {slot.model!r}"
    left = WARN_DAYS + 1 if slot.retires_on is None else (slot.retires_on - today).days
    if left <= 0:
        remedy = "Bind a new key to a model that is served, or replay from the ledger."
        problems.append(("refusal", f"{name} retired on {slot.retires_on}. {remedy}"))
    elif left <= WARN_DAYS:
        problems.append(("warning", f"{name} retires on {slot.retires_on}, in {left} day(s)."))
    return problems


def require(problems: Sequence[Problem]) -> None:
    """Stop when anything is refused.

    Raises:
        PolicyRefused: one line with every refusal.
    """
    if refusals := [message for severity, message in problems if severity == "refusal"]:
        raise PolicyRefused(" ".join(refusals))


def _refusal(slot: ModelSlot, environ: Mapping[str, str], data_class: DataClass, today: date) -> str | None:
    """Text that stays on the machine is sent to nobody: it goes where nobody has written down otherwise.
    Every other receiver must be allowed and, for patients' text, attested.
    """
    stays, attested = not slot.leaves_machine(environ), slot.zero_retention_attested_on
    if data_class not in slot.allowed_data and not (stays and "allowed_data" not in slot.model_fields_set):
        return f"allowed_data does not list {data_class!r}"
    if stays or data_class == "synthetic":
        return None
    if attested is None or not slot.zero_retention_attested_by.strip():
        return (
            "nobody has attested that its service keeps nothing (zero_retention_attested_on and "
            "zero_retention_attested_by)"
        )
    return f"its zero retention is attested for {attested}, which has not come" if attested > today else None
