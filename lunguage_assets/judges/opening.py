"""Opening a configured judge behind the data policy, which says what it may be sent and fails closed; and
what a person should know of the judges before a run.

Nothing is sent, no key is read and no SDK imported until a question is asked that the ledger cannot answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.asking.limits import Budget, output_limit
from lunguage_assets.judges.asking.progress import Progress, announce
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger.bills import Bill
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.protocol import MASK, ComparisonQuestion
from lunguage_assets.judges.providers.base import resolve_endpoint
from lunguage_assets.judges.providers.local import local_provider
from lunguage_assets.judges.providers.sdks import SDKS
from lunguage_assets.judges.requests import Provider, Reply, Request
from lunguage_assets.settings import DataClass

Problem = tuple[Literal["ok", "warning", "refusal"], str]
"""What was looked at, and a message: a `refusal` stops the run, a `warning` is shown."""

WARN_DAYS = 30

STRUCTURING_TOKENS = 3000
"""Output tokens that an answer about a long report needs, about: 25 findings of 120 tokens."""


class PolicyRefused(LunguageError):
    """A judge may not be used as asked; nothing was sent."""


@dataclass(frozen=True)
class JudgeContext:
    """What a language model needs of the run that it is part of.

    Args:
        data_class: of the corpus whose sentences are asked about.
        open_ledger: called when a language model is opened.
        budget: ceiling shared by all judges of the run, or None.
        prompts: the user's own prompt templates, or None for the bundled ones.
        progress: told what every recorded attempt adds.
        bill: on which calls are charged in the ledger; None: on nobody's.
    """

    data_class: DataClass
    open_ledger: Callable[[], Ledger]
    budget: Budget | None = None
    prompts: Path | None = None
    progress: Callable[[Progress], None] = announce
    bill: Bill | None = None


def ask_once(
    key: str, configuration: JudgesConfiguration, context: JudgeContext
) -> Problem:
    """Ask a language model which of two invented sentences is surer: a call of its own each time, tried once,
    paid and in the ledger.
    """
    slot, started = configuration.models[key], time.time()
    limits = slot.limits.model_copy(update={"failures_per_request": 1})
    asker = open_asker(key, slot.model_copy(update={"limits": limits}), context)
    judge = ModelJudge(asker, load_prompts(context.prompts), slot.mode)
    question = ComparisonQuestion(
        f"Probable {MASK}.", f"{MASK} is unlikely.", replicate=time.time_ns()
    )
    try:
        (answer,) = judge.compare([question])
    except LunguageError as error:
        return "refusal", str(error)
    told = f"judge {key!r} was asked, and answered in {time.time() - started:.1f} s: {answer}"
    return "ok" if answer == "sentence_1" else "warning", told


def open_asker(key: str, slot: LLMJudgeConfig, context: JudgeContext) -> Asker:
    """Whoever asks the language model of a slot, behind the ledger, its limits, the budget and the data
    policy.
    """
    return Asker(
        key,
        _DeferredProvider(key, slot, context.data_class),
        context.open_ledger(),
        slot.limits,
        budget=context.budget,
        price=slot.price,
        progress=context.progress,
        bill=context.bill,
    )


class _DeferredProvider:
    """A provider that is made at its first question; what forbids to ask is raised then."""

    def __init__(self, key: str, slot: LLMJudgeConfig, data_class: DataClass) -> None:
        self.binding, self._key, self._slot, self._data_class = (
            slot.binding,
            key,
            slot,
            data_class,
        )
        self._made: Provider | None = None

    async def answer(self, request: Request) -> Reply:
        if self._made is None:
            key, slot, today = self._key, self._slot, datetime.now(UTC).date()
            environ = dict(os.environ)  # once: the address examined is the address used
            require(preflight(key, slot, environ, self._data_class, today))
            self._made = provider_of(key, slot, environ)
        return await self._made.answer(request)


def provider_of(key: str, slot: LLMJudgeConfig, environ: Mapping[str, str]) -> Provider:
    """The provider of a slot, ready to answer; nothing is sent yet. Keys and endpoints are read in `environ`.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if slot.provider == "transformers":
        return local_provider(key, slot)
    return SDKS[slot.provider](key, slot, resolve_endpoint(key, slot, environ))


def preflight(
    judge: str,
    slot: LLMJudgeConfig,
    environ: Mapping[str, str],
    data_class: DataClass,
    today: date,
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
        problems.append(
            ("warning", f"{name} retires on {slot.retires_on}, in {left} day(s).")
        )
    return problems


def require(problems: Sequence[Problem]) -> None:
    """Stop when anything is refused.

    Raises:
        PolicyRefused: one line with every refusal.
    """
    if refusals := [message for severity, message in problems if severity == "refusal"]:
        raise PolicyRefused(" ".join(refusals))


def _refusal(
    slot: LLMJudgeConfig, environ: Mapping[str, str], data_class: DataClass, today: date
) -> str | None:
    """Text that stays on the machine is sent to nobody: it goes where nobody has written down otherwise.
    Every other receiver must be allowed and, for patients' text, attested.
    """
    stays, attested = not slot.leaves_machine(environ), slot.zero_retention_attested_on
    if data_class not in slot.allowed_data and not (
        stays and "allowed_data" not in slot.model_fields_set
    ):
        return f"allowed_data does not list {data_class!r}"
    if stays or data_class == "synthetic":
        return None
    if attested is None or not slot.zero_retention_attested_by.strip():
        return (
            "nobody has attested that its service keeps nothing (zero_retention_attested_on and "
            "zero_retention_attested_by)"
        )
    return (
        f"its zero retention is attested for {attested}, which has not come"
        if attested > today
        else None
    )


def examine_judges(
    configuration: JudgesConfiguration,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
    only: Collection[str] | None = None,
) -> list[Problem]:
    """Severity and message, judge by judge of the active preset, or of `only` these.

    Looks at policy, retirement dates, prices, environment variables and installed SDKs; nothing is sent.
    """
    found = list[Problem]()
    for key in configuration.active_judges:
        slot = configuration.judges[key]
        if only is not None and key not in only:
            continue
        if not isinstance(slot, LLMJudgeConfig):
            kind = (
                "is rule-based"
                if slot.provider != "distilled"
                else "is a distilled model"
            )
            found.append(("ok", f"judge {key!r} {kind}: no network, no key, no cost"))
            continue
        own = preflight(key, slot, environ, data_class, today)
        try:
            provider_of(key, slot, environ)
        except ConfigurationError as error:
            own.append(("refusal", str(error)))
        if slot.price is None:
            unknown = "its cost is not known and no budget can be kept with it"
            own.append(("warning", f"judge {key!r} has no price: {unknown}"))
        fine = f"judge {key!r}: {slot.provider}, model {slot.model!r}, may receive {data_class} text"
        found += own or [("ok", fine)]
        room = output_limit(slot.binding)
        if (
            key == configuration.structurer
            and room is not None
            and room < STRUCTURING_TOKENS
        ):
            short = (
                f"judge {key!r} structures reports and may answer with {room} tokens; expected "
                f"{STRUCTURING_TOKENS} or more: answers about longer reports will be cut off and unreadable"
            )
            found.append(("warning", short))
    return found
