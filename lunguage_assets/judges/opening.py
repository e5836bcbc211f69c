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
from pathlib import Path

from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.budget import Budget
from lunguage_assets.judges.data_policy import preflight, require
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.judges.providers.local import LocalProvider
from lunguage_assets.judges.providers.services import SDKS
from lunguage_assets.judges.requests import Provider, Reply, Request
from lunguage_assets.settings import DataClass


@dataclass(frozen=True)
class JudgeContext:
    """What a language model needs of the run that it is part of.

    Attributes:
        data_class: of the corpus whose sentences are asked about.
        open_ledger: called when a language model is opened.
        budget: ceiling shared by all judges of the run, or None.
        prompts: the user's own prompt templates, or None for the bundled ones.
        progress: told what every recorded attempt adds.
        is_position_drawn: whether a coin decides which sentence is shown first.
    """

    data_class: DataClass
    open_ledger: Callable[[], Ledger]
    budget: Budget | None = None
    prompts: Path | None = None
    progress: Callable[[Progress], None] = announce
    is_position_drawn: bool = True


def open_model_judge(
    key: str, config: LLMJudgeConfig, context: JudgeContext, *, compares: bool = True
) -> ModelJudge:
    """Open a language model as a judge, which answers its trial before it is paid.

    Args:
        key: of the judge.
        config: its table.
        context: of the run.
        compares: whether it ranks, and so has a trial.

    Raises:
        ConfigurationError: unusable prompt templates.
    """
    return ModelJudge(
        open_asker(key, config, context),
        load_prompts(context.prompts),
        has_trial=compares,
        is_position_drawn=context.is_position_drawn,
    )


def open_asker(key: str, config: LLMJudgeConfig, context: JudgeContext) -> Asker:
    """Open what asks a language model.

    Args:
        key: of the judge.
        config: its table.
        context: of the run.
    """
    return Asker(
        key,
        config,
        GuardedProvider(key, config, context.data_class),
        context.open_ledger(),
        budget=context.budget,
        progress=context.progress,
    )


class GuardedProvider:
    """A provider that is made at its first question, if the data policy allows it.

    What the ledger has needs no permission and no key.

    Args:
        key: of the judge, for messages.
        config: its table.
        data_class: of the text that it is asked about.
    """

    def __init__(self, key: str, config: LLMJudgeConfig, data_class: DataClass) -> None:
        self._key = key
        self._config = config
        self._data_class = data_class
        self._provider: Provider | None = None

    async def answer(self, request: Request) -> Reply:
        """Answer a request; see `Provider.answer`."""
        if self._provider is None:
            # Copied: the address that is examined is the address that is used.
            environ = dict(os.environ)
            today = datetime.now(UTC).date()
            require(
                preflight(self._key, self._config, environ, self._data_class, today)
            )
            self._provider = provider_of(self._key, self._config, environ)
        return await self._provider.answer(request)


def provider_of(
    key: str, config: LLMJudgeConfig, environ: Mapping[str, str]
) -> Provider:
    """Make the provider of a model, ready to answer; nothing is sent yet.

    Args:
        key: of the judge, for messages.
        config: its table.
        environ: variables that keys and endpoints are read from.

    Raises:
        ConfigurationError: a variable is not set, or the SDK is not installed.
    """
    if config.provider == "transformers":
        return LocalProvider(key, config)
    return SDKS[config.provider](key, config, environ)
