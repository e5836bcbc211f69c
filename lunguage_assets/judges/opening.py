"""Opening a configured judge: a rule-based one as it is, a language model behind the ledger, its limits, the budget and the data policy.

Nothing is sent, no key is read and no SDK imported until a question is asked that the ledger cannot answer: a complete ledger replays a
study without keys, also with models that are retired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.answers import parse_label, parse_phrase_list
from lunguage_assets.judges.budget import Budget
from lunguage_assets.judges.configuration import JudgesConfiguration, make_judge, make_provider
from lunguage_assets.judges.engine import Progress
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.limiter import Limiter, Limits
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.policy import DataClass, SlotPolicy, preflight, require
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.providers import DeferredProvider, binding_of, provider_of
from lunguage_assets.judges.requests import Provider
from lunguage_assets.judges.slots import ModelSlot


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class Surroundings:
    """What a judge needs of the run that it is part of.

    Args:
        data_class: of the corpus whose sentences are asked about.
        open_ledger: called at the first question to a language model.
        budget: ceiling shared by all judges of the run, or None.
        prompts: the user's own prompt templates, or None for the bundled ones.
        progress: told after every recorded attempt.
        today: the date that retirements are compared with.
    """

    data_class: DataClass
    open_ledger: Callable[[], Ledger]
    budget: Budget | None = None
    prompts: Path | None = None
    progress: Callable[[Progress], None] | None = None
    today: Callable[[], date] = field(default=_today)


def open_judge(key: str, configuration: JudgesConfiguration, surroundings: Surroundings) -> Judge:
    """The judge of a slot, ready to be asked.

    Raises:
        ConfigurationError: no such judge, or unusable prompt templates.
    """
    slot = configuration.judges.get(key)
    if not isinstance(slot, ModelSlot):
        return make_judge(key, configuration)

    def allowed_provider() -> Provider:
        require(preflight([slot_policy(key, slot)], surroundings.data_class, surroundings.today()))
        return make_provider(key, configuration)

    return ModelJudge(
        key,
        DeferredProvider(binding_of(slot), allowed_provider),
        surroundings.open_ledger(),
        Limiter(Limits(slot.limits.requests_per_minute, slot.limits.tokens_per_minute, slot.limits.in_flight)),
        load_prompts(surroundings.prompts),
        parse_phrase_list,
        parse_label,
        mode=slot.mode,
        budget=surroundings.budget,
        price=slot.price,
        progress=surroundings.progress,
    )


def slot_policy(key: str, slot: ModelSlot) -> SlotPolicy:
    """What the policy has to know of a slot; only a server whose configured address is this machine's keeps text here."""
    return SlotPolicy(
        judge=key,
        model=slot.model,
        leaves_machine=slot.leaves_machine,
        allowed_data=slot.allowed_data,
        retires_on=slot.retires_on,
        zero_retention_attested_on=slot.zero_retention_attested_on,
        zero_retention_attested_by=slot.zero_retention_attested_by,
    )


def examination(
    configuration: JudgesConfiguration, data_class: DataClass, today: date, environ: Mapping[str, str]
) -> list[tuple[Literal["ok", "warning", "refusal"], str]]:
    """What a person should know before a run with the active preset: severity and message, judge by judge.

    Looks at policy, retirement dates, prices, environment variables and installed SDKs; nothing is sent.
    """
    lines: list[tuple[Literal["ok", "warning", "refusal"], str]] = []
    for key in configuration.active_judges:
        slot = configuration.judges[key]
        if not isinstance(slot, ModelSlot):
            lines.append(("ok", f"judge {key!r} is rule-based: no network, no key, no cost"))
            continue
        found: list[tuple[Literal["ok", "warning", "refusal"], str]] = []
        for problem in preflight([slot_policy(key, slot)], data_class, today):
            found.append((problem.severity, problem.message))
        try:
            provider_of(key, slot, environ)
        except ConfigurationError as error:
            found.append(("refusal", str(error)))
        if slot.price is None:
            found.append(("warning", f"judge {key!r} has no price: its cost is not known and no budget can be kept with it"))
        lines += found or [("ok", f"judge {key!r}: {slot.provider}, model {slot.model!r}, may receive {data_class} text")]
    return lines
