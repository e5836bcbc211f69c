"""Opening a configured judge; and what a person should know of the judges before a run.

Nothing is sent, no key is read and no SDK imported until a question is asked that the ledger cannot answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.asking.limits import Budget, output_limit
from lunguage_assets.judges.asking.progress import Progress, announce
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.policy import Problem, preflight, require
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.providers.base import resolve_endpoint
from lunguage_assets.judges.providers.local import local_provider
from lunguage_assets.judges.providers.sdks import SDKS
from lunguage_assets.judges.requests import Provider, Reply, Request
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.slots import ModelSlot, OfflineSlot
from lunguage_assets.settings import DataClass

STRUCTURING_TOKENS = 3000
"""Output tokens that an answer about a long report needs, about: 25 findings of 120 tokens."""


@dataclass(frozen=True)
class Surroundings:
    """What a language model needs of the run that it is part of.

    Args:
        data_class: of the corpus whose sentences are asked about.
        open_ledger: called when a language model is opened.
        budget: ceiling shared by all judges of the run, or None.
        prompts: the user's own prompt templates, or None for the bundled ones.
        progress: told what every recorded attempt adds.
        today: the date that retirements are compared with.
        environ: where keys and addresses are read, at the first question that has to be sent.
    """

    data_class: DataClass
    open_ledger: Callable[[], Ledger]
    budget: Budget | None = None
    prompts: Path | None = None
    progress: Callable[[Progress], None] = announce
    today: Callable[[], date] = lambda: datetime.now(UTC).date()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


def open_judge(key: str, configuration: JudgesConfiguration, surroundings: Surroundings) -> Judge:
    """The judge of a slot, ready to be asked.

    Raises:
        ConfigurationError: no such judge, or unusable prompt templates.
    """
    slot = configuration.slot(key)
    if isinstance(slot, OfflineSlot):
        return rule_judge(key, slot)
    return ModelJudge(open_asker(key, slot, surroundings), load_prompts(surroundings.prompts), slot.mode)


def judge_identity(key: str, configuration: JudgesConfiguration, prompts: Path | None = None) -> str:
    """The identity of the judge that `open_judge` would open, whose errors it raises; no ledger is opened for
    it, and no model made.
    """
    slot = configuration.slot(key)
    if isinstance(slot, OfflineSlot):
        return rule_judge(key, slot).identity
    return ModelJudge.identity_of(slot.binding, load_prompts(prompts), slot.mode)


def rule_judge(key: str, slot: OfflineSlot) -> Judge:
    """The rule-based judge of a slot."""
    return CuesJudge.bundled(key) if slot.provider == "cues" else LexiconJudge.bundled(key)


def open_asker(key: str, slot: ModelSlot, surroundings: Surroundings) -> Asker:
    """Whoever asks the language model of a slot, behind the ledger, its limits, the budget and the data
    policy.
    """
    return Asker(
        key,
        _DeferredProvider(key, slot, surroundings),
        surroundings.open_ledger(),
        slot.limits,
        budget=surroundings.budget,
        price=slot.price,
        progress=surroundings.progress,
    )


class _DeferredProvider:
    """A provider that is made at its first question; what forbids to ask is raised then."""

    def __init__(self, key: str, slot: ModelSlot, surroundings: Surroundings) -> None:
        self.binding, self._key, self._slot, self._surroundings = slot.binding, key, slot, surroundings
        self._made: Provider | None = None

    async def answer(self, request: Request) -> Reply:
        if self._made is None:
            key, slot, around = self._key, self._slot, self._surroundings
            environ = dict(around.environ)  # once: the address examined is the address used
            require(preflight(key, slot, environ, around.data_class, around.today()))
            self._made = provider_of(key, slot, environ)
        return await self._made.answer(request)


def provider_of(key: str, slot: ModelSlot, environ: Mapping[str, str]) -> Provider:
    """The provider of a slot, ready to answer; nothing is sent yet. Keys and endpoints are read in `environ`.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if slot.provider == "transformers":
        return local_provider(key, slot)
    return SDKS[slot.provider](key, slot, resolve_endpoint(key, slot, environ))


def examination(
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
        if not isinstance(slot, ModelSlot):
            found.append(("ok", f"judge {key!r} is rule-based: no network, no key, no cost"))
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
        if key == configuration.structurer and room is not None and room < STRUCTURING_TOKENS:
            short = (
                f"judge {key!r} structures reports and may answer with {room} tokens; expected "
                f"{STRUCTURING_TOKENS} or more: answers about longer reports will be cut off and unreadable"
            )
            found.append(("warning", short))
    return found
