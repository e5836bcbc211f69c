"""The data policy: what text a language model may be sent. It fails closed.

A model gets the text of a corpus only where its table in the judges file says so, and
patients' text only where somebody has attested that its service keeps nothing. Nothing
is sent here, and no key is looked at.
"""

from __future__ import annotations

from datetime import date

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.settings import DataClass


class PolicyRefused(LunguageError):
    """A judge may not be used as asked; nothing was sent."""


def require_permission(
    judge: str, config: LLMJudgeConfig, data_class: DataClass, today: date
) -> None:
    """Refuse a model that may not receive the text of a corpus.

    Args:
        judge: its key, for messages.
        config: its table.
        data_class: of the corpus.
        today: date by which attestations hold.

    Raises:
        PolicyRefused: says why.
    """
    reason = _reason_to_refuse(config, data_class, today)
    if reason:
        raise PolicyRefused(
            f"judge {judge!r} may not receive {data_class} text: {reason}. Nothing was "
            "sent; choose another judge or preset, or complete its entry in the judges "
            "file if that is true and permitted."
        )


def _reason_to_refuse(
    config: LLMJudgeConfig, data_class: DataClass, today: date
) -> str:
    """Say why a model may not receive such text; empty: it may."""
    # Text that stays on the machine is sent to nobody: only who has written down what
    # it may receive has forbidden the rest.
    is_unrestricted = not config.leaves_machine and (
        "allowed_data" not in config.model_fields_set
    )
    if data_class not in config.allowed_data and not is_unrestricted:
        return f"allowed_data does not list {data_class!r}"
    if not config.leaves_machine or data_class == "synthetic":
        return ""
    attested_on = config.zero_retention_attested_on
    if attested_on is None or not config.zero_retention_attested_by.strip():
        return (
            "nobody has attested that its service keeps nothing "
            "(zero_retention_attested_on and zero_retention_attested_by)"
        )
    if attested_on > today:
        return f"its zero retention is attested for {attested_on}, which has not come"
    return ""
