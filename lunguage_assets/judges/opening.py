"""Opening a configured judge: a rule-based one as it is, a language model behind the ledger, its limits, the
budget and the data policy.

Nothing is sent, no key is read and no SDK imported until a question is asked that the ledger cannot answer: a
complete ledger replays a study without keys, also with models that are retired.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.answers import parse_label, parse_phrase_list
from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.model_judge import ModelJudge, identity_of
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.asking.requests import Provider
from lunguage_assets.judges.batches.batch_watch import Pace
from lunguage_assets.judges.batches.batching import Batching
from lunguage_assets.judges.binding_record import BindingRecord
from lunguage_assets.judges.configuration import JudgesConfiguration, make_judge, make_provider
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.policy import DataClass, SlotPolicy, preflight, require
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.providers import DeferredProvider, batches_of, binding_of, provider_of
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
        environ = dict(os.environ)  # once: the address that was examined is the address that is used
        require(preflight([slot_policy(key, slot, environ)], surroundings.data_class, surroundings.today()))
        return make_provider(key, configuration, environ)

    provider = DeferredProvider(binding_of(slot), allowed_provider)
    return ModelJudge(
        key,
        provider,
        surroundings.open_ledger(),
        Limiter(slot.limits.flow),
        load_prompts(surroundings.prompts),
        parse_phrase_list,
        parse_label,
        mode=slot.mode,
        budget=surroundings.budget,
        price=slot.price,
        progress=surroundings.progress,
        batching=_batching(key, slot, provider) if slot.batch_allowed else None,
    )


def judge_identity(key: str, configuration: JudgesConfiguration, prompts: Path | None = None) -> str:
    """The identity of the judge that `open_judge` would open; no ledger is opened for it, and no model made.

    Raises:
        ConfigurationError: no such judge, or unusable prompt templates.
    """
    slot = configuration.judges.get(key)
    if not isinstance(slot, ModelSlot):
        return make_judge(key, configuration).identity
    return identity_of(binding_of(slot), load_prompts(prompts), slot.mode)


def _batching(key: str, slot: ModelSlot, provider: DeferredProvider) -> Batching:
    """How a slot's questions that may wait are sent; the data policy is asked when the provider is made,
    before anything is sent.
    """
    rules = slot.batches
    return Batching(
        lambda: batches_of(key, provider.made()),
        price=slot.price.in_batches if slot.price is not None else None,
        questions=rules.questions,
        size_bytes=round(rules.megabytes * 1e6) if rules.megabytes is not None else None,
        at_once=rules.at_once,
        pace=Pace(rules.first_look_s, max(rules.first_look_s, rules.longest_look_s)),
    )


def slot_policy(key: str, slot: ModelSlot, environ: Mapping[str, str]) -> SlotPolicy:
    """What the policy has to know of a slot; only a server whose address, as written or as `environ` has it,
    is this machine's keeps text here.
    """
    return SlotPolicy(
        judge=key,
        model=slot.model,
        leaves_machine=slot.leaves_machine(environ),
        allowed_data=slot.allowed_data,
        retires_on=slot.retires_on,
        zero_retention_attested_on=slot.zero_retention_attested_on,
        zero_retention_attested_by=slot.zero_retention_attested_by,
    )


def examination(
    configuration: JudgesConfiguration,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
    record: BindingRecord | None = None,
) -> list[tuple[Literal["ok", "warning", "refusal"], str]]:
    """What a person should know before a run with the active preset: severity and message, judge by judge.

    Looks at policy, retirement dates, prices, environment variables, installed SDKs and what the keys stand
    for in a home (`record`); nothing is sent.
    """
    lines: list[tuple[Literal["ok", "warning", "refusal"], str]] = []
    for key in configuration.active_judges:
        slot = configuration.judges[key]
        if record is not None and (other := record.problem(key, slot)) is not None:
            lines.append(("refusal", other))
            continue
        if not isinstance(slot, ModelSlot):
            lines.append(("ok", f"judge {key!r} is rule-based: no network, no key, no cost"))
            continue
        found: list[tuple[Literal["ok", "warning", "refusal"], str]] = []
        for problem in preflight([slot_policy(key, slot, environ)], data_class, today):
            found.append((problem.severity, problem.message))
        try:
            provider_of(key, slot, environ)
        except ConfigurationError as error:
            found.append(("refusal", str(error)))
        if slot.price is None:
            found.append(
                (
                    "warning",
                    f"judge {key!r} has no price: its cost is not known and no budget can be kept with it",
                )
            )
        if slot.batch_allowed and data_class == "credentialed":
            kept = (
                "its provider keeps batches until they are collected, for up to a month; see that "
                "its zero retention covers them"
            )
            found.append(("warning", f"judge {key!r} may use batches: {kept}"))
        lines += found or [
            ("ok", f"judge {key!r}: {slot.provider}, model {slot.model!r}, may receive {data_class} text")
        ]
    return lines
