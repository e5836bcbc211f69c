"""Opening a judge: from its table in the judges file to an object that answers.

A language model is opened behind its ledger, limits, budget and the data policy.
Nothing is sent, no key is read and no SDK imported until a question is asked that the
ledger cannot answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.budget import Budget
from lunguage_assets.judges.data_policy import require_permission
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.judges.providers.local import LocalProvider
from lunguage_assets.judges.providers.services import SDKS
from lunguage_assets.judges.requests import Provider
from lunguage_assets.settings import DataClass


@dataclass(frozen=True)
class JudgeContext:
    """What a language model needs of the run that it is part of.

    Attributes:
        data_class: of the corpus whose sentences are asked about.
        open_ledger: called when a language model is opened.
        budget: ceilings shared by all judges of the run.
        progress: told what every recorded attempt adds.
        is_position_drawn: whether a coin decides which sentence is shown first.
    """

    data_class: DataClass
    open_ledger: Callable[[], Ledger]
    budget: Budget
    progress: Callable[[Progress], None] = announce
    is_position_drawn: bool = True


def open_asker(key: str, config: LLMJudgeConfig, context: JudgeContext) -> Asker:
    """Open what asks a language model.

    Its provider is made at the first question, if the data policy allows it: what the
    ledger has needs no permission and no key.

    Args:
        key: of the judge.
        config: its table.
        context: of the run.
    """

    def open_provider() -> Provider:
        today = datetime.now(UTC).date()
        require_permission(key, config, context.data_class, today)
        return provider_of(key, config, os.environ)

    return Asker(
        key,
        config,
        open_provider,
        context.open_ledger(),
        context.budget,
        context.progress,
    )


def provider_of(
    key: str, config: LLMJudgeConfig, environ: Mapping[str, str]
) -> Provider:
    """Make the provider of a model, ready to answer; nothing is sent yet.

    Args:
        key: of the judge, for messages.
        config: its table.
        environ: variables that keys are read from.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if config.provider == "transformers":
        return LocalProvider(key, config)
    return SDKS[config.provider](key, config, environ)
