"""The data policy: what text a language model may be sent. It fails closed.

A model gets the text of a corpus only where its table in the judges file says so, and
patients' text only where somebody has attested that its service keeps nothing. Nothing
is sent here, and no key is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.settings import DataClass

RETIREMENT_WARNING_DAYS = 30


class PolicyRefused(LunguageError):
    """A judge may not be used as asked; nothing was sent."""


class Diagnosis(NamedTuple):
    """What `lunguage doctor` found about a judge or a home.

    Attributes:
        severity: a `refusal` stops a run, a `warning` is shown.
        message: for people.
    """

    severity: Literal["ok", "warning", "refusal"]
    message: str


def preflight(
    judge: str,
    config: LLMJudgeConfig,
    environ: Mapping[str, str],
    data_class: DataClass,
    today: date,
) -> list[Diagnosis]:
    """List what forbids, or soon will forbid, the use of a model on a corpus.

    Args:
        judge: its key, for messages.
        config: its table.
        environ: variables that addresses come from.
        data_class: of the corpus.
        today: date by which models retire and attestations hold.
    """
    diagnoses: list[Diagnosis] = []
    reason = _reason_to_refuse(config, environ, data_class, today)
    if reason is not None:
        message = (
            f"judge {judge!r} may not receive {data_class} text: {reason}. Nothing was "
            "sent; choose another judge or preset, or complete its entry in the judges "
            "file if that is true and permitted."
        )
        diagnoses.append(Diagnosis("refusal", message))
    days_left = ((config.retires_on or date.max) - today).days
    name = f"judge {judge!r}: model {config.model!r}"
    # On its last day it counts as retired: a long run would meet its end.
    if days_left <= 0:
        remedy = "Bind a new key to a model that is served, or replay from the ledger."
        message = f"{name} retired on {config.retires_on}. {remedy}"
        diagnoses.append(Diagnosis("refusal", message))
    elif days_left <= RETIREMENT_WARNING_DAYS:
        message = f"{name} retires on {config.retires_on}, in {days_left} day(s)."
        diagnoses.append(Diagnosis("warning", message))
    return diagnoses


def require(diagnoses: Sequence[Diagnosis]) -> None:
    """Stop when anything is refused.

    Raises:
        PolicyRefused: one line with every refusal.
    """
    refusals = [
        diagnosis.message for diagnosis in diagnoses if diagnosis.severity == "refusal"
    ]
    if refusals:
        raise PolicyRefused(" ".join(refusals))


def _reason_to_refuse(
    config: LLMJudgeConfig,
    environ: Mapping[str, str],
    data_class: DataClass,
    today: date,
) -> str | None:
    """Say why a model may not receive such text; None: it may."""
    is_kept_here = not config.leaves_machine(environ)
    # Text that stays on the machine is sent to nobody: only who has written down what
    # it may receive has forbidden the rest.
    is_unrestricted = is_kept_here and "allowed_data" not in config.model_fields_set
    if data_class not in config.allowed_data and not is_unrestricted:
        return f"allowed_data does not list {data_class!r}"
    if is_kept_here or data_class == "synthetic":
        return None
    attested_on = config.zero_retention_attested_on
    if attested_on is None or not config.zero_retention_attested_by.strip():
        return (
            "nobody has attested that its service keeps nothing "
            "(zero_retention_attested_on and zero_retention_attested_by)"
        )
    if attested_on > today:
        return f"its zero retention is attested for {attested_on}, which has not come"
    return None
