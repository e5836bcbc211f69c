"""Whether a judge will answer the next time it is asked, told without asking it: its last day, its key, its
latest calls, what is still open.

A study whose answers are all recorded replays without key and model: then a missing key is no fault, and only
the model's end is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pandas as pd

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.judges.estimating.rehearsal import RehearsalJudge
from lunguage_assets.judges.ledger.exchange import REPLIED
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.policy import is_requested, lifecycle_problems, preflight, told_name
from lunguage_assets.judges.prompts import Prompts
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.settings import CheckSettings, DataClass, ExplicitSettings


@dataclass(frozen=True)
class Sign:
    """One thing that was looked at: what was found, whether it is well, and what to do if not."""

    looked_at: str
    found: str
    well: bool = True
    remedy: str = ""


@dataclass(frozen=True)
class RecentCalls:
    """The latest calls of a judge bound to its model: how many, how many brought no reply, and which other
    models answered how often.
    """

    calls: int
    failed: int
    other_models: Mapping[str, int]


def recent_calls(ledger: LedgerReader, judge: str, slot: ModelSlot, limit: int) -> RecentCalls:
    """The last `limit` attempts of a judge with the model that it is bound to now.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    rows = ledger.recent_calls(judge, slot.model, limit)
    others = [
        told_name(slot.binding, name or "")
        for failure, name in rows
        if failure == "wrong_model" and not is_requested(slot.binding, name or "")
    ]
    failed = sum(failure is not None and failure not in REPLIED for failure, _ in rows)
    return RecentCalls(len(rows), failed, {name: others.count(name) for name in sorted(set(others))})


def open_comparisons(
    vocabulary: pd.DataFrame,
    key: str,
    slot: ModelSlot,
    prompts: Prompts,
    recorded: LedgerReader | None,
    settings: ExplicitSettings,
) -> int:
    """Comparisons of this vocabulary that the ledger has no answer to: what the next run would have to
    ask.
    """
    rehearsal = RehearsalJudge(key, slot, prompts, recorded)
    comparison_matches(vocabulary, rehearsal, settings)
    return sum(tally.open for tally in rehearsal.tallies.values())


def open_extractions(
    findings: pd.DataFrame,
    key: str,
    slot: ModelSlot,
    prompts: Prompts,
    recorded: LedgerReader | None,
    corrections: pd.DataFrame | None,
) -> int:
    """Tentative findings of a batch whose phrases the ledger does not know."""
    rehearsal = RehearsalJudge(key, slot, prompts, recorded)
    hedge_phrases(findings, rehearsal, corrections)
    return sum(tally.open for tally in rehearsal.tallies.values())


@dataclass(frozen=True)
class Circumstances:
    """What the signs depend on besides the judge.

    Args:
        data_class: of the home's corpus.
        today: compared with the model's last day.
        environ: where keys and addresses are read.
        open_questions: what the next run would have to ask, None when it is not known.
        recent: the latest calls, None without a ledger.
    """

    data_class: DataClass
    today: date
    environ: Mapping[str, str]
    open_questions: int | None
    recent: RecentCalls | None


def signs_of(key: str, slot: ModelSlot, around: Circumstances, settings: CheckSettings) -> list[Sign]:
    """Everything that was looked at, in a fixed order."""
    return [
        *_lifecycle(key, slot, around),
        _open(around.open_questions),
        *(_ready(key, slot, around) if around.open_questions else ()),
        *(_calls(around.recent, settings) if around.recent is not None and around.recent.calls else ()),
    ]


def _lifecycle(key: str, slot: ModelSlot, around: Circumstances) -> Sequence[Sign]:
    looked_at = "the model's last day"
    if slot.retires_on is None:
        return [Sign(looked_at, "not given in the judges file")]
    ends = lifecycle_problems(key, slot, around.today)
    if not ends:
        return [Sign(looked_at, slot.retires_on.isoformat())]
    remedy = (
        "Finish what is open before that day, or add a judge with a key of its own for a model "
        "that is served and backfill it. "
        "What is recorded in the ledger stays usable."
    )
    return [Sign(looked_at, " ".join(problem.message for problem in ends), False, remedy)]


def _open(count: int | None) -> Sign:
    if count is None:
        return Sign("questions without a recorded answer", "not known: what would be asked is not stored")
    return Sign(
        "questions without a recorded answer",
        str(count) if count else "none: it replays without key and model",
    )


def _ready(key: str, slot: ModelSlot, around: Circumstances) -> Sequence[Sign]:
    """Whether open questions could be sent: policy, key, address, SDK."""
    served = slot.model_copy(update={"retires_on": None})  # its last day has a line of its own
    found = [
        Sign(
            "leave to be asked",
            problem.message,
            False,
            "Choose another judge, or complete its entry if that is true and permitted.",
        )
        for problem in preflight(key, served, around.environ, around.data_class, around.today)
        if problem.severity == "refusal"
    ]
    try:
        provider_of(key, slot, around.environ)
    except ConfigurationError as error:
        found.append(
            Sign(
                "key, address and SDK",
                str(error),
                False,
                "Set what is missing where runs are executed; `lunguage doctor` looks again.",
            )
        )
    return found or [Sign("leave, key, address and SDK", "there")]


def _calls(recent: RecentCalls, settings: CheckSettings) -> Sequence[Sign]:
    share = recent.failed / recent.calls
    failing = Sign(
        "failed calls",
        f"{recent.failed} of the last {recent.calls} ({share:.1%})",
        share <= settings.failed_call_share,
        "See `lunguage ledger stats`. Fewer requests at a time (limits in the judges file), a "
        "higher quota, or another hour often help; "
        "what was answered is kept.",
    )
    names = ", ".join(f"{name} ({count})" for name, count in recent.other_models.items())
    other = Sign(
        "models that answered",
        names or "only the one that was asked for",
        not recent.other_models,
        "If both names are one model, add the name to the judge's aliases: its answers then "
        "count. Otherwise the service answers with another "
        "model than you pay for: bind a new key to a pinned version.",
    )
    return [failing, other]
