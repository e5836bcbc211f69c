"""What a person should know of the judges before a run (`lunguage doctor`)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import date

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.asking.limits import output_limit
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.data_policy import Diagnosis, preflight
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.opening import JudgeContext, open_asker, provider_of
from lunguage_assets.judges.protocol import MASK, ComparisonQuestion
from lunguage_assets.settings import DataClass

STRUCTURING_TOKENS = 3000
"""Output tokens of an answer about a long report: about 25 findings of 120 tokens."""


def examine_judges(
    configuration: JudgesConfiguration,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
    only: Collection[str] | None = None,
) -> list[Diagnosis]:
    """Examine the judges of the active preset, one after the other; nothing is sent.

    Looks at policy, retirement dates, prices, environment variables and installed SDKs.

    Args:
        configuration: the judges file.
        data_class: of the corpus.
        today: date by which models retire and attestations hold.
        environ: variables that keys and endpoints are read from.
        only: keys of the judges to examine; None: all.
    """
    diagnoses: list[Diagnosis] = []
    for key in configuration.active_judges:
        if only is not None and key not in only:
            continue
        config = configuration.judges[key]
        if isinstance(config, LLMJudgeConfig):
            diagnoses += _examine_model(key, config, data_class, today, environ)
            if key == configuration.structurer:
                diagnoses += _examine_structurer(key, config)
            continue
        is_distilled = config.provider == "distilled"
        method = "is a distilled model" if is_distilled else "is rule-based"
        message = f"judge {key!r} {method}: no network, no key, no cost"
        diagnoses.append(Diagnosis("ok", message))
    return diagnoses


def _examine_model(
    key: str,
    config: LLMJudgeConfig,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
) -> list[Diagnosis]:
    """Say what is wrong with a language model, or that nothing is."""
    diagnoses = preflight(key, config, environ, data_class, today)
    # Made for its errors alone: a variable that is not set, a missing package.
    try:
        provider_of(key, config, environ)
    except ConfigurationError as error:
        diagnoses.append(Diagnosis("refusal", str(error)))
    if config.price is None:
        message = (
            f"judge {key!r} has no price: its cost is not known and no budget can be "
            "kept with it"
        )
        diagnoses.append(Diagnosis("warning", message))
    if diagnoses:
        return diagnoses
    message = (
        f"judge {key!r}: {config.provider}, model {config.model!r}, may receive "
        f"{data_class} text"
    )
    return [Diagnosis("ok", message)]


def _examine_structurer(key: str, config: LLMJudgeConfig) -> list[Diagnosis]:
    """Warn of a structurer whose answers will be cut off."""
    most_tokens = output_limit(config.binding)
    if most_tokens is None or most_tokens >= STRUCTURING_TOKENS:
        return []
    message = (
        f"judge {key!r} structures reports and may answer with {most_tokens} tokens; "
        f"expected {STRUCTURING_TOKENS} or more: answers about longer reports will be "
        "cut off and unreadable"
    )
    return [Diagnosis("warning", message)]


def ask_once(
    key: str, configuration: JudgesConfiguration, context: JudgeContext
) -> Diagnosis:
    """Ask a language model which of two invented sentences is surer.

    It is a call of its own each time, tried once, paid and in the ledger.

    Args:
        key: of the judge.
        configuration: the judges file.
        context: of a run.
    """
    config = configuration.models[key]
    limits = config.limits.model_copy(update={"failures_per_request": 1})
    asker = open_asker(key, config.model_copy(update={"limits": limits}), context)
    judge = ModelJudge(asker, load_prompts(context.prompts), config.mode)
    question = ComparisonQuestion(
        sentence_1=f"Probable {MASK}.",
        sentence_2=f"{MASK} is unlikely.",
        # A replicate that was never asked: the ledger cannot answer it.
        replicate=time.time_ns(),
    )
    started = time.time()
    try:
        (answer,) = judge.compare([question])
    except LunguageError as error:
        return Diagnosis("refusal", str(error))
    seconds = time.time() - started
    message = f"judge {key!r} was asked, and answered in {seconds:.1f} s: {answer}"
    # "Probable" is surer than "is unlikely".
    if answer == "sentence_1":
        return Diagnosis("ok", message)
    return Diagnosis("warning", message)
