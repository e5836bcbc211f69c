"""How a judge bound to a language model has been doing: its latest calls in the ledger. Nothing is sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lunguage_assets.judges.ledger.attempts import REPLIED
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.policy import is_requested, told_name
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.settings import CheckSettings

_REMEDY_FAILED = (
    "See `lunguage ledger stats`. Fewer requests at a time (limits in the judges file), a higher quota, or "
    "another hour often help; what was answered is kept."
)
_REMEDY_OTHER_MODEL = (
    "If both names are one model, add the name to the judge's aliases: its answers then count. Otherwise the "
    "service answers with another model than you pay for: bind a new key to a pinned version."
)


@dataclass(frozen=True)
class Sign:
    """One thing that was looked at: what was found, and what to do; `remedy` is empty where all is well."""

    looked_at: str
    found: str
    remedy: str = ""


def recent_calls(key: str, slot: ModelSlot, ledger: str | Path, settings: CheckSettings) -> list[Sign]:
    """How the latest calls of a judge went; nothing where there are none.

    Args:
        key: the judge.
        slot: what it is bound to; calls of other models are not counted.
        ledger: path or URL; it need not be there.
        settings: how many calls count, and what share of them may fail.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    recorded = LedgerReader.at(ledger)
    calls = recorded.recent_calls(key, slot.model, settings.recent_calls) if recorded is not None else []
    if not calls:
        return []
    failed = sum(failure is not None and failure not in REPLIED for failure, _ in calls)
    share, binding = failed / len(calls), slot.binding
    others = Counter(
        told_name(binding, name or "")
        for failure, name in calls
        if failure == "wrong_model" and not is_requested(binding, name or "")
    )
    names = ", ".join(f"{name} ({count})" for name, count in sorted(others.items()))
    return [
        Sign(
            "failed calls",
            f"{failed} of the last {len(calls)} ({share:.1%})",
            _REMEDY_FAILED if share > settings.failed_call_share else "",
        ),
        Sign(
            "models that answered",
            names or "only the one that was asked for",
            _REMEDY_OTHER_MODEL if names else "",
        ),
    ]
